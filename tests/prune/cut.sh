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
ok 'prune cut keeps all blocks' prune cut -m "$t" --choice all -o whole
like 'a cut that repairs nothing reads no input' \
    '8000 of 8000 parameters, 3 of 3 blocks' err
prune -q -m "$t" -o plain --blocks 3 calib || exit 1
same 'a choice of all blocks writes the weights of the model' \
    whole/model.safetensors plain/model.safetensors
like 'the card names the command and the choice' '^- `--choice all`$' whole/README.md
like 'the card says that the model is pruned' '^- "pruned"$' plain/README.md
like 'the card of a search has its KL' '^. KL to the whole model there . 0' \
    plain/README.md
ok 'prune cut drops a block and an attention' \
    prune cut -m "$t" --choice blocks -o less --no-repair \
    </dev/null
like 'the configuration lists the groups of each block' \
    '"groups": \[' less/config.json
unlike 'nothing is repaired by --no-repair' 'repaired' err
ok 'plan reads the cut model' plan -m less --format tsv
like 'plan counts the parameters that prune cut says' \
    "^parameters	$(sed -n 's/.*: \([0-9]*\) of 8000 p.*/\1/p' err |
    head -n 1)" out

# --- misuse and damage ---
status 2 'prune cut without a model is refused' prune cut --choice all -o not
status 2 'prune cut without a choice is refused' prune cut -m "$t" -o not
status 2 'an output that exists is refused' \
    prune cut -m "$t" --choice all -o whole
status 3 'a file that is no choice is refused' \
    prune cut -m "$t" --choice "$t/config.json" \
    -o not
like 'the refusal names the line that is no choice' \
    'config.json: line 1: is not "# retort choice 1"' err
status 1 'a choice that is not there is refused' \
    prune cut -m "$t" --choice none -o not

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
ok 'prune cut takes --no-repair' \
    prune cut -m "$t" --choice mixed -o raw --no-repair
if ! prune cut -v -m "$t" --choice mixed -o fixed calib 2>err; then
    status 1 'a missing OpenBLAS is a system error' \
        prune cut -m "$t" --choice mixed \
        -o not calib
    skip 'repair' 'no OpenBLAS'
    done_testing
fi
like 'prune cut says in which blocks it repaired o' \
    '^prune cut: o repaired in 2 blocks: ' err
like 'prune cut says how well a layer is repaired' \
    '^prune cut: block 0, down: repaired, [0-9.]* % of' err
ok 'repair brings the model nearer to the whole' less "$(kl fixed)" "$(kl raw)"
ok 'prune cut runs on one thread' \
    prune cut -q -m "$t" --choice mixed -o one -j 1 calib
same 'one thread writes the same weights' \
    fixed/model.safetensors one/model.safetensors
ok 'prune cut runs on two threads' \
    prune cut -q -m "$t" --choice mixed -o two -j 2 calib
same 'two threads write the same weights' \
    fixed/model.safetensors two/model.safetensors
same 'two threads write the same configuration' \
    fixed/config.json two/config.json
ok 'prune cut takes --damp 1000' \
    prune cut -q -m "$t" --choice mixed -o fast --damp 1000 calib
ok 'much damping repairs less' less "$(kl fixed)" "$(kl fast)"
ok 'much damping repairs next to nothing' \
    awk -v a="$(kl fast)" -v b="$(kl raw)" \
    'BEGIN { exit !(a <= b && a > 0.9 * b) }'
ok 'prune cut takes --dtype bf16' \
    prune cut -q -m "$t" --choice mixed -o half --dtype bf16 calib
like 'the configuration of --dtype bf16 says bfloat16' \
    '"torch_dtype": "bfloat16"' half/config.json

# --- what dropped parts leave ---
ok 'the blocks that stay make up for those dropped' \
    prune cut -v -m "$t" --choice blocks -o filled calib
like 'down of both blocks is repaired' '^prune cut: down repaired in 2 blocks' err
ok 'repair brings the model without a block nearer to the whole' \
    less "$(kl filled)" "$(kl less)"
ok 'two threads and one make the same model' \
    prune cut -q -m "$t" --choice blocks -o filled1 -j 1 calib
same 'the bits do not depend on threads' filled/model.safetensors \
    filled1/model.safetensors
