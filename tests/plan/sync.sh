#!/bin/sh
# plan: ranks that exchange weights every so many steps, over a slow network
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

XDG_STATE_HOME=$PWD/state
export XDG_STATE_HOME
# value NAME: of the TSV in out
value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
# is WHAT EXPRESSION: the expression of awk is true
is() {
    if awk "BEGIN { exit !($2) }"; then pass "$1"; else fail "$1: $2"; fi
}
# four [option ...]: predict a model on four office machines that have fp32
four() {
    plan cluster -q -m smol.json --machine office -B 4 -T 512 --format tsv \
        nodes=4 "$@"
}
llama smol.json vocab_size 49152 hidden_size 576 intermediate_size 1536 \
    num_hidden_layers 30 num_attention_heads 9 num_key_value_heads 3 head_dim 64

# --- plan cluster: the time of work, and of exchanges ---
ok 'four machines exchange gradients at each step' four --tokens 100M
bytes=$(value exchange.bytes)
is 'a rank sends 8 bytes a parameter, less its own quarter' \
    "$bytes == 6 * $(value parameters)"
e=$(value exchange.time) work=$(awk -F '\t' '$1 ~ /^step[.]/ &&
    $1 != "step.reduce" { s += $2 } END { printf "%.6g", s }' out)
is 'an exchange takes as long as the bytes on the link' \
    "$e > $bytes / 125e6 / 0.6 && $e < 1.01 * $bytes / 125e6 / 0.6"
is 'a step waits for the whole exchange' "$(value step.reduce) == $e"
is 'a guess of the speed leaves exchanges as they are' \
    "($(value likely.step.low) - ($e + $work / 2)) ^ 2 < 1e-8 && \
    ($(value likely.step.high) - ($e + $work * 2)) ^ 2 < 1e-8"
is 'the share of work is that of the time' \
    "($(value working) - $work / ($work + $e)) ^ 2 < 1e-8"
is 'the time of the run is told without waiting, too' \
    "($(value run.days.working) / $(value run.days) - $(value working)) ^ 2 < 1e-8"
cp out f32
ok 'sizes of numbers are given' four --tokens 100M weight_bytes=4 grad_bytes=4 \
    state_bytes=8 act_bytes=4 compute=f32 logits=0 overlap=0
same 'an office computer trains in fp32 and overlaps nothing' f32 out
least=$(value sync.least) alone=$(value run.days.working) days=$(value run.days)
ok 'they exchange weights as seldom as sync.least says' four sync="$least" \
    --tokens 100M
is 'then they work for 90 % of the time' "$(value working) >= 0.9"
is 'the least sync is the same for each sync' "$(value sync.least) == $least"
is 'work takes as long with sync' \
    "($(value run.days.working) / $alone - 1) ^ 2 < 1e-8"
is 'the run is shorter' "$(value run.days) < $days"
ok 'they exchange weights a little more often' four sync=$((least - 1))
is 'then they work for less than 90 %' "$(value working) < 0.9"
ok 'bf16 is on the wire' four sync="$least" wire_bytes=2
is 'a change of weights is sent in 2 bytes, and a sum in 4' \
    "$(value exchange.bytes) == 0.75 * $bytes"
ok 'gradients in bf16 are on the wire' four wire_bytes=2
is 'a gradient is sent so too' "$(value exchange.bytes) == 0.75 * $bytes"
is 'exchanging weights takes 4 bytes a parameter of memory' \
    "$(four sync=20 >out; value memory.outer) == 4 * $(value parameters)"
is 'with momentum 8' "$(four sync=20 momentum=0.5 >out; value memory.outer) == \
    8 * $(value parameters)"
ok 'formulas are printed' four sync=20 --explain --tokens 1e6
equal 'each figure of an exchange has a formula' \
    "$(awk -F '\t' '$4 == ""' out)" ''
ok 'a link is told in Mbit/s' four net_gbs=100mbit
cp out slow
ok 'a link is told in Gbit/s' four net_gbs=0.1gbit
same 'that is as many Mbit/s' slow out
is 'a tenth of the speed takes ten times as long' \
    "($(value exchange.time) / $e - 10) ^ 2 < 1e-3"
ok 'links are swept' four net_gbs=100mbit,0.125 sync=0,20 --columns exchange.time,working
equal 'a sweep has each link with each sync' "$(wc -l <out)" 5
ok 'one machine exchanges nothing' four nodes=1
equal 'it has no such figures' "$(grep -c '^exchange\|^working' out)" 0
for with in shard=1 'tensor=2 devices=2' 'pipeline=2'; do
    # shellcheck disable=SC2086
    status 2 "sync with $with is refused" four sync=5 $with
    like "the message for $with tells why" 'sync=5: each rank trains a whole model' err
done
for speed in 100bit mbit gbit 1e12mbit -1mbit; do
    status 2 "a link of $speed is refused" four net_gbs=$speed
done
status 2 'a count with another letter is refused' four --tokens 100m
like 'the message has an example' 'such as 1.5M' err
status 2 'Mbit/s are no latency' four net_us=10mbit

# --- plan run: this machine, and as many more like it ---
answer() {
    plan run -q -m smol.json -j 1 -B 4 -T 512 --tokens 100M "$@"
}
ok 'plan run answers for four machines' answer nodes=4 net_gbs=1000mbit sync=20
span='[0-9.]+ (s|min|h|days)'
like 'it says what the machines wait for' "^network 4 machines like this one, with 1 of the rows each, send 0[.]807 GB \
over 1 Gbit/s in 10[.]8 s every 20 steps, and wait for [0-9]+ % of the time" out
like 'it says how long one machine takes' "^network .*; one of them alone( is faster)?: $span\$" out
ok 'gradients are exchanged over a slow network' answer nodes=4 net_gbs=10mbit
like 'it says that one machine is faster' '^network .*; one of them alone is faster: ' out
ok 'exchanges at each step are slower' answer nodes=4 net_gbs=1GBIT
like 'it says how seldom to exchange' "in 10[.]8 s every step, .*; with sync=[0-9]+ [(]student --sync-every[)]: ${span} and 0[.]54 GB more; one of" out
status 2 'fewer rows than machines are refused' answer -B 2 nodes=4 net_gbs=1gbit
like 'the message names both' 'B 2: fewer rows than nodes=4' err
ok 'plan run answers for one machine' answer sync=20
unlike 'one machine waits for nothing' '^network' out
ok 'plan measure has the exchange' plan measure -q -m new.json -j 1 -B 4 -T 64 \
    --format tsv nodes=2 net_gbs=100mbit sync=5
is 'a step has a fifth of an exchange' \
    "($(value exchange.time) / 5 / $(value time.exchange) - 1) ^ 2 < 1e-8"
is 'the parts make the step' "(($(value time.blocks) + $(value time.head) + \
    $(value time.optimiser) + $(value time.exchange)) / $(value time.step) - 1) ^ 2 < 1e-8"
is 'its share of work is that of the time' \
    "($(value working) - 1 + $(value time.exchange) / $(value time.step)) ^ 2 < 1e-8"
status 2 'nodes without a network are refused' answer nodes=4
like 'the message asks for its speed' 'net_gbs=1000mbit' err
for with in tensor=2 nodes=2,4 nodes price=1; do
    status 2 "plan run with $with is refused" answer $with
done
status 2 'sync with gradients in bf16 is refused' answer sync=5 --grad bf16
student -v -m new.json -t tok -o s -j 1 --sync-every 5 --outer 1,0.5 one 2>said || exit 1
ok 'plan run predicts rounds with momentum' plan run -q -m new.json -j 1 -B 4 \
    -T 64 --format tsv sync=5 momentum=0.5
equal 'the memory of rounds is what student says' \
    "$(awk -F '\t' '$1 == "memory.buffers" { printf "%.1f\n", $2 / 1e6 }' out)" \
    "$(sed -nE 's/.* buffers ([0-9.]+)[,;]?.*/\1/p' said | head -n 1)"

# --- the bytes are those that student's ranks send ---
has_ranks 'the bytes of an exchange' || done_testing
stream -q -B 4 -T 64 -s 7 --batches 10 -o b data || exit 1
# sent RANKS KEYS EXCHANGES [option ...]: ranks send as often what KEYS predict
sent() {
    n=$1 keys=$2 times=$3
    shift 3
    rm -rf run log*
    # shellcheck disable=SC2086
    plan run -q -m new.json -j 1 -B 4 -T 64 --format tsv nodes="$n" \
        net_gbs=100mbit $keys >out || exit 1
    mpirun -n "$n" student -q -j 1 -m new.json -o run --schedule constant \
        --comm-log log "$@" b >err 2>&1 || { cat err; exit 1; }
    cat log.tsv log-*.tsv | awk -F '\t' -v n="$n" \
        '$1 ~ /tensor/ && $7 > 300 { b += $4 * $7 } END { print b / n }' >bytes
    is "$n ranks with ${*:-no option} send the predicted bytes" \
        "$(cat bytes) / ($times * $(value exchange.bytes)) > 0.999 &&
        $(cat bytes) / ($times * $(value exchange.bytes)) < 1.03"
}
for n in 2 4; do
    sent "$n" '' 10
    sent "$n" sync=5 2 --sync-every 5
    sent "$n" 'sync=5 wire_bytes=2' 2 --sync-every 5 --wire bf16
    sent "$n" wire_bytes=2 10 --wire bf16
done
done_testing
