#!/bin/sh
# student and teacher on chosen processors and memory nodes; where ranks run
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

batches 2 >b
train() {
    student -j 1 -m new.json --schedule constant "$@" b
}
ok 'a run is bound nowhere' train -o any
unlike 'where it runs is not told' 'runs? on processors' err
# The first processors and the first memory node that this process may use.
# shellcheck disable=SC2046 # words
set -- $(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status | tr , '\n' |
    awk -F - '{ for (i = $1; i <= $NF; i++) print i }' | head -n 2)
cpu=$1 next=${2:-}
node=$(sed -n 's/^Mems_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
ok 'a run is bound by --cpus and --numa' \
    train -o bound --cpus "$cpu" --numa "$node"
like 'where the run is bound is told' \
    "^student: runs on processors $cpu of [0-9,-]+, " err
same 'binding changes no bit of the run' \
    any/model.safetensors bound/model.safetensors
ok 'a teacher is bound nowhere' teacher -m teacher -o t b
ok 'a teacher is bound by --cpus and --numa' \
    teacher -m teacher --cpus "$cpu" --numa "$node" -o t0 b
like 'where the teacher is bound is told' \
    "^teacher: runs on processors $cpu of " err
same "binding changes no byte of the teacher's" t t0
for p in student teacher; do
    for o in '--cpus x' '--cpus 99999' '--numa 999' '--numa x'; do
        # shellcheck disable=SC2086 # two words
        status 2 "$p refuses $o" $p -m teacher -o none $o b
        like "the error of $p names $o" "^$p: ${o%% *}: \"${o#* }\" is no " err
    done
done

# A machine of two nodes that hwloc makes up; nothing is bound there.
made_up() {
    HWLOC_SYNTHETIC='numa:2 core:2 pu:1' HWLOC_THISSYSTEM=0 "$@"
}
ok 'memory of two nodes is found' \
    made_up student -v -j 1 -m new.json -o two --schedule constant b
like 'both memory nodes are told' \
    '^student: runs on processors 0-3 of 0-3, memory node 0-1 of 2$' err
like 'memory of two nodes is warned of' \
    '^student: memory of 2 nodes is partly remote: bind to one \(--numa\)$' err

has_ranks 'where ranks run' || done_testing
ok 'four ranks are bound by --numa rank' \
    mpirun -n 4 student -j 1 -m new.json -o four --numa rank \
    --schedule constant b
like 'equal ranks are told in a line' \
    '^student: ranks 0 to 3 of this node run on processors [0-9,-]+ of ' err
if [ -n "$next" ]; then
    # The two processors are taken for a node each; memory has no such nodes.
    ok 'four ranks run on two nodes' env \
        HWLOC_SYNTHETIC="numa:2 pu:1(indexes=$cpu,$next)" \
        HWLOC_THISSYSTEM=1 mpirun -n 4 student -j 2 -m new.json -o nodes \
        --numa rank --schedule constant b
    like 'two ranks run on the first node' \
        "^student: ranks 0 to 1 of this node run on processors $cpu of ${cpu}[,-]$next, memory node 0 of 2$" err
    like 'two ranks run on the second node' \
        "^student: ranks 2 to 3 of this node run on processors $next of ${cpu}[,-]$next, memory node 1 of 2$" err
    like 'more threads than processors are warned of' \
        '^student: 2 threads of a rank share 1 processors$' err
    same 'nodes change no bit' four/model.safetensors nodes/model.safetensors
else
    skip 'ranks run on nodes of a processor each' 'one processor'
fi
done_testing
