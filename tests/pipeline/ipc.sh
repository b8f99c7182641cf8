#!/bin/sh
# Shared memory and sockets between programs: the same bytes as through a pipe,
# ends that leave or
# stop, several readers; ipc-kill.sh has ends that die
# shellcheck disable=SC2086 # commands are kept as words
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/pipe.sh"
student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1
me=t9.$$
segment=/dev/shm/retort-$(id -u)-$me
port=$((20000 + $$ % 10000))
batches 20 >piped
rows='stream -q -B 4 -T 64 -s 7 --batches 20 data'

# --- the same bytes, whoever starts first ---
# shard keeps the messages it reads, cut into frames
shard write -q -o piped.d piped
for addr in "shm:$me" unix:sock "tcp:localhost:$port" \
    "tcp:127.0.0.1:$((port + 1))"; do
    rm -rf got.d
    $rows -o "$addr?wait=60" 2>err1 &
    sleep 0.1
    ok "$addr carries a stream, writer first" timeout 60 shard write -q -o got.d "$addr?wait=60"
    wait $! || fail 'the writer'
    ok "$addr carries the same bytes, writer first" diff -r piped.d got.d
    rm -rf got.d
    timeout 60 shard write -q -o got.d "$addr?wait=60" 2>err1 &
    sleep 0.1
    ok "$addr carries a stream, reader first" timeout 60 $rows -o "$addr?wait=60"
    wait $! || fail 'the reader'
    ok "$addr carries the same bytes, reader first" diff -r piped.d got.d
done
equal 'no segment or socket is left behind a stream' "$(ls "$segment" sock 2>/dev/null)" ''

# --- a whole pipeline ---
for how in shm unix tcp; do
    case $how in
    shm) a=shm:$me.a b=shm:$me.b ;;
    unix) a=unix:a.sock b=unix:b.sock ;;
    tcp) a=tcp:localhost:$((port + 2)) b=tcp:localhost:$((port + 3)) ;;
    esac
    student -q -m s -o "run.$how" --lr 1e-3 --save 3 $b 2>err1 &
    last=$!
    teacher -q -m teacher --final -o $b $a 2>err2 &
    ok "stream, teacher and student run over $how" $rows -o $a
    wait $! && wait $last || fail 'the others'
done
$rows | teacher -q -m teacher --final |
    student -q -m s -o run.pipe --lr 1e-3 --save 3
for how in shm unix tcp; do
    same "a run over $how gives the same model as a pipe" run.pipe/model.safetensors \
        run.$how/model.safetensors
done
rm -rf run.*

# --- who ends a run ---
endless='stream -q -B 4 -T 64 -s 7 --epochs 100000 data'
student -q -m s -o few --lr 1e-3 --steps 2 "shm:$me" &
status 0 'a writer ends well when its reader has enough' timeout 60 \
    $endless -o "shm:$me"
equal 'the writer prints nothing over shm' "$(cat err)" ''
wait $! || fail 'and so is the reader'
student -q -m s -o few2 --lr 1e-3 --steps 2 "tcp:localhost:$((port + 4))" &
status 0 'a writer over tcp ends well when its reader has enough' timeout 60 $endless -o "tcp:localhost:$((port + 4))"
equal 'the writer prints nothing over tcp' "$(cat err)" ''
wait $! || fail 'and so is the reader'
$endless -o "shm:$me" 2>err1 &
writer=$!
# timeout would make the process that is killed another one
shard write -q -o broken --shard-size 4K "shm:$me" 2>err2 &
reader=$!
await [ -e broken/manifest.json ]
kill -TERM $writer
rc=0; wait $writer || rc=$?
equal 'a writer that is interrupted ends with status 5' $rc 5
rc=0; wait $reader || rc=$?
equal 'the reader of an interrupted writer ends with status 3' $rc 3
like 'the reader says that the writer was interrupted' 'gave up: interrupted' err2

