#!/bin/sh
# student --rates: learning rates of tensors by their names, frozen tensors
. "${0%/*}/../lib/lib.sh"

. "$top/tests/lib/dpo.sh"
# train RUN [option ...]: 2 steps
train() {
    run=$1
    shift
    student dpo -q -m "$golden" -o "$run" -B 5 --epochs 2 --schedule constant "$@" -- \
        "$golden/pairs.jsonl"
}
# unchanged RUN: how many of its weights are those of `first`
unchanged() {
    for m in first "$1"; do
        head=$(($(od -A n -t u8 -N 8 "$m/model.safetensors") + 8))
        od -A n -v -t f4 -w4 -j $head "$m/model.safetensors" >"$m.n"
    done
    paste first.n "$1.n" | awk '$1 == $2 { n++ } END { print n + 0 }'
}
same_model() { same "$1" "$2/model.safetensors" "$3/model.safetensors"; }

ok 'a run of rate 0 leaves the weights' train first --lr 0
ok 'a run is made' train plain --lr 1e-2
ok 'half of the rate by name' train half --lr 2e-2 --rates '*=0.5'
same_model 'a factor for all tensors is a rate' plain half
ok 'the last pattern that matches counts' train last --lr 1e-2 --rates '*=0' \
    --rates '*.weight=1'
same_model 'a tensor that two patterns match has the rate of the last' plain last
ok 'the embedding is frozen' train frozen --lr 1e-2 --rates '*embed_tokens*=0'
embedding=$((1024 * 16))
[ "$(unchanged frozen)" -ge $embedding ] && pass 'the frozen embedding is unchanged' ||
    fail "the frozen embedding is unchanged: $(unchanged frozen)"
[ "$(unchanged frozen)" -lt $((embedding + 400)) ] && pass 'the blocks are trained' ||
    fail "the blocks are trained: $(unchanged frozen)"
ok 'frozen gradients do not count in the norm' awk -F '\t' '
    FNR == 2 { norm[FILENAME] = $14 }
    END { exit !(norm["frozen/metrics.tsv"] > 0 &&
        norm["frozen/metrics.tsv"] < norm["plain/metrics.tsv"]) }' \
    plain/metrics.tsv frozen/metrics.tsv
# A rate of 1e-30 changes no weight, but its gradients are computed.
for names in '*embed_tokens* *layers.0.*' '*embed_tokens* *mlp*' '*q_proj*'; do
    set -f
    for n in $names; do echo "--rates $n=0"; done >frozen.rates
    set +f
    sed 's/=0$/=1e-30/' frozen.rates >tiny.rates
    rm -rf none tiny
    # shellcheck disable=SC2046 # lists of options
    (set -f; train none --lr 1e-2 --clip-grad 0 $(cat frozen.rates))
    # shellcheck disable=SC2046
    (set -f; train tiny --lr 1e-2 --clip-grad 0 $(cat tiny.rates))
    same_model "others than $names train as if their gradients were computed" \
        tiny none
done
ok 'a frozen embedding with moments in bf16' train bf16 --lr 1e-2 --moments bf16 \
    --rates '*embed_tokens*=0'
[ "$(unchanged bf16)" -ge $embedding ] && pass 'it is unchanged with moments in bf16' ||
    fail 'it is unchanged with moments in bf16'
status 2 'a pattern without a factor is refused' train not --rates '*embed*'
like 'the message names the pattern' "rates: '\*embed\*'" err
status 2 'a pattern that matches nothing is refused' train not --rates 'embed=0'
like 'the message says what names are like' 'model.layers.0' err
done_testing
