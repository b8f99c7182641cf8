#!/bin/sh
# evaltask: forms, items and scores against lm-eval (tests/golden/tasks),
# what must not depend on how items are grouped, misuse, damage
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/bos.sh"
. "$top/tests/lib/by_length.sh"
. "$top/tests/lib/sheets.sh"
golden=$top/tests/golden
forms=$top/recipes/tasks
m=$golden/gguf/f32-hf

# Forms that the recipes have not, and another file's items under one of theirs.
{ cat "$forms/blimp.form"; echo 'delimiter ""'; } >pair.form
cat >described.form <<'END'
kind choice
  description   Of {topic}.\n\n
context "{question} "
choices {options}
answer {right}
delimiter ""
END
cat >greedy.form <<'END'
kind cloze
context {context}
target {target}
delimiter ""
END

# tasks: the options of all tasks that lm-eval has been asked, by its names
set -- pair.form=blimp greedy.form=greedy described.form=described
for name in blimp xcopa-et=xcopa_et arc=arc_easy hellaswag piqa winogrande \
    belebele=belebele_est_Latn lambada=lambada_openai cloze; do
    set -- "$@" "$forms/${name%=*}.form=${name#*=}"
done
tasks=''
for t in "$@"; do tasks="$tasks --task ${t%=*}=$golden/tasks/${t#*=}.jsonl"; done

with_bos "$m" bos

# The names of lm-eval's tasks for those of the forms.
rename() {
    awk -F '\t' -v OFS='\t' '{ sub(/^xcopa-et$/, "xcopa_et", $1)
        sub(/^arc$/, "arc_easy", $1); sub(/^belebele$/, "belebele_est_Latn", $1)
        sub(/^lambada$/, "lambada_openai", $1); print }' "$1"
}

# against ITEMS REPORT GOLDEN: both tell what lm-eval does
against() {
    rename "$1" >got.items
    rename "$2" >got.report
    awk -F '\t' '
        function off(x, y) { return !(x - y <= 5e-5 && y - x <= 5e-5) }
        FILENAME == "got.items" { if (FNR > 1) {
            k = $1 "\t" $3 "\t" $6; logp[k] = $9; greedy[k] = $10; n++ }
            next }
        FILENAME == "got.report" { for (i = 1; i <= NF; i++)
                if ($1 == "task") at[$i] = i
            for (c in at) v[$1, c] = $at[c]
            next }
        /^#/ { t = substr($1, 3); g["items"] = $2; g["acc"] = $3
            g["acc_se"] = $4; g["acc_norm"] = $5; g["acc_bytes"] = $6
            g["ppl"] = $7
            for (c in g) { seen++
                if (g[c] == "-" ? v[t, c] != "-" : \
                    off(v[t, c] / (1 + g[c]), g[c] / (1 + g[c])))
                    print t, c ":", v[t, c], "not", g[c] }
            next }
        { k = $1 "\t" $2 "\t" $3; rows++
            if (off(logp[k], $4) || greedy[k] != $5 || !(k in logp))
                print k ":", logp[k], greedy[k], "not", $4, $5 }
        END { if (rows != n || n < 80 || seen < 60) print n, "requests, lm-eval has",
            rows, "and", seen, "figures" }' \
        got.items got.report "$3" >differs
}

for v in '' bos; do
    # shellcheck disable=SC2086 # a list of words
    ok "${v:-without BOS}: evaltask scores all tasks" evaltask -m "M=${v:-$m}" $tasks --format tsv \
        --items items.$v
    cp out report.$v
    cp err err.first
    against items.$v report.$v "$golden/tasks/f32$v.tsv"
    equal "${v:-without BOS}: items and figures are lm-eval's" "$(cat differs)" ''
done

for format in tsv json; do
    # shellcheck disable=SC2086 # a list of words
    ok "evaltask writes scores and differences as $format" evaltask -q \
        -m "M=$m" --base bos $tasks --per-source --compare --format $format \
        -o all.$format
done
agrees all.json all.tsv scores differences

# --- an error is of several items of each task ---
sed -n 1p "$golden/tasks/arc_easy.jsonl" >alone.jsonl
ok 'a task of one item is scored beside one of more' evaltask -q -m "M=$m" --format tsv \
    --task "$forms/arc.form=alone.jsonl" --task "$forms/belebele.form=$golden/tasks/belebele_est_Latn.jsonl"
equal 'a task of one item has no error, and the mean neither' "$(awk -F '\t' '
    $1 == "task" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $1 == "arc" || $1 == "(mean)" { print $at["acc_se"] }' out)" "-
-"

