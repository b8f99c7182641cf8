#!/bin/sh
# plan cluster: intervals, what is extrapolated, and a measured run that scales
# the prediction
. "${0%/*}/../lib/lib.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
# near WHAT GOT WANT: within 0.01 %
near() {
    if awk -v a="$2" -v b="$3" 'BEGIN {
        exit !(a > 0 && a / b < 1.0001 && a / b > 0.9999) }'; then
        pass "$1"
    else
        fail "$1: $2, not $3"
    fi
}
by() { awk "BEGIN { printf \"%.12g\\n\", $1 }"; }
job() {
    plan cluster -m llama-3.1-70b --machine h100 -B 512 -T 4096 nodes=8 \
        shard=3 recompute=full --format tsv "$@" >out 2>err
}

# --- intervals
job time_low=0.75 time_high=1.5
near 'the shortest likely step is that of published runs' \
    "$(value likely.step.low)" "$(by "$(value step) * 0.75")"
near 'the longest likely step is that of published runs' \
    "$(value likely.step.high)" "$(by "$(value step) * 1.5")"
job memory_low=0.5 memory_high=2
near 'the least likely memory is that of published runs' \
    "$(value likely.memory.low)" "$(by "$(value memory) / 2")"
near 'the most likely memory is that of published runs' \
    "$(value likely.memory.high)" "$(by "$(value memory) * 2")"
near 'the least likely allocation has the share of memory' \
    "$(value likely.allocated.low)" "$(by "$(value allocated) / 2")"
near 'the most likely allocation has the share of memory' \
    "$(value likely.allocated.high)" "$(by "$(value allocated) * 2")"

# --- what is extrapolated
job
equal 'a layout as published runs have is not extrapolated' \
    "$(value extrapolates)" 0
unlike 'no note tells of published runs' 'extrapolates' err
# extrapolated NAME WORDS ARGUMENT ...
extrapolated() {
    what=$1 words=$2
    shift 2
    job "$@"
    equal "$what is extrapolated" "$(value extrapolates)" 1
    like "a note names $what" "extrapolates: $words" err
}
extrapolated 'a machine without published runs' 'no published run' time_high=0
extrapolated 'a run on more ranks than any' '4096 ranks .*3072' nodes=512 \
    batch=4096
extrapolated 'a row longer than any' '262144 tokens' length=262144
extrapolated 'a run with a teacher' 'a teacher' --teacher llama-3.1-70b \
    teacher=cached
job time_high=0
near 'the interval of a machine without published runs is wide' \
    "$(value likely.step.high)" "$(by "$(value step) * 2")"

# --- a measured run
job
step=$(value step)
job nodes=4 batch=256
other=$(value step)
job --anchor "step=$(by "$other * 1.25"),nodes=4,batch=256"
near 'a measured run scales the prediction' "$(value step)" "$(by "$step * 1.25")"
if awk -F '\t' '$1 == "step" { all = $2 } $1 ~ /^step\./ { sum += $2 }
    END { d = sum / all - 1; exit !(d < 1e-5 && d > -1e-5) }' out; then
    pass 'a scaled step is the sum of its parts'
else
    fail 'a scaled step is the sum of its parts'
fi
near 'a measured run makes the interval small' "$(value likely.step.high)" \
    "$(by "$(value step) * 1.14")"
like 'the note tells how much slower the software is' 'anchor=1[.]25' err
job anchor=1.25
near 'the key scales as the measured run does' "$(value step)" \
    "$(by "$step * 1.25")"
ok 'a search takes a measured run' plan search -q -m llama-3.1-70b --machine \
    h100 -B 512 -T 4096 nodes=8 --layouts 1 --format tsv --anchor step=50,shard=3
for bad in 5 'nodes=4' 'step=x' 'step=-1' 'step=5,nodes' 'step=5,none=1' \
    'step=5,tensor=3'; do
    status 2 "the measured run $bad is refused" plan cluster -q -m \
        llama-3.1-70b --machine h100 -B 512 nodes=8 shard=3 --anchor "$bad"
done
status 2 'a measured run without seconds is refused' plan cluster -q -m \
    llama-3.1-70b --machine h100 -B 512 nodes=8 shard=3 --anchor shard=3
like 'the message for it says what to write' 'step=SECONDS' err

# --- the end of a run
job --tokens 1
like 'a note tells the day on which a run is done' \
    "done by $(date -u +%Y-%m-%d) [0-9]+:[0-9]+ UTC, after" err
job --tokens 1e12
like 'the note tells between how many days' 'days \([0-9.]+ to [0-9.]+\)' err
job
unlike 'no day is told without tokens' 'done by' err
done_testing
