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
ok 'prune keeps all blocks' \
    prune -m "$t" -o all --blocks 3 --report all.tsv calib
equal 'a model of all blocks has a KL of 0' \
    "$(figure all.tsv cut kl)" 0.00000000
equal 'a model of all blocks has the loss of the whole' \
    "$(figure all.tsv cut nll)" "$(figure all.tsv whole nll)"
ok 'greedy drops a block with one candidate' \
    prune -q -m "$t" -o one --blocks 2 \
    --method greedy --candidates 1 --no-repair --report one.tsv calib
equal 'the one candidate is what is cut' \
    "$(figure one.tsv mix score) $(figure one.tsv cut score)" \
    "$(figure one.tsv drop score) $(figure one.tsv drop score)"
ok 'prune reads its own model' prune -q -m all -o again --blocks 3 calib
same 'keeping all blocks twice gives the same weights' all/model.safetensors \
    again/model.safetensors

# Of 20 blocks: the table of configurations, of 16 at first, is moved for the one
# that is cut
sed 's/hidden_layers": 3/hidden_layers": 20/' "$t/config.json" >deep.json
ok 'student makes a model of 20 blocks' student -m deep.json -o deep --steps 1 \
    --lr 1e-3 calib
for blocks in 5 6 7; do
    ok "prune keeps $blocks of 20 blocks" env MALLOC_PERTURB_=85 \
        "$BUILD/bin/prune" -m deep -o "deep-$blocks" --blocks "$blocks" \
        --method greedy --candidates 1 calib
    like "prune says that $blocks blocks are kept" \
        "^prune: $((992 + blocks * 2336)) of 47712 param" err
done

# --- goals ---
for goal in 0.1 0.3 0.6; do
    ok "prune takes --ratio $goal" prune -m "$t" -o "r$goal" --ratio "$goal" \
        --method greedy --candidates 0 --report r$goal.tsv calib
    got=$(figure r$goal.tsv cut parameters)
    want=$(awk -v g="$goal" 'BEGIN { print int(8000 * (1 - g)) }')
    at_most "--ratio $goal limits parameters" "$got" "$want"
    # one channel of one MLP is 48; three blocks have one less each
    at_least "--ratio $goal removes no more than it must" "$got" \
        $((want - 3 * 48 - 48))
    equal "--ratio $goal: the mix taken is what is cut" \
        "$(figure r$goal.tsv mix parameters)" "$got"
    ok "plan reads the model of --ratio $goal" plan -m "r$goal" --format tsv
    equal "plan counts the parameters of --ratio $goal alike" \
        "$(sed -n 's/^parameters	//p' out)" "$got"
done
r=r0.6.tsv
ok 'the mix of least score is taken' awk -F '\t' '
    $1 == "mix" && (!n++ || $10 < best) { best = $10; taken = $2 }
    END { exit taken != 1 }' $r
ok 'the best drop of a round is taken' awk -F '\t' '$1 == "drop" { k = $3
        if (!(k in b) || $10 < b[k]) { b[k] = $10; t[k] = $2 } }
    END { for (k in t) if (t[k] != 1) exit 1 }' $r
equal 'every block is tried in a round' "$(grep -c '^drop	.	2	' $r)" 3
ok 'prune takes --params' \
    prune -q -m "$t" -o p --params 5.7K --report p.tsv calib
at_most '--params reads a decimal suffix' "$(figure p.tsv cut parameters)" 5700
ok 'prune takes --blocks and --width' prune -q -m "$t" -o bw --blocks 2 \
    --width 10 --report bw.tsv calib
equal 'both --blocks and --width are met' \
    "$(figure bw.tsv cut blocks) $(figure bw.tsv cut width)" '2 10'
ok 'prune takes --no-repair' prune -q -m "$t" -o raw --blocks 2 --width 10 \
    --no-repair --report raw.tsv calib
equal 'without repair the mix has the KL of the cut model' \
    "$(figure raw.tsv mix kl)" "$(figure raw.tsv cut kl)"
ok 'prune repairs the cut model' \
    prune -m "$t" -o repaired --blocks 2 --width 10 \
    --report repaired.tsv calib
if grep -q 'is not repaired$' err; then
    skip 'repair' 'no OpenBLAS'
else
    like 'prune says what it repaired' '^prune: down repaired in 2 blocks: ' err
    ok 'repair lowers the KL' awk -v a="$(figure repaired.tsv cut kl)" \
        -v b="$(figure raw.tsv cut kl)" 'BEGIN { exit !(a < b) }'
fi
ok 'prune takes --multiple' prune -q -m "$t" -o m8 --ratio 0.2 --multiple 8 \
    --report m8.tsv calib
equal 'the width is a multiple of 8' "$(($(figure m8.tsv cut width) % 8))" 0
ok 'prune takes --dtype bf16' prune -q -m "$t" -o half --blocks 2 --dtype bf16 \
    calib
like 'the configuration says bfloat16' \
    '"torch_dtype": "bfloat16"' half/config.json

# The score of the report is what evalppl finds, block by block.
ok 'evalppl judges the cut model' \
    evalppl -q -m "r0.6" --base "T=$t" --format tsv \
    calib
