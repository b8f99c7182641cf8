#!/bin/sh
# Progress, closing line, signals, readers that leave: what all programs share
. "${0%/*}/../lib/lib.sh"
p=$BUILD/tests/cli/prog

status 3 'an error of the input ends with status 3' "$p" thing
like 'an error of the input is named' '^prog: thing: no such thing$' err
like 'the cost is told after an error too' '^prog [0-9.]+: wall ' err
unlike 'details are not printed without -v' 'about to fail' err
status 3 'an error with -v ends with status 3' "$p" -v thing
like 'an error with -v prints details' 'prog: about to fail' err
status 3 'an error with -q ends with status 3' "$p" -q thing
equal 'an error with -q prints only the error' "$(cat err)" 'prog: thing: no such thing'

status 1 'memory that is out ends with status 1' "$p" memory
like 'the message says how much memory was asked for' '^prog: out of memory: [0-9]+ times 4 bytes$' err
like 'the cost is told when memory is out' '^prog [0-9.]+: wall ' err

ok 'work in a pipe ends with status 0' "$p" work
equal 'no progress is shown in a pipe' "$(grep -c training err)" 0
like 'notes are printed in a pipe' '^prog: half done$' err
like 'the closing line says how much was done' '^prog .*: 50 steps, wall' err

unlike 'the closing line has no details without -v' 'naps' err
ok 'work with -v ends with status 0' "$p" -v work
like 'the closing line has details with -v' '^prog .*: 50 steps, 50 naps, wall' err

if has_terminal; then
    TERM=xterm terminal "$p work"
    like 'progress is shown on a terminal' 'training.* [0-9]+ of 50 steps' screen
    like 'progress has time left, text and rate' ', 0:00 left, loss 2\.[0-9]+, [0-9.]+/s' screen
    like 'progress is bold on a terminal' "$(printf '\033')\\[1m" screen
    like 'a note wipes the line of progress' \
        "$(printf '\r\033')\\[Kprog: half done" screen
    TERM=xterm terminal "$p load"
    like 'progress in bytes is shown in MB' 'loading.* [0-9.]+ MB of 50 MB \([0-9]+ %\)' screen
    like 'the rate of bytes is shown in MB/s' ', [0-9.]+ MB/s' screen
    TERM=xterm NO_COLOR=1 terminal "$p work"
    like 'progress is shown with NO_COLOR' 'training.* [0-9]+ of 50 steps' screen
    unlike 'nothing is bold with NO_COLOR' "$(printf '\033')\\[[0-9;]*m" screen
    TERM=dumb terminal "$p work"
    unlike 'nothing is rewritten on a dumb terminal' 'training' screen
    TERM=xterm terminal "$p work | cat"
    unlike 'the line belongs to the last program of a pipe' training screen
    like 'notes are printed by every program of a pipe' 'prog: half done' screen
    like 'the closing line is printed by every program of a pipe' '50 steps, wall' screen
    TERM=xterm terminal "$p -v work | cat"
    like 'a program of a pipe shows progress with -v' 'training.* of 50 steps' screen
    TERM=xterm terminal "printf 'other: 12 of 40' >&2; $p thing"
    like 'a message wipes the line of another' \
        "other: 12 of 40$(printf '\r\033')\\[Kprog: thing: no such" screen
    TERM=xterm NO_COLOR=1 terminal "stty cols 33; $p work"
    tr '\r' '\n' <screen | grep training | sed "s/$(printf '\033')\\[K//" >lines
    like 'progress is shown on a narrow terminal' '^prog: training [0-9]+ of 50 ste' lines
    equal 'the line is cut on a narrow terminal' \
        "$(awk 'length > m { m = length } END { print m }' lines)" 32
    TERM=xterm terminal "$p -q work"
    unlike 'no progress is shown with -q' 'training' screen
    rc=0
    terminal "$p tty" || rc=$?
    equal 'binary is refused to a terminal' "$rc" 2
    like 'the message says that binary is not written to a terminal' 'binary output is not written to a terminal' screen
