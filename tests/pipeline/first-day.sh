#!/bin/sh
# a first day: models by id, misspelt options, files of fine-tuned models, and
# nothing left by a command that could not start
. "${0%/*}/../lib/lib.sh"
hf=$top/tests/golden/gguf/f32-hf

# --- options and subcommands ---
# meant WHAT WORD command ...: status 2, and the message has the word
meant() {
    what=$1 word=$2
    shift 2
    status 2 "$what is misspelt" "$@"
    like '... and what is meant is named' "did you mean ${word}[?]" err
}
meant learning-rate --lr student --learning-rate 1e-3
meant epochs 'stream --epochs' student --epochs 3
meant batch --batch-size stream --batch 4
meant seq-len --length stream --seq-len 64
meant max-steps --steps student --max-steps=7
meant 'prune profil' 'prune profile' prune profil -m m -o o b
meant 'shard lst' 'shard list' shard lst data
meant 'prune sparsfy' 'prune sparsify' prune sparsfy -m m

# --- a model by its id ---
export HF_HUB_CACHE="$PWD/hub"
snap=hub/models--org--tiny/snapshots/0123abcd
mkdir -p $snap hub/models--org--tiny/refs
cp "$hf"/* $snap
printf 0123abcd >hub/models--org--tiny/refs/main
text=$top/tests/golden/smollm2/text.txt
tokenize -q -t "$hf" -o docs "$text" || exit 1
ok 'a tokenizer by id' tokenize -q -t org/tiny -o docs.id "$text"
same '... the same ids' docs docs.id
ok 'a model by id: evalppl' evalppl -q -m org/tiny -c 64 --format tsv docs
convert -q "$hf" by-path || exit 1
ok 'a model by id: convert' convert -q org/tiny by-id
same '... the same weights' by-id/model.safetensors by-path/model.safetensors
ok 'a model by id in HF_HOME' env -u HF_HUB_CACHE HF_HOME="$PWD/home" sh -c \
    'mkdir home && cp -r hub home/ && evalppl -q -m org/tiny -c 64 docs'
for program in teacher student convert evalppl; do
    case $program in
    convert) set -- convert org/none new ;;
    *) set -- $program -m org/none -o new docs ;;
    esac
    status 1 "$program: a model that is not in the cache" "$@"
    like '... how to get it' 'hf download org/none --local-dir' err
    [ ! -e new ] && pass '... and nothing is left' || fail '... and nothing is left'
done
mkdir org && cp -r "$hf" org/tiny && rm org/tiny/model.safetensors
status 3 'a folder of that name comes first' evalppl -q -m org/tiny -c 64 docs

# --- nothing is left by a command that could not start ---
# no_folder WHAT STATUS command ...: which would write to `new`
no_folder() {
    what=$1 code=$2
    shift 2
    status "$code" "not started: $what" "$@"
    equal '... no folder' "$(find . -maxdepth 1 -name 'new*')" ''
}
shard write -q -o data docs || exit 1
stream -q -B 4 -T 16 --batches 2 -o b data || exit 1
no_folder 'student, no model' 1 student -q -m none -o new b
no_folder 'student, documents' 3 student -q -m "$hf" -o new docs
no_folder 'student, another tokenizer' 3 student -q -m "$hf" \
    -t "$top/tests/golden/tok/gpt2.json" -o new b
no_folder 'student, no teacher' 3 student -q -m "$hf" -o new --kl 1 b
no_folder 'student, no batch' 3 student -q -m "$hf" -o new /dev/null
no_folder 'student, --mask' 2 student -q -m "$hf" -o new --mask 2:5 b
no_folder 'convert, no model' 1 convert -q none new
no_folder 'convert, to GGUF' 1 convert -q none new.gguf
no_folder 'prune, no model' 1 prune -q -m none -o new --ratio 0.5 b
no_folder 'prune cut, a wrong option' 2 prune cut -q -m "$hf" -o new --none 0
no_folder 'prune vocab, no model' 1 prune vocab -q -m none -o new docs
no_folder 'shard, no stream' 3 shard write -q -o new /dev/null
no_folder 'teacher, no model' 1 teacher -q -m none -o new b
ok 'a folder that was there' mkdir new
status 3 '... with a stream of documents' student -q -m "$hf" -o new docs
[ -d new ] && pass '... stays' || fail '... stays'

# --- a tokenizer.json saved after fine-tuning ---
mkdir tuned
cp "$hf"/* tuned
sed 's/"padding": *null/"padding": {"strategy": {"Fixed": 8}, "direction": "Right",\
"pad_to_multiple_of": null, "pad_id": 2, "pad_type_id": 0, "pad_token": "x"}/
s/"truncation": *null/"truncation": {"direction": "Right", "max_length": 4,\
"strategy": "LongestFirst", "stride": 0}/' "$hf/tokenizer.json" >tuned/tokenizer.json
like 'padding is there' '"padding": [{]' tuned/tokenizer.json
like 'truncation is there' '"truncation": [{]' tuned/tokenizer.json
ok 'padding and truncation' tokenize -q -t tuned --ids "$text"
cp out ids.tuned
tokenize -q -t "$hf" --ids "$text" >ids
same '... are for batches: the ids of whole texts' ids ids.tuned
echo '{"chat_template": "in a file of JSON"}' >tuned/chat_template.json
ok 'chat_template.json' convert -q tuned tuned.1
same '... is kept' tuned/chat_template.json tuned.1/chat_template.json
done_testing
