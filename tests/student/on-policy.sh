#!/bin/sh
# student on-policy: texts of the student judged by a teacher; texts of data
# against student train; kill and resume, ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
echo '{{ messages }}' >tok/chat_template.jinja
for i in 1 2 3 4 5 6 7 8; do
    printf '{"prompt": "the %s of", "completion": " %s and that is all"}\n' \
        "$i" "$((i * 37))"
done >p.jsonl
# write RUN [option ...]: batches of 8 texts of at most 8 tokens
write() {
    run=$1
    shift
    student on-policy -q -m s0 -o "$run" --score-with teacher -B 8 -n 8 \
        --lr 1e-3 "$@" p.jsonl
}
# column NAME RUN: a column of the metrics
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) k = i; next } { print $k }' "$2/metrics.tsv"
}
numbers() { sed 's/	[^	]*$//' "$1/metrics.tsv" >"$1.numbers"; }

# --- texts of data: the same loss as by a stream ---
tokenize -q -t tok --chat p.jsonl -o docs8 && shard write -q -o data8 docs8 &&
    stream -q -B 4 -T 64 --epochs 1 data8 |
        teacher -q -m teacher --final --dtype f32 -o kd8 || exit 1
for d in reverse js:0.3 forward; do
    ok "texts of data are judged, $d" write share0 --written 0 --steps 1 \
        --kl-direction $d
    ok "a stream of them is judged, $d" student -q -m s0 -o by-stream \
        --ce 0 --kl 1 --kl-direction $d --lr 1e-3 --steps 1 kd8
    for c in scored loss norm; do
        column $c share0 >a
        column $c by-stream >b
        near "$d has the $c of student train" 1e-5 a b
    done
    rm -r share0 by-stream
done

# --- texts of the student ---
ok '20 steps are made' write whole --steps 20 --save 5
numbers whole
equal 'the student writes all texts' "$(column written whole | sort -u)" 1
ok 'the teacher is approached' awk -v a="$(column loss whole | sed -n 1p)" \
    -v b="$(column loss whole | tail -n 1)" 'BEGIN { print a, b; exit !(b < a) }'
ok 'a student is its own teacher' student on-policy -q -m s0 -o self \
    --score-with s0 -B 8 -n 8 --steps 1 p.jsonl
equal 'its loss is 0' "$(column loss self)" 0
ok 'data writes a part of the texts' write part --steps 3 --written 0.5
ok 'both write' awk -v n="$(column written part | awk '{ s += $1 } END { print s }')" \
    'BEGIN { exit !(n > 0 && n < 3) }'

# --- what must not matter ---
ok 'steps are made with 1 thread, text and row at a time' write j1 --steps 5 \
    --save 5 -j 1 --at-once 1 --micro 1
ok 'steps are made with all threads' write j2 --steps 5 --save 5
same_model '1 thread gives the bits of all' j1 j2
student on-policy -q -m s0 -o killed --score-with teacher -B 8 -n 8 --lr 1e-3 \
    --steps 20 --save 5 p.jsonl &
victim=$!
await [ -d killed/step-10 ]
kill -9 $victim
wait $victim 2>/dev/null
ok 'a killed run goes on' write killed --steps 20 --save 5 --resume killed
same_model '10 steps, a kill and the rest = 20 steps' whole killed
numbers killed
same 'its metrics are those of 20 steps' whole.numbers killed.numbers

# --- a teacher that a server has ---
# by_server RUN [option ...]
by_server() {
    run=$1
    shift
    student on-policy -m s0 -o "$run" --score-with "$url" -B 20 -n 8 \
        --lr 1e-3 "$@" p.jsonl
}
if [ -x "$BUILD/bin/serve" ]; then
    serve -m teacher --port 0 --targets 64 2>serving &
    server=$!
    await grep -q listening serving
    url=$(sed -n 's/.*listening at \([^,]*\),.*/\1/p' serving)
    for d in reverse js:0.3 forward; do
        ok "a server judges by its whole vocabulary, $d" by_server far -q \
            --top 1024 --steps 3 --kl-direction $d --temperature 0.7
        ok "a model judges, $d" student on-policy -q -m s0 -o near \
            --score-with teacher -B 20 -n 8 --lr 1e-3 --steps 3 \
            --kl-direction $d --temperature 0.7 p.jsonl
        for c in scored loss ce norm; do
            column $c far >a
            column $c near >b
            near "a server gives $d the $c of a model" 1e-5 a b
        done
        rm -r far near
    done
    ok 'a server tells 16 tokens' by_server few -q --top 16 --steps 1
    ok 'a server tells all tokens' by_server all -q --top 1024 --steps 1
    ok 'few tokens have a smaller divergence, which is not 0' awk \
        -v few="$(column loss few)" -v all="$(column loss all)" \
        'BEGIN { print few, all; exit !(0 < few && few < all) }'
    status 3 'more tokens than the server tells are refused' by_server no \
        --top 1025 --steps 1
    like 'the refusal of the server is told' "$url.*top" err
    cp -r s0 s1
    for f in s0/*token*; do
        sed 's/<|endoftext|>/<|endofdata|>/' "$f" >"s1/${f#s0/}"
    done
    status 3 'a server with another tokenizer is refused' student on-policy -q \
        -m s1 -o no --score-with "$url" -n 8 --steps 1 p.jsonl
    like 'the message says what to take' 'tokenizer.*take a teacher' err
    by_server dead --steps 1000 --save 1 2>dying &
    victim=$!
    await [ -d dead/step-2 ]
    kill -9 $server
    wait $victim
    equal 'a server that dies ends the run' $? 1
    like 'the server is asked again first' 'asking again in 4 s' dying
    like 'the server is named' "score-with $url: cannot connect" dying
    last=$(column step dead | tail -n 1)
    ok 'the last step is saved' generate run -q -m "dead/step-$last" -n 2 the
else
    skip 'a server judges' 'built without libmicrohttpd (libmicrohttpd-dev)'
fi

# --- refusals ---
status 2 'a run without a teacher is refused' student on-policy -q -m s0 -o no \
    --steps 1 p.jsonl
status 2 'a run without an end is refused' write no
echo '{"prompt": "the"}' >short.jsonl
status 3 'a share needs completions' student on-policy -q -m s0 -o no \
    --score-with teacher -B 2 --written 0.5 --steps 1 short.jsonl
like 'the message names the option' 'written' err
echo '{"text": "the"}' >bad.jsonl
status 3 'a line without a prompt is refused' student on-policy -q -m s0 -o no \
    --score-with teacher --steps 1 bad.jsonl
like 'the line is named' 'line 1.*prompt' err

# --- ranks ---
. "$top/tests/lib/ranks.sh"
has_ranks 'on-policy over ranks' || done_testing
ok 'one process trains by --deterministic' write d1 --steps 3 --save 3 \
    --written 0.5 --deterministic
ok '2 ranks write texts' ranks 2 student on-policy -q -m s0 -o d2 \
    --score-with teacher -B 8 -n 8 --lr 1e-3 --steps 3 --save 3 --written 0.5 \
    --deterministic -j 1 p.jsonl
same_model '2 ranks have the bits of one process' d1 d2
numbers d1
numbers d2
same '2 ranks have the metrics of one process' d1.numbers d2.numbers
done_testing
