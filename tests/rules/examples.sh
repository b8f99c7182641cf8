#!/bin/sh
# Every example of the man pages and of the README, as it stands there, in a
# folder that has what it names: small models, a little text, shards.
# shellcheck disable=SC2086 # lists of words
. "${0%/*}/../lib/lib.sh"
command -v bash >/dev/null || {
    skip 'examples' 'no bash, which knows when any part of a pipe has failed'
    done_testing
}

# --- what the examples name ---
mkdir corpus held-out new tok
for s in bg cs de en code; do
    head -n 8 "$top/corpus/$s.jsonl" >corpus/$s.jsonl
    ! command -v zstd >/dev/null || zstd -q "corpus/$s.jsonl"
    head -n 2 "$top/corpus/held-out/$s.jsonl" >held-out/$s.jsonl
done
tail -n 2 "$top/corpus/en.jsonl" >new/en.jsonl
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
    '<|endoftext|>' >tok/tokenizer_config.json
llama config.json vocab_size 1024 intermediate_size 128 num_hidden_layers 4 \
    initializer_range 0.05
sed 's/"llama"/"mixtral"/; s/LlamaFor/MixtralFor/
    s/"hidden_act"/"num_local_experts": 6, "num_experts_per_tok": 2, &/' \
    config.json >mixture.json
jsonl=$(echo corpus/*.jsonl)
tokenize -q -t tok $jsonl -o docs && shard write -q -o data docs &&
    stream -q -B 2 -T 64 --batches 2 -o one data &&
    student -q -m config.json -t tok -o T --lr 1e-3 one &&
    student -q -m mixture.json -t tok -o mixture --lr 1e-3 one &&
    prune -q -m T -o S --ratio 0.3 one &&
    stream -q data -o batches && teacher -q -m T -o more batches &&
    shard write -q -o kd more || fail 'what the examples name'
for s in en de; do
    tokenize -q -t tok corpus/$s.jsonl -o docs && shard write -q -o data/$s docs
done
for m in M TEACHER teacher model; do cp -r T $m; done
for m in STUDENT small; do cp -r S $m; done
for m in run ce; do student -q -m S -o $m one || fail 'a run'; done
tokenize -q -t tok --lang en new/en.jsonl -o more.stream
shard export megatron -q -o c4_text_document data
sed 's/.*"text": *"//; s/".*//' corpus/en.jsonl >text
cp text text.txt
cp text held-out.txt
cp "$top/tests/golden/gguf/f32.gguf" M.gguf
cp M.gguf M-q8_0.gguf
for m in S T model; do
    cat >$m/chat_template.jinja <<'END'
{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}
END
done
echo '{"messages": [{"role": "user", "content": "Hi"}]}' >chats.jsonl
cp chats.jsonl questions.jsonl
echo '{"prompt": "2 + 2 =", "chosen": " 4", "rejected": " 5"}' >pairs.jsonl
echo '{"prompt": "2 + 2 =", "answer": " 4"}' >sums.jsonl
cp sums.jsonl questions.jsonl
mkdir scripts
cp "$top/scripts/agree" scripts
cp corpus/en.jsonl text.jsonl
evalppl -q -m M --protocol lm-eval -c 64 --token-losses losses.tsv text.jsonl >out ||
    fail 'losses of tokens'
plan cluster -q -m llama-3.1-70b --machine h100 -B 64 nodes=4..8 --format tsv \
    >plan.tsv || fail 'a sweep'
rm -f docs one batches more
mkdir all
for f in *; do
    [ "$f" = all ] || mv "$f" all
done
rm -f out err

# --- the examples ---
# A block of a page whose first word is a program is an example; numbered
# within the page.
programs=$(names)
blocks() {
    case $1 in
    *.md) awk -v to="$2" '
        /^    / { if (!on) n++; on = 1; print substr($0, 5) > (to "." n) }
        !/^    / { on = 0 }' "$1" ;;
    *) awk -v to="$2" '
        /^\.Bd -literal/ { n++; on = 1; next }
        /^\.Ed/ { on = 0 }
        on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print > (to "." n) }' "$1" ;;
    esac
}
# why BLOCK: why it is not run, by its first line
why() {
    case $1 in
    'git clone '*) echo 'fetches; scripts/fresh runs it' ;;
    'make install '*) echo 'tests/rules/install.sh runs it' ;;
    'make -f recipes/'*)
        echo 'fetches; tests/pipeline runs the recipes on small models' ;;
    'retort distil '*) echo 'takes half an hour; tests/retort/distil.sh does' ;;
    'duckdb '*) echo 'needs another program' ;;
    'serve '*) echo 'runs until it is stopped; tests/serve does' ;;
    'tokenize -t tok --lang de dewiki'*) echo 'needs a dump of Wikipedia' ;;
    *.zst*) [ -e all/corpus/en.jsonl.zst ] || echo 'no zstd' ;;
    esac
}
# The state an example goes on from, which another one leaves when it is
# killed; and what there must not be.
prepare() {
    case $1 in
    'stream --resume run/'*'--lr 2e-5'*)
        rm -r run
        stream -q -B 8 -T 1024 --batches 12 data |
            teacher -q -m T | student -q -m S -o run --lr 2e-5 --warmup 20 \
            --save 4
        rm -r run/step-8 run/step-12
        ;;
    'stream --resume run/'*)
        rm -r run
        stream -q -B 2 -T 64 --batches 12 data | teacher -q -m T |
            student -q -m S -o run --save 4
        rm -r run/step-8 run/step-12
        ;;
    'stream data | teacher -m M --final | shard write -o kd'*'--resume kd'*)
        # The power cut comes after the first line.
        rm -r kd
        stream -q data | teacher -q -m M --final | head -c 400000 |
            shard write -q -o kd --shard-size 1K --frame 1K 2>/dev/null
        sed 1d example >example.2 && mv example.2 example
        ;;
    'tokenize -t tok --resume data '*) rm -r data ;;
    'plan calibrate > '*)
        # All sizes take a minute of two processors' time.
        sed 's/^plan calibrate/& --quick/' example >example.2 &&
            mv example.2 example
        ;;
    *'plan measure '*)
        # A model of 135 million parameters takes half a minute.
        sed '/measure/s/smollm2-135m/S/g' example >example.2 &&
            mv example.2 example
        ;;
    'convert --dtype q4_k run/step-80 '*) cp -r S run/step-80 ;;
    *--append* | *--resume*) ;;
    'shard check '*) ;;
    *)
        for o in $(sed 's/.* -o \([^ ]*\).*/\1/; t
            d' example); do
            rm -rf "$o"
        done
        ;;
    esac
}
run=0
for page in "$top"/man/*.[157] "$top/README.md"; do
    name=${page##*/}
    blocks "$page" "$RETORT_SCRATCH/$name"
    i=0
    while i=$((i + 1)) && [ -f "$RETORT_SCRATCH/$name.$i" ]; do
        block=$RETORT_SCRATCH/$name.$i
        first=$(head -n 1 "$block")
        case " $programs git make PATH duckdb " in
        *" ${first%%[ =]*} "*) ;;
        *) continue ;;
        esac
        reason=$(why "$first")
        [ -z "$reason" ] || { echo "# not run: $name: $first: $reason"; continue; }
        rm -rf here && cp -r all here && cd here || exit 1
        cp "$block" example
        prepare "$(tr '\n' ' ' <example)"
        ok "$name: $first" timeout 60 bash -e -o pipefail example
        run=$((run + 1))
        cd ..
    done
done
[ $run -gt 25 ] || fail "only $run examples were found"
done_testing
