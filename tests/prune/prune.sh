#!/bin/sh
# prune: goals met, nothing changed that is kept, damage and misuse
. "${0%/*}/../lib/lib.sh"
grad=$top/tests/golden/grad
t=$grad/tied-teacher            # 3 blocks, MLP 24, 8000 parameters
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" calib-batch calib || exit 1

# figure FILE KIND COLUMN: of the line of that kind that was taken
figure() {
    awk -F '\t' -v k="$2" -v c="$3" 'NR == 1 {
        for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 == k && ($2 == 1 || k == "whole") { print $at[c]; exit }' "$1"
}
at_most() {
    if [ "$2" -le "$3" ]; then pass "$1: $2"; else fail "$1: $2 > $3"; fi
}
at_least() {
    if [ "$2" -ge "$3" ]; then pass "$1: $2"; else fail "$1: $2 < $3"; fi
}

# --- keeping everything ---
ok 'keep all blocks' prune -m "$t" -o all --blocks 3 --report all.tsv calib
equal 'nothing is lost' "$(figure all.tsv cut kl)" 0.00000000
equal 'nor changed' "$(figure all.tsv cut nll)" "$(figure all.tsv whole nll)"
ok 'one candidate' prune -q -m "$t" -o one --blocks 2 \
    --method greedy --candidates 1 --report one.tsv calib
equal 'is what is cut' "$(figure one.tsv mix score) $(figure one.tsv cut score)" \
    "$(figure one.tsv drop score) $(figure one.tsv drop score)"
ok 'again' prune -q -m all -o again --blocks 3 calib
same 'the same weights' all/model.safetensors again/model.safetensors

# Of 20 blocks: the table of configurations, of 16 at first, is moved for the one
# that is cut
sed 's/hidden_layers": 3/hidden_layers": 20/' "$t/config.json" >deep.json
ok 'a deeper model' student -m deep.json -o deep --steps 1 --lr 1e-3 calib
for blocks in 5 6 7; do
    ok "$blocks of its blocks" env MALLOC_PERTURB_=85 "$BUILD/bin/prune" -m deep \
        -o "deep-$blocks" --blocks "$blocks" --method greedy --candidates 1 calib
    like 'are kept' "^prune: $((992 + blocks * 2336)) of 47712 param" err
done

# --- goals ---
for goal in 0.1 0.3 0.6; do
    ok "--ratio $goal" prune -m "$t" -o "r$goal" --ratio "$goal" \
        --method greedy --candidates 0 --report r.tsv calib
    got=$(figure r.tsv cut parameters)
    want=$(awk -v g="$goal" 'BEGIN { print int(8000 * (1 - g)) }')
    at_most 'parameters' "$got" "$want"
    # one channel of one MLP is 48; three blocks have one less each
    at_least 'and no less than need be' "$got" $((want - 3 * 48 - 48))
    equal 'the mix is what is cut' "$(figure r.tsv mix parameters)" "$got"
    ok 'plan counts the same' plan -m "r$goal" --format tsv
    equal 'parameters' "$(sed -n 's/^parameters	//p' out)" "$got"
done
# The mix taken has the least score of all mixes.
ok 'the best mix is taken' awk -F '\t' '$1 == "mix" && (!n++ || $10 < best) { best = $10; taken = $2 }
    END { exit taken != 1 }' r.tsv
ok 'the best drop of a round is taken' awk -F '\t' '$1 == "drop" { k = $3; if (!(k in b) || $10 < b[k]) {
        b[k] = $10; t[k] = $2 } }
    END { for (k in t) if (t[k] != 1) exit 1 }' r.tsv
equal 'all blocks were tried' "$(grep -c '^drop	.	2	' r.tsv)" 3
ok '--params' prune -q -m "$t" -o p --params 5.7K --report p.tsv calib
at_most 'decimal suffix' "$(figure p.tsv cut parameters)" 5700
ok '--blocks and --width' prune -q -m "$t" -o bw --blocks 2 --width 10 \
    --report bw.tsv calib
equal 'are both met' "$(figure bw.tsv cut blocks) $(figure bw.tsv cut width)" \
    '2 10'
ok 'without repair' prune -q -m "$t" -o raw --blocks 2 --width 10 --no-repair \
    --report raw.tsv calib
equal 'the mix is what is cut' "$(figure raw.tsv mix kl)" \
    "$(figure raw.tsv cut kl)"
ok 'or repaired' prune -m "$t" -o repaired --blocks 2 --width 10 \
    --report repaired.tsv calib
if grep -q 'is not repaired$' err; then
    skip 'repair' 'no OpenBLAS'
else
    like '... which is said' '^prune: down repaired in 2 blocks: ' err
    ok '... and nearer' awk -v a="$(figure repaired.tsv cut kl)" \
        -v b="$(figure raw.tsv cut kl)" 'BEGIN { exit !(a < b) }'
fi
ok '--multiple' prune -q -m "$t" -o m8 --ratio 0.2 --multiple 8 \
    --report m8.tsv calib
