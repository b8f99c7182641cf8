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
ok 'evalppl prints a report as text' evalppl -m "S=$s" --base "T=$t" --per-source --compare docs
like 'the protocol is always told' \
    '^protocol docs, context 512, stride 511, no BOS, 33 tokens, 5 documents, 24 scored, bytes unknown$' out
like 'a line a model' '^S +[0-9]+\.[0-9]+ ' out
like 'each source has a line' '^bg +[0-9]' out
like 'text has the difference with its error' '^loss T - S: -?[0-9.]+ \+/- [0-9.]+ \(-?[0-9.]+ standard' out
ppl=$(sed -n 's/^S  *\([0-9.]*\) .*/\1/p' out | head -n 1)
ok 'evalppl prints a report as TSV' evalppl -m "S=$s" --base "T=$t" --per-source --format tsv docs
equal 'TSV has the perplexity of the text' "$(awk -F '\t' '$1 == "S" && $2 == "(all)" {
    printf "%.4f", $8 }' out)" "$ppl"
equal 'the table of models has 28 columns' "$(sed -n '/^$/q; /^#/!p' out |
    awk -F '\t' '{ print NF }' | uniq)" 28
equal 'TSV has a row for each model and source' "$(sed '/^$/q' out | grep -c .)" 8
ok 'evalppl compares models by source' evalppl -m "S=$s" --base "T=$t" --per-source \
    --compare --format tsv docs
equal 'differences are of all sources, then of each' "$(awk -F '\t' '$2 == "S" && $3 == "nll" {
    print $7 }' out | tr '\n' ' ')" '(all) bg cs '
equal 'differences are those of the figures' "$(awk -F '\t' '
    $2 == "bg" { nll[$1] = $6 }
    $7 == "bg" && $3 == "nll" { d = $4 - (nll["T"] - nll["S"])
        print (d < 1e-7 && d > -1e-7) }' out)" 1
ok '-o writes the report to a file' evalppl -m "S=$s" --base "T=$t" --compare --format tsv -o f docs
equal '-o leaves standard output empty' "$(cat out)" ''
like 'the file has the differences' '^T	S	nll	-?[0-9.]+	' f
equal 'the file has the perplexity of the text' "$(awk -F '\t' '$1 == "S" && $2 == "(all)" {
    printf "%.4f", $8 }' f)" "$ppl"
for format in tsv json; do
    ok "evalppl writes all lists as $format" evalppl -q -m "S=$s" \
        --base "T=$t" --per-source --compare --spread --drafts --worst 3 \
        --temperature 2 --format $format -o all.$format docs
done
agrees all.json all.tsv models differences drafts spread worst
like 'JSON tells the protocol and how many tokens are scored' \
    '"model": "T", "protocol": "docs", .*"bos": null, .*"scored": 24,' all.json
ok 'evalppl reads standard input' sh -c 'evalppl -q -m "S=$1" <docs' sh "$s"
ok 'evalppl reads a shard directory' sh -c 'shard write -q -o dir docs && evalppl -m "$1" dir' \
    sh "$s"
ok '--before takes the label of a model' evalppl -m "S=$s" --base "T=$t" --before S docs
like '--before adds the column regained' 'regained' out
ok '--before opens another model' evalppl -m "S=$s" --base "T=$t" \
    --before "P=$grad/tied-student" docs
like 'the model of --before has a line' '^P ' out
# A model and itself: cutting cost nothing, so there is nothing to win back.
ok 'evalppl takes a --before without loss' evalppl -m "S=$s" --base "T=$t" --before "P=$t" \
    --format tsv -o free docs
equal 'a cut without loss has no share regained' "$(awk -F '\t' '
    $1 == "model" { for (i = 1; i <= NF; i++) if ($i == "regained") c = i; next }
    $2 == "(all)" { printf "%s %s ", $1, $c }' free)" 'T 100.000 S - P 0.000 '
like 'a note says why no share is regained' 'P: .*loss.*regained' err

# --- protocols ---
ok 'evalppl runs the llama.cpp protocol' evalppl -m "$s" --protocol llama.cpp -c 16 long
like 'llama.cpp scores the second halves of 12 windows' '200 tokens, 12 windows, 84 scored' out
ok 'the llama.cpp protocol takes text with BOS' evalppl -m "$s" --protocol llama.cpp -c 16 long-bos
like 'the report names BOS' 'BOS 3, ' out
status 3 'text of less than two windows is refused' evalppl -m "$s" --protocol llama.cpp -c 101 \
    long
like 'the error says how many tokens are needed' ' 200 tokens.* 101 .* 202' err
ok 'two windows are enough' evalppl -m "$s" --protocol llama.cpp -c 100 long
status 3 'batches are refused by the llama.cpp protocol' evalppl -m "$s" \
    --protocol llama.cpp -c 4 batch
