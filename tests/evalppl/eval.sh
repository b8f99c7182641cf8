#!/bin/sh
# evalppl: protocols, formats, misuse, damage
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/sheets.sh"
grad=$top/tests/golden/grad
s=$grad/tied-student t=$grad/tied-teacher
for kind in docs batch long long-bos short empty vocab-docs docs-broken; do
    "$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" $kind $kind 2>/dev/null ||
        [ $kind = docs-broken ] || exit 1
done

# --- formats say the same ---
ok 'text' evalppl -m "S=$s" --base "T=$t" --per-source --compare docs
like 'the protocol is always told' \
    '^protocol docs, context 512, stride 511, no BOS, 33 tokens, 5 documents, 24 scored, bytes unknown$' out
like 'a line a model' '^S +[0-9]+\.[0-9]+ ' out
like 'sources' '^bg +[0-9]' out
like 'differences' '^loss T - S: -?[0-9.]+ \+/- [0-9.]+ \(-?[0-9.]+ standard' out
ppl=$(sed -n 's/^S  *\([0-9.]*\) .*/\1/p' out | head -n 1)
ok 'TSV' evalppl -m "S=$s" --base "T=$t" --per-source --format tsv docs
equal 'the same perplexity' "$(awk -F '\t' '$1 == "S" && $2 == "(all)" {
    printf "%.4f", $8 }' out)" "$ppl"
equal 'columns' "$(grep -v '^#' out | awk -F '\t' '{ print NF }' | uniq)" 26
equal 'rows: 2 models, all and 2 sources' "$(grep -c '' out)" 8
ok 'differences by source' evalppl -m "S=$s" --base "T=$t" --per-source \
    --compare --format tsv docs
equal 'all, then each source' "$(awk -F '\t' '$2 == "S" && $3 == "nll" {
    print $7 }' out | tr '\n' ' ')" '(all) bg cs '
equal 'they are differences of the figures' "$(awk -F '\t' '
    $2 == "bg" { nll[$1] = $6 }
    $7 == "bg" && $3 == "nll" { d = $4 - (nll["T"] - nll["S"])
        print (d < 1e-7 && d > -1e-7) }' out)" 1
ok 'into a file' evalppl -m "S=$s" --base "T=$t" --compare --format tsv -o f docs
equal 'stdout is empty' "$(cat out)" ''
like 'differences' '^T	S	nll	-?[0-9.]+	' f
equal 'the same perplexity' "$(awk -F '\t' '$1 == "S" && $2 == "(all)" {
    printf "%.4f", $8 }' f)" "$ppl"
for format in tsv json; do
    ok "evalppl writes all lists as $format" evalppl -q -m "S=$s" \
        --base "T=$t" --per-source --compare --spread --worst 3 \
        --temperature 2 --format $format -o all.$format docs
done
agrees all.json all.tsv models differences spread worst
like 'JSON tells the protocol and how many tokens are scored' \
    '"model": "T", "protocol": "docs", .*"bos": null, .*"scored": 24,' all.json
ok 'standard input' sh -c 'evalppl -q -m "S=$1" <docs' sh "$s"
ok 'a shard directory' sh -c 'shard write -q -o dir docs && evalppl -m "$1" dir' \
    sh "$s"
ok '--from names a judged model' evalppl -m "S=$s" --base "T=$t" --from S docs
like 'regained' 'regained' out
ok '--from opens another' evalppl -m "S=$s" --base "T=$t" \
    --from "P=$grad/tied-student" docs
like 'and shows it' '^P ' out
# A model and itself: cutting cost nothing, so there is nothing to win back.
ok 'a cut that cost nothing' evalppl -m "S=$s" --base "T=$t" --from "P=$t" \
    --format tsv -o free docs
equal 'has no share regained, but of itself' "$(awk -F '\t' '
    $1 == "model" { for (i = 1; i <= NF; i++) if ($i == "regained") c = i; next }
    $2 == "(all)" { printf "%s %s ", $1, $c }' free)" 'T 100.000 S - P 0.000 '
like 'and says why' 'P: .*loss.*regained' err

# --- protocols ---
ok 'llama.cpp' evalppl -m "$s" --protocol llama.cpp -c 16 long
like 'second halves of 12 windows' '200 tokens, 12 windows, 84 scored' out
ok 'with BOS' evalppl -m "$s" --protocol llama.cpp -c 16 long-bos
like 'is told' 'BOS 3, ' out
status 3 'less than two windows' evalppl -m "$s" --protocol llama.cpp -c 101 \
    long
like 'says how many are needed' 'holds 200 tokens; windows of 101 need .* 202' err
ok 'two windows are enough' evalppl -m "$s" --protocol llama.cpp -c 100 long
status 3 'no protocol but docs for batches' evalppl -m "$s" \
    --protocol llama.cpp -c 4 batch
