#!/bin/sh
# student --lora: an adapter is trained, saved, resumed, over ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

batches 20 >b
first_and_last || exit 1
ok 'a model for adapters is made' student -q -m s0 -o base --lr 1e-3 one

# lora RUN [option ...]: train an adapter of base on b
lora() {
    run=$1
    shift
    student -q -m base -o "$run" --lora 4 --lr 1e-2 --lora-dropout 0.1 \
        --schedule constant "$@" b
}
same_adapter() {
    same "$1" "$2/adapter_model.safetensors" "$3/adapter_model.safetensors"
}

# --- an adapter ---
ok 'an adapter is trained' lora whole --save 5 --keep 0
ok 'the run holds an adapter and its configuration' test -s \
    whole/adapter_config.json -a -s whole/adapter_model.safetensors
status 1 'the run holds no weights of the model' test -e whole/model.safetensors
status 1 'the run is no model' test -e whole/config.json
like 'the configuration says the rank' '^  "r": 4,' whole/adapter_config.json
like 'the configuration says the dropout' '"lora_dropout": 0.1' \
    whole/adapter_config.json
like 'the card says that PEFT loads the adapter' '^library_name: "peft"' \
    whole/README.md
like 'the card says what an adapter is' \
    '^It is no model by itself: it changes .base., which has [0-9]+' whole/README.md
equal 'the card loads the base, and the adapter with it' \
    "$(sed -n '/^```python/,/^```$/p' whole/README.md | grep from_pretrained)" \
    'base = AutoModelForCausalLM.from_pretrained("base")
model = PeftModel.from_pretrained(base, "whole")
tokenizer = AutoTokenizer.from_pretrained("base")'
if awk 'NR == 2 { first = $4 } END { exit !($4 < first - 0.1) }' \
    whole/metrics.tsv; then pass 'the loss falls'; else fail 'the loss falls'; fi
status 3 'an adapter is refused as a model' evalppl -m whole one
like 'the message names --adapter' '--adapter whole' err

golden=$top/tests/golden
status 2 'an adapter of latent attention is refused' \
    student -q -m "$golden/experts/deepseek_v2" -o no --lora 4 one
like 'the message names the family' 'deepseek_v2 are not supported' err
status 2 'dropout is refused where matrices have one A' \
    student -q -m "$golden/family/phi3" -o no --lora 4 --lora-dropout 0.1 one
like 'the message says what to leave out' 'phi3.*without lora_dropout' err

# --- the same bits ---
ok 'another number of threads and rows a pass trains, recomputed' lora other \
    -j 3 --micro 1 --recompute
same_adapter 'threads, rows of a pass and recomputation change no bit' whole \
    other
student -q -m base -o killed --lora 4 --lr 1e-2 --lora-dropout 0.1 \
    --schedule constant --save 2 b >/dev/null 2>&1 &
victim=$!
await [ -d killed/step-10 ]
kill -9 $victim
wait $victim 2>/dev/null
rm -f killed/adapter_config.json
ok 'the stream is resumed' sh -c 'stream -q --resume killed data >rest'
ok 'a killed run goes on' student -q -m base -o killed --lora 4 --lr 1e-2 \
    --lora-dropout 0.1 --schedule constant --save 2 --resume -- rest
same_adapter '10 steps, killed and resumed have the bits of 20' whole killed

# --- use ---
ok 'the model is evaluated with its adapter' evalppl -q -m base --adapter whole \
    -o with one
ok 'the model is evaluated without it' evalppl -q -m base -o without one
status 1 'the adapter changes the evaluation' cmp -s with without
ok 'generate takes the adapter' generate run -q -m base --adapter whole -n 4 -j 1 \
    --temperature 0 "1 2"

ok 'the adapter is merged' convert -q --adapter whole --into-weights base merged
for m in 'base --adapter whole' merged; do
    # shellcheck disable=SC2086 # a model, and perhaps an option
    ok "texts are written by $m" generate run -q -m $m -n 12 -j 1 --temperature 0 12
    mv out "${m%% *}.text"
done
same 'the merged model writes the texts of the adapter' base.text merged.text
ok 'a DoRA is trained with averages, and evaluated' student -q -m base -o ema \
    --lora 2 --lora-dora --lr 1e-2 --schedule constant --ema 0.5 --eval one \
    --eval-every 10 b
last=$(tail -n 1 ema/held-out.tsv | cut -f 4)
ok 'the averaged adapter is evaluated again' student -q -m base --adapter ema -o zero \
    --lr 0 --steps 1 --schedule constant one
equal 'the evaluation of the averages is that of the result' "$last" \
    "$(tail -n 1 zero/metrics.tsv | cut -f 4)"

# --- refused ---
for with in '--qat q8_0' '--mask 2:4' '--grad bf16' '--shard-level 3' '--stages 1' \
    '--adapter whole'; do
    # shellcheck disable=SC2086 # the option and its value are two words
    status 2 "--lora is refused with $with" lora no $with
    like "the message names --lora and ${with%% *}" \
        "--lora.*${with%% *}|${with%% *}.*--lora" err
done
status 2 'a matrix that is not there is refused' lora no --lora-targets q_proj,fc1
like 'the message names the matrix' "'fc1'.*all-linear" err
status 2 'DoRA with dropout is refused' lora no --lora-dora
status 2 'an option of new adapters needs --lora' student -m base -o no --lora-rs b
like 'the message names --lora' 'give --lora' err
status 2 'an adapter of random weights is refused' student -m new.json -o no --lora 4 b

# --- a quantised model ---
mkdir bare
cp base/config.json base/model.safetensors bare
ok 'the model is quantised' convert -q --dtype q8_0 bare q8.gguf
ok 'an adapter of the quantised model is trained' student -q -m q8.gguf -t tok \
    -o q8 --lora 4 --lr 1e-2 --schedule constant b
ok 'the quantised model is written in full' convert -q --dtype f32 q8.gguf wide
ok 'an adapter of the widened model is trained' student -q -m wide -t tok -o wide32 \
    --lora 4 --lr 1e-2 --schedule constant b
same_adapter 'a quantised model trains with the bits of the widened one' q8 wide32

# --- further, with a teacher ---
teacher -q -m teacher -o kd b || exit 1
ok 'an adapter is trained further, from a teacher' student -q -m base --adapter whole \
    -o further --lr 1e-3 kd
like 'the loss has a divergence' '^2	.*	[1-9][0-9.e-]*	' further/metrics.tsv
ok 'a DoRA with rsLoRA of two matrices is trained' student -q -m base -o dora --lora 2 \
    --lora-dora --lora-rs --lora-targets q_proj,down_proj --lr 1e-2 b
like 'the configuration says DoRA' '"use_dora": true' dora/adapter_config.json
like 'the configuration says rsLoRA' '"use_rslora": true' dora/adapter_config.json

# --- over ranks ---
if has_ranks 'adapters over ranks'; then
    det() {
        n=$1 run=$2
        shift 2
        mpirun -n "$n" student -q -j 1 -m base -o "$run" --lora 4 --lr 1e-2 \
            --lora-dropout 0.1 --deterministic "$@" b
    }
    for n in 1 2 4; do ok "$n ranks train an adapter" det $n r$n; done
    same_adapter '2 ranks have the bits of 1' r1 r2
    same_adapter '4 ranks have the bits of 1' r1 r4
    ok '2 ranks share the moments' det 2 r2z --shard-level 1
    same_adapter 'shared moments change no bit' r1 r2z
fi
done_testing
