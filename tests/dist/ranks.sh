#!/bin/sh
# collectives over 1 to 8 ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'collectives' || done_testing
for n in 1 2 3 4 8; do
    ok "collectives are right over $n ranks" \
        env WANT_RANKS=$n mpirun -n $n "$BUILD/tests/dist/ranks"
    grep '^not ok' out | sed 's/^/# /'
    like "$n ranks tried all of them" '^1\.\.1[1-3][0-9]$' out
done
ok '4 ranks of 2 nodes are right' env RETORT_NODE=2 WANT_RANKS=4 mpirun -n 4 \
    "$BUILD/tests/dist/ranks"
like '2 of 4 ranks are a node' '^ok .* a node, 2 elements, 2 ranks of node' out
ok '8 ranks of 2 nodes are right' env RETORT_NODE=4 WANT_RANKS=8 mpirun -n 8 \
    "$BUILD/tests/dist/ranks"
ok '8 ranks of 4 nodes are right' env RETORT_NODE=2 WANT_RANKS=8 mpirun -n 8 \
    "$BUILD/tests/dist/ranks"
ok '4 ranks of unequal nodes are right' \
    env RETORT_NODE=3 WANT_RANKS=4 mpirun -n 4 \
    "$BUILD/tests/dist/ranks"
status 1 'a number of ranks that is none is refused' \
    env RETORT_NODE=2x mpirun -n 2 \
    "$BUILD/tests/dist/ranks"
like 'the error names RETORT_NODE' 'RETORT_NODE: "2x" is no number of ranks' out
ok '2 ranks run beside 3 of another program' env WANT_RANKS=2 WANT_OTHERS=3 \
    mpirun -n 2 "$BUILD/tests/dist/ranks" one : -n 3 env WANT_RANKS=3 \
    WANT_OTHERS=2 "$BUILD/tests/dist/ranks" other
status 6 'ranks in different collectives are ended with status 6' \
    timeout 60 mpirun -n 2 "$BUILD/tests/dist/stuck"
like 'the job ends after ten times the limit' \
    'all ranks have waited for one another for [23]\.[0-9] s' err
done_testing
