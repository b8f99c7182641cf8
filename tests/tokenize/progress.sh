#!/bin/sh
# tokenize: bytes, rate and time left on a terminal and in a log
. "${0%/*}/../lib/lib.sh"
tok=$top/tests/golden/tok/digits.json

# 4 MB, whose stream is read late: progress is shown in between
i=0
while [ $i -lt 12 ]; do
    cat "$top"/corpus/*.jsonl
    i=$((i + 1))
done >x.jsonl
mkfifo pipe
# slow SECONDS: read a little of the pipe, then wait
slow() {
    { head -c 200000; sleep "$1"; cat; } <pipe >/dev/null &
}
line='tokenize: read [0-9.]+ [kM]B of [0-9.]+ MB \([0-9]+ %\), [0-9]+:[0-9][0-9] left, [0-9.]+ [kM]B/s'
NO_COLOR=1
export NO_COLOR
if has_terminal; then
    slow 0.5
    TERM=vt100 terminal "tokenize -t '$tok' -j 1 x.jsonl -o pipe"
    tr '\r' '\n' <screen >lines
    like 'a terminal shows bytes, time left and rate' "$line" lines
    wait
    slow 0.5
    TERM=vt100 terminal "tokenize -t '$tok' -j 1 -o pipe - <x.jsonl"
    tr '\r' '\n' <screen >lines
    like 'a terminal shows bytes and rate of standard input' \
        'tokenize: read [0-9.]+ [kM]B, [0-9.]+ [kM]B/s' lines
    wait
    slow 0.5
    TERM=vt100 terminal "tokenize -t '$tok' -j 1 x.jsonl | cat >pipe"
    unlike 'no progress is shown in front of another program' 'tokenize: read' screen
    wait
else
    skip 'progress on a terminal' 'no terminal: script(1) or /dev/pts is missing'
fi
slow 0.5
ok 'a log is written' sh -c "tokenize -t '$tok' -j 1 x.jsonl >pipe"
equal 'a log has the closing line alone' "$(wc -l <err | tr -d ' ')" 1
wait
if is_long; then
    slow 10.5
    ok 'a log with -v is written' sh -c "tokenize -v -t '$tok' -j 1 x.jsonl >pipe"
    like 'a log with -v has a line every ten seconds' "^$line" err
    wait
fi
done_testing
