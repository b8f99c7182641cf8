#!/bin/sh
# what ranks send, logged; what was done when, also of one process
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

# trace FILE PROCESSES: one of Chrome's, with times within the process's
trace() {
    like "$1 begins as an array" '^\[$' "$1"
    equal "$1 ends the array" "$(tail -n 1 "$1")" ']'
    equal "$1 names $2 processes" "$(grep -c '"process_name"' "$1")" "$2"
    # each line between is an object, all but the last with a comma
    sed '1d;$d;s/,$//' "$1" >objects
    unlike "$1 holds one object a line" '^([^{]|.*[^}]$)' objects
    for kind in compute data save; do
        like "$1 has an event of $kind" "\"cat\":\"$kind\",\"ph\":\"X\",\"ts\":[0-9.]*,\"dur\":[0-9.]*,\"pid\":0" "$1"
    done
}

batches 4 >b
ok 'one process writes a timeline' student -q -m new.json -o run --timeline one.json b
trace one.json 1
ok 'a run without a timeline trains' student -q -m new.json -o plain b
same 'a timeline changes no bit' run/model.safetensors plain/model.safetensors

has_ranks 'a log of ranks' || done_testing
ok 'two ranks write a log and a timeline' mpirun -n 2 student -q -j 1 -m new.json -o two \
    --comm-log two.comm --timeline two.json --schedule constant b
trace two.json 2
for kind in gather reduce wait; do
    like "two.json has $kind of rank 1" "\"cat\":\"$kind\",.*\"pid\":1" two.json
done
equal 'ranks write one timeline file' "$(find . -name 'two.json*')" ./two.json
for f in two.comm two.comm-1; do
    like "$f.log has a line for each collective" '^comm op: reduce_scatter_tensor \| time \(ms\): [0-9.]+ \| msg size: [0-9.]+ KB \| algbw \(Gbps\): [0-9.]+ \| busbw \(Gbps\): [0-9.]+$' $f.log
    like "$f.log has a table of sizes" '^Comm. Op            Message Size        Count               Total Latency' $f.log
done

# Bytes that a rank sends of gradients and parameters, against (n-1)/n of 4
# bytes a parameter twice a step: 4 steps.  Messages below 2 kB are losses,
# norms and votes, at most 1 % of them here.
params=$(sed -n 's/.*"total_parameters": *\([0-9]*\).*/\1/p' two/config.json)
[ -n "$params" ] || params=$(student -m new.json -o count b 2>&1 |
    sed -n 's/.*: \([0-9]*\) parameters.*/\1/p')
# sent N FILE...: all that ranks sent, over what N of them should have
sent() {
    tap_n=$1
    shift
    cat "$@" | awk -F '\t' -v n="$tap_n" -v p="$params" '
        $1 ~ /tensor/ { sum += $4 * $7 }
        END { printf "%.4f\n", sum / (4 * 2 * (n - 1) * 4 * p) }'
}
near_1() {
    if awk -v x="$2" 'BEGIN { exit !(x >= 0.97 && x <= 1.03) }'
    then pass "$1: $2"; else fail "$1: $2"; fi
}
near_1 'level 0 sends 2 (n-1)/n 4 P bytes' "$(sent 2 two.comm.tsv two.comm-1.tsv)"
ok 'four ranks train with moments in parts' mpirun -n 4 student -q -j 1 -m new.json \
    -o four --shard-level 1 --comm-log four.comm --schedule constant b
near_1 'level 1 sends the same bytes' "$(sent 4 four.comm.tsv four.comm-[123].tsv)"
ok 'two ranks write the log of DeepSpeed' env RETORT_COMM_DEEPSPEED=1 mpirun -n 2 student -q \
    -j 1 -m new.json -o old --comm-log old --schedule constant b
gather() {
    sed -n 's/^comm op: all_gather.*msg size: \([0-9.]* [KM]B\) .*/\1/p' "$1" |
        sort -u
}
status 1 "DeepSpeed's numbers show a part of what is gathered" test "$(gather old.log)" = \
    "$(gather two.comm.log)"
status 1 'a log that cannot be written ends the run' student -q -m new.json -o not \
    --comm-log no/where b
done_testing
