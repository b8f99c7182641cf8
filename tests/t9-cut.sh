#!/bin/sh
# Streams, models and tokenizers that are cut off, to every program
. "${0%/*}/lib.sh"
. "$top/tests/train.sh"
. "$top/tests/damage.sh"

# --- cut off ---
for f in docs batches kd; do
    for n in $(cuts $f); do
        what="$f, $n bytes"
        head -c "$n" $f >x
        as_$f 3
    done
done
verdict 'streams cut off'
for n in $(cuts "$gguf"); do
    what="$n bytes of a GGUF"
    head -c "$n" "$gguf" >x.gguf
    as_model 3 x.gguf x.gguf
done
for n in $(cuts teacher/model.safetensors); do
    what="$n bytes of weights"
    head -c "$n" teacher/model.safetensors >m/model.safetensors
    as_model 3 m model.safetensors
done
cp teacher/model.safetensors m
for n in 1 100 $(($(wc -c <teacher/config.json) - 3)); do
    what="$n bytes of config.json"
    head -c "$n" teacher/config.json >m/config.json
    as_model 3 m config.json
done
cp teacher/config.json m
verdict 'models cut off'
for n in 1 100 5000 $(($(wc -c <tok/tokenizer.json) - 3)); do
    what="$n bytes of tokenizer.json"
    head -c "$n" tok/tokenizer.json >t/tokenizer.json
    as_tokenizer 3 t tokenizer.json
done
verdict 'tokenizers cut off'

done_testing
