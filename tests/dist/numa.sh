#!/bin/sh
# student and teacher on chosen processors and memory nodes; where ranks run
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

batches 2 >b
train() {
    student -j 1 -m new.json --schedule constant "$@" b
}
ok 'anywhere' train -o any
unlike 'is not told' 'runs? on processors' err
# The first processors and the first memory node that this process may use.
# shellcheck disable=SC2046 # words
set -- $(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status | tr , '\n' |
    awk -F - '{ for (i = $1; i <= $NF; i++) print i }' | head -n 2)
cpu=$1 next=${2:-}
node=$(sed -n 's/^Mems_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
ok '--cpus, --numa' train -o bound --cpus "$cpu" --numa "$node"
like 'are told' "^student: runs on processors $cpu of [0-9,-]+, " err
same 'and change no bit' any/model.safetensors bound/model.safetensors
ok 'a teacher' teacher -m teacher -o t b
ok 'bound' teacher -m teacher --cpus "$cpu" --numa "$node" -o t0 b
like 'is told' "^teacher: runs on processors $cpu of " err
same 'and tells the same' t t0
for p in student teacher; do
    for o in '--cpus x' '--cpus 99999' '--numa 999' '--numa x'; do
        # shellcheck disable=SC2086 # two words
        status 2 "$p $o" $p -m teacher -o none $o b
        like 'is refused' "^$p: ${o%% *}: \"${o#* }\" is no " err
    done
done

# A machine of two nodes that hwloc makes up; nothing is bound there.
made_up() {
    HWLOC_SYNTHETIC='numa:2 core:2 pu:1' HWLOC_THISSYSTEM=0 "$@"
}
ok 'two nodes' made_up student -v -j 1 -m new.json -o two --schedule constant b
like 'are told' '^student: runs on processors 0-3 of 0-3, memory node 0-1 of 2$' err
like 'with a warning' '^student: memory of 2 nodes is partly remote: bind to one \(--numa\)$' err

has_ranks 'where ranks run' || done_testing
ok 'four ranks' mpirun -n 4 student -j 1 -m new.json -o four --numa rank \
    --schedule constant b
like 'are told in a line' '^student: ranks 0 to 3 of this node run on processors [0-9,-]+ of ' err
if [ -n "$next" ]; then
    # The two processors are taken for a node each; memory has no such nodes.
    ok 'four ranks of two nodes' env \
        HWLOC_SYNTHETIC="numa:2 pu:1(indexes=$cpu,$next)" \
        HWLOC_THISSYSTEM=1 mpirun -n 4 student -j 2 -m new.json -o nodes \
        --numa rank --schedule constant b
    like 'two on the first' "^student: ranks 0 to 1 of this node run on processors $cpu of ${cpu}[,-]$next, memory node 0 of 2$" err
    like 'two on the second' "^student: ranks 2 to 3 of this node run on processors $next of ${cpu}[,-]$next, memory node 1 of 2$" err
    like 'more threads than processors' '^student: 2 threads of a rank share 1 processors$' err
    same 'and the bits are those' four/model.safetensors nodes/model.safetensors
else
    skip 'nodes of a processor each' 'one processor'
fi
done_testing