# --- an item's figures are its own ---
one=$forms/arc.form=$golden/tasks/arc_easy.jsonl
ok 'a task of three items is scored' evaltask -m "M=$m" --items all --task "$one"
for n in 1 2 3; do
    sed -n "${n}p" "$golden/tasks/arc_easy.jsonl" >alone.jsonl
    ok "item $n is scored alone" evaltask -q -m "M=$m" --items one \
        --task "$forms/arc.form=alone.jsonl"
    equal "item $n has the same figures alone" "$(awk -F '\t' -v OFS='\t' -v n=$n \
        'NR > 1 { $3 = n - 1; $4 = n; print }' one)" \
        "$(awk -F '\t' -v n=$n 'NR > 1 && $4 == n' all)"
done
# shellcheck disable=SC2086 # a list of words
for a in '-B 1' '-B 3 -j 1' '-j 3'; do
    ok "tasks are scored with $a" evaltask -q -m "M=$m" $tasks --items again $a
    same "items are the same with $a" items. again
done
like 'what items share is computed once' \
    'items, [0-9]+ tokens of [0-9]+ computed' err.first

# The first item of ARC as its authors publish it.
echo '{"id": "a", "question": {"stem": "What do bees make?", "choices": [' \
    '{"text": "honey", "label": "A"}, {"text": "milk", "label": "B"},' \
    '{"text": "wool", "label": "C"}, {"text": "a hive of bricks", "label": "D"}' \
    ']}, "answerKey": "A"}' >bees.jsonl
ok 'a form takes a list of objects' evaltask -q -m "M=$m" --items one \
    --task "$forms/arc-allenai.form=bees.jsonl"
equal 'a list of objects gives the items of two lists' "$(sed 1d one)" "$(awk -F '\t' '$3 == "0"' all)"

# --- several models, recovery ---
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"a\":\"%s\",\"b\":\"%s\",\"g\":0}\n",
    "word " i, "ward " i * 7 % 60 }' >draft.jsonl
printf '%s\n' 'kind choice' 'choice {a}' 'choice {b}' 'answer {g}' >q.form
{ cat q.form; echo 'by {by}'; } >p.form
ok 'the base scores the draft items' evaltask -q -m "$golden/gguf/f32.gguf" --items i \
    --task q.form=draft.jsonl
# Answers that the base gets right but for every fifth.
awk -F '\t' 'FNR == NR { if (FNR > 1 && $6 == 0) x = $9
        if (FNR > 1 && $6 == 1) pick[$4] = $9 > x; next }
    { sub(/"g":0/, "\"g\":" (FNR % 5 ? pick[FNR] : 1 - pick[FNR]) ",\"by\":\"" \
        (FNR % 4 ? "most" : "few") "\",\"h\":" FNR % 2); print }' i draft.jsonl >pairs.jsonl
ok 'models are scored against a base' evaltask -m "S=$golden/gguf/q4_0.gguf" \
    -m "H=$golden/gguf/f32-hf" --base "T=$golden/gguf/f32.gguf" --per-source \
    --compare --format tsv --items i --task p.form=pairs.jsonl \
    --task q.form=pairs.jsonl --task p.form=pairs.jsonl
equal 'tasks of one form are named after their files too' \
    "$(awk -F '\t' '$1 == "task" { n++ } n == 1 && !/^[#t]/ && NF > 9 { print $1 }' out |
        uniq | tr '\n' ' ')" 'p:pairs.jsonl q p:pairs.jsonl (mean) '
# Recovery, its interval and the paired error again, from the items.
awk -F '\t' '
    function root(x,    r, i) { # not every awk has sqrt
        r = 1
        for (i = 0; i < 60; i++) r = (r + x / r) / 2
        return r }
    FNR == NR { if (FNR > 1 && $1 == "q") {
            if ($6 == 0) x = $9; else hit[$5, $3] = ($7 == 0) == (x >= $9)
            if ($6 == 1 && $3 >= n) n = $3 + 1 }
        next }
    END { t = 2.000995
        for (i = 0; i < n; i++) { x = hit["S", i] - 0.5; y = hit["T", i] - 0.5
            sx += x; sy += y; xx += x * x; yy += y * y; xy += x * y }
        k = n * (n - 1); sx /= n; sy /= n
        xx = (xx - n * sx * sx) / k; yy = (yy - n * sy * sy) / k
        xy = (xy - n * sx * sy) / k
        a = sy * sy - t * t * yy; b = sx * sy - t * t * xy
        c = sx * sx - t * t * xx; r = root(b * b - a * c)
        printf "%.3f %.3f %.3f %.6f %.6f\n", 100 * sx / sy, 100 * (b - r) / a,
            100 * (b + r) / a, sy - sx, root(xx + yy - 2 * xy) }' i >want
awk -F '\t' '$1 == "q" && $2 == "(all)" && $3 == "S" && NF > 9 { printf "%s %s %s ", $16, $17, $18 }
    $1 == "q" && $3 == "T" && $4 == "S" { print $6, $7 }' out >got
