#!/bin/sh
# convert --adapter: merged, as a GGUF, and adapters that are refused
. "${0%/*}/../lib/lib.sh"

lora=$top/tests/golden/lora

# --- merged ---
ok 'an adapter is merged' convert -q --adapter "$lora/start_dora" --into-weights \
    "$lora/two" merged
status 1 'merging changes the weights' cmp -s merged/model.safetensors \
    "$lora/two/model.safetensors"
ok 'an adapter is merged into a GGUF' convert -q --adapter "$lora/start_dora" \
    --into-weights "$lora/two" merged.gguf
ok 'that GGUF becomes a directory' convert -q merged.gguf back
same 'both have the same weights' merged/model.safetensors back/model.safetensors
sed 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' \
    "$lora/one/config.json" >tied.json
ok 'an adapter of a tied embedding is merged' convert --adapter "$lora/tied" \
    --into-weights "$lora/two" untied
like 'the head that was tied is told' 'head of its own' err
like 'the merged model has a head of its own' '"tie_word_embeddings": false' \
    untied/config.json
ok 'an adapter of an untied embedding is merged' convert --adapter "$lora/rs_embed" \
    --into-weights "$lora/one" whole
unlike 'a head that was not tied needs no word' 'head' err

# --- a GGUF of the adapter ---
ok 'an adapter becomes a GGUF' convert -q --adapter "$lora/start" "$lora/two" a.gguf
status 3 'a DoRA cannot become a GGUF' convert --adapter "$lora/dora" "$lora/one" d.gguf
like 'the message names DoRA and --into-weights' 'DoRA.*--into-weights' err
status 3 'a changed head cannot become a GGUF' convert --adapter "$lora/rs_embed" \
    "$lora/one" e.gguf
like 'the message names the head and --into-weights' 'head.*--into-weights' err
status 1 'no file is left of a refused one' test -e d.gguf -o -e e.gguf
status 2 'a directory of the adapter is refused' convert --adapter "$lora/start" \
    "$lora/two" dir
like 'the message names .gguf and --into-weights' '[.]gguf.*--into-weights' err
status 2 'a type of the adapter is refused' convert --adapter "$lora/start" \
    --dtype q8_0 "$lora/two" b.gguf
status 2 '--into-weights alone is refused' convert --into-weights "$lora/two" c
like 'the message names --adapter' '--adapter' err

# --- adapters that are not read ---
# with NAME SED-SCRIPT: the adapter start with another adapter_config.json
with() {
    rm -rf "$1"
    mkdir "$1"
    cp "$lora/start/adapter_model.safetensors" "$1"
    sed "$2" "$lora/start/adapter_config.json" >"$1/adapter_config.json"
}
# refused NAME REGEX: it is refused, and the message says why
refused() {
    status 3 "an adapter with $1 is refused" convert --adapter "$1" \
        --into-weights "$lora/two" none
    like "the message names $1" "$2" err
}
with bias 's/"bias": "none"/"bias": "all"/'
refused bias 'adapter_config.json: bias'
with lora_bias 's/"lora_bias": false/"lora_bias": true/'
refused lora_bias 'lora_bias: .*merge'
with init_lora_weights 's/"init_lora_weights": true/"init_lora_weights": "pissa"/'
refused init_lora_weights 'init_lora_weights: '
with peft_type 's/"LORA"/"IA3"/'
refused peft_type 'peft_type: is IA3, not LORA'
with alpha_pattern 's/"alpha_pattern": {}/"alpha_pattern": {"layers\\\\.[0-9]+": 3}/'
refused alpha_pattern 'alpha_pattern: .*regular expression'
with use_dora 's/"use_dora": false/"use_dora": true/'
refused use_dora 'lora_magnitude_vector'
with plain_pattern 's/"alpha_pattern": {}/"alpha_pattern": {"layers.0.self_attn.q_proj": 3}/'
ok 'an alpha of one matrix is read' convert -q --adapter plain_pattern "$lora/two" p.gguf
status 1 'that alpha changes the adapter' cmp -s a.gguf p.gguf
with rank 's/"r": 4/"r": 8/'
refused rank 'lora_A.weight: has rank 4, but .*says 8 '
with rank_pattern 's/"rank_pattern": {}/"rank_pattern": {"layers.1.self_attn.q_proj": 2}/'
refused rank_pattern 'layers.1.self_attn.q_proj.* rank 4, but .*says 2 '
with no_rank '/"r": 4/d'
refused no_rank ' rank 4, but .*says 8 '
pattern='"self_attn.q_proj": 4, "k_proj": 4, "v_proj": 4, "o_proj": 4'
pattern=$pattern', "gate_proj": 4, "up_proj": 4, "down_proj": 4'
with own_rank "s/\"r\": 4/\"r\": 5/; s/\"rank_pattern\": {}/\"rank_pattern\": {$pattern}/"
ok 'an adapter whose ranks are those of its pattern is read' convert -q \
    --adapter own_rank "$lora/two" r.gguf
with target_modules '/"gate_proj",*$/d'
refused target_modules 'layers.0.mlp.gate_proj: has tensors, but .*leaves it out'
with layers_to_transform 's/"layers_to_transform": null/"layers_to_transform": [1]/'
refused layers_to_transform 'layers.0.*leaves it out .*layers_to_transform'
with exclude_modules 's/"exclude_modules": null/"exclude_modules": ["up_proj"]/'
refused exclude_modules 'mlp.up_proj: has tensors, but .*leaves it out'
with lora_alpha 's/"lora_alpha": [0-9]*/"lora_alpha": "16"/'
refused lora_alpha 'lora_alpha: is no number'
# renamed NAME OLD NEW: copy the adapter `start` to NAME and rename its tensor OLD
# to NEW; spaces behind the new name keep the size of the header
renamed() {
    with "$1" ''
    tensor=base_model.model.model.layers.0.mlp.$2
    pad=$(printf "%$((${#tensor} - ${#3}))s" '')
    sed "s/\"$tensor\"/\"$3\"$pad/" "$lora/start/adapter_model.safetensors" \
        >"$1/adapter_model.safetensors"
}
renamed head down_proj.lora_A.weight base_model.model.lm_head.lora_A.weight
refused head 'lm_head.lora_A.weight: an adapter of lm_head is not supported: merge'
renamed norm down_proj.lora_A.weight base_model.model.model.norm.weight
refused norm 'model.norm.weight: of modules_to_save only embed_tokens and lm_head'
for p in evalppl 'generate run'; do
    # shellcheck disable=SC2086 # a command of two words
    status 3 "$p refuses an adapter of lm_head" $p -m "$lora/two" --adapter head /dev/null
    like "$p: the message names lm_head" 'adapter of lm_head' err
done
with empty ''
printf '\002\000\000\000\000\000\000\000{}' >empty/adapter_model.safetensors
refused empty 'has no tensors'
status 3 'an adapter of another shape is refused' convert --adapter "$lora/start" \
    --into-weights "$lora/one" none
like 'the message names a tensor' 'tensor base_model[.a-z0-9_A-B]*layers[.]1' err
mkdir shorter
head -c 4000 "$lora/start/adapter_model.safetensors" >shorter/adapter_model.safetensors
cp "$lora/start/adapter_config.json" shorter
status 3 'a shortened adapter is refused' convert --adapter shorter --into-weights \
    "$lora/two" none
done_testing
