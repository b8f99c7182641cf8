#!/bin/sh
# prune vocab: the model that is cut is the old one on the ids kept, for every
# program; sizes, what is lost, damage and misuse
. "${0%/*}/../lib/lib.sh"
mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
llama config.json tie_word_embeddings false
head -n 3 "$top/corpus/en.jsonl" >en.jsonl
text=en.jsonl
m=M
tokenize -q -t tok -o docs "$text" && shard write -q -o data docs &&
    stream -q -B 2 -T 32 --batches 1 -o one data &&
    student -q -m config.json -t tok -o M one || exit 1

# losses MODEL: its loss on text.txt and how many tokens that is
losses() {
    tokenize -q -t "$1" -o of-model "$text" &&
        evalppl -q -m "$1" --format tsv of-model >said &&
        awk -F '\t' '$1 == "model" { for (i in f) delete f[i]
            for (i = 1; i <= NF; i++) f[$i] = i; next }
            "nll" in f { print $f["tokens"], $f["nll"]; exit }' said
}

# --- what is used ---
ok 'what a corpus uses' prune vocab -m "$m" -o used --report used.tsv \
    --held-out docs docs
like 'says how many' '^prune vocab: [0-9]+ of [0-9]+ ids, [0-9]+ of' err
like 'nothing used is gone' '^all	[0-9]+	0\.000000	0\.[0-9]+$' out
equal 'as many tokens' "$(losses used | cut -d ' ' -f 1)" \
    "$(losses "$m" | cut -d ' ' -f 1)"
rows=$(($(wc -l <used.tsv) - 1))
like 'the configuration' "\"vocab_size\": $rows,\$" used/config.json
whole=$(losses "$m" | cut -d ' ' -f 2)
less=$(losses used | cut -d ' ' -f 2)
# What is left is made to sum to 1, so the right token only gains.
ok 'loses less' awk "BEGIN { exit !($less < $whole && $less > $whole - 3) }"
tokenize -q -t used -o new-docs "$text"
ok 'is a model for a student' sh -e -c 'shard write -q -o new-data new-docs
    stream -q -B 2 -T 32 --batches 2 -o batches new-data
    student -q -m used -o run batches'
ok 'is a model for convert' convert -q used used.gguf
equal 'the same loss from there' "$(losses used.gguf)" "$(losses used)"
ok 'can be cut again' prune vocab -q -m used.gguf -o again new-docs
same 'to the same' used/model.safetensors again/model.safetensors
equal 'and the same tokenizer' "$(losses again)" "$(losses used)"
ok 'shards of batches' prune vocab -q -m used -o batched batches
if [ -e used.tokenizer.tmp ]; then fail 'no folder is left'; else
    pass 'no folder is left'
fi

# --- sizes ---
all=$(prune vocab -q -m "$m" -o all --size 16M --report - docs | wc -l)
ok '--size' prune vocab -m "$m" -o more --size $((rows + 40)) --report more.tsv \
    docs
equal 'is met' "$(wc -l <more.tsv)" $((rows + 41))
equal 'by the lowest ids' "$(awk -F '\t' '$4 == "fill" && $1 > max { max = $1 }
    $4 == "fill" { n++ } END { print n }' more.tsv)" 40
status 2 'too small' prune vocab -m "$m" -o x --size 20 docs
like 'says what must stay' 'are [0-9]+ already' err
must=$(sed 's/.*are \([0-9]*\) already.*/\1/; q' err)
ok 'less than is used' prune vocab -q -m "$m" -o few --size $((must + 3)) \
    --report few.tsv --held-out docs docs
like 'says so, even with -q' 'ids that are used have no room' err
unlike 'and what is gone' '^all	[0-9]+	0\.000000	' out
equal 'the most frequent stay' "$(awk -F '\t' 'NR == FNR { if ($4 == "used" &&
        (!n++ || $3 < least)) least = $3; kept[$1] = 1; next }
    $4 == "used" && !($1 in kept) && $3 > least { print }' few.tsv used.tsv)" ''
if [ "$all" -gt "$rows" ]; then pass "$all lines at most"; else
    fail "$all lines at most"; fi

# --- a list ---
ok '--keep' prune vocab -q -m "$m" -o kept --keep used.tsv --report kept.tsv
equal 'a report will do' "$(cut -f 1 kept.tsv)" "$(cut -f 1 used.tsv)"
same 'for the same weights' kept/model.safetensors used/model.safetensors
printf '3\n70000000\n' >list
status 3 'an id that is none' prune vocab -m "$m" -o x --keep list
echo none >list
status 3 'an empty list' prune vocab -m "$m" -o x --keep list
echo 3x >list
status 3 'what is no id' prune vocab -m "$m" -o x --keep list
ok '--dtype' prune vocab -q -m "$m" -o half --dtype bf16 docs
like 'says so' '"torch_dtype": "bfloat16"' half/config.json

# --- misuse and damage ---
status 2 'no model' prune vocab -o x docs
status 2 'no output' prune vocab -m "$m" docs
status 2 'a list and an input' prune vocab -m "$m" -o x --keep used.tsv docs
status 2 'an output that exists' prune vocab -m "$m" -o used docs
status 1 'a model that is not there' prune vocab -m none -o x docs
status 1 'an input that is not there' prune vocab -m "$m" -o x nofile
status 3 'a stream of another tokenizer' prune vocab -m used -o x docs
like 'says so' 'docs: was made with another tokenizer than that of used' err
status 3 'held-out text of another' prune vocab -m used -o x1 --held-out docs \
    new-docs
status 3 'half an input' sh -c 'head -c 2000 docs >half-docs
    prune vocab -m "$1" -o x half-docs' sh "$m"
status 1 'a model without a tokenizer' prune vocab \
    -m "$top/tests/golden/grad/tied-teacher" -o x docs
mkdir tekken
cp used/config.json used/model.safetensors tekken
cp "$top/tests/golden/tok/family/tekken-v7/tekken.json" tekken
status 3 'tekken.json alone' prune vocab -m tekken -o x --keep used.tsv
if [ -e x ] || [ -e x.tmp ] || [ -e x.tokenizer.tmp ]; then
    fail 'nothing is left'
else
    pass 'nothing is left'
fi
status 2 '-h names it' prune vocab --no-such
like 'as what it is' '^prune vocab: type "prune vocab -h"' err
done_testing