# --- alone ---
for addr in "shm:$me" unix:sock "tcp:localhost:$port"; do
    status 1 "$addr: a reader that no writer meets fails" student -q -m s -o x "$addr?wait=0.3"
    like "$addr: the reader says how long it has waited" "^student: $addr.wait=0.3: no writer has come in 0.3 s" err
    status 1 "$addr: a writer that no reader meets fails" $rows -o "$addr?wait=0.3"
done
equal 'no segment or socket is left where nobody came' "$(ls "$segment" sock 2>/dev/null)" ''
for addr in "shm:$me" unix:sock "tcp:localhost:$port"; do
    for what in "shard write -q -o d" "stream -q data -o"; do
        # shellcheck disable=SC2086
        $what "$addr" 2>err &
        await catches $! 15
        kill -TERM $!
        rc=0; wait $! || rc=$?
        equal "$what $addr is stopped alone with status 5" $rc 5
    done
done
equal 'no segment or socket is left by programs that were stopped' "$(ls "$segment" sock 2>/dev/null)" ''
status 2 'a ring that is too small is refused with status 2' stream -q -B 512 -T 1024 --epochs 4 data \
    -o "shm:$me?size=64K"
like 'the message says how large the ring must be' 'size=64K&size=[0-9]+M$' err
(: >sock)
status 2 'a file in the place of a socket is refused' $rows -o unix:sock
[ -f sock ] && rm sock || fail 'it was removed'
status 1 'a writer at all addresses waits for its reader' stream data -o "tcp:0.0.0.0:$port?wait=0.3"
like 'listening to other machines is warned of' '^stream: tcp:0.*: listens where other machines .*whoever .* RETORT_TOKEN ' err
status 1 'a writer at loopback waits for its reader' stream data -o "tcp:127.0.0.1:$port?wait=0.3"
unlike 'loopback is open to this machine alone' 'other machines' err
RETORT_TOKEN=x status 1 'a writer with RETORT_TOKEN waits for its reader' stream data -o "tcp:0.0.0.0:$port?wait=0.3"
like 'the warning says that RETORT_TOKEN is asked for' 'only a program with the same RETORT_TOKEN is let in$' err
status 2 'a port that is none is refused with status 2' $rows -o tcp:localhost:65617
status 1 'a machine that does not exist fails with status 1' $rows -o tcp:no.such.invalid:1
printf 'GET / HTTP/1.0\r\n\r\n' >http
if command -v nc >/dev/null; then
    shard write -q -o garbage "tcp:127.0.0.1:$port?wait=60" 2>err1 &
    sleep 0.2
    nc -w 1 127.0.0.1 "$port" <http >/dev/null 2>&1
    ok 'a stranger does not get in' $rows -o "tcp:127.0.0.1:$port?wait=60"
    wait $! || fail 'nor disturb'
else
    skip 'a stranger does not get in' 'no nc'
fi
status 2 'a program that would write to itself is refused' teacher -m teacher -o "unix:x?wait=1" unix:x
like 'the message says that it is both input and output' 'unix:x.wait=1: is both input and output' err
$endless -o "shm:$me" &
writer=$!
await [ -e "$segment" ]
status 2 'a second writer is refused with status 2' $rows -o "shm:$me"
like 'the message says that another program writes there' "^stream: shm:$me: another program writes there" err
kill -9 $writer
wait $writer 2>/dev/null
[ -e "$segment" ] || fail 'a writer that is killed leaves its segment'
timeout 60 shard write -q -o after "shm:$me?wait=60" &
sleep 0.1
ok 'a segment of a killed writer does not stop the next start' timeout 60 $rows -o "shm:$me"
wait $! || fail 'nor its reader'
ok 'the stream behind a killed writer has the same bytes' diff -r piped.d after

# --- what a killed writer has left under another name ---
for name in left used; do
    $endless -o "shm:$me.$name" 2>err1 &
    eval "$name=$!"
    await [ -e "$segment.$name" ]