else
    skip 'progress on a terminal' 'no terminal: script(1) or /dev/pts is missing'
fi

# A log: the clock of these 200 seconds runs ahead.
ok 'work whose log is a file ends with status 0' "$p" resume
grep training err >lines
equal 'a log has a line of progress a minute' "$(sed 's/.*training \([0-9.k ]*\) of.*/\1/' lines |
    tr '\n' ,)" '1.06 k,1.12 k,1.18 k,'
like 'the rate and the rest are of this run' \
    '1.06 k of 1.4 k steps \(76 %\), 5:40 left, .*, 1/s$' lines
like 'control bytes are escaped in a log' 'left, \\x1b\[2Jloss, ' lines
ok 'work goes on in a pipe' sh -c '"$1" resume | cat' sh "$p"
equal 'progress has a line a minute in a pipe' "$(grep -c training err)" 3
ok 'work of minutes with -v ends with status 0' "$p" -v resume
equal 'progress has a line every ten seconds with -v' "$(grep -c training err)" 20
ok 'work of minutes with -q ends with status 0' "$p" -q resume
equal 'progress has no line with -q' "$(cat err)" ''
ok 'binary is not refused to a file' "$p" tty

# A reader that leaves reports its own status; the writer ends quietly.
for way in flood print; do
    mkfifo pipe
    "$p" -q $way >pipe 2>err &
    writer=$!
    head -c 10 <pipe >out
    wait $writer
    equal "$way: a reader that left is no error" "$?" 0
    equal "$way prints nothing when its reader leaves" "$(cat err)" ''
    rm pipe
done
if [ -e /dev/full ]; then
    for way in flood print; do
        status 1 "$way: a full disk fails with status 1" sh -c '"$1" "$2" >/dev/full' sh "$p" $way
        like "$way names stdout and the full disk" 'prog: <stdout>: No space left' err
    done
else
    skip 'a full disk fails with status 1' 'no /dev/full'
fi

# A file that is opened must not take the place of a closed descriptor.
echo f >want
status 1 'work fails where stdout is closed' sh -c '"$1" mix >&-' sh "$p"
same 'a file is whole where stdout is closed' want file
ok 'work goes on where stderr is closed' sh -c '"$1" mix 2>&-' sh "$p"
same 'a file is whole where stderr is closed' want file

"$p" -q stop >out 2>err &
pid=$!
await grep -q ready out
kill -USR1 $pid
await grep -q running err
like 'SIGUSR1 tells how it stands' '^prog: running [0-9]+ s$' err
kill -TERM $pid
wait $pid
equal 'SIGTERM ends after a clean stop' "$?" 5

# timeout(1) sends SIGINT to a program and then to its group: that is one stop.
# A second one later ends at once, but does not interrupt a save.
"$p" -q save >out.save 2>err.save &
save=$!
"$p" -q hang >out.hang 2>err.hang &
hang=$!
await grep -q ready out.save
await grep -q ready out.hang
kill -INT $save $hang
sleep 0.1
kill -INT $save $hang
sleep 2.1
equal 'two signals at once are one stop' "$(kill -0 $save $hang && echo both run)" 'both run'
kill -INT $save $hang
wait $save
equal 'a save is not interrupted' "$?" 5
like 'the save ends after a second signal' '^prog: saved$' err.save
got=0
wait $hang || got=$?
equal 'another one two seconds later ends a program at once' "$got" 130

"$p" work 2>err &
pid=$!
await catches $pid 10
told() { kill -USR1 "$pid"; grep -q 'training .* loss' err; } # after a step
await told
wait $pid
equal 'SIGUSR1 does not disturb work' "$?" 0
like 'SIGUSR1 prints the progress' \
    '^prog: training [0-9]+ of 50 steps, loss 2\.[0-9]+, running [0-9]+ s$' err
done_testing
