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
    status 2 "a misspelt $what is refused with status 2" "$@"
    like "the message for $what names $word" "did you mean ${word}[?]" err
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
mkdir -p $snap hub/models--org--tiny/refs hub/models--alone
cp "$hf"/* $snap
printf 0123abcd >hub/models--org--tiny/refs/main
text=$top/tests/golden/smollm2/text.txt
tokenize -q -t "$hf" -o docs "$text" || exit 1
ok 'a tokenizer is found by its id' tokenize -q -t org/tiny -o docs.id "$text"
same 'a tokenizer by its id gives the same ids' docs docs.id
ok 'evalppl finds a model by its id' evalppl -q -m org/tiny -c 64 --format tsv docs
convert -q "$hf" by-path || exit 1
ok 'convert finds a model by its id' convert -q org/tiny by-id
same 'a model by its id has the same weights' by-id/model.safetensors by-path/model.safetensors
ok 'a model is found by its id in HF_HOME' env -u HF_HUB_CACHE HF_HOME="$PWD/home" sh -c \
    'mkdir home && cp -r hub home/ && evalppl -q -m org/tiny -c 64 docs'
ln -s ../models--org--tiny/snapshots ../models--org--tiny/refs hub/models--alone
ok 'a tokenizer is found behind hf:' tokenize -q -t hf:org/tiny -o docs.hf "$text"
same 'a tokenizer behind hf: gives the same ids' docs docs.hf
ok 'an id without an organisation is found behind hf:' convert -q hf:alone alone
same 'the id without an organisation has the same weights' \
    alone/model.safetensors by-path/model.safetensors
ok 'a model behind hf: is found after its label' evalppl -q -m a=hf:org/tiny \
    -m b=hf:alone --base hf:org/tiny -c 64 -o table docs
like 'the label stands for the model behind hf:' '^a ' table
ok 'models behind hf: are found in every option of a model' plan run -q \
    -m hf:org/tiny --teacher hf:alone -B 2 -T 16
status 2 'what is no id behind hf: is refused' evalppl -q -m hf:a/b/c -c 64 docs
like 'the message says what follows hf:' 'hf:a/b/c: after hf: the id .* ORG/NAME' err
status 1 'a name behind hf: that is not in the cache is refused' convert hf:org/none new
like 'the message of a missing hf: model says how to get it' \
    '^convert: org/none: .*hf download org/none' err
for program in teacher student convert evalppl; do
    case $program in
    convert) set -- convert org/none new ;;
    *) set -- $program -m org/none -o new docs ;;
    esac
    status 1 "$program refuses a model that is not in the cache" "$@"
    like "$program says how to get the model" 'hf download org/none --local-dir' err
    [ ! -e new ] && pass "$program leaves nothing" || fail "$program leaves nothing"
done
mkdir org && cp -r "$hf" org/tiny && rm org/tiny/model.safetensors
status 3 'a folder of that name comes first' evalppl -q -m org/tiny -c 64 docs
ok 'a model behind hf: is that of the cache, not the folder' \
    evalppl -q -m hf:org/tiny -c 64 docs

# --- nothing is left by a command that could not start ---
# no_folder WHAT STATUS command ...: which would write to `new`
no_folder() {
    what=$1 code=$2
    shift 2
    status "$code" "a command that cannot start fails: $what" "$@"
    equal "no folder is left: $what" "$(find . -maxdepth 1 -name 'new*')" ''
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
ok 'a folder is made before student starts' mkdir new
status 3 'student refuses a stream of documents' student -q -m "$hf" -o new docs
[ -d new ] && pass 'the folder that was there stays' || fail 'the folder that was there stays'

# --- a tokenizer.json saved after fine-tuning ---
mkdir tuned
cp "$hf"/* tuned
sed 's/"padding": *null/"padding": {"strategy": {"Fixed": 8}, "direction": "Right",\
"pad_to_multiple_of": null, "pad_id": 2, "pad_type_id": 0, "pad_token": "x"}/
s/"truncation": *null/"truncation": {"direction": "Right", "max_length": 4,\
"strategy": "LongestFirst", "stride": 0}/' "$hf/tokenizer.json" >tuned/tokenizer.json
like 'the tokenizer has padding' '"padding": [{]' tuned/tokenizer.json
like 'the tokenizer has truncation' '"truncation": [{]' tuned/tokenizer.json
ok 'a tokenizer with padding and truncation is read' tokenize -q -t tuned --ids "$text"
cp out ids.tuned
tokenize -q -t "$hf" --ids "$text" >ids
same 'padding and truncation do not change ids' ids ids.tuned
echo '{"chat_template": "in a file of JSON"}' >tuned/chat_template.json
ok 'convert reads a model with chat_template.json' convert -q tuned tuned.1
same 'convert keeps chat_template.json' tuned/chat_template.json tuned.1/chat_template.json
done_testing