choice after '1 all all' '2 all all'
ok 'a dropped first block is made up for' prune cut -m "$t" --choice after -o tail calib
choice before '0 all all' '1 all all'
ok 'a dropped last block is made up for' prune cut -m "$t" --choice before -o head calib
like 'only the block before it is repaired' '^prune cut: down repaired in 1 blocks' err

# --- by a profile ---
ok 'a profile with Hessians is made' \
    prune profile -q -m "$t" -o P --hessian calib
ok 'prune cut takes --profile' \
    prune cut -v -m "$t" --choice mixed -o by -q --profile P
ok 'repair by a profile brings the model nearer' less "$(kl by)" "$(kl raw)"
# a layer after whole blocks reads the same either way, but for rounding: a
# profile's Hessians are in fp32
choice first '0 all all' '1 all all' '2 all 0-6,9,12-20'
ok 'prune cut repairs one block by the input' \
    prune cut -q -m "$t" --choice first -o first1 --damp 0.1 calib
ok 'prune cut repairs one block by the profile' \
    prune cut -q -m "$t" --choice first -o first2 \
    --profile P
ok 'a block after whole ones is repaired alike by input and profile' \
    less "$(kl first2 first1)" 1e-9
ok 'repair of one block changes the model' less 1e-5 "$(kl first1)"
ok 'a profile without Hessians is made' prune profile -q -m "$t" -o N calib
status 2 'a profile without Hessians is refused' \
    prune cut -m "$t" --choice mixed -o not --profile N
status 3 'a profile of another model is refused' \
    prune cut -m "$grad/untied-teacher" \
    --choice mixed -o not --profile P
# The end of the file is the Hessian of the last block's MLP, and of the model
# weights of that block.
cp -r P hurt
size=$(wc -c <P/hessian.safetensors)
{ head -c $((size - 4)) P/hessian.safetensors && printf '\0\0\0\77'; } \
    >hurt/hessian.safetensors
status 3 'a damaged profile is refused' \
    prune cut -m "$t" --choice mixed -o not --profile hurt
like 'the refusal names the damaged file' \
    'hurt/hessian\.safetensors: .*hash' err
reweigh "$t" changed 4000
for how in 'cut --choice mixed' sparsify 'search --ratio 0.4 calib'; do
    # shellcheck disable=SC2086 # words
    status 3 "prune $how refuses a profile of other weights" \
        prune $how -m changed \
        -o not --profile P
    like "prune $how names the model of the profile" \
        'P: .*not.* profile of changed' err
