#!/bin/sh
# student over ranks that have parts of gradients and parameters: the same bits
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'gradients and parameters in parts' || done_testing
. "$top/tests/lib/ranks_train.sh"
batches 4 >b
teacher -q -m teacher -o kd b || exit 1

# part N LEVEL RUN [option ...]: 4 steps by N ranks
part() {
    ranks=$1 level=$2 made=$3
    shift 3
    over "$ranks" "$made" --shard-level "$level" "$@"
}

# --- the same bits ---
ok 'one process' student -q -m s0 -o d1 --lr 1e-3 --deterministic kd
for run in '2 2' '2 3' '3 2' '4 2' '4 3' '8 3'; do
    # shellcheck disable=SC2086 # two words
    set -- $run
    ok "$1 ranks, level $2" part "$1" "$2" "d$1-$2" --deterministic kd
    if [ "$1" != 3 ]; then
        same_run "$1 ranks, level $2 = one process" d1 "d$1-$2"
    fi
done
ok '3 ranks, level 1' part 3 1 d3-1 --deterministic kd
same_run '3 ranks, levels 1 and 2' d3-1 d3-2
ok '2 messages a step, one process' student -q -m s0 -o a1 --lr 1e-3 \
    --deterministic --grad-accum 2 kd
ok '2 messages a step, 4 ranks, level 3' part 4 3 a4 --deterministic \
    --grad-accum 2 kd
same_run '2 messages a step, 4 ranks, level 3 = one process' a1 a4
ok 'gathered ahead, level 3' part 2 3 dg --deterministic --overlap kd
same_run 'gathered ahead = one process' d1 dg
ok 'recomputed, level 3' part 2 3 dr --deterministic --recompute kd
same_run 'recomputed, level 3 = one process' d1 dr
# hidden LOG: was a part of a gather of a block, and never less than none
hidden() {
    cat "$1.tsv" "$1-1.tsv" | awk -F '\t' '
        $1 ~ /gather/ && $5 > 3000 { n++; bad += !($12 >= 0 && $13 >= 0); h += $13 }
        END { print (n > 0 && !bad ? (h > 0) : "bad") }'
}
stream -q -B 2 -T 1024 -s 7 --batches 12 -o long data || exit 1
ok 'long rows, in turn' part 2 3 turn --comm-log turn long
ok 'ahead' part 2 3 ahead --overlap --comm-log ahead long
equal 'gathers are hidden, ahead alone' "$(hidden turn) $(hidden ahead)" '0 1'
same_run 'long rows, gathered ahead = in turn' turn ahead

# --- stop, and go on with other ranks at another level ---
# go_on RUN N LEVEL STEPS: the rest of a stopped run, to so many steps
go_on() {
    rm -f "$1/config.json"
    stream -q --resume "$1" data | teacher -q -m teacher -o "$1.rest"
    part "$2" "$3" "$1" --deterministic --schedule constant --steps "$4" \
        --resume "$1.rest"
}
ok 'undisturbed' student -q -m s0 -o u --lr 1e-3 --deterministic \
    --schedule constant --steps 4 kd
ok 'a step of 8 ranks, level 3' part 8 3 r --deterministic --schedule constant \
    --steps 1 kd
ok 'of 1, level 0' go_on r 1 0 2
ok 'of 4, level 2' go_on r 4 2 3
ok 'of 2, level 3' go_on r 2 3 4
same_run '8, 1, 4, 2 ranks = undisturbed' u r
# of 3 ranks the tree is another one, the steps are as many
ok 'a step of 3 ranks, level 2' part 3 2 r3 --deterministic --schedule constant \
    --steps 1 kd
ok 'of 8, level 3' go_on r3 8 3 2
ok 'of 3, level 3' go_on r3 3 3 3
ok 'of 1, level 0' go_on r3 1 0 4
cut -f 1-9 r3/metrics.tsv >r3.metrics
near '3, 8, 3, 1 ranks' 1e-5 u.metrics r3.metrics

# --- judged beside training ---
ok 'judged, one process' student -q -m s0 -o j1 --lr 1e-3 --deterministic \
    --eval one --eval-every 2 kd
ok 'judged, 2 ranks, level 3' part 2 3 j2 --deterministic --eval one \
    --eval-every 2 --save 1 kd
for run in j1 j2; do
    cut -f 1-6 $run/held-out.tsv >$run.held
done
same 'the same evaluations' j1.held j2.held
same '... the same best' j1/best/model.safetensors j2/best/model.safetensors
same_run '... the same end' j1 j2

# --- rounding apart, without --deterministic; rows that ranks have of their own ---
one='--steps 1 --schedule constant --grad-accum 2'
# shellcheck disable=SC2086
{
    ok 'one step of one process' student -q -m s0 -o o1 --lr 1e-3 $one kd
    ok 'level 2, 2 ranks' part 2 2 o2 $one kd
    ok 'level 3, 3 ranks' part 3 3 o3 $one kd
}
near_1e6 'level 2, one step' "$(apart o1 o2)"
near_1e6 'level 3, one step' "$(apart o1 o3)"
# shellcheck disable=SC2016 # the ranks' shells expand it
own='stream -q -B 4 -T 64 -s 7 --batches 4 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    teacher -q -m teacher | student -q -j 1 -m s0 --lr 1e-3 --shard-level 3'
ok 'streams of their own' mpirun -n 3 sh -c "$own -o own3 $one"
near_1e6 'level 3, one step' "$(apart o1 own3)"
# Blocks are gathered again in each pass of an evaluation: ranks make as many.
config four.json 4 32 48
# shellcheck disable=SC2016
ok 'judged, with rows of their own' mpirun -n 3 sh -c 'stream -q -B 4 -T 64 \
    -s 7 --batches 1 --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    student -q -j 1 -m four.json -o four --shard-level 3 --eval one \
    --eval-every 1'
status 0 'gradients in bf16 on the wire' mpirun -n 2 student -j 1 -m s0 -o w3 \
    --lr 1e-3 --shard-level 3 --wire bf16 --steps 1 --schedule constant kd
like 'what it costs is told' \
    '^student: gradients are sent in bf16: rounding changes them by 0\.[0-3][0-9] %' err

done_testing
