#!/bin/sh
# plan measure, plan calibrate and plan run --tokens
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/ranks.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
llama s.json num_hidden_layers 6
llama t.json hidden_size 32
ok 'a step of student and teacher is timed' plan measure -q -m s.json \
    --teacher t.json -B 4 -T 64 -j 2 --tokens 1000000 --format tsv
awk -F '\t' '/^time\.(blocks|head|optimiser|teacher)\t/ { sum += $2; n++ }
    $1 == "time.step" { step = $2 } $1 == "time.speed" { speed = $2 }
    $1 == "run.steps" { steps = $2 } $1 == "run.hours" { hours = $2 }
    function near(a, b) { return a > 0 && a / b < 1.0001 && a / b > 0.9999 }
    END { exit !(n == 4 && near(sum, step) && near(256 / step, speed) &&
                 near(steps * step / 3600, hours)) }' out
rc=$?
equal 'its parts add up to the step' "$rc" 0
equal 'a run of a million tokens has 3907 steps' "$(value run.steps)" 3907
# Ids of 2 bytes, a state of 32 numbers of 2, 64 tokens of 6 bytes and 8, states
# of 6 blocks.
equal 'ids of a run take 2 bytes each' "$(value run.disk.ids)" 2000000
equal 'final states of a run take 64 bytes more' "$(value run.disk.final)" \
    66000000
equal 'top tokens of a run take 6 bytes each' "$(value run.disk.top)" 394000000
equal 'states of blocks take 64 bytes a block' "$(value run.disk.hidden)" \
    450000000
ok 'a run with 8 top tokens is predicted' plan -q -m s.json --teacher t.json \
    --top 8 --tokens 1000000 --format tsv
equal '8 top tokens take their own bytes' "$(value run.disk.top)" 58000000
equal 'plan run measures no time' "$(value time.step)" ''
# Loops on every processor take their share of it.
loops=
for _ in $(seq "$(nproc)"); do
    while :; do :; done &
    loops="$loops $!"
done
ok 'a step is measured beside other programs' plan measure -q -m s.json --format tsv
# shellcheck disable=SC2086 # a list
kill $loops
if awk -v a="$(value time.waited)" 'BEGIN { exit !(a > 0.1 && a <= 1) }'; then
    pass 'the share that other programs had is printed'
else
    fail "the share that other programs had is printed: $(value time.waited)"
fi

# below WHAT A FACTOR B: A < FACTOR B, both there
below() {
    if awk -v a="$2" -v f="$3" -v b="$4" \
        'BEGIN { exit !(a > 0 && b > 0 && a < f * b) }'; then
        pass "$1"
    else
        fail "$1: $2 and $4"
    fi
}
# A head that takes far longer than the blocks: what its time varies by is not
# multiplied by their number.
for v in 1000 200000; do
    llama v.json num_hidden_layers 30 vocab_size $v
    plan measure -q --compute f32 -m v.json -B 1 -T 64 -j 1 --format tsv >out
    cp out measured.$v
    value time.blocks
done >blocks
below 'blocks take as long with more ids' "$(sed -n 2p blocks)" 10 \
    "$(sed -n 1p blocks)"
below 'blocks take as long with fewer ids' "$(sed -n 1p blocks)" 10 \
    "$(sed -n 2p blocks)"
# What a wide teacher's head takes is the teacher's where it says its top tokens.
llama wide.json hidden_size 1024 vocab_size 50000
llama v.json vocab_size 50000
for top in 0 8; do
    plan measure -q --compute f32 -m v.json --teacher wide.json --top $top -B 1 -T 64 \
        -j 1 --format tsv >out
    value time.head
    value time.teacher >teacher.$top
done >heads
below 'top tokens need no head of the teacher' "$(sed -n 2p heads)" 0.5 \
    "$(sed -n 1p heads)"
below 'the teacher needs its head for top tokens' "$(cat teacher.0)" 0.5 \
    "$(cat teacher.8)"

