#!/bin/sh
# prune sparsify: what it writes, the same bytes again, damage and misuse
. "${0%/*}/../lib/lib.sh"
grad=$top/tests/golden/grad
t=$grad/tied-teacher            # 3 blocks, hidden 16, heads 24, MLP 24
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" calib-batch calib || exit 1
sparsify() { prune sparsify -m "$t" "$@"; }

# column FILE NAME: that column of a report, without its head
column() {
    awk -F '\t' -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at[c] }' "$1"
}

# --- without OpenBLAS ---
ok 'wanda makes a model sparse' \
    sparsify -q -o wanda --method wanda --report wanda.tsv calib
equal 'the report has a line for each layer' \
    "$(column wanda.tsv taken | sort | uniq -c | tr -d ' \n')" 211
equal 'half of the weights are zero' \
    "$(column wanda.tsv zeros | awk '{ s += $1 } END { print s }')" \
    "$(awk -F '\t' 'NR > 1 { s += $3 * $4 / 2 } END { print s }' wanda.tsv)"
ok 'magnitude makes a model sparse' \
    sparsify -q -o magnitude --method magnitude --pattern 0.25 \
    --report magnitude.tsv calib
equal 'a quarter of each layer is zero' \
    "$(awk -F '\t' 'NR > 1 && $6 != $3 * $4 / 4' magnitude.tsv)" ''
like 'a share is listed as unstructured' '"pattern": *"unstructured"' \
    magnitude/config.json
ok 'sparsify takes --layers' sparsify -q -o some --method wanda --pattern 4:8 \
    --layers v,down --report some.tsv calib
equal 'only the named layers are in the report' \
    "$(column some.tsv layer | sort -u | tr '\n' ' ')" 'down v '
like 'the configuration names the pattern' '"pattern": *"4:8"' some/config.json
grep -o 'model\.layers[a-z0-9_.]*' some/config.json >named
equal 'the configuration names the sparse layers' \
    "$(grep -Ec '[012].(mlp.down|self_attn.v)_proj.weight$' named)" 6
equal 'the configuration names no other layers' "$(wc -l <named)" 6
ok 'a sparse model gets more layers of its pattern' \
    prune sparsify -q -m some -o more --method wanda \
    --pattern 4:8 --layers q calib
equal 'the configuration names old and new layers' \
    "$(grep -c 'proj\.weight' more/config.json)" 9
status 2 'another pattern is refused' \
    prune sparsify -m some -o x --method wanda calib
like 'the refusal names the pattern of the model' 'sparse already, 4:8' err

# --- by the brain surgeon ---
if ! sparsify -o obs --report obs.tsv calib 2>err; then
    status 1 'a missing OpenBLAS is a system error' sparsify -o x calib
    skip 'the brain surgeon' 'no OpenBLAS'
    done_testing
fi
like 'sparsify says how many weights are zero' \
    '[0-9]+ of [0-9]+ weights in 21 layers are zero' err
for m in wanda obs; do
    column $m.tsv error | awk '{ s += $1 } END { print s / NR }' >$m.error
done
ok 'errors of obs are less than those of wanda' \
    awk 'NR == 1 { a = $1; next } { exit !($1 < a) }' \
    wanda.error obs.error
ok 'evalppl reads sparse models' evalppl -q -m obs -m wanda --base "$t" -o e \
    --format tsv --protocol stream calib
for j in 1 3; do
    ok "sparsify runs on $j threads" sparsify -q -j "$j" -o "j$j" calib
    same "$j threads write the same weights" \
        obs/model.safetensors "j$j/model.safetensors"
    same "$j threads write the same configuration" \
        obs/config.json "j$j/config.json"
done
ok 'sparsify takes --share' \
    sparsify -q -o half --share 0.5 --report half.tsv calib
ok 'the least sensitive layers are taken' \
    awk -F '\t' 'NR > 1 && $5 && $9 > most { most = $9 }
    NR > 1 && !$5 && (!n++ || $9 < least) { least = $9 }
    NR > 1 && $5 { took += $3 * $4 } NR > 1 { all += $3 * $4 }
    END { exit !(most <= least && took >= all / 2 && took < all * 0.7) }' half.tsv
ok 'sparsify takes --by kl' \
    sparsify -q -o kl --share 0.3 --by kl --report kl.tsv calib
