#!/bin/sh
# student --sync-every: ranks train by themselves, and exchange weights
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'rounds' || done_testing
. "$top/tests/lib/ranks_train.sh"
rm -f kd
stream -q -B 4 -T 64 -s 7 --batches 24 -o b data || exit 1
for r in 0 1; do    # the rows of one of two ranks, as a stream of its own
    stream -q --rank $r/2 -B 4 -T 64 -s 7 --batches 24 data >rows$r &&
        shard write -q -o only$r rows$r &&
        stream -q -B 2 -T 64 only$r >own$r || exit 1
done
# solo RUN INPUT [option ...]; pair RUN [option ...]: one process, two ranks
solo() {
    run=$1 input=$2
    shift 2
    student -q -j 1 -m s0 -o "$run" --lr 1e-3 --schedule constant "$@" "$input"
}
pair() {
    run=$1
    shift
    over 2 "$run" --schedule constant "$@" b
}
# weights RUN: its weights as numbers, in RUN.n
weights() {
    od -A n -v -t f4 -w4 -j 4000 "$1/model.safetensors" >"$1.n"
}
# formula WHAT EXPRESSION RUN RUN ...: the weights of the last run are nearly
# EXPRESSION of those of the others: $1, $2, ...
formula() {
    tap_what=$1 tap_expr=$2
    shift 2
    for tap_f; do weights "$tap_f"; set -- "$@" "$tap_f.n"; shift; done
    paste "$@" | awk '{ d = $NF - ('"$tap_expr"'); d = d < 0 ? -d : d
        m = $NF - $1; m = m < 0 ? -m : m
        if (!(d <= 1e-6)) bad = 1; if (m > most) most = m; n++ }
        END { print n + 0 " weights, moved by " most + 0
              exit !(!bad && n > 1000 && most > 1e-3) }' >formula.out &&
        pass "$tap_what ($(cat formula.out))" ||
        fail "$tap_what ($(cat formula.out))"
}

# --- one round is two runs of their own, and an outer step ---
for r in 0 1; do
    ok "the rows of rank $r train a model" solo alone$r own$r --steps 9
    ok "they train one without spikes" solo calm$r own$r --steps 24 --skip-spikes 1.02
done
ok 'two ranks make a round of 9 steps' pair mean --steps 9 --sync-every 9
formula 'the weights are the mean of two runs' '($2 + $3) / 2' s0 alone0 alone1 mean
ok 'two ranks make a round with an outer step' \
    pair outer --steps 9 --sync-every 9 --outer 0.7,0.9
formula 'the weights are those of the outer step' \
    '$1 - 0.7 * 1.9 * ($1 - ($2 + $3) / 2)' s0 alone0 alone1 outer
ok 'two ranks leave out spikes' pair calm --steps 24 --sync-every 24 --skip-spikes 1.02
formula 'each rank leaves out its own' '($2 + $3) / 2' s0 calm0 calm1 calm
tail -q -n +2 calm0/skipped.tsv calm1/skipped.tsv | sort >want
tail -n +2 calm/skipped.tsv | sort >got
equal 'the spikes of both ranks are logged' "$(cut -f 1-3 got)" "$(cut -f 1-3 want)"
if [ -s got ]; then pass "there are spikes: $(grep -c . got)"; else fail 'no spikes'; fi
paste alone0/metrics.tsv alone1/metrics.tsv | awk -F '\t' 'NR > 1 {
    printf "%d\t%d\t%d\t%.9g\t%.9g\n", $1, $2 + $12, $3 + $13, ($4 + $14) / 2,
        ($9 + $19) / 2 }' >want
awk -F '\t' -v OFS='\t' 'NR > 1 { print $1, $2, $3, $4, $9 }' mean/metrics.tsv >got
near 'a line of metrics.tsv has all rows' 1e-6 want got
ok 'two ranks average with --ema' pair ema --steps 9 --sync-every 9 --ema 0.9
formula 'the average follows once a round' '0.9 ^ 9 * $1 + (1 - 0.9 ^ 9) * $2' \
    s0 mean ema
stream -q -B 1 -T 64 -s 7 --batches 5 data >narrow
ok 'one row a batch trains one rank' solo lone narrow
ok 'two ranks share one row a batch' over 2 half --schedule constant --sync-every 9 narrow
formula 'a rank without rows stays as it was' '($1 + $2) / 2' s0 lone half

