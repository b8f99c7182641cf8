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
ok 'one process trains by --deterministic' student -q -m s0 -o d1 --lr 1e-3 --deterministic kd
for run in '2 2' '2 3' '3 2' '4 2' '4 3' '8 3'; do
    # shellcheck disable=SC2086 # two words
    set -- $run
    ok "$1 ranks train at level $2" part "$1" "$2" "d$1-$2" --deterministic kd
    if [ "$1" != 3 ]; then
        same_run "$1 ranks at level $2 have the bits of one process" d1 "d$1-$2"
    fi
done
ok '3 ranks train at level 1' part 3 1 d3-1 --deterministic kd
same_run '3 ranks have the same bits at levels 1 and 2' d3-1 d3-2
ok 'one process takes 2 messages a step' student -q -m s0 -o a1 --lr 1e-3 \
    --deterministic --grad-accum 2 kd
ok '4 ranks at level 3 take 2 messages a step' part 4 3 a4 --deterministic \
    --grad-accum 2 kd
same_run '4 ranks at level 3 have the bits of one process' a1 a4
ok 'blocks are gathered ahead at level 3' part 2 3 dg --deterministic --overlap kd
same_run 'gathering ahead changes no bit' d1 dg
ok '--recompute trains at level 3' part 2 3 dr --deterministic --recompute kd
same_run '--recompute changes no bit at level 3' d1 dr
# hidden LOG: was a part of a gather of a block, and never less than none
hidden() {
    cat "$1.tsv" "$1-1.tsv" | awk -F '\t' '
        $1 ~ /gather/ && $5 > 3000 { n++; bad += !($12 >= 0 && $13 >= 0); h += $13 }
        END { print (n > 0 && !bad ? (h > 0) : "bad") }'
}
stream -q -B 2 -T 1024 -s 7 --batches 12 -o long data || exit 1
ok 'long rows train with blocks gathered in turn' part 2 3 turn --comm-log turn long
ok 'long rows train with blocks gathered ahead' part 2 3 ahead --overlap --comm-log ahead long
equal '--overlap alone hides gathers' "$(hidden turn) $(hidden ahead)" '0 1'
same_run '--overlap changes no bit for long rows' turn ahead

# --- stop, and go on with other ranks at another level ---
# go_on RUN N LEVEL STEPS: the rest of a stopped run, to this many steps
go_on() {
    rm -f "$1/config.json"
    stream -q --resume "$1" data | teacher -q -m teacher -o "$1.rest"
    part "$2" "$3" "$1" --deterministic --schedule constant --steps "$4" \
        --resume -- "$1.rest"
}
ok 'a run of one process is not disturbed' student -q -m s0 -o u --lr 1e-3 --deterministic \
    --schedule constant --steps 4 kd
ok '8 ranks make a step at level 3' part 8 3 r --deterministic --schedule constant \
    --steps 1 kd
ok '1 rank goes on at level 0' go_on r 1 0 2
ok '4 ranks go on at level 2' go_on r 4 2 3
ok '2 ranks go on at level 3' go_on r 2 3 4
same_run '8, 1, 4 and 2 ranks end as one process' u r
# of 3 ranks the tree is another one, the steps are as many
ok '3 ranks make a step at level 2' part 3 2 r3 --deterministic --schedule constant \
    --steps 1 kd
ok '8 ranks go on at level 3' go_on r3 8 3 2
ok '3 ranks go on at level 3' go_on r3 3 3 3
ok '1 rank goes on alone at level 0' go_on r3 1 0 4
cut -f 1-9 r3/metrics.tsv >r3.metrics
near '3, 8, 3 and 1 ranks have nearly the same losses' 1e-5 u.metrics r3.metrics

# --- judged beside training ---
ok 'one process trains with --eval' student -q -m s0 -o j1 --lr 1e-3 --deterministic \
    --eval one --eval-every 2 kd
ok '2 ranks at level 3 train with --eval' part 2 3 j2 --deterministic --eval one \
    --eval-every 2 --save 1 kd
for run in j1 j2; do
    cut -f 1-6 $run/held-out.tsv >$run.held
done
same '2 ranks at level 3 have the same evaluations' j1.held j2.held
same '2 ranks at level 3 have the same best checkpoint' j1/best/model.safetensors j2/best/model.safetensors
same_run '2 ranks at level 3 end with the same bits' j1 j2

# --- rounding apart, without --deterministic; rows that ranks have of their own ---
one='--steps 1 --schedule constant --grad-accum 2'
# shellcheck disable=SC2086
{
    ok 'one process makes one step' student -q -m s0 -o o1 --lr 1e-3 $one kd
    ok '2 ranks make one step at level 2' part 2 2 o2 $one kd
    ok '3 ranks make one step at level 3' part 3 3 o3 $one kd
}
near_1e6 'one step at level 2 is that of one process within 1e-6' "$(apart o1 o2)"
near_1e6 'one step at level 3 is that of one process within 1e-6' "$(apart o1 o3)"
# shellcheck disable=SC2016 # the ranks' shells expand it
own='stream -q -B 4 -T 64 -s 7 --batches 4 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    teacher -q -m teacher | student -q -j 1 -m s0 --lr 1e-3 --shard-level 3'
ok '3 ranks train on streams of their own' mpirun -n 3 sh -c "$own -o own3 $one"
near_1e6 'streams of their own give the step within 1e-6' "$(apart o1 own3)"
# Blocks are gathered again in each pass of an evaluation: ranks make as many.
config four.json 4 32 48
# shellcheck disable=SC2016
ok 'ranks judge rows of their own' mpirun -n 3 sh -c 'stream -q -B 4 -T 64 \
    -s 7 --batches 1 --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    student -q -j 1 -m four.json -o four --shard-level 3 --eval one \
    --eval-every 1'
status 0 'ranks train with a bf16 wire at level 3' mpirun -n 2 student -j 1 -m s0 -o w3 \
    --lr 1e-3 --shard-level 3 --wire bf16 --steps 1 --schedule constant kd
like 'the cost of the wire is told' \
    '^student: gradients are sent in bf16: rounding changes them by 0\.[0-3][0-9] %' err

# --- learned positions, and biases of norms and of the head, are groups of
# their own ---
for family in gpt2 phi; do
    config $family.json 4 32 48
    sed -i -e "s/llama/$family/" -e 's/\("hidden_act": \)"silu"/\1"gelu_new"/' $family.json
    how="-m $family.json -t tok --lr 1e-3 --deterministic"
    # shellcheck disable=SC2086 # a list
    ok "one process trains a $family" student -q $how -o $family b
    for run in '2 1' '2 2' '4 3'; do
        # shellcheck disable=SC2086
        set -- $run
        # shellcheck disable=SC2086
        ok "$1 ranks train a $family at level $2" mpirun -n "$1" student -q -j 1 $how \
            -o "$family-$2" --shard-level "$2" b
        same_run "a $family at level $2 has the bits of one process" $family "$family-$2"
    done
done

done_testing
