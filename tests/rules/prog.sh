#!/bin/sh
# Progress, closing line, signals, readers that leave: what all programs share
. "${0%/*}/../lib/lib.sh"
p=$BUILD/tests/cli/prog

status 3 'an error of the input' "$p" thing
like 'is named' '^prog: thing: no such thing$' err
like 'and the cost is still told' '^prog [0-9.]+: wall ' err
unlike 'no -v, no chatter' 'about to fail' err
status 3 '-v' "$p" -v thing
like 'says more' 'prog: about to fail' err
status 3 '-q' "$p" -q thing
equal 'leaves only the error' "$(cat err)" 'prog: thing: no such thing'

status 1 'no memory' "$p" memory
like 'says for what' '^prog: out of memory: [0-9]+ times 4 bytes$' err
like 'and the cost too' '^prog [0-9.]+: wall ' err

ok 'work in a pipe' "$p" work
equal 'shows no progress' "$(grep -c training err)" 0
like 'notes pass' '^prog: half done$' err
like 'the closing line holds what was done' '^prog .*: 50 steps, wall' err

unlike 'without details' 'naps' err
ok '-v' "$p" -v work
like 'adds them' '^prog .*: 50 steps, 50 naps, wall' err

if has_terminal; then
    TERM=xterm terminal "$p work"
    like 'a terminal shows progress' 'training.* [0-9]+ of 50 steps' screen
    like 'rest, extra, rate' ', 0:00 left, loss 2\.[0-9]+, [0-9.]+/s' screen
    like 'in bold' "$(printf '\033')\\[1m" screen
    like 'notes wipe the line' \
        "$(printf '\r\033')\\[Kprog: half done" screen
    TERM=xterm terminal "$p load"
    like 'bytes are MB' 'loading.* [0-9.]+ MB of 50 MB \([0-9]+ %\)' screen
    like 'and MB/s' ', [0-9.]+ MB/s' screen
    TERM=xterm NO_COLOR=1 terminal "$p work"
    like 'NO_COLOR shows progress' 'training.* [0-9]+ of 50 steps' screen
    unlike 'but not in bold' "$(printf '\033')\\[[0-9;]*m" screen
    TERM=dumb terminal "$p work"
    unlike 'nothing is rewritten on a dumb terminal' 'training' screen
    TERM=xterm terminal "$p work | cat"
    unlike 'the line belongs to the last program of a pipe' training screen
    like 'notes stay' 'prog: half done' screen
    like 'and the closing line' '50 steps, wall' screen
    TERM=xterm terminal "$p -v work | cat"
    like 'unless -v asks for it' 'training.* of 50 steps' screen
    TERM=xterm terminal "printf 'other: 12 of 40' >&2; $p thing"
    like 'a message wipes the line of another' \
        "other: 12 of 40$(printf '\r\033')\\[Kprog: thing: no such" screen
    TERM=xterm NO_COLOR=1 terminal "stty cols 33; $p work"
    tr '\r' '\n' <screen | grep training | sed "s/$(printf '\033')\\[K//" >lines
    like 'a narrow terminal' '^prog: training [0-9]+ of 50 ste' lines
    equal 'cuts the line' \
        "$(awk 'length > m { m = length } END { print m }' lines)" 32
    TERM=xterm terminal "$p -q work"
    unlike '-q shows none' 'training' screen
    rc=0
    terminal "$p tty" || rc=$?
    equal 'binary is refused to a terminal' "$rc" 2
    like 'with a reason' 'binary output is not written to a terminal' screen
else
    skip 'progress on a terminal' 'no terminal: script(1) or /dev/pts is missing'
fi

# A log: the clock of these 200 seconds runs ahead.
ok 'in a log' "$p" resume
grep training err >lines
equal 'a line a minute' "$(sed 's/.*training \([0-9.k ]*\) of.*/\1/' lines |
    tr '\n' ,)" '1.06 k,1.12 k,1.18 k,'
like 'the rate and the rest are of this run' \
    '1.06 k of 1.4 k steps \(76 %\), 5:40 left, .*, 1/s$' lines
like 'and what it holds is plain' 'left, \\x1b\[2Jloss, ' lines
ok 'in a pipe too' sh -c '"$1" resume | cat' sh "$p"
equal 'a line a minute' "$(grep -c training err)" 3
ok 'with -v' "$p" -v resume
equal 'every ten seconds' "$(grep -c training err)" 20
ok 'with -q' "$p" -q resume
equal 'none' "$(cat err)" ''
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
        like 'is named' 'prog: <stdout>: No space left' err
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
equal 'two at once are one' "$(kill -0 $save $hang && echo both run)" 'both run'
kill -INT $save $hang
wait $save
equal 'a save is not interrupted' "$?" 5
like 'and ends' '^prog: saved$' err.save
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
like 'and tells its progress' \
    '^prog: training [0-9]+ of 50 steps, loss 2\.[0-9]+, running [0-9]+ s$' err
done_testing