done
# shellcheck disable=SC2154 # set by eval
kill -9 "$left"
wait "$left" 2>/dev/null
noted() {
    stream -B 4 -T 64 --batches 1 data -o "shm:$me?wait=0.1" 2>err
    grep '/dev/shm' err >noted
}
noted
unlike 'a segment that may be just begun is not noted' "$segment.left" noted
touch -d '1 minute ago' "$segment.left" "$segment.used"
noted
like 'an old segment without a writer is noted with the command that frees it' \
    "^stream: shm:$me.*: rm .*$segment.left( |\$)" noted
unlike 'an old segment in use is not noted' "$segment.used" noted
timeout 60 shard write -q -o first "shm:$me.used?wait=60" &
reader=$!
await [ ! -e "$segment.used" ]
await [ -e first/manifest.json ]
if kill -0 "$reader"; then pass 'a segment in use keeps its reader'
else fail 'a segment in use keeps its reader'; fi
kill -TERM "$reader"
# shellcheck disable=SC2154 # set by eval
wait "$reader" "$used"
rm "$segment.left"

# --- a peer that is stopped ---
stream -q -B 4 -T 64 -s 7 --epochs 100000 data -o "shm:$me?size=64K" 2>err1 &
writer=$!
student -m s -o stopped --lr 1e-3 --steps 60 --save 0 "shm:$me" >out 2>err2 &
reader=$!
await [ -e stopped/metrics.tsv ]
kill -STOP $writer
await grep -q 'is stopped' err2
like 'SIGSTOP of the writer is reported' \
    "^student: shm:$me: the writer .process $writer. is stopped: waiting" err2
kill -CONT $writer
rc=0; wait $reader || rc=$?
equal 'the reader goes on when its writer does' $rc 0
like 'the reader says that its writer goes on' "^student: shm:$me: the writer goes on" err2
wait $writer
stream -B 4 -T 64 -s 7 --epochs 100000 data -o "shm:$me?size=64K" 2>err1 &
writer=$!
rm -rf stopped
student -q -m s -o stopped --lr 1e-3 --steps 60 --save 0 "shm:$me" &
reader=$!
await [ -e stopped/metrics.tsv ]
kill -STOP $reader
await grep -q 'is stopped' err1
like 'SIGSTOP of the reader is reported' \
    "^stream: shm:$me.size=64K: the reader .process $reader. is stopped: wait" err1
kill -CONT $reader
wait $reader || fail '... and it goes on'
wait $writer || fail '... to the end'
# Over tcp ten seconds of silence are reported: of a writer, of a reader.
at1=tcp:localhost:$((port + 5)) at2=tcp:localhost:$((port + 6))
endless='stream -B 4 -T 64 -s 7 --epochs 100000 data'
$endless -o "$at1" 2>err &
writer=$!
shard write -o stopped1 "$at1" 2>err1 &
reader1=$!
$endless -o "$at2" 2>err2 &
writer2=$!
shard write -q -o stopped2 "$at2" 2>err &
reader=$!
await [ -e stopped1/manifest.json ]
await [ -e stopped2/manifest.json ]
kill -STOP $writer $reader
await grep -q 'silent' err1
like 'a silent writer is reported over tcp' \
    "^shard [a-z]*: $at1: the writer has been silent for 10 s: waiting" err1
await grep -q 'silent' err2
like 'a silent reader is reported over tcp' \
    "^stream: $at2: the reader has been silent for 10 s: waiting" err2
kill -CONT $writer $reader
await grep -q 'goes on' err1
like 'a writer that goes on is reported over tcp' "^shard [a-z]*: $at1: the writer goes on" err1
await grep -q 'goes on' err2
like 'a reader that goes on is reported over tcp' "^stream: $at2: the reader goes on" err2
kill -TERM $reader1 $reader
wait $reader1 $reader $writer $writer2

equal 'no segment is left at the end' "$(ls "$segment"* 2>/dev/null)" ''
done_testing
