#!/bin/sh
# prune cut: choices, repair, what is written; damage and misuse
. "${0%/*}/../lib/lib.sh"
grad=$top/tests/golden/grad
t=$grad/tied-teacher            # 3 blocks of 2 groups, MLP 24, 8000 parameters
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" calib-batch calib || exit 1

# choice FILE 'block groups channels' ...
choice() {
    file=$1
    shift
    { printf '# retort choice 1\nblock\tgroups\tchannels\n' &&
        printf '%s\n' "$@" | tr ' ' '\t'; } >"$file"
}
choice all '0 all all' '1 all all' '2 all all'
choice blocks '0 all all' '2 - all'
choice mixed '0 all 0-6,9,12-20' '1 1 all' '2 0 3,5,7-23'

# --- what is kept ---
ok 'all of it' prune cut -m "$t" --choice all -o whole
like 'needs no input' '8000 of 8000 parameters, 3 of 3 blocks' err
prune -q -m "$t" -o plain --blocks 3 calib || exit 1
same 'and is the model' whole/model.safetensors plain/model.safetensors
ok 'whole blocks and attention' prune cut -m "$t" --choice blocks -o less \
    </dev/null
like 'are named' '"groups": \[' less/config.json
unlike 'nothing to repair' 'repaired' err
ok 'plan counts as cut says' plan -m less --format tsv
like 'parameters' "^parameters	$(sed -n 's/.*: \([0-9]*\) of 8000 p.*/\1/p' err |
    head -n 1)" out

# --- misuse and damage ---
status 2 'no model' prune cut --choice all -o not
status 2 'no choice' prune cut -m "$t" -o not
status 2 'it exists' prune cut -m "$t" --choice all -o whole
status 3 'no choice but a model' prune cut -m "$t" --choice "$t/config.json" \
    -o not
like 'is told by its line' 'config.json: line 1: is not "# retort choice 1"' err
status 1 'a choice that is not there' prune cut -m "$t" --choice none -o not

# --- repair ---
# kl MODEL [BASE]: from the whole one, on the data of the repair
kl() {
    evalppl -q -m "$1" --base "T=${2:-$t}" --format tsv calib |
        awk -F '\t' -v m="$1" '$1 == m { print $11 }'
}
# less A B: is A < B?
less() {
    awk "BEGIN { exit !($1 < $2) }"
}
ok 'without repair' prune cut -m "$t" --choice mixed -o raw --no-repair
if ! prune cut -v -m "$t" --choice mixed -o fixed calib 2>err; then
    status 1 'no OpenBLAS: a system error' prune cut -m "$t" --choice mixed \
        -o not calib
    skip 'repair' 'no OpenBLAS'
    done_testing
fi
like 'in which blocks' '^prune cut: o repaired in 2 blocks: ' err
like '... and how well' '^prune cut: block 0, down: repaired, [0-9.]* % of' err
ok 'the model is nearer' less "$(kl fixed)" "$(kl raw)"
ok 'at one thread' prune cut -q -m "$t" --choice mixed -o one -j 1 calib
same 'the same bytes' fixed/model.safetensors one/model.safetensors
ok 'at two' prune cut -q -m "$t" --choice mixed -o two -j 2 calib
same 'the same bytes' fixed/model.safetensors two/model.safetensors
same 'the same configuration' fixed/config.json two/config.json
ok 'held fast' prune cut -q -m "$t" --choice mixed -o fast --damp 1000 calib
ok 'is between' less "$(kl fixed)" "$(kl fast)"
ok '... and nearly as without' awk -v a="$(kl fast)" -v b="$(kl raw)" \
    'BEGIN { exit !(a <= b && a > 0.9 * b) }'
ok 'in bfloat16' prune cut -q -m "$t" --choice mixed -o half --dtype bf16 calib
like 'says so' '"torch_dtype": "bfloat16"' half/config.json

# --- by a profile ---
ok 'a profile' prune profile -q -m "$t" -o P --hessian calib
ok 'repaired by it' prune cut -v -m "$t" --choice mixed -o by -q --profile P
ok 'the model is nearer' less "$(kl by)" "$(kl raw)"
# the first layer repaired reads the same either way, but for rounding: a
# profile's Hessians are in fp32
choice first '0 all 0-6,9,12-20' '1 all all' '2 all all'
ok 'one block by the input' prune cut -q -m "$t" --choice first -o first1 calib
ok '... and by the profile' prune cut -q -m "$t" --choice first -o first2 \
    --profile P
ok 'nearly the same' less "$(kl first2 first1)" 1e-9
ok '... where the repair is not nothing' less 1e-5 "$(kl first1)"
ok 'a profile without Hessians' prune profile -q -m "$t" -o N calib
status 2 'will not do' prune cut -m "$t" --choice mixed -o not --profile N
status 3 'nor one of another model' prune cut -m "$grad/untied-teacher" \
    --choice mixed -o not --profile P
