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
ok 'prune profile runs on one thread' \
    prune profile -v -m M -o P --hessian -j 1 \
    batches
need=$(sed -n 's/^prune profile: \([0-9.]*\) MB$/\1/p' err)
like 'prune profile says how much it read' '3 blocks on [0-9]+ tokens' err
ok 'prune profile runs on two threads' \
    prune profile -q -m M -o P2 --hessian -j 2 \
    batches
all_same 'bytes of a profile do not depend on threads' P P2
status 1 'a profile is refused too little memory' prune profile -m M -o X \
    --hessian --mem 1000 -j 1 batches
like 'the refusal says how much memory is needed' \
    'MB are needed for [0-9]+ rows of 60 tokens' err
equal 'the memory that is needed is told without a refusal too' "$need" \
    "$(sed -n 's/.*: \([0-9.]*\) MB are needed.*/\1/p' err)"
ok 'a profile runs in the memory that it needs' prune profile -q -m M -o P1 \
    --hessian -j 1 --mem "$(awk "BEGIN { printf \"%d\", $need * 1000000 + 100000 }")" \
    batches
all_same 'bytes of a profile do not depend on memory' P P1
ok 'prune profile runs without --hessian' prune profile -q -m M -o N batches
same 'channels do not depend on --hessian' P/channels.tsv N/channels.tsv
status 1 'no Hessian is written without --hessian' test -e N/hessian.safetensors
ok 'prune profile takes --calib-rows' \
    prune profile -q -m M -o few --calib-rows 3 \
    batches
like 'the profile says how many rows it has' '"rows": 3,' few/profile.json
ok 'prune profile takes --compute bf16' \
    prune profile -q -m M -o half --hessian \
    --compute bf16 batches

# --- added up ---
ok '--add takes one profile' prune profile -q --add -o one-sum P
all_same 'the sum of one profile is that profile' P one-sum
ok '--add takes a profile twice' prune profile -q --add -o twice P P
like 'tokens of two profiles add up' \
    "\"tokens\": $(($(sed -n 's/.*"tokens": \([0-9]*\).*/\1/p' \
    P/profile.json) * 2))," twice/profile.json
like 'the sum says how many parts it has' '"parts": 2,' twice/profile.json
cut -f 1-4,6-14 P/channels.tsv >a
cut -f 1-4,6-14 twice/channels.tsv >b
same 'the sum of a profile with itself has its means' a b
for r in 0 1; do
    stream -q -B 4 -T 60 --epochs 1 --rank $r/2 -o rank data &&
        prune profile -q -m M -o "rank$r" --hessian rank || fail "rank $r"
done
ok '--add adds up the profiles of two ranks' \
    prune profile -q --add -o ranks \
    rank0 rank1
for f in channels.tsv blocks.tsv; do
    near "two ranks add up to the whole: $f" 1e-6 ranks/$f P/$f
done
status 3 'profiles of two compute types are refused' \
    prune profile --add -o X P \
    half
like 'the refusal names --compute' 'half: .*another --compute' err
status 3 'profiles with and without Hessians are refused' \
    prune profile --add \
    -o X P N
student -q -m config.json -t tok -o M2 --seed 9 one
prune profile -q -m M2 -o other --hessian batches || fail 'another model'
status 3 'profiles of two models are refused' prune profile --add -o X P other
reweigh M changed 80000
ok 'a model of the same head is profiled' prune profile -q -m changed -o near \
    batches --hessian
status 3 'a profile of other weights of a block is refused' \
    prune profile --add \
    -o X P near
like 'the refusal says that the model is another' 'another model' err

ok 'prune profile takes --gradient' \
    prune profile -q -m M -o G --gradient batches
ok 'gradients are computed on two threads' \
    prune profile -q -m M -o G2 --gradient \
    -j 2 batches
for f in gradients.tsv sums.safetensors channels.tsv; do
    same "$f does not depend on threads" G/$f G2/$f
done
equal 'gradients.tsv has a line for each channel' "$(wc -l <G/gradients.tsv)" \
    $(($(awk '$4 == "rest"' G/channels.tsv | wc -l) + 1))
status 3 'profiles with and without gradients are refused' \
    prune profile --add \
    -o X G N
like 'the refusal names gradients' 'with gradients, or without' err
status 1 'gradients are refused too little memory' prune profile -m M -o X \
    --gradient --mem 1000 batches
like 'the refusal says how much memory gradients need' \
    'MB are needed for gradients' err
# Finite states, of which the logits are not.
cp -r M steep
{ head -c -256 M/model.safetensors
    for _ in $(seq 64); do printf '\377\377\177\177'; done; } >steep/model.safetensors
status 4 'a gradient that is not finite is refused' \
    prune profile -m steep -o X \
    --gradient batches
like 'the refusal names the block of the gradient' \
    'steep: a gradient of block' err

# --- misuse and damage ---
status 2 'a profile without a model is refused' prune profile -o X batches
status 2 'a profile without an output is refused' prune profile -m M batches
status 2 'an output that exists is refused' prune profile -m M -o P batches
status 2 '--add without profiles is refused' prune profile --add -o X
status 2 '--add with a model is refused' prune profile --add -m M -o X P
status 2 'two inputs without --add are refused' \
    prune profile -m M -o X batches \
    batches
like 'the refusal of two inputs names --add' 'second input.*--add' err
status 1 'a profile that is not there is refused' \
    prune profile --add -o X none
status 3 'a stream of documents is refused' prune profile -m M -o X docs
for f in profile.json sums.safetensors hessian.safetensors; do
    cp -r P bad
    size=$(wc -c <"P/$f")
    for n in 0 9 $((size / 2)) $((size - 2)); do
        head -c "$n" "P/$f" >"bad/$f"
        status 3 "$f cut to $n bytes is refused" prune profile --add -o X bad
    done
    rm -r bad
done
cp -r P bad
sed 's/"blocks": 3/"blocks": 4/' P/profile.json >bad/profile.json
status 3 'a profile that names a block too many is refused' \
    prune profile --add \
    -o X bad
sed 's/"version": [0-9]*/"version": 1/' P/profile.json >bad/profile.json
status 3 'a profile of version 1 is refused' prune profile --add -o X bad
like 'the refusal says to make the profile again' \
    'bad/profile\.json: .*version 1.*again' err
cp P/profile.json bad
cp other/hessian.safetensors bad
status 3 'Hessians of another profile are refused' \
    prune profile --add -o X bad
like 'the refusal names the hash of the Hessians' \
    'hessian.safetensors: .*hash' err
size=$(wc -c <P/hessian.safetensors)
status 1 'a disk without room for all Hessians is an error' sh -c "trap '' XFSZ
    ulimit -f $((size / 1024)); exec prune profile --add -o X P P"

# --- interrupted ---
stream -q -B 16 -T 60 --batches 150 -o many data || fail 'more data'
prune profile -q -m M -o X --hessian --calib-rows 0 many 2>err &
pid=$!
await [ -e X.tmp ]
kill -TERM $pid
wait $pid
equal 'an ended profile leaves nothing' "$(ls -d X X.tmp 2>&-)" ''
done_testing
