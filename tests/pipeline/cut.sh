#!/bin/sh
# Streams, models and tokenizers that are cut off, to every program
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/damage.sh"

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

# --- weights that are cut off while they are in use ---
mkfifo pipe
teacher -q -m m -o late.kd pipe 2>err &
victim=$!
exec 7>pipe
await grep -q m/model.safetensors /proc/$victim/maps
head -c 5000 teacher/model.safetensors >start
cat start >m/model.safetensors      # the same file, in place
cat batches >&7 2>cat.err
exec 7>&-
got=0
wait $victim || got=$?
equal 'a model that shrinks while it is in use' "$got" 3
like '... is named, and where' '^teacher: m/model.safetensors: offset [0-9]+: cannot be read any more' err
equal '... and nothing is left' "$(find . -name 'late.kd*')" ''
cp teacher/model.safetensors m

done_testing
