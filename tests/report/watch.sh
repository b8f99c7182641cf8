#!/bin/sh
# report watch and export: figures and losses of runs, in a terminal and for
# TensorBoard
. "${0%/*}/../lib/lib.sh"

# run NAME STEPS ADD: a run whose loss falls from 4 + ADD by halves of a step
run() {
    mkdir "$1"
    awk -v n="$2" -v add="$3" 'BEGIN {
        OFS = "\t"
        print "step", "tokens", "scored", "loss", "ce", "kl", "seconds"
        for (i = 1; i <= n; i++)
            print i, i * 256, 252, add + 4 / i + (i % 2) / 64, 4 / i, 0.5,
                (i == 7 ? 30.5 : 0.5)
    }' >"$1/metrics.tsv"
    printf '{"run": {"steps": 100}}\n' >"$1/options.json"
}
run first 40 0
run second 20 0.25
: >second/.lock
printf '{"run": {"steps": 40}, "finished": 40}\n' >first/options.json
printf 'step\ttokens\tscored\tloss\tce\tkl\tseconds\n10\t2560\t60\t3.25\t3\t0\t1\n' \
    >first/held-out.tsv

ok 'two runs are drawn' report watch --once first second
line() { grep "^$1 [a-z]" out | tr -s ' ' | cut -d ' ' -f 2-; }
equal 'a run that ended has its figures' "$(line a)" \
    'first 40/40 0.1237 3.2500 0.5000 512 30.0 ended'
equal 'a run that goes on has its time left' "$(line b)" \
    'second 20/100 0.5323 - 0.5000 512 30.0 0:40'
like 'runs on the same batches have a difference' \
    '^b - a: loss \+0\.2500 \+- 0\.0000, .*steps 11 to 20$' out
like 'the largest loss is written at the axis' '^ *4\.[0-9]+ \|' out
like 'the first and the last step are written below' '^ +1 +40$' out
awk 'length > 80' out >wide
equal 'no line is wider than 80 columns' "$(cat wide)" ''
cp out one
touch -d '1 hour ago' second/metrics.tsv
report watch -q --once first second >out
like 'a run whose log is old is silent' '^b .* silent 1:00:00$' out

run broken 20 0.25
report watch -q --once broken >out
like 'a run that no student trains any more has stopped' '^a .* stopped$' out

run other 20 0.25
sed 's/252/251/' other/metrics.tsv >x
mv x other/metrics.tsv
report watch -q --once first other >out
unlike 'runs on other batches have no difference' '^b - a' out
mkdir early
printf 'step\tloss\n' >early/metrics.tsv
ok 'a run without a step is drawn' report watch --once early
like 'the run is said to have no step' 'no step yet' out
mkdir -p made/full
: >made/full/settings
cp -r second made/full/distilled
report watch -q --once made >out
like 'a folder of retort distil has the steps of its training' \
    '^a made +20/100 ' out
status 3 'a run that is no folder is refused' report watch --once nowhere
like 'the message names the folder that is missing' 'nowhere' err
printf 'step\tloss\n1\n' >early/metrics.tsv
status 3 'a malformed log is refused' report watch --once early
like 'the message names the line of the log' 'metrics.tsv: line 2' err
if has_terminal; then
    printf '{"run": {"steps": 20}, "finished": 20}\n' >second/options.json
    TERM=xterm terminal 'report watch -q --every 0.2s first second'
    like 'a terminal is cleared, and drawn until all runs have ended' \
        "$(printf '\033')\\[H$(printf '\033')\\[J" screen
    TERM=xterm terminal 'timeout 20 report watch -q --every 0.2s broken;
        echo status $?'
    like 'watching ends when a run has stopped before its last step' \
        'status 0' screen
else
    skip 'a terminal is drawn until all runs have ended' 'no terminal'
    skip 'watching ends when a run has stopped' 'no terminal'
fi

# --- TensorBoard; the golden file is TensorBoard's own ---
mkdir x
cp "$top"/tests/golden/report/*.tsv x
touch -d @1790000000 x/*
ok 'logs are exported' report export --tensorboard logs x first
same 'the file is that of the record writer of TensorBoard' \
    "$top/tests/golden/report/events" logs/x/events.out.tfevents.retort
ok 'a second export replaces the file' report export --tensorboard logs x
ok 'the log of retort distil is exported' report export --tensorboard logs made
ok 'the log has the name of the folder' \
    test -s logs/made/events.out.tfevents.retort
status 3 'a folder without steps is refused' report export --tensorboard logs logs
status 2 'an export without a format is refused' report export x
like 'the message names the option that is missing' 'tensorboard' err
done_testing
