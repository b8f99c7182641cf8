#!/bin/sh
# Shapes of models: parameters beside those that transformers counts and those
# that were published, and configurations that are refused
. "${0%/*}/../lib/lib.sh"

golden=$top/tests/golden/plan

# parameters MODEL: how many plan counts
parameters() {
    plan cluster -q -m "$1" --machine mi355x --format tsv batch=8 >out 2>err
    awk -F '\t' '$1 == "parameters" { print $2 }' out
}
# published NAME GOT TEXT: GOT is TEXT (124M, 46.7B, 671026404352) within half of
# its last digit, or 1 %
published() {
    if awk -v a="$2" -v p="$3" 'BEGIN {
        u = p ~ /M$/ ? 1e6 : p ~ /B$/ ? 1e9 : p ~ /T$/ ? 1e12 : 1
        digits = p; sub(/[MBT]$/, "", digits)
        half = index(digits, ".") ? 10 ^ -length(substr(digits, \
            index(digits, ".") + 1)) / 2 : 0.5
        want = digits * u; slack = half * u; one = want / 100
        if (slack < one && u > 1) slack = one
        d = a - want; d = d < 0 ? -d : d
        exit !(a > 0 && d <= slack) }'; then
        pass "$1 has $2 parameters, published $3"
    else
        fail "$1 has $2 parameters, published $3"
    fi
}

# --- a config.json of each family, as it is published; transformers counted
# (scripts/oracle/plan_params.py)
grep -v '^#' "$golden/params.tsv" >rows
while IFS='	' read -r name count told source; do
    got=$(parameters "$golden/$name.json")
    equal "$name has the parameters that transformers counts" "$got" "$count"
    [ "$told" = - ] || published "$name ($source)" "${got:-0}" "$told"
done <rows
if awk -F '\t' 'NR == 1 { exit !($2 > 3.70e10 && $2 < 3.80e10) }' <<X
active	$(plan cluster -q -m "$golden/deepseek-v3.json" --machine mi355x \
    --format tsv batch=8 | awk -F '\t' '$1 == "parameters.active" { print $2 }')
X
then
    pass 'a token meets 37B of the parameters of DeepSeek-V3'
else
    fail 'a token meets 37B of the parameters of DeepSeek-V3'
fi

# --- files of sizes: the shipped ones, those of published runs, and families
# that lib/model does not read
grep -v '^#' "$golden/shapes.tsv" >rows
while IFS='	' read -r name told source json; do
    case $json in
    -) file=$name ;;
    *) file=$name.json; printf '%s\n' "$json" >"$file" ;;
    esac
    published "$name ($source)" "$(parameters "$file")" "$told"
done <rows
for f in "$top"/plan/models/*.json; do
    n=${f##*/}
    cut -f 1 rows | grep -Fqx -e "${n%.json}" ||
        fail "shapes.tsv has no row for ${n%.json}"
done

# --- refused
# refuses WHAT FILE WORDS: with status 3, and words in the message
refuses() {
    status 3 "$1 is refused" plan cluster -m "$2" --machine h100 batch=8
    like "the message for $1 names file and key" "$2.*: .*$3" err
}
sed 's/"olmo2"/"bloom"/' "$golden/olmo-2-7b.json" >type.json
refuses 'an unknown model_type' type.json \
    'model_type: "bloom".*have ALiBi.*: describe the model by a file of sizes'
own() {
    printf '{ "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 8, "intermediate_size": 128%s }\n' "$1"
}
own ', "num_kv_heads": 4' >key.json
refuses 'an unknown key' key.json 'num_kv_heads: .*plan-cluster'
own ', "mlp_matrices": 4' >four.json
refuses 'an MLP of four matrices' four.json mlp_matrices
own ', "num_key_value_heads": 16' >many.json
refuses 'a shape with more key/value heads than heads' many.json \
    num_key_value_heads
own ', "num_key_value_heads": 3' >odd.json
refuses 'a shape whose key/value heads do not divide the heads' odd.json \
    num_key_value_heads
own ', "num_experts": 4, "num_experts_per_tok": 5' >five.json
refuses 'a shape of which a token meets 5 of 4 experts' five.json \
    num_experts_per_tok
sed 's/64/65/' many.json | sed 's/16/8/' >width.json
refuses 'a width that heads do not divide' width.json num_attention_heads
own '' | sed 's/, "intermediate_size": 128//' >flat.json
refuses 'a shape without the width of its MLP' flat.json intermediate_size

# --- beside the weights
mkdir olmo2 wide
cp "$golden/olmo-2-7b.json" olmo2/config.json
sed 's/"intermediate_size": 11008/"intermediate_size": 22016/' \
    "$golden/olmo-2-7b.json" >wide/config.json
for d in olmo2 wide; do
    echo '{"metadata": {"total_parameters": 7298617344}, "weight_map": {}}' \
        >$d/model.safetensors.index.json
done
equal 'an index of as many parameters is accepted' "$(parameters olmo2)" \
    7298617344
refuses 'an index of other parameters' wide '7298617344|7.29862e.09'
for bytes in 14597234688 29194469376; do
    echo "{\"metadata\": {\"total_size\": $bytes}}" \
        >olmo2/model.safetensors.index.json
    equal "an index of $((bytes / 7298617344)) bytes a parameter is accepted" \
        "$(parameters olmo2)" 7298617344
done
echo '{"metadata": {"total_size": 21895852032}}' \
    >olmo2/model.safetensors.index.json
refuses 'an index of 3 bytes a parameter' olmo2 'parameters'
sed -i 's/{/{"quantization_config": {"quant_method": "fp8"},/' \
    olmo2/config.json
equal 'weights of another type have the same parameters' \
    "$(parameters olmo2)" 7298617344
cp -r "$top/tests/golden/gguf/f32-hf" stored
chmod -R u+w stored
ok 'weights of as many parameters are accepted' plan cluster -q -m stored \
    --machine h100 batch=8
sed -i -E 's/("intermediate_size": )[0-9]+/\14096/' stored/config.json
refuses 'a config.json of wider blocks than the weights' stored parameters
done_testing