status 3 'nor strides' evalppl -m "$s" --protocol hf batch
like 'says which' 'batches: --protocol hf needs documents' err
status 3 'nor batches for documents' evalppl -m "$s" --protocol stream docs
ok 'batches as trained' evalppl -m "$s" --protocol stream batch
like 'says so' '^protocol stream, context 12, ' out
mv out stream
ok 'which is how batches are judged' evalppl -m "$s" batch
equal 'as they are' "$(sed 's/ *[^ ]* *[^ ]*$//' out)" \
    "$(sed 's/ *[^ ]* *[^ ]*$//' stream)"
status 3 'a loss mask and joined text' evalppl -m "$s" --protocol llama.cpp \
    -c 4 docs
ok 'strides' evalppl -m "$s" --protocol hf -c 64 --stride 16 long
like 'all but the first are scored' '199 scored' out

# --- misuse ---
status 2 'no model' evalppl docs
ok 'evalppl tells its options' evalppl -h
options=$(grep -cE '^  (-.,|   ) --' out)
options=$((options - 4)) # without -h -q -v -V
equal "evalppl has at most 25 options ($options)" \
    "$([ "$options" -gt 15 ] && [ "$options" -le 25 ] && echo yes)" yes
unlike 'evalppl offers nothing of tasks' 'task|items' out
status 2 'evalppl refuses --task, which evaltask has' evalppl -m "$s" \
    --task "$top/recipes/tasks/blimp.form=$top/tests/golden/tasks/blimp.jsonl"
status 2 '--from without --base' evalppl -m "$s" --from "$t" docs
status 2 '--temperature without --base' evalppl -m "$s" --temperature 3 docs
status 2 '--stride without its protocol' evalppl -m "$s" --stride 4 docs
status 2 'a stride beyond the window' evalppl -m "$s" --protocol stride -c 8 \
    --stride 9 docs
status 2 'no sources where text is joined' evalppl -m "$s" \
    --protocol llama.cpp -c 16 --per-source long
status 2 'the same label twice' evalppl -m "S=$s" -m "S=$t" docs
status 2 'a window of one' evalppl -m "$s" -c 1 docs
status 2 'two inputs' evalppl -m "$s" docs docs
status 1 'no such model' evalppl -m none docs
status 1 'no such input' evalppl -m "$s" none
status 1 'no place for the report' evalppl -m "$s" -o no/where docs
if [ -e /dev/full ]; then
    status 1 'a full disk' sh -c 'evalppl -m "$1" docs >/dev/full' sh "$s"
fi

# --- what cannot be judged ---
status 3 'documents of one token' evalppl -m "$s" short
like 'says so' 'nothing to score' err
status 3 'an empty stream' evalppl -m "$s" empty
ok 'a larger vocabulary, whose ids all lie below the model'\''s' \
    evalppl -m "$s" vocab-docs
ok 'ids of another tokenizer' evalppl -m "$top/tests/golden/gguf/f32.gguf" docs
like 'are warned of' 'another tokenizer than that of .*f32.gguf' err
status 3 'models of two vocabularies' evalppl -m "$s" \
    --base "$top/tests/golden/gguf/f32.gguf" docs
size=$(wc -c <docs)
for n in 0 7 200 $((size / 2)) $((size - 1)); do
    head -c "$n" docs >part
    status 3 "the first $n bytes" evalppl -m "$s" part
    equal 'and no report' "$(cat out)" ''
done
if [ -e docs-broken ]; then fail 'an aborted stream became a file'; fi
mkfifo pipe
("$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs-broken pipe 2>/dev/null) &
status 3 'an aborted stream' evalppl -m "$s" pipe
like 'says why' 'no more' err
wait
echo 'no stream at all' >foreign
status 3 'a foreign file' evalppl -m "$s" foreign
for at in 300 $((size / 2)) $((size - 20)); do
    { head -c "$at" docs; printf '\377'; tail -c +$((at + 2)) docs; } >flip
    status 3 "a byte changed at $at" evalppl -m "$s" flip
done

# A weight that is not a number: the last four bytes of the file are one.
mkdir nan
cp "$s/config.json" nan
{ head -c -4 "$s/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'NaN among the weights' evalppl -m nan docs
like 'names the tensor' 'tensor .* is not finite' err
# Weights so large that the loss is none, though each is finite.
{ head -c -64 "$s/model.safetensors"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        printf '\377\377\177\177'; done; } >nan/model.safetensors
status 4 'a loss that is not finite' evalppl -m nan docs
like 'names model and document' 'nan: the loss of token .* document' err
done_testing
