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
    ok "$addr, writer first" timeout 60 shard write -q -o got.d "$addr?wait=60"
    wait $! || fail 'the writer'
    ok '... the same bytes' diff -r piped.d got.d
    rm -rf got.d
    timeout 60 shard write -q -o got.d "$addr?wait=60" 2>err1 &
    sleep 0.1
    ok "$addr, reader first" timeout 60 $rows -o "$addr?wait=60"
    wait $! || fail 'the reader'
    ok '... the same bytes' diff -r piped.d got.d
done
equal 'nothing is left' "$(ls "$segment" sock 2>/dev/null)" ''

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
    ok "stream, teacher, student over $how" $rows -o $a
    wait $! && wait $last || fail 'the others'
done
$rows | teacher -q -m teacher --final |
    student -q -m s -o run.pipe --lr 1e-3 --save 3
for how in shm unix tcp; do
    same "$how: the same model" run.pipe/model.safetensors \
        run.$how/model.safetensors
done
rm -rf run.*

# --- several readers ---
timeout 60 shard write -q -o tee1 "shm:$me" &
one=$!
timeout 60 shard write -q -o tee2 unix:sock &
two=$!
# shellcheck disable=SC2086
ok '--tee' timeout 60 $rows -o stdout --tee "shm:$me" --tee unix:sock \
    --tee file
wait $one && wait $two || fail 'the readers'
same '... a file' piped stdout
same '... another' piped file
ok '... over shm' diff -r piped.d tee1
ok '... over unix' diff -r piped.d tee2
# One leaves, one dies.
endless='stream -q -B 4 -T 64 -s 7 --epochs 100000 data'
(timeout 60 student -q -m s -o left --lr 1e-3 --steps 2 "shm:$me?wait=60") &
one=$!
shard write -q -o dead --shard-size 4K unix:sock &    # kill -9 must not hit timeout
two=$!
(await [ -e dead/manifest.json ]; kill -9 $two) &
timeout 60 student -q -m s -o long --lr 1e-3 --steps 40 "shm:$me.long" &
three=$!
status 0 'readers leave, one after the other' timeout 60 stream -B 4 -T 64 \
    -s 7 --epochs 100000 data -o "shm:$me.long" --tee "shm:$me" --tee unix:sock
like 'which is said' "^stream: shm:$me: its reader has left; going on" err
wait $one || fail 'the one that left'
wait $three || fail 'the last'

# --- who ends a run ---
student -q -m s -o few --lr 1e-3 --steps 2 "shm:$me" &
status 0 'a reader that has enough: the writer is content' timeout 60 \
    $endless -o "shm:$me"
equal '... quietly' "$(cat err)" ''
wait $! || fail 'and so is the reader'
student -q -m s -o few2 --lr 1e-3 --steps 2 "tcp:localhost:$((port + 4))" &
status 0 'over tcp too' timeout 60 $endless -o "tcp:localhost:$((port + 4))"
equal '... quietly' "$(cat err)" ''
wait $! || fail 'and so is the reader'
$endless -o "shm:$me" 2>err1 &
writer=$!
# timeout would make the process that is killed another one
shard write -q -o broken --shard-size 4K "shm:$me" 2>err2 &
reader=$!
await [ -e broken/manifest.json ]
kill -TERM $writer
rc=0; wait $writer || rc=$?
equal 'Ctrl-C at the writer: 5' $rc 5
rc=0; wait $reader || rc=$?
equal 'the reader: 3' $rc 3
like '... it knows why' 'gave up: interrupted' err2

# --- alone ---
for addr in "shm:$me" unix:sock "tcp:localhost:$port"; do
    status 1 "$addr: nobody comes" student -q -m s -o x "$addr?wait=0.3"
    like 'is said' "^student: $addr.wait=0.3: no writer has come in 0.3 s" err
    status 1 'nor a reader' $rows -o "$addr?wait=0.3"
done
equal 'nothing is left' "$(ls "$segment" sock 2>/dev/null)" ''
for addr in "shm:$me" unix:sock "tcp:localhost:$port"; do
    for what in "shard write -q -o d" "stream -q data -o"; do
        # shellcheck disable=SC2086
        $what "$addr" 2>err &
        await catches $! 15
        kill -TERM $!
        rc=0; wait $! || rc=$?
        equal "$what $addr, alone, stopped" $rc 5
    done
done
equal 'nothing is left' "$(ls "$segment" sock 2>/dev/null)" ''
status 2 'a ring that is too small' stream -q -B 512 -T 1024 --epochs 4 data \
    -o "shm:$me?size=64K"
like 'says how large it must be' 'size=64K&size=[0-9]+M$' err
(: >sock)
status 2 'a file where a socket should be' $rows -o unix:sock
[ -f sock ] && rm sock || fail 'it was removed'
status 1 'all addresses' stream data -o "tcp:0.0.0.0:$port?wait=0.3"
like 'are warned of' '^stream: tcp:0.*: listens where other machines .*whoever .* RETORT_TOKEN ' err
status 1 'loopback' stream data -o "tcp:127.0.0.1:$port?wait=0.3"
unlike 'is open to this machine alone' 'other machines' err
RETORT_TOKEN=x status 1 'with a token' stream data -o "tcp:0.0.0.0:$port?wait=0.3"
like 'it is named' 'only a program with the same RETORT_TOKEN is let in$' err
status 2 'a port that is none' $rows -o tcp:localhost:65617
status 1 'a machine that does not exist' $rows -o tcp:no.such.invalid:1
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
status 2 'one place twice' $rows -o "shm:$me" --tee "shm:$me?size=1M"
like 'is refused' 'size=1M: stands twice among the outputs' err
status 2 'to itself' teacher -m teacher -o "unix:x?wait=1" unix:x
like 'is refused too' 'unix:x.wait=1: is both input and output' err
$endless -o "shm:$me" &
writer=$!
await [ -e "$segment" ]
status 2 'two writers' $rows -o "shm:$me"
like 'is refused' "^stream: shm:$me: another program writes there" err
kill -9 $writer
wait $writer 2>/dev/null
[ -e "$segment" ] || fail 'a writer that is killed leaves its segment'
timeout 60 shard write -q -o after "shm:$me?wait=60" &
sleep 0.1
ok 'which does not stop the next start' timeout 60 $rows -o "shm:$me"
wait $! || fail 'nor its reader'
ok '... the same bytes' diff -r piped.d after

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
if kill -0 "$reader"; then pass 'and its reader reads it'
else fail 'and its reader reads it'; fi
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
equal '... and it goes on' $rc 0
like '... which is said' "^student: shm:$me: the writer goes on" err2
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
like 'the writer is silent' \
    "^shard [a-z]*: $at1: the writer has been silent for 10 s: waiting" err1
await grep -q 'silent' err2
like 'the reader is silent' \
    "^stream: $at2: the reader has been silent for 10 s: waiting" err2
kill -CONT $writer $reader
await grep -q 'goes on' err1
like '... the writer goes on' "^shard [a-z]*: $at1: the writer goes on" err1
await grep -q 'goes on' err2
like '... the reader goes on' "^stream: $at2: the reader goes on" err2
kill -TERM $reader1 $reader
wait $reader1 $reader $writer $writer2

equal 'nothing is left' "$(ls "$segment"* 2>/dev/null)" ''
done_testing
