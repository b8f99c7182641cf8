#!/bin/sh
# prune profile: the same bytes for any threads and memory, again, and added up;
# damage, misuse, an end in the middle
. "${0%/*}/../lib/lib.sh"
mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
llama config.json intermediate_size 640 num_hidden_layers 3 \
    tie_word_embeddings false
head -n 3 "$top/corpus/en.jsonl" >en.jsonl
tokenize -q -t tok -o docs en.jsonl && shard write -q -o data docs &&
    stream -q -B 2 -T 60 --batches 1 -o one data &&
    stream -q -B 4 -T 60 --epochs 1 -o batches data &&
    student -q -m config.json -t tok -o M one || exit 1

# all_same WHAT A B: the files of two profiles
all_same() {
    for f in profile.json channels.tsv blocks.tsv sums.safetensors \
        hessian.safetensors; do
        cmp "$2/$f" "$3/$f" >cmp.out 2>&1 || break
        f=
    done
    if [ -z "$f" ]; then pass "$1"; else fail "$1: $(cat cmp.out)"; fi
}

# --- the same bytes ---
ok 'one thread' prune profile -v -m M -o P --hessian -j 1 batches
need=$(sed -n 's/^prune profile: \([0-9.]*\) MB$/\1/p' err)
like 'says what it did' '3 blocks on [0-9]+ tokens' err
ok 'again, with two' prune profile -q -m M -o P2 --hessian -j 2 batches
all_same 'the same bytes' P P2
status 1 'too little memory' prune profile -m M -o X --hessian --mem 1000 -j 1 \
    batches
like 'says how much is needed' 'MB are needed for [0-9]+ rows of 60 tokens' err
less=$(sed -n 's/.*: \([0-9.]*\) MB are needed.*/\1/p' err)
ok 'one block is less than two' awk "BEGIN { exit !($less < $need - 1) }"
ok 'with room for one' prune profile -v -m M -o P1 --hessian -j 1 \
    --mem "$(awk "BEGIN { printf \"%d\", $less * 1000000 + 100000 }")" batches
equal 'that is what it takes' "$less" \
    "$(sed -n 's/^prune profile: \([0-9.]*\) MB$/\1/p' err)"
all_same 'the same bytes' P P1
ok 'without Hessians' prune profile -q -m M -o N batches
same 'the same channels' P/channels.tsv N/channels.tsv
if [ -e N/hessian.safetensors ]; then fail 'none is written'; else
    pass 'none is written'
fi
ok 'fewer rows' prune profile -q -m M -o few --calib-rows 3 batches
like 'are used' '"rows": 3,' few/profile.json
ok 'bfloat16' prune profile -q -m M -o half --hessian --compute bf16 batches

# --- added up ---
ok 'the sum of one' prune profile -q --merge -o one-sum P
all_same 'is itself' P one-sum
ok 'twice the same' prune profile -q --merge -o twice P P
like 'is twice as many' "\"tokens\": $(($(sed -n 's/.*"tokens": \([0-9]*\).*/\1/p' \
    P/profile.json) * 2))," twice/profile.json
like 'of two' '"parts": 2,' twice/profile.json
cut -f 1-4,6-14 P/channels.tsv >a
cut -f 1-4,6-14 twice/channels.tsv >b
same 'with the same means' a b
for r in 0 1; do
    stream -q -B 4 -T 60 --epochs 1 --rank $r/2 -o rank data &&
        prune profile -q -m M -o "rank$r" --hessian rank || fail "rank $r"
done
ok 'the sum of two ranks' prune profile -q --merge -o ranks rank0 rank1
for f in channels.tsv blocks.tsv; do
    near "... is the whole: $f" 1e-6 ranks/$f P/$f
done
status 3 'of another type' prune profile --merge -o X P half
like 'says why' 'half: is not of the kind of P: another --compute' err
status 3 'without Hessians' prune profile --merge -o X P N
student -q -m config.json -t tok -o M2 --seed 9 one
prune profile -q -m M2 -o other --hessian batches || fail 'another model'
status 3 'of another model' prune profile --merge -o X P other
reweigh M changed 80000
ok 'a model of the same head' prune profile -q -m changed -o near batches \
    --hessian
status 3 'of other weights of blocks' prune profile --merge -o X P near
like 'says why' 'another model' err

ok 'gradients' prune profile -q -m M -o G --gradient batches
ok 'with 2 threads' prune profile -q -m M -o G2 --gradient -j 2 batches
for f in gradients.tsv sums.safetensors channels.tsv; do
    same "... the same $f" G/$f G2/$f
done
equal 'a line a channel' "$(wc -l <G/gradients.tsv)" \
    $(($(awk '$4 == "rest"' G/channels.tsv | wc -l) + 1))
status 3 'without them' prune profile --merge -o X G N
like 'says why' 'with gradients, or without' err
status 1 'too little memory for them' prune profile -m M -o X --gradient \
    --mem 1000 batches
like 'says so' 'MB are needed for gradients' err
# Finite states, of which the logits are not.
cp -r M steep
{ head -c -256 M/model.safetensors
    for _ in $(seq 64); do printf '\377\377\177\177'; done; } >steep/model.safetensors
status 4 'a gradient that is not finite' prune profile -m steep -o X --gradient \
    batches
like 'is named' 'steep: a gradient of block' err

# --- misuse and damage ---
status 2 'no model' prune profile -o X batches
status 2 'no output' prune profile -m M batches
status 2 'an output that exists' prune profile -m M -o P batches
status 2 'nothing to add up' prune profile --merge -o X
status 2 'a model to add up' prune profile --merge -m M -o X P
status 2 'two inputs' prune profile -m M -o X batches batches
status 1 'no profile' prune profile --merge -o X none
status 3 'documents' prune profile -m M -o X docs
for f in profile.json sums.safetensors hessian.safetensors; do
    cp -r P bad
    size=$(wc -c <"P/$f")
    for n in 0 9 $((size / 2)) $((size - 2)); do
        head -c "$n" "P/$f" >"bad/$f"
        status 3 "the first $n bytes of $f" prune profile --merge -o X bad
    done
    rm -r bad
done
cp -r P bad
sed 's/"blocks": 3/"blocks": 4/' P/profile.json >bad/profile.json
status 3 'a block too many' prune profile --merge -o X bad
sed 's/"version": [0-9]*/"version": 1/' P/profile.json >bad/profile.json
status 3 'a profile of the first version' prune profile --merge -o X bad
like 'is to be made again' 'bad/profile\.json: .*version 1.*again' err
cp P/profile.json bad
cp other/hessian.safetensors bad
status 3 'Hessians of another profile' prune profile --merge -o X bad
like 'says so' 'hessian.safetensors: .*hash' err
size=$(wc -c <P/hessian.safetensors)
status 1 'no room for the Hessians of all blocks' sh -c "trap '' XFSZ
    ulimit -f $((size / 1024)); exec prune profile --merge -o X P P"

# --- interrupted ---
stream -q -B 16 -T 60 --batches 150 -o many data || fail 'more data'
prune profile -q -m M -o X --hessian --calib-rows 0 many 2>err &
pid=$!
await [ -e X.tmp ]
kill -TERM $pid
wait $pid
if [ -e X ] || [ -e X.tmp ]; then fail 'nothing is left'; else
    pass 'nothing is left'
fi
done_testing
