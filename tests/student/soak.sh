#!/bin/sh
# The memory of 4 ranks does not grow over many small steps.  RETORT_SOAK is
# the number of steps; make soak sets it.
if [ -z "${RETORT_SOAK:-}" ]; then
    echo '1..0 # SKIP takes minutes: make soak'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'the memory of ranks does not grow' || done_testing
. "$top/tests/lib/train.sh"
steps=$RETORT_SOAK
MPIEXEC_TIMEOUT=7200

# step RUN
step() {
    tail -n 1 "$1/metrics.tsv" 2>/dev/null | cut -f 1
}
# sample RUN: a line "process step kilobytes" for each rank into memory.tsv
sample() {
    at=$(step "$1")
    for r in 0 1 2 3; do
        p=$(process "$1" $r)
        kb=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$p/status" \
            2>/dev/null)
        [ -z "$kb" ] || printf '%s\t%s\t%s\n' "$p" "$at" "$kb"
    done >>memory.tsv
}
: >memory.tsv
# shellcheck disable=SC2016 # the ranks' shells expand it
mpirun -n 4 sh -c 'stream -q -B 4 -T 64 -s 7 --batches $0 \
        --rank $OMPI_COMM_WORLD_RANK/4 data |
    student -q -j 1 -m new.json -o calm --lr 1e-3 --deterministic --save 10' \
    "$steps" >calm.out 2>&1 &
job=$!
while kill -0 $job 2>/dev/null; do
    sample calm
    sleep 0.3
done
wait $job
equal 'a run of many steps ends well' "$?" 0
# Of each process: from the first tenth of its steps on.
grown() {
    awk -F '\t' -v steps="$1" '
        $2 !~ /^[0-9]+$/ { next }
        $2 >= from[$1] + steps && !($1 in first) { first[$1] = $3 }
        !($1 in from) { from[$1] = $2 + 0 }
        { last[$1] = $3 }
        END { for (p in first) {
                  x = last[p] / first[p] - 1; n++
                  if (!(x <= most) || n == 1) most = x }
              printf "%.4f %d\n", most, n }' memory.tsv
}
grown=$(grown $((steps / 10)))
echo "# memory of a rank grows by ${grown% *} at most, of ${grown#* } ranks"
if awk "BEGIN { exit !(${grown% *} <= 0.01 && ${grown#* } == 4) }"
then pass 'the memory of 4 ranks does not grow'
else fail "the memory of 4 ranks does not grow: $grown"; fi

done_testing
