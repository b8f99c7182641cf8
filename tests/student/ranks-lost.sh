#!/bin/sh
# student over ranks: one is stopped, slow or killed; its memory changes; what
# is left of an old run
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'losing ranks' || done_testing
. "$top/tests/lib/train.sh"
batches 8 >b
student -q -m new.json -o whole --lr 1e-3 --deterministic --schedule constant b ||
    exit 1

# stands RUN: until it has taken 2 steps, and waits for input
stands() {
    await grep -q '^2	' "$1/metrics.tsv"
    sleep 1
}
# job RUN RANKS INPUT [option ...]: in the background, its output in RUN.out;
# INPUT is what each rank's shell runs for its input
job() {
    run=$1 n=$2 input=$3
    shift 3
    mpirun -n "$n" sh -c "$input | student -q -j 1 -m new.json -o $run \
        --lr 1e-3 --deterministic --schedule constant --save 1 $*" \
        >"$run.out" 2>&1 &
    job=$!
}
head -c $(($(wc -c <b) / 2)) b >half
stall='{ cat half; sleep 20; : >fed; }'

# --- stopped ---
job stop 4 "$stall" --rank-timeout 2
stands stop
kill -STOP "$(process stop 2)"
wait $job
equal 'a stopped rank ends the job with status 6' "$?" 6
if [ -e fed ]; then fail 'before its input'; else pass 'before its input'; fi
like 'the message names the stopped rank' '^student: rank 2 \(process [0-9]+ on [^ ]+\) has not been heard of for [23]\.[0-9] s: stopped, killed or cut off; --resume goes on' stop.out

job first 4 "$stall" --rank-timeout 2
stands first
kill -STOP "$(process first 0)"
wait $job
equal 'a stopped rank 0 ends the job with status 6' "$?" 6
like 'another rank names rank 0' '^student\[[123]\]: rank 0 \(process [0-9]+ on .*\) has not been heard of' first.out

# --- suspended as a whole ---
# While rank 3 waits for its input and the others wait for rank 3
# shellcheck disable=SC2016 # the ranks' shells expand it
job sleeps 4 '{ cat half; while [ $OMPI_COMM_WORLD_RANK = 3 ] && [ ! -e go ]
    do sleep 0.1; done; tail -c +$(($(wc -c <half) + 1)) b; }' --rank-timeout 4
stands sleeps
all=$(for r in 0 1 2 3; do process sleeps $r; done)
# shellcheck disable=SC2086 # words
kill -STOP $all
sleep 6
# shellcheck disable=SC2086
kill -CONT $all
sleep 1
: >go
wait $job
equal 'a job that was suspended and continued ends with 0' "$?" 0
same 'a job that was suspended has the model of another run' sleeps/model.safetensors \
    whole/model.safetensors

# --- a first step that does not come ---
# shellcheck disable=SC2016 # the ranks' shells expand it
job never 2 '{ if [ $OMPI_COMM_WORLD_RANK = 1 ]; then sleep 60; else cat b; fi; }' \
    --rank-timeout 0.5
wait $job
equal 'a rank without input ends the job with status 6' "$?" 6
like 'the message names the rank after ten times --rank-timeout' \
    '^student: rank 1 \(process [0-9]+ on [^ ]+\) is slow: others have waited [56]\.[0-9] s' \
    never.out

# --- slow ---
# shellcheck disable=SC2016 # the ranks' shells expand it
job slow 4 '{ if [ $OMPI_COMM_WORLD_RANK = 3 ]
    then cat half; sleep 20; else cat b; fi; }' --rank-timeout 2
wait $job
equal 'a slow rank ends the job with status 6' "$?" 6
like 'the message names the slow rank' '^student: rank 3 \(process [0-9]+ on [^ ]+\) is slow: others have waited [23]\.[0-9] s for it' slow.out

# --- killed, and begun again ---
cat >again.sh <<'END'
mpirun -n 4 sh -c 'if [ -e second ]; then stream -q --resume again data
    else cat half; sleep 20; fi |
    student -q -j 1 -m new.json -o again --lr 1e-3 --deterministic \
        --schedule constant --save 1 --resume --rank-timeout 2'
END
"$top/scripts/supervise" -w 1 again sh again.sh >again.out 2>&1 &
job=$!
await [ -d again/step-3 ]
: >second
kill -KILL "$(process again 1)"
wait $job
equal 'supervise begins again after a rank was killed' "$?" 0
like 'the run begins again from the last checkpoint' \
    '^supervise: status (6|137); goes on from step [34] \(try 1 of 3\)$' again.out
same 'the run ends with the same model' again/model.safetensors whole/model.safetensors
cut -f 1-9 again/metrics.tsv >m
cut -f 1-9 whole/metrics.tsv >n
same 'the run ends with the same metrics' m n

echo 'echo x >>tried; exit 6' >six
status 6 'supervise bounds the number of tries' "$top/scripts/supervise" -n 2 -w 0 none sh six
equal 'supervise makes 2 more tries' "$(wc -l <tried)" 3
like 'supervise tells that it gives up' '^supervise: status 6; no newer checkpoint than step 0 after 2 more tries: given up$' err
for code in 0 2 3 4 5; do
    status $code "supervise keeps status $code" "$top/scripts/supervise" none \
        sh -c "echo x >>tried; exit $code"
done
equal 'supervise does not try again after such a status' "$(wc -l <tried)" 8
# shellcheck disable=SC2016
"$top/scripts/supervise" none sh -c 'trap "exit 5" USR2; : >ready
    while :; do sleep 0.1; done' &
job=$!
await [ -e ready ]
kill -USR2 $job
wait $job
equal 'mpirun passes SIGUSR2 on' "$?" 5
# env: whoever began this test may ignore SIGINT
# shellcheck disable=SC2016
status 5 'SIGINT ends a run as SIGTERM does' env --default-signal=INT \
    timeout --foreground --preserve-status -s INT 2 \
    "$top/scripts/supervise" none sh -c 'trap "exit 5" TERM; n=0
        while [ $n -lt 80 ]; do sleep 0.1; n=$((n + 1)); done'

# --- what is left of an old run ---
student -q -m new.json -o late --lr 1e-3 --deterministic --schedule constant \
    --save 1 half 2>err # breaks off
# A rank of it, on a node that does not answer, has not noticed.
echo 'process 12 on elsewhere' >late/.lock.3
flock -o late/.lock.3 sleep 60 &
old=$!
sleep 0.5
status 1 'a rank of an old run locks the run' student -q -m new.json -o late --resume \
    --lr 1e-3 --deterministic --schedule constant b
like 'the message names the process of the old run' "^student: late: is in use by process 12 on elsewhere$" err
kill "$old"
wait "$old"
stream -q --resume late data -o rest || exit 1
ok 'a run begins when the old rank has gone' student -q -m new.json -o late --resume --lr 1e-3 \
    --deterministic --schedule constant rest
same 'the run ends with the model of one that was not disturbed' late/model.safetensors whole/model.safetensors
equal 'the run leaves no lock' "$(find late -name '.lock*')" ''

done_testing