ok 'sparsify takes bfloat16' \
    sparsify -q -o bf16 --compute bf16 --dtype bf16 calib
equal 'weights of bfloat16 take half the bytes' \
    "$(($(wc -c <bf16/model.safetensors) * 2 / 10000))" \
    "$(($(wc -c <obs/model.safetensors) / 10000))"

# --- once, from a profile ---
ok 'a profile with Hessians is made' \
    prune profile -q -m "$t" -o p --hessian --calib-rows 64 calib
ok 'sparsify takes --profile' sparsify -q -o once --profile p --report once.tsv
# the inputs of block 0 are dense in both
ok 'a profile makes block 0 sparse as the walk does' \
    awk -F '\t' 'NR == FNR { e[$1, $2] = $10; next }
    $1 == 0 { n++; d = $10 / e[$1, $2] - 1; if (!(d * d < 1e-6)) bad = 1 }
    END { exit bad || n != 7 }' obs.tsv once.tsv
ok 'a profile makes later blocks sparse otherwise' \
    awk -F '\t' 'NR == FNR { e[$1, $2] = $10; next }
    $1 == 2 && $10 == e[$1, $2] { bad = 1 } END { exit bad }' obs.tsv once.tsv
ok 'sparsify takes --profile with --share' \
    sparsify -q -o some-once --profile p --share 0.3
status 2 '--by kl with a profile is refused' \
    sparsify -o x --profile p --share 0.3 --by kl
status 2 'a profile beside an input is refused' sparsify -o x --profile p calib
ok 'a profile without Hessians is made' prune profile -q -m "$t" -o bare calib
status 2 'a profile without Hessians is refused' sparsify -o x --profile bare
status 3 'a profile of another model is refused' \
    prune sparsify -m "$grad/tied-student" -o x \
    --profile p

gguf=$top/tests/golden/gguf/q4_1.gguf
tokenize -q -t "$gguf" -o ids "$top/tests/golden/smollm2/text.txt" &&
    shard write -q -o shards ids && stream -q -B 4 -T 64 --epochs 1 -o own shards ||
    fail 'a stream of its own'
ok 'sparsify reads a GGUF' prune sparsify -q -m "$gguf" -o gguf own
ok 'a sparse GGUF brings its tokenizer' test -e gguf/tokenizer.json

# --- misuse and damage ---
status 2 'sparsify without a model is refused' prune sparsify -o x calib
status 2 'sparsify without an output is refused' prune sparsify -m "$t" calib
status 2 'an output that exists is refused' sparsify -o obs calib
for bad in 4 4:2 0:4 2:4x 1.5 0 '' 2:256; do
    status 2 "--pattern '$bad' is refused" sparsify -o x --pattern "$bad" calib
done
status 2 'a pattern that does not divide a row is refused' \
    sparsify -o x --pattern 3:5 calib
like 'the refusal names the layer' \
    'block 0, q: rows of 16 are no multiple of 5' err
for bad in '' x 'q,' ',q' 'q,x' Q 'all,q'; do
    status 2 "--layers '$bad' is refused" sparsify -o x --layers "$bad" calib
done
status 2 'a share of 0 is refused' sparsify -o x --share 0 calib
status 2 'a damping of 0 is refused' sparsify -o x --damp 0 calib
status 2 '--damping is refused' sparsify -o x --damping 0.1 calib
status 1 'a model that is not there is refused' \
    prune sparsify -m none -o x calib
status 1 'an input that is not there is refused' sparsify -o x nofile
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs docs || exit 1
status 3 'a stream of documents is refused' sparsify -o x docs
head -c 1000 calib >part
status 3 'half an input is refused' sparsify -o x part
status 3 'a stream of another tokenizer is refused' \
    prune sparsify -m "$gguf" -o x calib
mkdir nan
cp "$t/config.json" nan
{ head -c -4 "$t/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'NaN among the weights is refused' prune sparsify -m nan -o x calib

# Killed while it waits for data: nothing is left.
mkfifo pipe
prune sparsify -q -m "$t" -o x pipe 2>err &
pid=$!
exec 3>pipe
head -c 1000 calib >&3
kill -TERM "$pid"
exec 3>&-
got=0
wait "$pid" 2>/dev/null || got=$?
equal 'a signal ends sparsify while it reads' $got 143
equal 'refusals and an ended run leave no output' "$(ls -d x x.tmp 2>&-)" ''
done_testing
