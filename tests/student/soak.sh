#!/bin/sh
# Many small steps on 4 ranks, some of which are killed or stopped at random,
# about one every 100 steps: the same end, and no more memory.  How many steps
# is in RETORT_SOAK, by make soak; ranks-lost.sh has what takes little time.
if [ -z "${RETORT_SOAK:-}" ]; then
    echo '1..0 # SKIP takes minutes: make soak'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a run with ranks lost ends as a calm one' || done_testing
. "$top/tests/lib/train.sh"
steps=$RETORT_SOAK
MPIEXEC_TIMEOUT=7200
timeout=5
cat >job <<'END'
# job RUN STEPS TIMEOUT
mpirun -n 4 sh -c 'stream -q -B 4 -T 64 -s 7 --batches $1 --resume $0 \
        --rank $OMPI_COMM_WORLD_RANK/4 data |
    student -q -j 1 -m new.json -o $0 --lr 1e-3 --deterministic --save 10 \
        --resume --rank-timeout $2' "$@"
END

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
# random N: 0..N-1
random() {
    od -A n -N 4 -t u4 /dev/urandom | awk -v n="$1" '{ print $1 % n }'
}

# --- undisturbed ---
: >memory.tsv
sh job calm "$steps" 60 >calm.out 2>&1 &
job=$!
while kill -0 $job 2>/dev/null; do
    sample calm
    sleep 0.3
done
wait $job
equal 'a run without lost ranks ends well' "$?" 0
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
then pass 'no growth of memory'; else fail "memory grows: $grown"; fi

# --- and with ranks lost ---
"$top/scripts/supervise" -w 1 soak sh job soak "$steps" "$timeout" >soak.out 2>&1 &
job=$!
lost=0 next=$((10 + $(random $((steps / 4)))))
while kill -0 $job 2>/dev/null; do
    at=$(step soak)
    case $at in '' | *[!0-9]*) at=0 ;; esac
    if [ "$at" -ge $next ]; then
        signal=KILL
        [ $((lost % 3)) != 1 ] || signal=STOP
        kill -s $signal "$(process soak "$(random 4)")" 2>/dev/null &&
            lost=$((lost + 1))
        next=$((at + 50 + $(random 100)))
    fi
    sleep 0.2
done
wait $job
equal 'a run with lost ranks ends well' "$?" 0
again=$(grep -c '^supervise: status ' soak.out)
echo "# $lost ranks lost, begun again $again times"
if [ "$lost" -ge 1 ] && [ "$again" -ge 1 ]
then pass 'ranks were lost and begun again'; else fail 'ranks were lost and begun again'; fi
same 'both runs have the same model' calm/model.safetensors soak/model.safetensors
cut -f 1-9 calm/metrics.tsv >m
cut -f 1-9 soak/metrics.tsv >n
same 'both runs have the same metrics' m n
done_testing
