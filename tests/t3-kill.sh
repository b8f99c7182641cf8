#!/bin/sh
# stream killed with -9 at random points, twice in a row, and resumed: the
# bytes are those of the undisturbed stream
. "${0%/*}/lib.sh"
h=$BUILD/tests/sampler
points=3
is_long && points=200

"$h" make d1 1 3 1500 400 49152 16384 0 0 || exit 1
docs='-B 8 -T 256 -s 3 --temperature 0.5 --batches 4000'
rows='-B 5 -s 3 --shuffle --open 9 --batches 20000'
# shellcheck disable=SC2086 # lists of words
ok 'a stream of documents' stream $docs d1 -o whole.docs
stream -q -T 256 -B 8 d1 >c && shard -q -o k1 --frame 8K c
# shellcheck disable=SC2086
ok 'a replayed one' stream $rows k1 -o whole.rows

# killed AFTER OUT command ...: kill the command when so many seconds are over
killed() {
    after=$1 to=$2
    shift 2
    "$@" >"$to" 2>err &
    pid=$!
    sleep "$after"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
}

# try KIND DIR SECONDS: twice killed, then finished
try() {
    whole=whole.$1 dir=$2
    if [ "$1" = docs ]; then args=$docs; else args=$rows; fi
    rm -rf run
    for after in "$3" "$4"; do
        # shellcheck disable=SC2086
        killed "$after" part stream --resume run $args "$dir"
        "$h" broken "$whole" part run >>parts || return 1
        [ "$(tail -n 1 parts | cut -d ' ' -f 2)" != 0 ] && hits=$((hits + 1))
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
        print rand() * 0.05, rand() * 0.05 }' >times
    while read -r one two; do
        try $kind "$dir" "$one" "$two" || bad=$((bad + 1))
    done <times
    equal "$kind: killed twice at $points points: streams that differ" $bad 0
    if [ $hits -gt $((points / 2)) ]; then
        pass "$hits kills were in the middle"
    else
        fail "only $hits kills were in the middle"
    fi
done
done_testing
