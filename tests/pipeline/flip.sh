#!/bin/sh
# Flipped bits: found where there are checksums, harmless elsewhere
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/damage.sh"

# --- flipped bits: where there are checksums, each is found ---
for f in docs batches kd; do
    cp $f x
    for at in $(places x 10); do
        what="a bit of byte $at of $f"
        flip x "$at" $((at % 8))
        as_$f 3
        flip x "$at" $((at % 8))
    done
done
verdict 'a flipped bit in a stream is found'
# A program that needs no documents of an index does not check them: it goes on
# and gives the same bytes.  shard check finds all.
cp -r data d
mkdir good
stream -q d -o good/stream && shard dump -q d >good/dump &&
    evalppl -q -m teacher -o good/eval d || exit 1
# The sixth column is a speed.
table() { awk '{ $6 = ""; print }' "$1" >"$2" 2>/dev/null; }
table good/eval good/table
as_good() {
    [ $rc != 0 ] || cmp -s "$1" "$2" || wrong="$wrong
# 0 and another result: $what: $1"
}
for f in d/*; do
    case $f in
    *.index) may='[03]' ;;
    *) may=3 ;;
    esac
    for at in $(places "$f" 12); do
        what="a bit of byte $at of $f"
        flip "$f" "$at" $((at % 8))
        refused 3 d shard check -q d
        refused "$may" d stream -q d -o r
        as_good good/stream r
        refused "$may" d shard dump -q d
        as_good good/dump out
        refused "$may" d evalppl -q -m teacher -o r d
        table r r.table
        as_good good/table r.table
        flip "$f" "$at" $((at % 8))
    done
done
verdict 'a flipped bit in a shard directory is found'
student -q -m s -o run --lr 1e-3 --steps 2 --schedule constant batches
rm run/config.json
stream -q --resume run data -o rest || exit 1
for f in run/step-2/*; do
    for at in $(places "$f" 5); do
        what="a bit of byte $at of $f"
        flip "$f" "$at" $((at % 8))
        refused 3 run student -q -m s -o run --resume --schedule constant rest
        refused 3 run stream -q --resume run data -o r
        flip "$f" "$at" $((at % 8))
    done
    for n in 0 10; do
        what="$n bytes of $f"
        cp "$f" whole
        head -c $n whole >"$f"
        refused 3 run student -q -m s -o run --resume --schedule constant rest
        refused 3 run stream -q --resume run data -o r
        cp whole "$f"
    done
done
verdict 'a flipped bit in a checkpoint is found'
ok 'the checkpoint without a flipped bit goes on' student -q -m s -o run --resume --lr 1e-3 \
    --schedule constant rest

# --- where there are none: refused or sound, never a crash ---
cp "$gguf" x.gguf
for at in $(places x.gguf 3) 3 9 400 2000; do
    what="a bit of byte $at of a GGUF"
    flip x.gguf "$at" $((at % 8))
    as_model '[034]' x.gguf ''
    as_tokenizer '[03]' x.gguf ''
    flip x.gguf "$at" $((at % 8))
done
for f in model.safetensors config.json; do
    for at in $(places m/$f 4) 3 60; do
        what="a bit of byte $at of $f"
        flip m/$f "$at" $((at % 8))
        as_model '[0134]' m ''
        flip m/$f "$at" $((at % 8))
    done
done
cp tok/tokenizer.json t
for at in $(places t/tokenizer.json 20); do
    what="a bit of byte $at of tokenizer.json"
    flip t/tokenizer.json "$at" $((at % 8))
    refused '[03]' '' tokenize -q -t t --lang en -o r few.jsonl
    flip t/tokenizer.json "$at" $((at % 8))
done
verdict 'a flipped bit in a model or tokenizer does no harm'

done_testing
