#!/bin/sh
# evalppl: expected acceptance of a draft and its speed-up
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden grad=$top/tests/golden/grad gguf=$top/tests/golden/gguf
s=$grad/tied-student t=$grad/tied-teacher
for kind in docs batch; do
    "$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" $kind $kind 2>/dev/null || exit 1
done
pair() { evalppl -q -m "S=$s" --base "T=$t" --drafts --format tsv "$@"; }
# accepted: source, acceptance and its error from the table of models in out
accepted() {
    awk -F '\t' '
        $1 == "model" && $2 == "source" {
            for (i = 1; i <= NF; i++) at[$i] = i; next }
        NF == 28 && $1 != "T" { print $2 "\t" $at["accept"] "\t" $at["accept_se"] }' out
}
# drafts WANT...: rows of the table of drafts in out
drafts() { awk -F '\t' 'on; $1 == "model" && $2 == "by" { on = 1 } /^$/ { on = 0 }' out; }

# --- against Python ---
grep '^accept' "$golden/judge/draft.tsv" | cut -f 2- >want
for kind in docs batch; do
    ok "the acceptance of $kind is reported" pair --per-source $kind
    accepted >got
    near "the acceptance of $kind is Python's" 2e-6 want got
done
equal 'the base has no acceptance of its own' "$(awk -F '\t' '
    $1 == "T" && $2 == "(all)" { print $27, $28 }' out)" '1.00000000 -'
drafts >rows
equal 'a draft has a row by bytes and one by time' "$(cut -f 1,2 rows | tr '\t\n' '  ')" \
    'S bytes S time '
# by_bytes LESS: is the cost by bytes that of the models' parameters, all fp32,
# without LESS of each?  The student also stores 4 columns of 16 zeros.
by_bytes() { awk -F '\t' -v less="$1" '
    NF == 28 && $2 == "(all)" { n[$1] = $3 - less + 64 * ($1 == "S") }
    $2 == "bytes" { d = $3 - n["S"] / n["T"]; print (d < 1e-6 && d > -1e-6) }' out; }
equal 'the cost by bytes is that of all weights' "$(by_bytes 0)" 1
equal 'the cost by time is that of the speeds in the report' "$(awk -F '\t' '
    NF == 28 && $2 == "(all)" { v[$1] = $19 }
    $2 == "time" { d = $3 * v["S"] / v["T"] - 1; print (d < 0.01 && d > -0.01) }' out)" 1

# --- text and JSON ---
ok 'the report as text has drafts' evalppl -q --drafts -m "S=$s" --base "T=$t" docs
like 'the text has a column of the acceptance in percent' ' accept % .*' out
like 'the text has the acceptance and its error' '^S .* 38\.62 +2\.03 ' out
like 'the text names the base of the drafts' '^draft of T +by +cost' out
like 'the text has a row of a draft by bytes' '^S +bytes +0\.[0-9]+ +[0-9]+ +[0-9.]+$' out
ok 'JSON has drafts' evalppl -q --drafts -m "S=$s" --base "T=$t" --format json docs
like 'JSON has the acceptance' '"accept": 0\.3862' out
like 'JSON has the list of drafts' '"drafts": ' out
ok 'a base is compared' evalppl -q -m "S=$s" --base "T=$t" --format tsv docs
equal 'there are no drafts without --drafts' "$(drafts)" ''
status 2 '--drafts without a base is refused' evalppl -q --drafts -m "S=$s" docs
like 'the message says that drafts need a base' '--drafts compares with a base' err

# --- an untied embedding is not read whole by a token ---
ok 'an untied model is a draft' evalppl -q --drafts -m "S=$grad/untied-student" \
    --base "T=$grad/untied-teacher" --format tsv docs
equal 'the embedding of an untied model does not count' "$(by_bytes $((61 * 16)))" 1

# --- other ways to know the base ---
ok 'a teacher adds its states to a stream' teacher -q -m "$t" --dtype f32 -o said batch
pair batch >out
accepted >want
ok 'a recorded teacher accepts drafts' evalppl -q --drafts -m "S=$s" --recorded --format tsv said
accepted | grep -v '^(all)	1\.00000000' >got
same "the acceptance is the same by the teacher's states" want got
equal 'a recorded teacher has no cost' "$(drafts | cut -f 3- | sort -u | tr '\t' ' ')" '- 0 -'
tokenize -q -t "$gguf/f32-hf" --no-eos "$golden/judge/text.jsonl" >text
judge() { evalppl -q -m "q=$gguf/q4_1-hf" --protocol llama.cpp -c 32 --format tsv "$@"; }
ok 'a file of the base is written' judge --base "T=$gguf/f32-hf" --write-base kld text
accepted >want
ok 'the file is read' judge --read-base kld
accepted | grep -v '	1\.00000000	' >got
near 'the file has the acceptance up to its rounding' 2e-4 want got

# --- rows, threads, --resume ---
pair -B 1 -j 1 --per-source docs >out
accepted >want
pair -B 3 -j 3 --per-source docs >out
accepted >got
same 'rows and threads change no digit of the acceptance' want got
pair -B 1 --resume kept --per-source docs >out
pair -B 1 --resume kept --per-source docs >out
accepted >got
same '--resume keeps the acceptance' want got
done_testing