equal 'recovery and its interval are those of the items' "$(cat got)" "$(cat want)"
equal 'the same weights recover all' "$(awk -F '\t' '$3 == "H" && $2 == "(all)" && NF > 9 {
    print $16, $17, $18 }' out | uniq)" '100.000 100.000 100.000'
equal 'the mean gives every task the same weight' "$(awk -F '\t' 'NF > 9 && $1 == "(mean)" && $3 == "S" {
    printf "%s %.2f", $7, $16 }' out)" "$(awk -F '\t' 'NF > 9 && $2 == "(all)" && $1 ~ /^[pq]/ {
        acc[$3] += $7; c += $3 == "S" ? $6 : 0 }
    END { printf "%.6f %.2f", acc["S"] / 3, 100 * (acc["S"] - c) / (acc["T"] - c) }' out)"
equal 'each group has its items' "$(awk -F '\t' '$1 == "p:pairs.jsonl" && $3 == "S" && NF > 9 { print $2, $5 }' \
    out | head -n 3 | tr '\n' ' ')" '(all) 60 most 45 few 15 '
ok 'evaltask prints a report as text' evaltask -m "S=$golden/gguf/q4_0.gguf" --base "T=$golden/gguf/f32.gguf" \
    --task q.form=pairs.jsonl --compare
like 'text says what recovery is' 'recovery 100 \(x - chance\) / \(T - chance\), x acc of q$' out
like 'text has the differences' '^q: T - S: ' out
printf '%s\n' 'kind choice' 'choice {a}' 'choice {b}' 'answer {h}' 'label 0' \
    'label 1' >r.form
ok 'a base at chance is scored' evaltask -m "S=$golden/gguf/q4_0.gguf" --format tsv \
    --base "T=$golden/gguf/f32.gguf" --task r.form=pairs.jsonl
equal 'a base at chance gives no recovery' "$(awk -F '\t' '$3 == "S" { print $16 $17 $18 }' out)" '---'

# --- long lines ---
long() {    # long N: an item of more than N bytes of small values
    awk -v n="$1" 'BEGIN {
        printf "{\"a\":\"y\",\"b\":\"x\",\"g\":0,\"by\":1,\"z\":["
        for (i = 0; i < n; i += 2) printf "1,"
        print "1]}" }' </dev/null >long.jsonl
}
long 60000000
status 3 'a line of 60 MB is refused' evaltask -m "S=$golden/gguf/q4_0.gguf" \
    --task p.form=long.jsonl
like 'the error names both lengths' 'long\.jsonl: line 1: .*60000[0-9]* bytes.*4194304' err
peak=$(sed -n 's/.*peak \([0-9]*\)[.][0-9] MB$/\1/p' err)
case $BUILD in *address* | *thread*) most=100000 ;; *) most=600 ;; esac
if [ "$peak" -le $most ]; then pass 'a refused line takes 10 bytes of memory a byte at most'
else fail "a line of 60 MB takes $peak MB"; fi
long 4000000
ok 'a line of 4 MB is read' evaltask -q -m "S=$golden/gguf/q4_0.gguf" \
    --task p.form=long.jsonl

# --- a byte order mark ---
{ printf '\357\273\277'; cat pairs.jsonl; } >mark.jsonl
ok 'items behind a byte order mark are scored' evaltask -q -m "S=$golden/gguf/q4_0.gguf" \
    --items i2 --task p.form=mark.jsonl
ok 'items without a byte order mark are scored' evaltask -q -m "S=$golden/gguf/q4_0.gguf" \
    --items i --task p.form=pairs.jsonl
sed 's/mark/pairs/' i2 >i3
same 'a byte order mark changes no item' i i3

# --- misuse ---
p=p.form=pairs.jsonl
status 2 'a task without a file is refused' evaltask -m "$m" --task p.form
status 2 'a stream beside a task is refused' evaltask -m "$m" --task $p stream
status 2 'a run without a task is refused' evaltask -m "$m"
like 'a run without a task is told what to type' 'task.*evaltask -h' err
status 2 'a run without a model is refused' evaltask --task $p
like 'a run without a model is told what to type' '-m.*evaltask -h' err
status 2 'two models of one label are refused' evaltask -m "$m" -m "$m" --task $p
like 'two models of one label are told of labels' 'label=model' err
status 1 'a missing form is an error' evaltask -m "$m" --task none=pairs.jsonl
status 1 'a missing file of items is an error' evaltask -m "$m" --task p.form=none
status 1 'items without a folder are an error' evaltask -m "$m" --task $p --items no/where