done
# A Hessian with -1e30 on the diagonal, at channel 7, which goes.
header=$(od -A n -t u8 -N 8 P/hessian.safetensors | tr -d ' ')
at=$(head -c $((8 + header)) P/hessian.safetensors | tail -c "$header" |
    sed 's/.*"2\.down":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
at=$((8 + header + at + 7 * 25 * 4))
cp -r P odd
{ head -c $at P/hessian.safetensors && printf '\312\362\111\361' &&
    tail -c +$((at + 5)) P/hessian.safetensors; } >odd/hessian.safetensors
old=$("$BUILD/tests/prune/profile" P/hessian.safetensors)
new=$("$BUILD/tests/prune/profile" odd/hessian.safetensors)
sed "s/$old/$new/" P/profile.json >odd/profile.json
status 4 'a Hessian that is not positive definite is refused' \
    prune cut -m "$t" \
    --choice first -o not --profile odd
like 'the refusal names the layer of that Hessian' \
    'block 2, down: .*not positive definite' err
status 2 'an input beside a profile is refused' \
    prune cut -m "$t" --choice mixed -o not \
    --profile P calib
status 2 'an input beside --no-repair is refused' \
    prune cut -m "$t" --choice mixed -o not \
    --no-repair calib

# --- prune at once ---
ok 'prune search finds a choice' \
    prune search -q -m "$t" --ratio 0.4 -o found calib
ok 'prune cut takes that choice' \
    prune cut -q -m "$t" --choice found -o steps --calib-rows 16 calib
ok 'prune searches and cuts at once' prune -q -m "$t" --ratio 0.4 -o once calib
same 'prune writes the weights that search and cut write' \
    once/model.safetensors steps/model.safetensors
same 'prune writes the configuration that search and cut write' \
    once/config.json steps/config.json

for n in 1 2 64; do # rows of three by which layers are repaired
    ok "prune judges by 1 row and repairs by $n" prune -q -m "$t" --blocks 2 --width 10 \
        --calib-rows 1 --repair-rows "$n" -o "once$n" calib &&
        prune search -q -m "$t" --blocks 2 --width 10 --calib-rows 1 -o "found$n" calib &&
        prune cut -q -m "$t" --choice "found$n" --calib-rows "$n" -o "steps$n" calib
    same "those are the weights of a search by 1 row and a cut by $n" \
        "once$n/model.safetensors" "steps$n/model.safetensors"
done
for n in 1 64; do
    prune -m "$t" --blocks 2 --width 10 --calib-rows 1 --repair-rows "$n" \
        --report "scores$n" -o "again$n" calib 2>"said$n" || fail 'prune failed'
    awk '$1 == "whole" || $1 == "mix"' "scores$n" | cut -f 1-10 >"unrepaired$n"
done
like 'models without repair are scored' '^mix' unrepaired1
same 'the search scores 1 row, whatever is read for the repair' unrepaired1 unrepaired64
equal 'it tells the tokens of that row' "$(grep -o 'on [0-9]* tokens' said64)" \
    "$(grep -o 'on [0-9]* tokens' said1)"
ok 'prune judges by 1 row and repairs by all three by default' prune -q -m "$t" \
    --blocks 2 --width 10 --calib-rows 1 -o onceall calib
same 'those are the weights of a repair by 64 rows at most' \
    onceall/model.safetensors once64/model.safetensors
status 1 'two rows repair otherwise than one' cmp -s once1/model.safetensors once2/model.safetensors
status 1 'three rows repair otherwise than two' cmp -s once2/model.safetensors once64/model.safetensors

# --- cutting what was cut ---
choice again '1 all all' '2 all 0-3,6-9'
ok 'prune cut takes a cut model' \
    prune cut -q -m fixed --choice again -o twice calib
like 'a model that is cut twice lists its blocks' '"kept": \[' twice/config.json
equal 'blocks of a model that is cut twice are those of the first' \
    "$(tr -d ' \n' <twice/config.json |
    sed 's/.*"kept":\[\([0-9,]*\)\].*/\1/')" 1,2
# words KEY MODEL: that list of its configuration
words() {
    tr -d " \n" <"$2/config.json" | sed "s/.*\"$1\":\[\([^]]*\)\].*/\1/"
}
equal 'a cut model lists the channels of each block' \
    "$(words kept_channels fixed)" \
    '"0-6,9,12-20","all","3,5,7-23"'
equal 'a cut model lists the groups of each block' \
    "$(words kept_groups fixed)" '"all","1","0"'
equal 'channels of a model that is cut twice are those of the first' \
    "$(words kept_channels twice)" \
    '"all","3,5,7-8,11-14"'
equal 'groups of a model that is cut twice are those of the first' \
    "$(words kept_groups twice)" '"1","0"'
unlike 'a model of which all is kept lists no groups' kept_ whole/config.json
equal 'a dropped attention is listed as no groups' \
    "$(words kept_groups less)" '"all","-"'
for bad in 3,5,7-22 3,5,7-24 3,7,5,8-23 '3,5,7-23,' 3,5,07x23 - all0; do
    rm -rf bad
    cp -r fixed bad
    sed "s/3,5,7-23/$bad/" fixed/config.json >bad/config.json
    status 3 "a model whose kept channels are $bad is refused" \
        prune cut -m bad --choice again -o not --no-repair
    like "the refusal of $bad names kept_channels" \
        'retort.kept_channels: number 2 .*list of 19' err
done
ok 'a student trains a cut model' \
    student -q -m fixed -o run --lr 1e-3 --steps 1 \
    calib
equal 'the trained model lists the same channels' \
    "$(words kept_channels run)" "$(words kept_channels fixed)"
choice more '2 1 all'
status 3 'a group that was cut before is refused' \
    prune cut -m fixed --choice more -o not calib
like 'the refusal names the group' \
    'more: line 3: groups: 1, but block 2 has 0 to 0' err

status 3 'a file that is no stream is refused' \
    prune cut -m "$t" --choice mixed -o not "$top/LICENSE"
status 1 'an input that is not there is refused' \
    prune cut -m "$t" --choice mixed -o not missing
ls >left
unlike 'refusals leave no output' '^not' left

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
equal 'a signal ends prune cut while it reads' $got 143
ls >left
unlike 'a prune cut that is ended leaves no output' '^killed' left
done_testing