# --- one rank: lookahead ---
ok 'a run without rounds ends' solo plain b
ok 'one rank makes rounds' solo look b --sync-every 5
formula 'rounds of one rank with 1,0 change nothing' '$2' s0 plain look
ok 'one rank looks ahead' solo slow own0 --steps 9 --sync-every 9 --outer 0.5,0
formula 'it goes half of the way' '($1 + $2) / 2' s0 alone0 slow

# --- rounds: the same bits; checkpoints and evaluations at their ends ---
rounds='--sync-every 5 --outer 0.9,0.5 --save 7 --keep 0 --eval one --eval-every 6'
# shellcheck disable=SC2086
ok 'two ranks make rounds' pair whole $rounds
# shellcheck disable=SC2086
ok 'they make them again' pair again $rounds
same_run 'rounds have the same bits again' whole again
ok 'two ranks make rounds without evaluations' pair saves --sync-every 5 --save 7 --keep 0
equal 'checkpoints are at the ends of rounds' \
    "$(cd saves && echo step-*)" 'step-10 step-15 step-24'
equal 'evaluations are at the ends of rounds' \
    "$(tail -n +2 whole/held-out.tsv | cut -f 1 | paste -s -d ' ' -)" '10 15 20 24'
# shellcheck disable=SC2086
status 0 'the run says so' mpirun -n 2 student -m s0 -o said --steps 5 \
    --schedule constant $rounds b
like 'a note tells that --save is rounded up' '^student: --save 7: .*first exchange' err
equal 'each rank has a file of moments' \
    "$(cd whole/step-10 && echo rank-*)" \
    'rank-0-of-2.safetensors rank-1-of-2.safetensors'
equal 'a step has one line' "$(tail -n +2 whole/metrics.tsv | cut -f 1 | paste -s -d ' ' -)" \
    "$(seq 24 | paste -s -d ' ' -)"
evalppl -q -m whole --format tsv one >ppl
awk -F '\t' '$1 == 24 { printf "%.4f\n", $4 }' whole/held-out.tsv >want
awk -F '\t' '$2 == "(all)" { printf "%.4f\n", $6; exit }' ppl >got
near 'the last evaluation is that of the finished model' 1e-4 want got

# --- resumed ---
# shellcheck disable=SC2086
ok 'a run stops after two rounds' pair part $rounds --steps 10
rm -f part/config.json
# shellcheck disable=SC2086
ok 'it goes on' pair part --resume $rounds
same_run 'resumed = undisturbed' part whole
same 'a resumed run has the same evaluations' part/best/model.safetensors \
    whole/best/model.safetensors
mkdir copy && cp -r part/step-10 part/options.json copy
# shellcheck disable=SC2086
status 0 'four ranks go on with the run of two' mpirun -n 4 student -j 1 -m s0 \
    -o copy --lr 1e-3 --schedule constant $rounds --resume -- b
like 'a note tells of the mean of the moments' 'mean of the moments of 2 ranks$' err
rm -rf copy
mkdir copy && cp -r part/step-10 part/options.json copy
status 0 'one process goes on without rounds' student -m s0 -o copy --lr 1e-3 \
    --schedule constant --eval one --eval-every 6 --resume \
    --override sync-every,outer -- b
like 'it begins with the mean too' 'mean of the moments of 2 ranks$' err

# killed: after a checkpoint, within a later round
over 2 killed --schedule constant --sync-every 2 --outer 0.8,0.5 --save 2 --keep 0 b \
    >killed.out 2>&1 &
job=$!
await [ -d killed/step-4 ]
kill -9 "$(process killed 1)" 2>killed.err
wait $job
find killed -name 'step-1?' -o -name 'step-2?' | while read -r f; do rm -r "$f"; done
rm -f killed/config.json
ok 'a killed run goes on' over 2 killed --schedule constant --sync-every 2 \
    --outer 0.8,0.5 --save 2 --keep 0 --resume -- b
ok 'a run of rounds of 2 ends' pair twos --sync-every 2 --outer 0.8,0.5
same_run 'killed and resumed = undisturbed' killed twos