# bad WHAT WHY LINE...: a form that is refused
bad() {
    what=$1 why=$2
    shift 2
    printf '%s\n' "$@" >bad.form
    status 3 "a form is refused: $what" evaltask -q -m "$m" --task bad.form=pairs.jsonl
    like "the error says why: $what" "$why" err
}
bad 'an unknown key' 'bad.form: line 2: .*colour.*key' 'kind choice' 'colour red'
bad 'an unknown kind' 'line 1: kind .*choice.*contexts.*cloze' 'kind maze'
bad 'an unknown filter' 'line 1: .*upper.*filter' 'choice {a|upper}'
bad 'a filter without its argument' 'before.* 0 arguments' 'choice {a|before}'
bad 'an open brace' 'line 1: .*brace' 'choice {a'
bad 'a brace that none opened' 'brace.*closed' 'choice a}'
bad 'a field without a name' 'brace.*name' 'choice {}'
{ head -n 2 "$golden/tasks/blimp.jsonl" && echo '{"no": "item"}'; } >spoilt.jsonl
status 3 'a bad item is refused' evaltask -q -m "$m" --task pair.form=spoilt.jsonl
like "the error names the bad item's line" 'spoilt.jsonl: line 3: ' err
printf 'kind choice\nchoice a\0b\n' >bad.form
status 3 'a form with a NUL byte is refused' evaltask -q -m "$m" --task bad.form=pairs.jsonl
like 'the error names the NUL byte' 'line 2: .*NUL' err
bad 'a choice without choices' 'choices.*answer' 'kind choice' 'answer 0'
bad 'a cloze without target' 'cloze.*target' 'kind cloze' 'context {a}'
bad 'contexts with a context' 'contexts.*choices' 'kind contexts' \
    'context x' 'choice {a}' 'target b' 'answer 0'
bad 'a field that is not there' 'pairs.jsonl: line 1: field "no.thing": is missing' \
    'choice {no.thing}' 'answer 0'
bad 'a single choice' 'line 1: .*1 choices' 'choice {a}' 'answer 0'
bad 'an answer that is none' 'answer "2".* 2' 'choice {a}' \
    'choice {b}' 'answer 2'
bad 'labels that are too few' '1 labels.* 2 choices' 'choice {a}' \
    'choice {b}' 'label x' 'answer x'
bad 'a map without the word' 'map m .*"word 0"' 'map m x y' \
    'choice {a|map:m}' 'choice {b}' 'answer 0'
bad 'a filter whose text is not there' 'no "%".*"word 0"' 'choice {a|before:%}' \
    'choice {b}' 'answer 0'

# broken WHAT WHY LINE: items that are refused
broken() {
    printf '%s\n' "$3" >items.jsonl
    status 3 "items are refused: $1" evaltask -q -m "$m" --task p.form=items.jsonl
    like "the error says why: $1" "$2" err
}
broken 'an empty file' 'no items' ''
broken 'a line that is no JSON' 'items.jsonl: line 1: offset' '{"a": '
broken 'an item that is a list' 'line 1: is no object' '[1]'
broken 'a field of another kind' 'field "a": is no text, number or list' \
    '{"a": {"x": 1}, "b": 1, "g": 1, "by": 1}'

# --- longrope: a long text and a short one begin alike ---
printf '%s\n' 'context {c}' 'choices {o}' 'answer 0' >length.form
long=' and the other river of them and the other river of'
cat >length.jsonl <<END
{"c": "The river", "o": ["x", "$long them"]}
{"c": "The river", "o": ["$long them", "$long x"]}
END
by_length "$m" longrope
ok 'a short and a long choice are scored' evaltask -q -m longrope \
    --task length.form=length.jsonl --items i
equal 'longrope: a long choice has its own score beside a short one' \
    "$(awk -F '\t' '$3 == 0 && $6 == 1 { printf "%.4f", $9 }' i)" \
    "$(awk -F '\t' '$3 == 1 && $6 == 0 { printf "%.4f", $9 }' i)"

# --- values that are no text are printed as lm-eval prints them ---
printf '%s\n' 'choice x' 'choice y' 'answer 0' 'by {a}' >values.form
sed '1d; s/\t.*//' "$golden/tasks/values.tsv" >values.jsonl
sed '1d; s/.*\t//' "$golden/tasks/values.tsv" >want.values
ok 'items of numbers are scored' evaltask -q -m "$m" --task values.form=values.jsonl \
    --per-source --items items.values
awk -F '\t' 'NR > 1 && $6 == 0 { print $2 }' items.values >got.values
same 'numbers, true, false and null as jinja2 prints them' got.values want.values
echo 'delimiter ""' >>p.form
broken 'a choice without tokens' 'continuation.*no token' '{"a": "", "b": "x", "g": 1, "by": 1}'
echo 'context {a}' >>p.form
broken 'a context that is a list' 'field "a" is a list' '{"a": ["x", "y"], "b": 1, "g": 1, "by": 1}'
done_testing