status 3 'batches are refused by the hf protocol' evalppl -m "$s" --protocol hf batch
like 'the error names the protocol' 'batches.*--protocol hf' err
status 3 'documents are refused by the stream protocol' evalppl -m "$s" --protocol stream docs
ok 'the stream protocol takes batches' evalppl -m "$s" --protocol stream batch
like 'the report names the stream protocol' '^protocol stream, context 12, ' out
mv out stream
ok 'evalppl takes batches without a protocol' evalppl -m "$s" batch
equal 'batches are always judged by the stream protocol' "$(sed 's/ *[^ ]* *[^ ]*$//' out)" \
    "$(sed 's/ *[^ ]* *[^ ]*$//' stream)"
status 3 'a loss mask is refused by the llama.cpp protocol' evalppl -m "$s" --protocol llama.cpp \
    -c 4 docs
ok 'the hf protocol takes --stride' evalppl -m "$s" --protocol hf -c 64 --stride 16 long
like 'strides score all tokens but the first' '199 scored' out

# --- misuse ---
status 2 'a run without a model is refused' evalppl docs
ok 'evalppl tells its options' evalppl -h
options=$(grep -cE '^  (-.,|   ) --' out)
options=$((options - 4)) # without -h -q -v -V
equal "evalppl has at most 25 options ($options)" \
    "$([ "$options" -gt 15 ] && [ "$options" -le 25 ] && echo yes)" yes
unlike 'evalppl offers nothing of tasks' '--(task|items)' out
status 2 'evalppl refuses --task, which evaltask has' evalppl -m "$s" \
    --task "$top/recipes/tasks/blimp.form=$top/tests/golden/tasks/blimp.jsonl"
status 2 '--before without a base is refused' evalppl -m "$s" --before "$t" docs
status 2 '--temperature without a base is refused' evalppl -m "$s" --temperature 3 docs
status 2 '--stride without its protocol is refused' evalppl -m "$s" --stride 4 docs
status 2 'a stride beyond the window is refused' evalppl -m "$s" --protocol stride -c 8 \
    --stride 9 docs
status 2 '--per-source is refused where text is joined' evalppl -m "$s" \
    --protocol llama.cpp -c 16 --per-source long
status 2 'two models with one label are refused' evalppl -m "S=$s" -m "S=$t" docs
status 2 'a window of one token is refused' evalppl -m "$s" -c 1 docs
status 2 'two inputs are refused' evalppl -m "$s" docs docs
status 1 'a missing model is an error' evalppl -m none docs
status 1 'a missing input is an error' evalppl -m "$s" none
status 1 'a report without a folder is an error' evalppl -m "$s" -o no/where docs
if [ -e /dev/full ]; then
    status 1 'a full disk is an error' sh -c 'evalppl -m "$1" docs >/dev/full' sh "$s"
fi

# --- what cannot be judged ---
status 3 'documents of one token are refused' evalppl -m "$s" short
like 'the error says that there is nothing to score' 'nothing to score' err
status 3 'an empty stream is refused' evalppl -m "$s" empty
ok 'a larger vocabulary, whose ids all lie below the model'\''s' \
    evalppl -m "$s" vocab-docs
ok 'ids of another tokenizer are scored' evalppl -m "$top/tests/golden/gguf/f32.gguf" docs
like 'a warning names another tokenizer' 'another tokenizer than that of .*f32.gguf' err
status 3 'models of two vocabularies are refused' evalppl -m "$s" \
    --base "$top/tests/golden/gguf/f32.gguf" docs
size=$(wc -c <docs)
for n in 0 7 200 $((size / 2)) $((size - 1)); do
    head -c "$n" docs >part
    status 3 "a stream cut after $n bytes is refused" evalppl -m "$s" part
    equal "a stream cut after $n bytes has no report" "$(cat out)" ''
done
if [ -e docs-broken ]; then fail 'an aborted stream became a file'; fi
mkfifo pipe
("$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs-broken pipe 2>/dev/null) &
status 3 'an aborted stream is refused' evalppl -m "$s" pipe
like 'the error has the reason of the abort' 'no more' err
wait
echo 'no stream at all' >foreign
status 3 'a file that is no stream is refused' evalppl -m "$s" foreign
for at in 300 $((size / 2)) $((size - 20)); do
    { head -c "$at" docs; printf '\377'; tail -c +$((at + 2)) docs; } >flip
    status 3 "a byte changed at $at is found" evalppl -m "$s" flip
done

# A weight that is not a number: the last four bytes of the file are one.
mkdir nan
cp "$s/config.json" nan
{ head -c -4 "$s/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'a NaN among the weights is refused' evalppl -m nan docs
like 'the error names the tensor' 'tensor .* is not finite' err
# Weights so large that the loss is none, though each is finite.
{ head -c -64 "$s/model.safetensors"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        printf '\377\377\177\177'; done; } >nan/model.safetensors
status 4 'a loss that is not finite is an error' evalppl -m nan docs
like 'the error names model and document' 'nan: the loss of token .* document' err
done_testing
