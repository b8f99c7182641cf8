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
ok 'prune vocab keeps what a corpus uses' \
    prune vocab -m "$m" -o used --report used.tsv \
    --held-out docs docs
like 'prune vocab says how many ids are kept' \
    '^prune vocab: [0-9]+ of [0-9]+ ids, [0-9]+ of' err
like 'no used id is dropped' '^all	[0-9]+	0\.000000	0\.[0-9]+$' out
equal 'the cut tokenizer gives as many tokens' \
    "$(losses used | cut -d ' ' -f 1)" \
    "$(losses "$m" | cut -d ' ' -f 1)"
rows=$(($(wc -l <used.tsv) - 1))
like 'the configuration names the new vocabulary size' \
    "\"vocab_size\": $rows,\$" used/config.json
whole=$(losses "$m" | cut -d ' ' -f 2)
less=$(losses used | cut -d ' ' -f 2)
# What is left is made to sum to 1, so the right token only gains.
ok 'the cut model has a lower loss' \
    awk "BEGIN { exit !($less < $whole && $less > $whole - 3) }"
tokenize -q -t used -o new-docs "$text"
ok 'a student trains the cut model' \
    sh -e -c 'shard write -q -o new-data new-docs
    stream -q -B 2 -T 32 --batches 2 -o batches new-data
    student -q -m used -o run batches'
ok 'convert reads the cut model' convert -q used used.gguf
equal 'the converted model has the same loss' \
    "$(losses used.gguf)" "$(losses used)"
ok 'a cut GGUF is cut again' prune vocab -q -m used.gguf -o again new-docs
same 'a model that is cut again has the same weights' \
    used/model.safetensors again/model.safetensors
equal 'a model that is cut again has the same tokenizer' \
    "$(losses again)" "$(losses used)"
ok 'prune vocab reads batches' prune vocab -q -m used -o batched batches
status 1 'the folder of the tokenizer is removed' test -e used.tokenizer.tmp

# --- sizes ---
all=$(prune vocab -q -m "$m" -o all --size 16M --report - docs | wc -l)
ok 'prune vocab takes --size' \
    prune vocab -m "$m" -o more --size $((rows + 40)) --report more.tsv \
    docs
equal '--size is met exactly' "$(wc -l <more.tsv)" $((rows + 41))
equal 'the lowest ids fill up --size' \
    "$(awk -F '\t' '$4 == "fill" && $1 > max { max = $1 }
    $4 == "fill" { n++ } END { print n }' more.tsv)" 40
status 2 'a size below the ids that must stay is refused' \
    prune vocab -m "$m" -o x --size 20 docs
like 'the refusal says how many ids must stay' 'are [0-9]+ already' err
must=$(sed 's/.*are \([0-9]*\) already.*/\1/; q' err)
ok 'prune vocab takes a size below the used ids' \
    prune vocab -q -m "$m" -o few --size $((must + 3)) \
    --report few.tsv --held-out docs docs
like 'a warning tells of dropped used ids with -q' \
    'ids that are used have no room' err
unlike 'dropped ids show in the held-out table' '^all	[0-9]+	0\.000000	' out
equal 'the most frequent ids stay' \
    "$(awk -F '\t' 'NR == FNR { if ($4 == "used" &&
        (!n++ || $3 < least)) least = $3; kept[$1] = 1; next }
    $4 == "used" && !($1 in kept) && $3 > least { print }' few.tsv used.tsv)" ''
ok "a size above all ids keeps more than are used: $all lines" \
    [ "$all" -gt "$rows" ]

# --- a list ---
ok 'prune vocab takes --keep' \
    prune vocab -q -m "$m" -o kept --keep-ids used.tsv --report kept.tsv
equal 'a report serves as the list of --keep' \
    "$(cut -f 1 kept.tsv)" "$(cut -f 1 used.tsv)"
same 'a list of used ids gives the same weights' \
    kept/model.safetensors used/model.safetensors
printf '3\n70000000\n' >list
status 3 'a list with an id that is none is refused' \
    prune vocab -m "$m" -o x --keep-ids list
echo none >list
status 3 'an empty list is refused' prune vocab -m "$m" -o x --keep-ids list
echo 3x >list
status 3 'a list with a word that is no id is refused' \
    prune vocab -m "$m" -o x --keep-ids list
ok 'prune vocab takes --dtype' prune vocab -q -m "$m" -o half --dtype bf16 docs
like 'the configuration of --dtype bf16 says bfloat16' \
    '"torch_dtype": "bfloat16"' half/config.json

# --- a GGUF that keeps its types ---
q=$top/tests/golden/gguf/q4_1.gguf
tokenize -q -t "$q" -o q-docs "$text"
ok 'prune vocab writes a GGUF' prune vocab -q -m "$q" -o cut.gguf --report cut.tsv q-docs
ok 'prune vocab writes a folder of the same ids' \
    prune vocab -q -m "$q" -o cut --keep-ids cut.tsv
ok 'the cut GGUF is read back' convert -q cut.gguf cut.back
same 'a cut GGUF has the weights of a cut folder' cut/model.safetensors \
    cut.back/model.safetensors
same 'a cut GGUF has the tokenizer of a cut folder' cut/tokenizer.json \
    cut.back/tokenizer.json
status 2 'a GGUF with --dtype is refused' \
    prune vocab -m "$q" -o x.gguf --dtype bf16 q-docs
like 'the message names the GGUF and --dtype' 'x.gguf: .*--dtype' err

# --- misuse and damage ---
status 2 'prune vocab without a model is refused' prune vocab -o x docs
status 2 'prune vocab without an output is refused' prune vocab -m "$m" docs
status 2 'a list beside an input is refused' \
    prune vocab -m "$m" -o x --keep-ids used.tsv docs
status 2 'an output that exists is refused' prune vocab -m "$m" -o used docs
status 1 'a model that is not there is refused' prune vocab -m none -o x docs
status 1 'an input that is not there is refused' prune vocab -m "$m" -o x nofile
status 3 'a stream of another tokenizer is refused' \
    prune vocab -m used -o x docs
like 'the refusal names both tokenizers' 'docs: .*another tokenizer.* used' err
status 3 'held-out text of another tokenizer is refused' \
    prune vocab -m used -o x1 --held-out docs \
    new-docs
status 3 'half an input is refused' sh -c 'head -c 2000 docs >half-docs
    prune vocab -m "$1" -o x half-docs' sh "$m"
status 1 'a model without a tokenizer is refused' prune vocab \
    -m "$top/tests/golden/grad/tied-teacher" -o x docs
mkdir tekken
cp used/config.json used/model.safetensors tekken
cp "$top/tests/golden/tok/family/tekken-v7/tekken.json" tekken
status 3 'tekken.json alone is refused' \
    prune vocab -m tekken -o x --keep-ids used.tsv
equal 'refusals leave no output' "$(ls -d x x.tmp x.tokenizer.tmp 2>&-)" ''
status 2 'an unknown option is refused' prune vocab --no-such
like 'the refusal names prune vocab -h' \
    '^prune vocab: type "prune vocab -h"' err
done_testing