# --- bf16, an adapter, rounded weights ---
# bytes RUN: bytes that rank 0 sent in reduce-scatters
bytes() {
    awk -F '\t' '/^reduce_scatter/ { n += $4 * $7 } END { print n + 0 }' "$1.tsv"
}
ok 'weights are sent in f32' pair wide --sync-every 8 --comm-log wide
ok 'weights are sent in bf16' pair half16 --sync-every 8 --wire bf16 --comm-log half16
ok 'weights are sent in bf16 again' pair half17 --sync-every 8 --wire bf16
same_run 'bf16 has the same bits again' half16 half17
equal 'bf16 is half of the bytes' "$(($(bytes half16) * 2))" "$(bytes wide)"
equal 'three rounds are three sums of each group' "$(awk -F '\t' '/^reduce_scatter/ {
    n += $4 } END { print n }' wide.tsv)" 12
ok 'the steps of an adapter make rounds' pair lora --sync-every 5 --lora 4
ok 'rounded weights make rounds' pair qat --sync-every 5 --qat q8_0
mkdir made master
cp qat/config.json qat/model.safetensors made
cp qat/step-24/config.json qat/step-24/model.safetensors master
convert -q --dtype q8_0 master a.gguf && convert -q a.gguf from &&
    convert -q --dtype q8_0 made b.gguf && convert -q b.gguf to
same_model 'the finished model is the rounded one' from to

# --- stopped within a round ---
# endless N TIME: two ranks with an endless stream each, in rounds of N steps
cat >endless <<'END'
mpirun -n 2 sh -c 'r=$OMPI_COMM_WORLD_RANK/2
    stream -q --rank $r -B 4 -T 64 -s 7 --epochs 100000 data |
    student -j 1 -m s0 -o '"$3"' --schedule constant --save 1000000 \
        --sync-every '"$1"' --max-time '"$2"
END
status 5 'a run that stops finishes a short round' sh endless 20 2 short
step=$(cd short && echo step-*)
like 'it says where it stopped' "2 s are over .*: stopped after $(echo "$step" | tr - ' '), saved" err
equal 'it stopped at the end of a round' "$((${step#step-} % 20))" 0
status 5 'a run that stops loses a long round' sh endless 1000000 2 long
like 'it says why' '^student: long: 2 s are over .*stopped within a round' err
like 'it says that steps are lost' '^student: long: all steps are lost' err
equal 'nothing is saved' "$(find long -name 'step-*')" ''

# --- a rank that is lost within a round ---
# shellcheck disable=SC2016 # the ranks' shells expand it
mpirun -n 2 sh -c '{ head -c 12000 rows$OMPI_COMM_WORLD_RANK; sleep 20; } |
    student -q -j 1 -m s0 -o stop --schedule constant --sync-every 1000 \
        --rank-timeout 2' >stop.out 2>&1 &
job=$!
await [ -e stop/options.json ]
sleep 1
kill -STOP "$(process stop 1)"
wait $job
equal 'a rank stopped within a round ends the job with status 6' "$?" 6
like 'the message names the stopped rank' '^student: rank 1 .*has not been heard of' stop.out

# --- refused ---
for with in '--shard-level 1' '--shard-level 3' '--stages 1' --deterministic --overlap \
    '--mask 2:4' '--grad bf16'; do
    name=${with%% [0-9]*}
    # shellcheck disable=SC2086
    status 2 "--sync-every with $with is refused" student -q -m s0 -o no \
        --sync-every 2 $with b
    like "the message names $name" "^student: --sync-every does not go with $name" err
done
status 2 '--outer alone is refused' student -q -m s0 -o no --outer 0.7,0.9 b
like 'the message names --sync-every' 'step of --sync-every' err
for outer in 0,0 1 1,1 1,0,0 x,0; do
    status 2 "--outer $outer is refused" student -q -m s0 -o no --sync-every 2 \
        --outer $outer b
done
status 3 'streams of different lengths end the run' mpirun -n 2 sh -c '
    r=$OMPI_COMM_WORLD_RANK
    stream -q --rank $r/2 -B 4 -T 64 -s 7 --batches $((24 - r)) data |
        student -q -j 1 -m s0 -o uneven --lr 1e-3 --schedule constant --sync-every 5'
done_testing
