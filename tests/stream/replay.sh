#!/bin/sh
# stream over recorded batches: rows and all that belongs to them
. "${0%/*}/../lib/lib.sh"
h=$BUILD/tests/stream/sampler

"$h" make d1 1 3 500 300 49152 16384 0 0 &&
    "$h" make d2 2 26 300 300 49152 16384 0 1 || exit 1
ok 'batches are made and filtered' \
    sh -c 'stream -B 8 -T 256 -s 1 d1 >s && "$1" filter <s >b1 &&
    stream -B 5 -T 256 -s 1 d2 >s && "$1" filter <s >b2 &&
    shard write -o k1 b1 && shard write -o k2 b2' sh "$h"

ok 'the stored order is replayed' stream -B 8 k1 -o r
"$h" odd b1 print >want && "$h" odd r print >got
same 'the replay has the ids of the batches' want got
ok 'the replay gives every token once' "$h" check r 1 natural d1
ok 'rows come with their tensors' "$h" odd r sum
for B in 1 3 64 100000; do
    ok "batches are replayed with -B $B" stream -B $B k1 -o r
    ok "rows come with their tensors, -B $B" "$h" odd r sum
    "$h" odd r print >got
    same "ids are the same, -B $B" want got
done
ok '--shuffle takes two directories' \
    stream -B 7 --shuffle -s 3 --epochs 2 k1 k2 -o r
ok 'shuffled rows come with their tensors' "$h" odd r sum
ok 'two epochs give every token twice' "$h" check r 2 natural d1 d2
n=$(sed 's/batches=\([0-9]*\).*/\1/' out)
ok 'shuffled rows come with another B' \
    stream -B 2 --shuffle -s 3 --epochs 2 k1 k2 -o c
"$h" rows r >rows.a && "$h" rows c >rows.b
same 'another B has the same order of rows' rows.a rows.b
"$h" rows r | sort >rows.a
stream -B 9 --epochs 2 k1 k2 -o c 2>err && "$h" rows c | sort >rows.b
same 'shuffling permutes the rows' rows.a rows.b
for k in 2 3 40 "$n" $((n + 1)); do
    rm -rf run
    "$h" mark r "$k" run || fail "mark $k"
    ok "shuffled rows resume after message $k" stream --resume run k1 k2 -o t
    ok "resumed after $k, shuffled rows are the tail" "$h" tail r t "$k"
done
"$h" rows r >rows.w
for r in 0 2; do
    ok "a rank replays its rows: $r/3" \
        stream --rank $r/3 -B 7 --shuffle -s 3 --epochs 2 k1 k2 \
        -o c
    "$h" rows c >rows.a
    awk -v r=$r '(NR - 1) % 7 % 3 == r' rows.w | head -n "$(wc -l <rows.a)" \
        >rows.b
    same "rank $r/3 has its rows of each batch" rows.a rows.b
    ok "rows of rank $r/3 come with their tensors" "$h" odd c sum
done
# Shuffled in blocks, when there is more than memory for it.
ok 'directories have small and large frames' \
    sh -c 'shard write -f -o k4 --frame 4K b1 && shard write -f -o k5 b1'
for k in k4 k5; do
    for open in 1 2 7 1000; do
        ok "frames are open at once: $k --open $open" \
            stream --shuffle --open $open --epochs 2 -s 8 \
            -B 5 $k -o c
        ok "$k --open $open keeps rows with their tensors" "$h" odd c sum
        ok "$k --open $open gives every token twice" "$h" check c 2 natural d1
    done
done
ok '--open 7 sets the order of rows' \
    stream --shuffle --open 7 --epochs 2 -s 8 -B 5 k4 -o c
for k in 2 9 90; do
    rm -rf run
    "$h" mark c $k run
    ok "--open 7 resumes after message $k" \
        stream --resume run --mem 100M k4 -o t
    ok "the stream of --open 7 resumed after $k is the tail" "$h" tail c t $k
done
for how in '-j 1' '-j 4' '-j 4 --mem 1M'; do
    for order in '--shuffle --open 7 -s 8' --no-shuffle; do
        # shellcheck disable=SC2086 # lists of words
        ok "threads and memory may be set: $how $order" \
            stream $how $order --epochs 2 -B 5 k4 -o t
        if [ -e "by$order" ]; then same "$how $order changes no byte" "by$order" t
        else mv t "by$order"; fi
    done
done
status 2 'frames that are open need memory' \
    stream --shuffle --open 100 --mem 1M k4 -o c
like 'the error says how much memory' 'takes [0-9]+ MiB.*--mem' err
status 2 '--open in stored order is refused' stream --open 7 k4 -o c
ok '-T may be given as recorded' stream -T 256 k1 -o c
status 2 'another T is refused' stream -T 128 k1 -o c
status 2 'packing is refused for batches' stream --pack none k1 -o c
like 'the error says that packing is recorded' 'packing are recorded' err
status 2 'weights are refused for batches' stream --weights s0=1 k1 -o c
status 3 'documents and batches are refused together' stream d1 k1 -o c
ok '--batches ends a replay' stream -B 4 --batches 5 k1 -o c
like 'the replay says its length, for schedules' '"batches":"5"' c
announced k1
announced -B 3 --epochs 2 k1
announced --shuffle -B 5 --rank 1/2 k1
announced --tokens 50001 k1
announced --tokens 100001 --shuffle --open 7 k1
announced --tokens 400000 --shuffle k1
ok '--dry-run counts a replay' stream --dry-run --epochs 3 k1
like '--dry-run tells the epochs of a replay' '	3\.000$' out
ok 'a directory has rows without teacher tensors' \
    sh -c 'stream -B 8 -T 256 -s 1 d1 >s &&
    shard write -o k3 s'
status 3 'rows without and with teacher are refused together' stream k1 k3 -o c
like 'the error says that teachers differ' 'teacher is not that of' err
done_testing
