#!/bin/sh
# tcp over a link that is cut: the loopback of a network namespace, taken down
. "${0%/*}/../lib/lib.sh"

if ! unshare -rn ip link set lo up 2>/dev/null; then
    skip 'a writer over tcp is cut off' 'no namespaces or no ip'
    done_testing
fi
. "$top/tests/lib/train.sh"

# send SECONDS [SIGNAL [stopped]]: send documents over a link that is down for so
# long before the writer has its last one; SIGNAL goes to the reader meanwhile.
# The reader may be stopped before it has read much, so that its machine is full.
# Leaves the statuses in the files writer and reader, messages in err1 and err2.
cat >send <<'END'
rm -rf got down
ip link set lo up
shard write -q -o got tcp:127.0.0.1:7001 2>err2 &
reader=$!
{ cat text; until [ -e down ]; do sleep 0.1; done; cat "${3:-text}"; } |
    tokenize -q --split line -t tok -o tcp:127.0.0.1:7001 - 2>err1 &
writer=$!
until [ -d got ]; do sleep 0.1; done
[ -z "$3" ] || { kill -s STOP $reader; : >down; sleep 1; }
ip link set lo down
: >down
[ -z "$2" ] || kill -s "$2" $reader
sleep "$1"
ip link set lo up
wait $writer; echo $? >writer
wait $reader; echo $? >reader
END
send() {
    timeout 100 unshare -rn sh send "$@"
}
yes 'a river runs' | head -n 100 >text
cat text text | tokenize -q --split line -t tok -o docs -
shard write -q -o want docs

send 1
equal 'a writer whose link is down for a second ends with status 0' \
    "$(cat writer)" 0
ok 'what the link carried is whole' diff -r want got
send 11 KILL
equal 'a writer whose bytes nobody acknowledged ends with status 1' \
    "$(cat writer)" 1
like 'the writer says that it was cut off' 'tcp:127.0.0.1:7001: .*cut off' err1
yes 'a river runs, as it ran before, and before that' | head -n 600000 >stopped
send 8 KILL stopped
equal 'a writer whose stopped reader was cut off ends with status 1' \
    "$(cat writer)" 1
send 0 KILL
equal 'a writer whose reader was killed a moment ago ends with status 0' \
    "$(cat writer)" 0
done_testing
