#!/bin/sh
# plan --measure, --tokens and --calibrate: what is measured here
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/ranks.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
llama s.json num_hidden_layers 6
llama t.json hidden_size 32
ok 'a step of student and teacher' plan -q -m s.json --teacher t.json -B 4 \
    -T 64 -j 2 --measure --tokens 1000000 --format tsv
awk -F '\t' '/^time\.(blocks|head|optimiser|teacher)\t/ { sum += $2; n++ }
    $1 == "time.step" { step = $2 } $1 == "time.speed" { speed = $2 }
    $1 == "run.steps" { steps = $2 } $1 == "run.hours" { hours = $2 }
    function near(a, b) { return a > 0 && a / b < 1.0001 && a / b > 0.9999 }
    END { exit !(n == 4 && near(sum, step) && near(256 / step, speed) &&
                 near(steps * step / 3600, hours)) }' out
rc=$?
equal 'its parts add up; a run has so many steps' "$rc" 0
equal 'steps' "$(value run.steps)" 3907
# Ids of 2 bytes, a state of 32 numbers of 2, 64 tokens of 6 bytes and 8, states
# of 6 blocks.
equal 'disk: ids' "$(value run.disk.ids)" 2000000
equal 'disk: final states' "$(value run.disk.final)" 66000000
equal 'disk: top tokens' "$(value run.disk.top)" 394000000
equal 'disk: blocks too' "$(value run.disk.hidden)" 450000000
ok 'top tokens' plan -q -m s.json --teacher t.json --top 8 --tokens 1000000 \
    --format tsv
equal 'disk: of that many' "$(value run.disk.top)" 58000000
equal 'nothing is measured unasked' "$(value time.step)" ''

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
    plan -q -m v.json -B 1 -T 64 -j 1 --measure --format tsv >out
    cp out measured.$v
    value time.blocks
done >blocks
below 'blocks take as long with more ids' "$(sed -n 2p blocks)" 10 \
    "$(sed -n 1p blocks)"
below 'and with fewer' "$(sed -n 1p blocks)" 10 "$(sed -n 2p blocks)"
# What a wide teacher's head takes is the teacher's where it says its top tokens.
llama wide.json hidden_size 1024 vocab_size 50000
llama v.json vocab_size 50000
for top in 0 8; do
    plan -q -m v.json --teacher wide.json --top $top -B 1 -T 64 -j 1 --measure \
        --format tsv >out
    value time.head
    value time.teacher >teacher.$top
done >heads
below 'top tokens need no head of the teacher' "$(sed -n 2p heads)" 0.5 \
    "$(sed -n 1p heads)"
below 'which needs it itself' "$(cat teacher.0)" 0.5 "$(cat teacher.8)"

if has_ranks 'two ranks'; then
    ok 'two ranks' ranks 2 plan -q -m s.json -B 4 -T 64 -j 1 --measure \
        --format tsv
    equal 'tell once' "$(grep -c '^time.step' out)" 1
    like 'what they exchange, too' '^time.reduce' out
    ranks 2 student -v -m new.json -t tok -o r one 2>said || fail ranks
    ranks 2 plan -q -m new.json -B 4 -T 64 --measure --format tsv >out
    for part in weights gradients moments work; do
        equal "$part of a rank, as student says" \
            "$(value memory.$part | awk '{ printf "%.1f\n", $1 / 1e6 }')" \
            "$(sed -nE "s/.* $part ([0-9.]+),.*/\\1/p" said | head -n 1)"
    done
fi

# Each of them takes seconds; the file has what is missing, too, by name.
# calibrated WHAT: out is a machine's file, which predicts
calibrated() {
    mv out here.json
    ok "$1: its file is read" plan -q -m s.json --machine ./here.json \
        batch=8 --format tsv
    below "$1: and predicts" 1e-9 1 "$(value step)"
}
ok 'this machine' plan --calibrate -j 1
like 'without ranks: left out' 'one rank: ping-pong and reduce are left out' err
like 'in the file, too' '"link_us": \[0, "one rank: not measured"\]' out
calibrated 'one rank'
if has_ranks 'two ranks, calibrated'; then
    ok 'two ranks, calibrated' ranks 2 plan --calibrate -j 1
    like 'ping-pong and reduce' \
        'node: ping-pong [0-9.]+ us, [0-9.]+ GB/s; .* reduce-scatter [0-9.]+ GB/s' err
    like 'the network: left out' 'one node: the network is left out' err
    like 'in the file' '"link_us": \[[0-9.]*[1-9][0-9.]*, "ping-pong of 4' out
    like 'two of them a node' '"devices": \[2, ' out
    calibrated 'two ranks'
    RETORT_NODE=1 ranks 2 plan --calibrate -j 1 >out 2>err || fail 'two nodes'
    like 'two nodes: the network' '"net_us": \[[0-9.]*[1-9][0-9.]*, "ping-pong' out
    like 'one of them a node' '"devices": \[1, ' out
fi
done_testing
