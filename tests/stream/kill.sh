#!/bin/sh
# stream killed with -9 at random points, twice in a row, and resumed: the
# bytes are those of the undisturbed stream; make check-long does it 200 times
. "${0%/*}/../lib/lib.sh"
h=$BUILD/tests/stream/sampler
points=3
is_long && points=200

"$h" make d1 1 3 1500 400 49152 16384 0 0 || exit 1
docs='-B 8 -T 256 -s 3 --alpha 0.5 --batches 4000'
rows='-B 5 -s 3 --shuffle --open 9 --batches 20000'
# shellcheck disable=SC2086 # lists of words
ok 'a stream of documents' stream $docs d1 -o whole.docs
stream -q -T 256 -B 8 d1 >c && shard write -q -o k1 --frame 8K c
# shellcheck disable=SC2086
ok 'a replayed one' stream $rows k1 -o whole.rows

size() {
    wc -c <"$1" | tr -d ' '
}

# killed BYTES OUT command ...: kill the command when this many bytes were read
# of it, while it waits to write more; its status is that of kill -9
killed() {
    bytes=$1 to=$2
    shift 2
    rm -f fifo
    mkfifo fifo
    "$@" >fifo 2>err &
    pid=$!
    { head -c "$bytes" >"$to"; kill -9 $pid; } <fifo
    wait $pid
}

# try KIND DIR SHARE SHARE: twice killed after a share of what is left, then
# finished.  More is left than a pipe holds, so there is a stream to kill.
try() {
    whole=whole.$1 dir=$2
    if [ "$1" = docs ]; then args=$docs; else args=$rows; fi
    rm -rf run
    left=$(($(size "$whole") - 2500000))
    for share in "$3" "$4"; do
        bytes=$((1 + left * share / 1000))
        left=$((left - bytes))
        got=0
        # shellcheck disable=SC2086
        killed $bytes part stream --resume run $args "$dir" 2>>killed.err ||
            got=$?
        [ $got = 137 ] && hits=$((hits + 1))
        "$h" broken "$whole" part run >>parts || return 1
    done
    # shellcheck disable=SC2086
    stream --resume run "$dir" $args >part 2>err || return 1
    if [ -d run ]; then
        last=$("$h" last run) && "$h" tail "$whole" part "$last"
    else
        cmp -s "$whole" part
    fi
}

for kind in docs rows; do
    dir=d1
    [ $kind = rows ] && dir=k1
    bad=0 hits=0
    : >parts
    awk -v n=$points 'BEGIN { srand(7); for (i = 0; i < n; i++)
        print int(rand() * 1000), int(rand() * 1000) }' >shares
    while read -r one two; do
        try $kind "$dir" "$one" "$two" || bad=$((bad + 1))
    done <shares
    equal "$kind: killed twice at $points points: streams that differ" $bad 0
    equal "$kind: kills that met a running stream" $hits $((2 * points))
done
done_testing