if has_ranks 'a step of two ranks is timed'; then
    ok 'a step of two ranks is timed' ranks 2 plan measure -q -m s.json -B 4 -T 64 -j 1 \
        --format tsv
    equal 'only one of two ranks prints' "$(grep -c '^time.step' out)" 1
    like 'the exchange of two ranks is timed' '^time.reduce' out
    ranks 2 student -v -m new.json -t tok -o r one 2>said || fail ranks
    ranks 2 plan measure -q --compute f32 -m new.json -B 4 -T 64 --format tsv >out
    for part in weights gradients moments work; do
        equal "$part of a rank are what student says" \
            "$(value memory.$part | awk '{ printf "%.1f\n", $1 / 1e6 }')" \
            "$(sed -nE "s/.* $part ([0-9.]+),.*/\\1/p" said | head -n 1)"
    done
fi

# Each of them takes seconds; the file has what is missing, too, by name.
# calibrated WHAT: out is a machine's file, which predicts
calibrated() {
    mv out here.json
    ok "a file of $1 predicts a run" plan cluster -q -m s.json --machine \
        ./here.json \
        batch=8 --format tsv
    below "a file of $1 predicts a time above 0" 1e-9 1 "$(value step)"
}
ok 'this machine is calibrated' plan calibrate -j 1 --quick
like 'a note says what one rank leaves out' \
    'one rank: ping-pong and reduce are left out' err
like 'the file says what one rank leaves out' \
    '"link_us": \[0, "one rank: not measured"\]' out
cp out idle
busy=''
for _ in $(seq $((4 * $(nproc)))); do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
ok 'a busy machine is calibrated' plan calibrate -j 1 --quick
# shellcheck disable=SC2086 # processes
kill $busy
like 'a warning says that its speeds are too low' \
    'threads waited [0-9]+ % of the time .* too low, and not kept' err
mv idle out
# table NAME SIZES [LARGEST]: out has NAME with this many shares, each above 0,
# the largest of them LARGEST.  Attention may be faster than the fastest products
# if other programs ran while these were measured.
table() {
    if sed -n "/\"$1\"/,/}/p" out | sed -n 's/.*"share": \[\(.*\)\].*/\1/p' |
        tr ',' '\n' | awk -v n="$2" -v most="${3-}" '!($1 > 0) { bad = 1 }
            $1 + 0 > largest + 0 { largest = $1 }
            END { exit !(NR == n && !bad && (most == "" || largest == most)) }'; then
        pass "$1 has $2 shares of the speed"
    else
        fail "$1 has $2 shares of the speed: $(tr '\n' ' ' <out)"
    fi
}
for type in bf16 f32; do
    table ${type}_products 4 1
    table ${type}_attention 4
done
unlike 'one rank has no table of messages' '_messages' out
calibrated 'one rank'
if has_ranks 'two ranks are calibrated'; then
    ok 'two ranks, calibrated' ranks 2 plan calibrate -j 1 --quick
    like 'two ranks measure messages and collectives' \
        'node: ping-pong [0-9.]+ us, [0-9.]+ GB/s; .* reduce-scatter [0-9.]+ GB/s' err
    like 'a note says that the network is left out' \
        'one node: the network is left out' err
    like 'the file names the source of a latency' \
        '"link_us": \[[0-9.]*[1-9][0-9.]*, "ping-pong of 4' out
    like 'a node has two devices' '"devices": \[2, ' out
    like 'two ranks measure messages by size' '"link_messages"' out
    calibrated 'two ranks'
    RETORT_NODE=1 ranks 2 plan calibrate -j 1 --quick >out 2>err || fail \
        'two nodes are calibrated'
    like 'two nodes measure the network' \
        '"net_us": \[[0-9.]*[1-9][0-9.]*, "ping-pong' out
    like 'two nodes measure messages by size' '"net_messages"' out
    like 'a node of two has one device' '"devices": \[1, ' out
fi
done_testing
