#!/bin/sh
# student --max-time: saves, exits 5, and goes on as if nothing had been
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches >b
cat >train <<'END'
exec student -m s0 --lr 1e-3 --schedule constant --save 7 "$@"
END
ok '20 steps are made in one go' sh train -q -o whole b

# A pipe that stops in the middle of batch 12: the limit comes while it waits.
mkfifo pipe
exec 7<>pipe
head -c $(($(wc -c <b) * 11 / 20)) b >&7 &
status 5 '--max-time ends a run with status 5' sh train -o run --max-time 2 pipe
exec 7>&-
wait
step=$(($(wc -l <run/metrics.tsv) - 1))
like 'the message tells the time and the step' "^student: run: 2 s are over \\(--max-time\\): stopped \
after step $step, saved\$" err
if [ -d "run/step-$step" ] && [ "$step" -gt 0 ] &&
    [ "$step" -lt 20 ]; then pass "after step $step"
else fail "after step $step"; fi
if [ -e run/config.json ]; then fail 'a model'; else pass 'no model yet'; fi
status 0 'the run goes on with another limit' sh -c "
    stream -q --resume run data | sh train -q -o run --resume --max-time 1h"
same 'the run ends with the same model' run/model.safetensors whole/model.safetensors
cut -f 1-9 run/metrics.tsv >m
cut -f 1-9 whole/metrics.tsv >n
same 'the run ends with the same metrics' m n

# The limit comes while it computes.
stream -q -B 4 -T 64 -s 7 --epochs 100000 -o pipe data &
feeder=$!
status 5 '--max-time ends an endless stream' sh train -q -o long --max-time 2s pipe
kill $feeder
wait $feeder 2>/dev/null
steps=$(($(wc -l <long/metrics.tsv) - 1))
if [ -d "long/step-$steps" ] && [ $steps -gt 0 ]; then
    pass "step $step, the last one, is saved"
else
    fail "step $step is not saved"
fi
ok 'a stream that fits in the time ends' sh train -q -o short --max-time 10m b
same 'a limit that is not met changes no bit' short/model.safetensors whole/model.safetensors
status 2 'a time of 2H is refused' sh train -o not --max-time 2H b
status 2 'a negative time is refused' sh train -o not --max-time -1 b
done_testing
