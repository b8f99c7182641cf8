#!/bin/sh
# student over ranks: the same bits from 1, 2, 4 and 8
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'training over ranks' || done_testing
. "$top/tests/lib/ranks_train.sh"

# --- data parallel ---
ok 'one process trains by --deterministic' student -q -m s0 -o d1 --lr 1e-3 \
    --deterministic kd
metrics d1
equal 'the log has a line a step' "$(wc -l <d1.metrics)" 9
for n in 2 4 8; do
    ok "$n ranks take their rows" det $n d1-$n kd
    same_run "$n ranks have the bits of one process" d1 d1-$n
done
ok 'one process trains 1 row at a time' student -q -m s0 -o dm --lr 1e-3 --deterministic \
    --micro 1 kd
same_model 'rows of a pass change no bit' d1 dm
ok 'one process takes 2 messages a step' student -q -m s0 -o a1 --lr 1e-3 \
    --deterministic --grad-accum 2 kd
ok '4 ranks take 2 messages a step' det 4 a4 --grad-accum 2 kd
same_run '4 ranks with 2 messages a step have the bits of one process' a1 a4

# --- each rank its own stream ---
# shellcheck disable=SC2016 # the ranks' shells expand it
own='stream -q -B 4 -T 64 -s 7 --batches 8 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    teacher -q -m teacher | student -q -j 1 -m s0 --lr 1e-3 --deterministic'
ok 'mpirun starts one program of a pipeline' mpirun -n 2 sh -c "$own -o own"
same_run 'stream --rank gives the bits of one stream' d1 own
status 2 'one standard input for all ranks is refused' \
    sh -c 'mpirun -n 2 student -q -j 1 -m s0 -o none <kd'
like 'the message says what ranks cannot share' \
    '^student\[1\]: ranks cannot share standard input' err
stream -q -B 4 -T 64 -s 7 --batches 8 --rank 0/2 data | teacher -q -m teacher \
    -o kd0 || exit 1
status 3 "another rank's rows are refused" over 2 other kd0
like 'the message names both ranks' '^student\[1\]: kd0: has the rows of rank 0 of 2, and is read by rank 1 of 2' err
# shellcheck disable=SC2016
status 3 'streams of different lengths are refused' mpirun -n 2 sh -c 'stream -q -B 4 -T 64 \
    -s 7 --batches $((3 + OMPI_COMM_WORLD_RANK)) data |
    student -q -j 1 -m new.json -o short --schedule constant'

# --- without --deterministic ---
ok 'one process makes one step' student -q -m s0 -o o1 --lr 1e-3 --steps 1 \
    --schedule constant kd
ok '4 ranks make one step' over 4 o4 --steps 1 --schedule constant kd
near_1e6 'a step of 4 ranks is that of one process within 1e-6' "$(apart o1 o4)"
ok 'the same 4 ranks make it again' over 4 o4-again --steps 1 --schedule constant kd
same_model 'as many ranks repeat a run to the byte' o4 o4-again
status 1 'a step of 4 ranks has other last bits than that of one process' \
    cmp -s o1/model.safetensors o4/model.safetensors
ok '4 ranks train with a bf16 wire' mpirun -n 4 student -j 1 -m s0 -o w2 \
    --lr 1e-3 --wire bf16 --steps 1 --schedule constant kd
like 'the cost of the wire is told' \
    '^student: gradients are sent in bf16: rounding changes them by 0\.[0-3][0-9] %' err
status 1 'a bf16 wire changes bits' cmp -s w2/model.safetensors o4/model.safetensors
status 2 'a bf16 wire is refused with --deterministic' det 2 none --wire bf16 kd
like 'the message names the wire' '^student: --wire bf16 rounds' err
status 2 'gradients in bf16 are refused over ranks' over 2 none --grad bf16 kd

done_testing
