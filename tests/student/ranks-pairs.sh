#!/bin/sh
# student over ranks: stop, and go on with any other number of them
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'resuming by any ranks' || done_testing
. "$top/tests/lib/train.sh"
# Of two rows most ranks have none, and three sum them as one process does.
stream -q -B 2 -T 32 -s 7 --batches 21 -o b data || exit 1
how='--lr 1e-3 --schedule constant --deterministic'

# From each number of ranks to each other one, a step of each.
walk='1 2 1 3 1 4 1 8 2 3 2 4 2 8 3 4 3 8 4 8 1'
# shellcheck disable=SC2086 # lists
walks() {
    run=level$1 steps=0
    cp b rest
    for n in $walk; do
        steps=$((steps + 1))
        mpirun -n "$n" student -q -j 1 -m new.json -o "$run" $how \
            --shard-level "$1" --steps $steps --resume -- rest || {
            echo "step $steps, of $n ranks" >&2
            return 1
        }
        rm "$run/config.json"
        stream -q --resume "$run" -o rest data || return 1
    done
}
# shellcheck disable=SC2086
ok 'a run of one process is not disturbed' student -q -j 1 -m new.json -o whole $how b
metrics whole
for level in 0 3; do
    ok "level $level goes from 1, 2, 3, 4 and 8 ranks to each other" walks $level
    same_model "level $level ends with the model of one process" whole level$level
    metrics level$level
    same "level $level has the metrics of one process" whole.metrics level$level.metrics
done
done_testing
