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

# --- shapes without model_type: the shipped ones, and those of published runs
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

# --- the page names every family
awk '{ gsub(/[ ,]+/, "\n"); print }' "$top/man/plan-cluster.1" >words
sed -n 's/^    "\([a-z0-9_]*\)": \[[124],.*/\1/p' "$top/plan/families.json" >named
equal 'families.json has 22 families' "$(grep -c . named)" 22
while read -r family; do
    grep -Fqx -e "$family" words || echo "$family"
done <named >missing
equal 'plan-cluster.1 names every family' "$(cat missing)" ''

# --- refused
# refuses WHAT FILE WORDS: with status 3, and words in the message
refuses() {
    status 3 "$1 is refused" plan cluster -m "$2" --machine h100 batch=8
    like "the message for $1 names file and key" "$2.*: .*$3" err
}
sed 's/"bloom"/"blossom"/' "$golden/bloom.json" >type.json
refuses 'an unknown model_type' type.json 'model_type: blossom.*llama.*bloom'
sed 's/"n_layer"/"num_parts": 3, &/' "$golden/bloom.json" >key.json
refuses 'an unknown key' key.json num_parts
sed 's/"n_layer"/"multi_part": 0.5, "parts": null, &/' "$golden/bloom.json" \
    >small.json
equal 'an unknown key below 1 or null changes nothing' \
    "$(parameters small.json)" "$(parameters "$golden/bloom.json")"
sed 's/"word_embed_proj_dim": 768/"word_embed_proj_dim": 512/' \
    "$golden/opt-125m.json" >narrow.json
refuses 'an embedding of another width' narrow.json word_embed_proj_dim
sed 's/"decoder_sparse_step": 1/"decoder_sparse_step": 2/' \
    "$golden/qwen3-30b-a3b.json" >sparse.json
refuses 'an unknown order of experts' sparse.json decoder_sparse_step
own() {
    printf '{ "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 8, "intermediate_size": 128%s }\n' "$1"
}
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

# --- beside the weights
mkdir gpt2 wide
cp "$golden/gpt2.json" gpt2/config.json
sed 's/"n_embd": 768/"n_embd": 1536/' "$golden/gpt2.json" >wide/config.json
for d in gpt2 wide; do
    echo '{"metadata": {"total_parameters": 124439808}, "weight_map": {}}' \
        >$d/model.safetensors.index.json
done
equal 'an index of as many parameters is accepted' "$(parameters gpt2)" \
    124439808
refuses 'an index of other parameters' wide '124440000|1.2444e.08'
for bytes in 248879616 497759232; do
    echo "{\"metadata\": {\"total_size\": $bytes}}" \
        >gpt2/model.safetensors.index.json
    equal "an index of $((bytes / 124439808)) bytes a parameter is accepted" \
        "$(parameters gpt2)" 124439808
done
echo '{"metadata": {"total_size": 373319424}}' \
    >gpt2/model.safetensors.index.json
refuses 'an index of 3 bytes a parameter' gpt2 'parameters'
cp -r "$top/tests/golden/gguf/f32-hf" stored
chmod -R u+w stored
ok 'weights of as many parameters are accepted' plan cluster -q -m stored \
    --machine h100 batch=8
sed -i -E 's/("intermediate_size": )[0-9]+/\14096/' stored/config.json
refuses 'a config.json of wider blocks than the weights' stored parameters
done_testing