equal 'evalppl finds the KL of the report' \
    "$(awk -F '\t' '$1 == "r0.6" { printf "%.5f", $11; exit }' out)" \
    "$(awk -F '\t' '$1 == "cut" { printf "%.5f", $9 }' $r)"

# --- cutting what was cut ---
ok 'prune cuts a cut model' prune -q -m r0.1 -o cut-again --ratio 0.3 \
    --report c.tsv calib
at_most 'a cut model loses the share again' "$(figure c.tsv cut parameters)" \
    $((7200 * 7 / 10))

# --- deterministic ---
for j in 1 2; do
    prune -q -m "$t" -o "j$j" -j "$j" --ratio 0.3 calib || fail "-j $j"
done
same 'weights do not depend on threads' \
    j1/model.safetensors j2/model.safetensors
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" vocab-batch voc || exit 1
ok 'prune reads a larger vocabulary whose ids lie below the model'\''s' \
    prune -m "$t" -o voc.out --ratio 0.3 voc
gguf=$top/tests/golden/gguf/q4_1.gguf
status 3 'a stream of another tokenizer is refused' prune -m "$gguf" -o x \
    --ratio 0.1 calib
like 'the refusal names both tokenizers' \
    'calib: .*another tokenizer.*q4_1' err
status 3 'a stream of another tokenizer than -t is refused' prune -m "$t" -o x \
    -t "$gguf" --ratio 0.3 calib
tokenize -q -t "$gguf" -o ids "$top/tests/golden/smollm2/text.txt" &&
    shard write -q -o shards ids && stream -q -B 4 -T 64 --epochs 1 -o own shards ||
    fail 'a stream of its own'
ok 'prune cuts a GGUF' prune -q -m "$gguf" -o gguf --ratio 0.1 own
ok 'a cut GGUF brings its tokenizer' test -e gguf/tokenizer.json

# --- misuse and damage ---
status 2 'prune without a goal is refused' prune -m "$t" -o x calib
like 'prune asks for a goal' 'how small.*--ratio' err
status 2 'prune without a model is refused' prune -o x --ratio 0.3 calib
like 'prune asks for a model' 'which model.*-m' err
status 2 'prune without an output is refused' prune -m "$t" --ratio 0.3 calib
like 'prune asks for an output' 'where to.*-o' err
for bad in 2 -1 x '' nan; do
    status 2 "--ratio '$bad' is refused" prune -m "$t" -o x --ratio "$bad" calib
done
for bad in 0 -5 M 3Q 1e99 ''; do
    status 2 "--params '$bad' is refused" \
        prune -m "$t" -o x --params "$bad" calib
done
status 2 'more blocks than the model has are refused' prune -m "$t" -o x \
    --blocks 4 calib
status 2 'a width above the model'\''s is refused' prune -m "$t" -o x --width 25 \
    calib
status 2 'fewer parameters than possible are refused' prune -m "$t" -o x \
    --params 500 calib
like 'the refusal names the fewest parameters' 'fewest are [0-9]+' err
status 2 'an output that exists is refused' \
    prune -m "$t" -o all --ratio 0.3 calib
status 1 'a model that is not there is refused' prune -m none -o x --ratio 0.3 \
    calib
status 1 'an input that is not there is refused' \
    prune -m "$t" -o x --ratio 0.3 \
    nofile
status 1 'a tokenizer that is not there is refused' prune -m "$t" -o x -t none \
    --ratio 0.3 calib
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs docs || exit 1
status 3 'a stream of documents is refused' prune -m "$t" -o x --ratio 0.3 docs
like 'the refusal says that batches are needed' 'not batches' err
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" empty-batch none || exit 1
status 3 'a stream without batches is refused' \
    prune -m "$t" -o x --ratio 0.3 none
size=$(wc -c <calib)
for n in 0 1 100 $((size / 2)) $((size - 1)); do
    head -c "$n" calib >part
    status 3 "an input cut to $n bytes is refused" prune -m "$t" -o x \
        --ratio 0.3 part
done
echo hello >foreign
status 3 'an input that is no stream is refused' \
    prune -m "$t" -o x --ratio 0.3 \
    foreign
mkdir nan
cp "$t/config.json" nan
{ head -c -4 "$t/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'NaN among the weights is refused' prune -m nan -o x --ratio 0.3 calib
mkdir cut
cp "$t/config.json" cut
head -c 5000 "$t/model.safetensors" >cut/model.safetensors
status 3 'half a model is refused' prune -m cut -o x --ratio 0.3 calib
equal 'refusals leave no output' "$(ls -d x x.tmp 2>&-)" ''

# Killed while it waits for data: nothing is left either.
mkfifo pipe
prune -q -m "$t" -o killed --ratio 0.3 pipe 2>err &
pid=$!
exec 3>pipe
head -c 300 calib >&3
kill -TERM "$pid"
wait "$pid"
exec 3>&-
equal 'a killed prune leaves no output' "$(ls -d killed killed.tmp 2>&-)" ''

# ---- what has the temporary name ----
mkdir mine.tmp
echo mine >mine.tmp/thesis
status 2 'a foreign folder of the temporary name is refused' prune -q -m "$t" \
    -o mine --ratio 0.3 calib
like 'the refusal names the foreign folder' \
    '^prune: mine.tmp: is in the way' err
equal 'the foreign folder stays' "$(cat mine.tmp/thesis)" mine
done_testing
