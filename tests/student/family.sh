#!/bin/sh
# The families of models in every program: trained, resumed, cut, distilled
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

batches 6 >b || exit 1
for family in mistral qwen2 qwen3 gemma3_text gemma2 olmo3 phi3 granite \
    cohere cohere2 gpt_neox gpt2 starcoder2 phi glm4 glm exaone4; do
    # windows shorter than the rows, where the family has any
    act='"hidden_act": "silu"'
    head=12
    windows='"sliding_window": 9,'
    case $family in
    qwen*)
        windows="$windows\"use_sliding_window\": true,
            \"max_window_layers\": 1,"
        ;;
    gemma2)
        act='"hidden_activation": "gelu_pytorch_tanh"'
        windows="$windows\"query_pre_attn_scalar\": 12,
            \"final_logit_softcapping\": 0.5,"
        ;;
    glm*) windows='"attention_bias": true,' ;;
    granite) windows='"logits_scaling": 4,' ;;
    gpt_neox)
        act='"hidden_act": "gelu"'
        windows='"rotary_pct": 0.5,'
        head=8
        ;;
    gpt2)
        act='"activation_function": "gelu_new"'
        windows=
        ;;
    phi)
        act='"hidden_act": "gelu_new"'
        windows=
        ;;
    starcoder2) act='"hidden_act": "gelu_pytorch_tanh"' ;;
    cohere) windows='"logit_scale": 0.25,' ;;
    gemma*)
        act='"hidden_activation": "gelu_pytorch_tanh"'
        windows="$windows\"sliding_window_pattern\": 3,
            \"query_pre_attn_scalar\": 12,"
        ;;
    *) ;;
    esac
    { echo "{$windows $act,"; sed 's/^{//; s/"hidden_act": "silu",//
        s/"head_dim": 12/"head_dim": '$head'/
        s/"llama"/"'"$family"'"/' t.json; } >f.json
    d=$family
    mkdir "$d"
    ok "$family trains from random weights" student -q -m f.json -t tok -o "$d/all" --lr 1e-3 \
        --save 3 b
    ok "the loss of $family falls" awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == "loss") at = i; next } NR == 2 { first = $at } { last = $at }
        END { exit !(last + 0 < first + 0) }' "$d/all/metrics.tsv"
    train="student -q -m f.json -t tok --lr 1e-3 --save 3 --schedule constant"
    ok "half the steps of $family are made" sh -c "$train -o $d/half --steps 3 b"
    ok "all steps of $family are made in one run" sh -c "$train -o $d/whole -j 1 b"
    ok "the other half of $family is made" sh -c "stream -q --resume $d/half -B 4 -T 64 -s 7 \
        --batches 6 data | $train --resume -o $d/half"
    same "two halves of $family have the weights of one run" "$d/half/model.safetensors" \
        "$d/whole/model.safetensors"
    ok "a model of $family is cut" prune -q -m "$d/all" -o "$d/cut" --blocks 2 --width 48 b
    ok "a cut model of $family is distilled" sh -c "teacher -q -m $d/all b |
        student -q -m $d/cut -o $d/kd --lr 1e-3"
    ok "a model of $family teaches itself" sh -c "teacher -q -m $d/all --dtype f32 b |
        student -q -m $d/all -o $d/self --steps 1"
    ok "a teacher of itself leaves no KL in $family" awk -F '\t' 'NR > 1 {
        exit !($6 < 1e-6 && $7 < 1e-6) }' "$d/self/metrics.tsv"
    ok "evalppl reads a $family teacher's states" sh -c "teacher -q -m $d/all --final \
        --dtype f32 b | evalppl -q -m $d/all --recorded --format tsv >recorded"
    ok "a teacher of itself leaves no KL in its states in $family" awk -F '\t' '
        $1 == "model" { for (i = 1; i <= NF; i++) if ($i == "kl") at = i }
        at && $2 == "(all)" { n++; bad += !($at < 1e-6 && -$at < 1e-6) }
        END { exit !(n == 2 && !bad) }' recorded
    ok "evalppl judges the student of $family" evalppl -q -m "$d/kd" --base "$d/all" b
    ok "generate writes a text with $family" generate run -q -m "$d/kd" 'the' -n 4
done
like 'a cut Gemma keeps the windows of its blocks' sliding_attention \
    gemma3_text/cut/config.json
# The third block has no window; to llama.cpp only the sixth would have none.
ok 'a Gemma is cut to a smaller width' prune -q -m gemma3_text/all -o narrow --width 48 b
like 'prune warns that llama.cpp drops the windows' "llama.cpp's converter drops it" err
ok 'a cut Gemma is converted to a GGUF' convert -q narrow narrow.gguf
like 'convert warns of versions that do not read the windows' 'do not read gemma3.attention.sliding_window_pattern' \
    err
ok 'a GGUF of a cut Gemma is converted back' convert -q narrow.gguf back
equal 'the windows stay as they were' "$(grep -A 5 layer_types back/config.json)" \
    "$(grep -A 5 layer_types narrow/config.json)"
for m in narrow narrow.gguf back; do
    ok "evalppl judges the model $m" evalppl -q -m $m --format tsv b
    grep '(all)' out | cut -f 2-8 >nats.$m
done
same 'the GGUF has the nats of the cut Gemma' nats.narrow nats.narrow.gguf
same 'the model converted back has the same nats' nats.narrow nats.back
ok 'a Qwen is cut to a smaller width' prune -q -m qwen2/all -o narrow2 --width 48 b
unlike 'prune does not warn of llama.cpp for Qwen' 'llama.cpp' err

# ---- an OLMo's norms of Q and K span all heads ----
status 2 'prune search drops no groups of an OLMo' prune search -q -m olmo3/all --ratio 0.1 \
    --units groups -o groups.choice b
like 'prune search says what spans all heads' 'span all heads' err
printf '# retort choice 1\nblock\tgroups\tchannels\n0\t0\tall\n' >groups.choice
status 3 'prune cut cuts no groups of an OLMo' prune cut -q -m olmo3/all --choice groups.choice \
    -o groups --no-repair
like 'prune cut says what spans the heads' 'span the heads' err

# ---- Mistral's own tekken.json goes along ----
tk=$top/tests/golden/tok/family/tekken-v7/tekken.json
tokenize -q -t "$tk" -o tk.docs "$top/corpus/en.jsonl" &&
    shard write -q -o tk.data tk.docs &&
    stream -q -B 4 -T 64 --batches 2 -o tk.b tk.data || exit 1
ok 'a student with a Tekken tokenizer trains' student -q -m new.json -t "$tk" -o tk --lr 1e-3 tk.b
ok 'a student with a Tekken tokenizer is cut' prune -q -m tk -o tk.cut --blocks 1 tk.b
same 'the cut model has its tokenizer' "$tk" tk.cut/tekken.json
ok "the cut model's tokenizer makes ids" tokenize -q -t tk.cut --ids "$top/corpus/en.jsonl"
done_testing
