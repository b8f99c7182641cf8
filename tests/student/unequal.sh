#!/bin/sh
# Students whose blocks keep fewer groups of heads and channels than the widest,
# or no attention, or no MLP: trained, killed, resumed, used by every program
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

own='"retort": {"groups": [2, 1, 0, 2], "mlp": [48, 20, 48, 0]}'
# shape FILE: of a config.json, in one line
shape() {
    tr -d ' \n' <"$1" | sed 's/.*"retort":{\("groups":[^}]*\)}.*/\1/'
}
batches 10 >b || exit 1
teacher -q -m teacher -o kd b || exit 1
for family in llama qwen2 qwen3 gemma3_text; do
    act='"hidden_act": "silu"'
    case $family in
    gemma*) act='"hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 12, "sliding_window": 9' ;;
    *) ;;
    esac
    { echo "{$act, $own,"; sed 's/^{//; s/"hidden_act": "silu",//
        s/"llama"/"'"$family"'"/; s/"num_hidden_layers": 2/"num_hidden_layers": 4/
        ' new.json; } >s.json
    d=$family
    mkdir "$d"
    train="student -q -m s.json -t tok --lr 1e-3 --schedule constant --save 2"
    ok "$family is distilled" sh -c "$train -o $d/whole kd"
    ok "the loss of $family falls" awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == "loss") at = i; next } NR == 2 { first = $at } { last = $at }
        END { exit !(last + 0 < first + 0) }' "$d/whole/metrics.tsv"
    ok "one thread distils $family with --recompute" sh -c \
        "$train -j 1 --micro 1 --recompute -o $d/again kd"
    same "one thread has the same weights of $family" "$d/again/model.safetensors" \
        "$d/whole/model.safetensors"

    # kill -9 somewhere after a checkpoint, then take up
    # shellcheck disable=SC2086 # a command
    killed_at 4 "$d/killed" $train
    ok "a killed run of $family is resumed" sh -c "stream -q --resume $d/killed -B 4 -T 64 -s 7 \
        --batches 10 data | teacher -q -m teacher | $train -o $d/killed --resume"
    for f in model optimiser; do
        same "the resumed run of $family has the same $f" "$d/killed/step-10/$f.safetensors" \
            "$d/whole/step-10/$f.safetensors"
    done
    equal "shapes of $family are kept" "$(shape "$d/killed/config.json")" \
        '"groups":[2,1,0,2],"mlp":[48,20,48,0]'
    ok "$family trains 10 steps in bf16" sh -c "$train --act bf16 --grad bf16 \
        --moments bf16 -o $d/half kd"
    ok "$family trains in bf16 with --recompute" sh -c "$train --act bf16 --grad bf16 --moments bf16 \
        --recompute -j 1 -o $d/half2 kd"
    same "--recompute changes no bit of $family in bf16" "$d/half/model.safetensors" \
        "$d/half2/model.safetensors"

    # as a teacher, judged, and with zeros in a GGUF
    ok "a model of $family teaches itself" sh -c "teacher -q -m $d/whole --dtype f32 b |
        student -q -m $d/whole -o $d/self --steps 1"
    ok "a teacher of itself leaves no KL in $family" awk -F '\t' 'NR > 1 {
        exit !($6 < 1e-6 && $7 < 1e-6) }' "$d/self/metrics.tsv"
    ok "the student of $family becomes a GGUF" convert -q "$d/whole" "$d.gguf"
    for m in whole "../$d.gguf"; do
        to=${m##*.}
        ok "evalppl judges $m of $family" evalppl -q -m "$d/$m" --format tsv b
        grep '(all)' out | cut -f 4-8 >"nats.$to"
        ok "generate writes a text with $m of $family" generate run -q -m "$d/$m" 'the' -n 8
        cp out "text.$to"
    done
    same "the GGUF of $family has the same nats" nats.whole nats.gguf
    same "the GGUF of $family writes the same text" text.whole text.gguf
done
done_testing
