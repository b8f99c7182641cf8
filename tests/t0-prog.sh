#!/bin/sh
# Progress, closing line, signals, readers that leave: what all programs share
. "${0%/*}/lib.sh"
p=$BUILD/tests/base_prog

status 3 'an error of the input' "$p" thing
like 'is named' '^base_prog: thing: no such thing$' err
like 'and the cost is still told' '^base_prog [0-9.]+: wall ' err
unlike 'no -v, no chatter' 'about to fail' err
status 3 '-v' "$p" -v thing
like 'says more' 'base_prog: about to fail' err
status 3 '-q' "$p" -q thing
equal 'leaves only the error' "$(cat err)" 'base_prog: thing: no such thing'

ok 'work in a pipe' "$p" work
equal 'shows no progress' "$(grep -c training err)" 0
like 'notes pass' '^base_prog: half done$' err
like 'the closing line holds what was done' '^base_prog .*: 50 steps, wall' err

if command -v script >/dev/null && terminal true; then
    TERM=xterm terminal "$p work"
    like 'a terminal shows progress' 'training.* [0-9]+ of 50 steps' screen
    like 'rate, extra, rest' '/s, loss 2\.[0-9]+, 0:00 left' screen
    like 'in bold' "$(printf '\033')\\[1m" screen
    like 'notes wipe the line' \
        "$(printf '\r\033')\\[Kbase_prog: half done" screen
    TERM=xterm terminal "$p load"
    like 'bytes are MB' 'loading.* [0-9.]+ MB of 50 MB \([0-9]+ %\)' screen
    like 'and MB/s' '%\), [0-9.]+ MB/s' screen
    TERM=xterm NO_COLOR=1 terminal "$p work"
    like 'NO_COLOR shows progress' 'training.* [0-9]+ of 50 steps' screen
    unlike 'but not in bold' "$(printf '\033')\\[[0-9;]*m" screen
    TERM=dumb terminal "$p work"
    unlike 'nothing is rewritten on a dumb terminal' 'training' screen
    TERM=xterm terminal "$p -q work"
    unlike '-q shows none' 'training' screen
    rc=0
    terminal "$p tty" || rc=$?
    equal 'binary is refused to a terminal' "$rc" 2
    like 'with a reason' 'binary output is not written to a terminal' screen
else
    skip 'progress on a terminal' 'no script(1)'
fi
ok 'binary is not refused to a file' "$p" tty

# A reader that leaves reports its own status; the writer ends quietly.
for way in flood print; do
    mkfifo pipe
    "$p" -q $way >pipe 2>err &
    writer=$!
    head -c 10 <pipe >out
    wait $writer
    equal "$way: a reader that left is no error" "$?" 0
    equal "$way: and nothing is said" "$(cat err)" ''
    rm pipe
done
if [ -e /dev/full ]; then
    for way in flood print; do
        status 1 "$way: a full disk" sh -c '"$1" "$2" >/dev/full' sh "$p" $way
        like 'is named' 'base_prog: <stdout>: No space left' err
    done
else
    skip 'a full disk' 'no /dev/full'
fi

# A file that is opened must not take the place of a closed descriptor.
echo f >want
status 1 'stdout closed' sh -c '"$1" mix >&-' sh "$p"
same 'leaves the file alone' want file
ok 'stderr closed' sh -c '"$1" mix 2>&-' sh "$p"
same 'leaves the file alone' want file

# wait_for TEXT FILE: at most ten seconds
wait_for() {
    n=0
    while ! grep -q "$1" "$2" && [ $n -lt 200 ]; do
        n=$((n + 1))
        sleep 0.05
    done
}
"$p" -q stop >out 2>err &
pid=$!
wait_for ready out
kill -USR1 $pid
wait_for running err
like 'SIGUSR1 tells how it stands' '^base_prog: running [0-9]+ s$' err
kill -TERM $pid
wait $pid
equal 'SIGTERM ends after a clean stop' "$?" 5
"$p" work 2>err &
pid=$!
sleep 0.2
kill -USR1 $pid
wait $pid
equal 'SIGUSR1 does not disturb work' "$?" 0
like 'and tells its progress' \
    '^base_prog: training [0-9]+ of 50 steps, loss 2\.[0-9]+, running 0 s$' err
done_testing