# The end of the file is the Hessian of the last block's MLP, and of the model
# weights of that block.
cp -r P hurt
size=$(wc -c <P/hessian.safetensors)
{ head -c $((size - 4)) P/hessian.safetensors && printf '\0\0\0\77'; } \
    >hurt/hessian.safetensors
status 3 'nor a damaged one' prune cut -m "$t" --choice mixed -o not --profile hurt
like 'is named' 'hurt/hessian\.safetensors: .*hash' err
reweigh "$t" changed 4000
for how in 'cut --choice mixed' sparsify 'search --ratio 0.4 calib'; do
    # shellcheck disable=SC2086 # words
    status 3 "$how: nor one of a model of the same head" prune $how -m changed \
        -o not --profile P
    like 'says so' 'P: .*not.* profile of changed' err
done
# A Hessian with -1e30 on the diagonal, at channel 7, which goes.
header=$(od -A n -t u8 -N 8 P/hessian.safetensors | tr -d ' ')
at=$(head -c $((8 + header)) P/hessian.safetensors | tail -c "$header" |
    sed 's/.*"0\.down":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
at=$((8 + header + at + 7 * 25 * 4))
cp -r P odd
{ head -c $at P/hessian.safetensors && printf '\312\362\111\361' &&
    tail -c +$((at + 5)) P/hessian.safetensors; } >odd/hessian.safetensors
old=$("$BUILD/tests/prune/profile" P/hessian.safetensors)
new=$("$BUILD/tests/prune/profile" odd/hessian.safetensors)
sed "s/$old/$new/" P/profile.json >odd/profile.json
status 4 'nor Hessians that are not positive definite' prune cut -m "$t" \
    --choice first -o not --profile odd
like 'which are named' 'block 0, down: .*not positive definite' err
status 2 'input beside a profile' prune cut -m "$t" --choice mixed -o not \
    --profile P calib
status 2 'input without repair' prune cut -m "$t" --choice mixed -o not \
    --no-repair calib

# --- prune at once ---
ok 'search' prune search -q -m "$t" --ratio 0.4 -o found calib
ok 'cut' prune cut -q -m "$t" --choice found -o steps --calib-rows 16 calib
ok 'or both' prune -q -m "$t" --ratio 0.4 -o once calib
same 'the same weights' once/model.safetensors steps/model.safetensors
same 'the same configuration' once/config.json steps/config.json

# --- cutting what was cut ---
choice again '1 all all' '2 all 0-3,6-9'
ok 'a cut model' prune cut -q -m fixed --choice again -o twice calib
like 'sources compose' '"kept": \[' twice/config.json
equal '... to' "$(tr -d ' \n' <twice/config.json |
    sed 's/.*"kept":\[\([0-9,]*\)\].*/\1/')" 1,2
# words KEY MODEL: that list of its configuration
words() {
    tr -d " \n" <"$2/config.json" | sed "s/.*\"$1\":\[\([^]]*\)\].*/\1/"
}
equal 'the channels of each block' "$(words kept_channels fixed)" \
    '"0-6,9,12-20","all","3,5,7-23"'
equal 'the groups' "$(words kept_groups fixed)" '"all","1","0"'
equal 'channels compose too' "$(words kept_channels twice)" \
    '"all","3,5,7-8,11-14"'
equal 'and groups' "$(words kept_groups twice)" '"1","0"'
unlike 'all of all is not told' kept_ whole/config.json
equal 'but no attention is' "$(words kept_groups less)" '"all","-"'
for bad in 3,5,7-22 3,5,7-24 3,7,5,8-23 '3,5,7-23,' 3,5,07x23 - all0; do
    rm -rf bad
    cp -r fixed bad
    sed "s/3,5,7-23/$bad/" fixed/config.json >bad/config.json
    status 3 "channels $bad" prune cut -m bad --choice again -o not --no-repair
    like 'are named' "retort.kept_channels: number 2 is no list of 19" err
done
ok 'a student keeps them' student -q -m fixed -o run --lr 1e-3 --steps 1 \
    calib
equal 'the same' "$(words kept_channels run)" "$(words kept_channels fixed)"
choice more '2 1 all'
status 3 'a group that has gone' prune cut -m fixed --choice more -o not calib
like 'is named' 'more: line 3: groups: 1, but block 2 has 0 to 0' err

status 3 'no batches' prune cut -m "$t" --choice mixed -o not "$top/LICENSE"
status 1 'no input' prune cut -m "$t" --choice mixed -o not missing
ls >left
unlike 'nothing is left' '^not' left

# --- an end in the middle ---
mkfifo pipe
prune cut -q -m "$t" --choice mixed -o killed pipe 2>err &
victim=$!
exec 7>pipe
head -c 500 calib >&7
kill -TERM $victim
exec 7>&-
got=0
wait $victim 2>/dev/null || got=$?
equal 'killed' $got 143
ls >left
unlike '... leaves nothing' '^killed' left
done_testing