equal 'of 8' "$(($(figure m8.tsv cut width) % 8))" 0
ok '--dtype bf16' prune -q -m "$t" -o half --blocks 2 --dtype bf16 calib
like 'says so' '"torch_dtype": "bfloat16"' half/config.json

# The score of the report is what evalppl finds, block by block.
ok 'evalppl' evalppl -q -m "r0.6" --base "T=$t" --format tsv calib
equal 'its KL' "$(awk -F '\t' '$1 == "r0.6" { printf "%.5f", $11 }' out)" \
    "$(awk -F '\t' '$1 == "cut" { printf "%.5f", $9 }' r.tsv)"

# --- cutting what was cut ---
ok 'a cut model' prune -q -m r0.1 -o cut-again --ratio 0.3 \
    --report c.tsv calib
at_most 'parameters' "$(figure c.tsv cut parameters)" $((7200 * 7 / 10))

# --- deterministic ---
for j in 1 2; do
    prune -q -m "$t" -o "j$j" -j "$j" --ratio 0.3 calib || fail "-j $j"
done
same 'threads do not matter' j1/model.safetensors j2/model.safetensors
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" vocab-batch voc || exit 1
ok 'a larger vocabulary, whose ids all lie below the model'\''s' \
    prune -m "$t" -o voc.out --ratio 0.3 voc
gguf=$top/tests/golden/gguf/q4_1.gguf
status 3 'a stream of another tokenizer' prune -m "$gguf" -o x --ratio 0.1 calib
like 'says so' 'calib: was made with another tokenizer than that of .*q4_1' err
status 3 'than -t' prune -m "$t" -o x -t "$gguf" --ratio 0.3 calib
tokenize -q -t "$gguf" -o ids "$top/tests/golden/smollm2/text.txt" &&
    shard write -q -o shards ids && stream -q -B 4 -T 64 --epochs 1 -o own shards ||
    fail 'a stream of its own'
ok 'a GGUF' prune -q -m "$gguf" -o gguf --ratio 0.1 own
ok 'brings its tokenizer' test -e gguf/tokenizer.json

# --- misuse and damage ---
status 2 'no goal' prune -m "$t" -o x calib
status 2 'no model' prune -o x --ratio 0.3 calib
status 2 'no output' prune -m "$t" --ratio 0.3 calib
for bad in 2 -1 x '' nan; do
    status 2 "--ratio '$bad'" prune -m "$t" -o x --ratio "$bad" calib
done
for bad in 0 -5 M 3Q 1e99 ''; do
    status 2 "--params '$bad'" prune -m "$t" -o x --params "$bad" calib
done
status 2 'more blocks than there are' prune -m "$t" -o x --blocks 4 calib
status 2 'wider than it is' prune -m "$t" -o x --width 25 calib
status 2 'smaller than possible' prune -m "$t" -o x --params 500 calib
like 'names the fewest' 'the fewest are [0-9]+' err
status 2 'an output that exists' prune -m "$t" -o all --ratio 0.3 calib
status 1 'a model that is not there' prune -m none -o x --ratio 0.3 calib
status 1 'an input that is not there' prune -m "$t" -o x --ratio 0.3 nofile
status 1 'a tokenizer that is not there' prune -m "$t" -o x -t none \
    --ratio 0.3 calib
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs docs || exit 1
status 3 'documents' prune -m "$t" -o x --ratio 0.3 docs
like 'says what is needed' 'not batches' err
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" empty-batch none || exit 1
status 3 'no batches' prune -m "$t" -o x --ratio 0.3 none
size=$(wc -c <calib)
for n in 0 1 100 $((size / 2)) $((size - 1)); do
    head -c "$n" calib >part
    status 3 "the first $n bytes of the input" prune -m "$t" -o x \
        --ratio 0.3 part
done
echo hello >foreign
status 3 'no stream at all' prune -m "$t" -o x --ratio 0.3 foreign
mkdir nan
cp "$t/config.json" nan
{ head -c -4 "$t/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'NaN among the weights' prune -m nan -o x --ratio 0.3 calib
mkdir cut
cp "$t/config.json" cut
head -c 5000 "$t/model.safetensors" >cut/model.safetensors
status 3 'half a model' prune -m cut -o x --ratio 0.3 calib
if [ -e x ] || [ -e x.tmp ]; then fail 'nothing is left'; else
    pass 'nothing is left'
fi

# Killed while it waits for data: nothing is left either.
mkfifo pipe
prune -q -m "$t" -o killed --ratio 0.3 pipe 2>err &
pid=$!
exec 3>pipe
head -c 300 calib >&3
kill -TERM "$pid"
wait "$pid"
exec 3>&-
if [ -e killed ] || [ -e killed.tmp ]; then fail 'killed: nothing is left'
else pass 'killed: nothing is left'; fi

# ---- what has the temporary name ----
mkdir mine.tmp
echo mine >mine.tmp/thesis
status 2 'a folder of that name' prune -q -m "$t" -o mine --ratio 0.3 calib
like 'is named' '^prune: mine.tmp: is in the way' err
equal 'and stays' "$(cat mine.tmp/thesis)" mine
done_testing
