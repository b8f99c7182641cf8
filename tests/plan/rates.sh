#!/bin/sh
# plan cluster: rates that depend on sizes, what is hidden, and memory that holds
# no tensor, by hand
. "${0%/*}/../lib/lib.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' "${2:-out}"
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
plain=$top/tests/golden/plan/machine/plain.json
by() { awk "BEGIN { printf \"%.12g\\n\", $1 }"; }

# A block of 8 tokens on one device.  Products take 2304 weights, in three
# passes; they move weights, 4 states of 16, heads (16 + 8) twice and 3 x 32
# channels.
llama own.json num_hidden_layers 1
one() {
    plan cluster -q -m own.json --machine "$plain" devices=1 batch=1 length=8 \
        --format tsv "$@" >out 2>err
}
one product_reads=0
near 'products take their operations, and add gradients' \
    "$(value step.matrix)" \
    "$(by '8 * 6 * 2304 / (989.4e12 * 0.833) + 10 * 2304 / (3350e9 * 0.85)')"
free=$(value step.matrix)
one product_reads=3
near 'products move three matrices product_reads times' \
    "$(by "$(value step.matrix) - $free")" \
    "$(by '3 * 3 * 2 * (2304 + 8 * (64 + 48 + 96)) / (3350e9 * 0.85)')"
one recompute=full attention_eff=0.25
near 'flash attention takes its own share of peak' "$(value step.attention)" \
    "$(by '8 * 4.5 * 4 * 16 * 4.5 / (989.4e12 * 0.25)')"
one flash=no
near 'stored scores take the share of products' "$(value step.attention)" \
    "$(by '8 * 3 * 4 * 16 * 8 / (989.4e12 * 0.833)')"

one text=4
near 'attention sees the keys of a packed text' "$(value step.attention)" \
    "$(by '8 * 3.5 * 4 * 16 * 2.5 / (989.4e12 * 0.55)')"

# Tokens of DeepSeek-V3 whose experts are in 4 of 8 groups: 7/8 of 4 copies leave
# a node
plan cluster -q -m "$top/tests/golden/plan/deepseek-v3.json" --machine h100 nodes=8 \
    expert=64 batch=64 length=64 net_us=0 net_call_us=0 link_us=0 --format tsv >out
near 'tokens go once to each node of their groups' "$(value step.expert)" \
    "$(by '61 * 4 * 3.5 * 64 * 7168 * 2 / (1e9 * 50 * 0.7)')"
# In two stages, of 30.5 blocks a pass, for two passes in each direction
plan cluster -q -m "$top/tests/golden/plan/deepseek-v3.json" --machine h100 nodes=16 \
    expert=64 pipeline=2 schedule=dual batch=256 length=64 net_us=0 net_call_us=0 \
    link_us=0 net_gbs=1 --format tsv >out
blocks="$(value step.matrix) + $(value step.attention) + $(value step.vector)"
near 'DualPipe hides exchanges of experts behind blocks' "$(value step.expert)" \
    "$(by "4 * 30.5 * 4 * 3.5 * 64 * 7168 * 2 / (1e9 * 0.7) - ($blocks)")"

one recompute=products product_reads=0
near 'every second product is computed again' "$(value step.matrix)" \
    "$(by '8 * 7 * 2304 / (989.4e12 * 0.833) + 10 * 2304 / (3350e9 * 0.85)')"
near 'attention whose output is kept is not computed again' \
    "$(value step.attention)" \
    "$(by '8 * 3.5 * 4 * 16 * 4.5 / (989.4e12 * 0.55)')"
# Of 8 tokens: a state, 16 of attention, half of (16 + 2 x 8, 2 states, 2 x 32);
# and once the 416 bytes that a block keeps without recomputation
equal 'outputs of attention and every second product are kept' \
    "$(value memory.activations)" \
    $((8 * 2 * (16 + 16 + (32 + 32 + 64) / 2) + 8 * 416))

# Norms and losses: twice the bytes where weights are sharded.
one
once=$(value step.vector) head=$(value step.head)
one shard=3
near 'sharded weights have norms that move twice the bytes' \
    "$(value step.vector)" "$(by "2 * $once")"
near 'a loss that is not fused moves 20 bytes a logit more' \
    "$(by "$(value step.head) - $head")" "$(by '20 * 8 * 1100 / (3350e9 * 0.85)')"
one shard=3 unfused=1
equal 'fused norms move their bytes once' "$(value step.vector)" "$once"

# --- what is hidden
many() {
    plan cluster -q -m llama-3.1-70b --machine h100 nodes=4 batch=64 \
        length=4096 shard=1 --format tsv "$@" >out 2>err
}
many tensor=8 tensor_hidden=0
all=$(value step.tensor)
many tensor=8 tensor_hidden=0.75
near 'three quarters of the collectives of tensor ranks are hidden' \
    "$(value step.tensor)" "$(by "$all / 4")"
many tensor=8 pipeline=4
if awk -v a="$(value step.hand-over)" 'BEGIN { exit !(a > 0) }'; then
    pass 'whole stages hand states over while nothing else runs'
else
    fail 'whole stages hand states over while nothing else runs'
fi
many tensor=8 pipeline=4 virtual=2
equal 'interleaved stages hide that they hand states over' \
    "$(value step.hand-over)" 0
many tensor=4 context=2
equal 'attention hides keys and values that go round' "$(value step.context)" 0

# --- experts: tensor ranks divide each of 4, 16 x 3 x 32 parameters, and each
# expert has its tokens gathered from them
llama experts.json num_hidden_layers 1
sed -i 's/"llama",/"mixtral", "num_local_experts": 4, "num_experts_per_tok": 2,/' \
    experts.json
mixture() {
    plan cluster -q -m experts.json --machine "$plain" batch=8 length=64 \
        --format tsv "$@" >out 2>err
}
table=$((1100 * 16))
dense=$((16 * 8 * 6 + 16 * 4))
mixture expert=2 nodes=1
equal 'expert ranks have half of the experts' "$(value memory.weights)" \
    $((2 * (table + dense + 2 * 16 + 2 * 3 * 16 * 32)))
mixture expert=2 product_reads=0 imbalance=1
even=$(value step.matrix)
mixture expert=2 product_reads=0 imbalance=11
near 'the fullest expert rank has imbalance times the tokens' \
    "$(by "$(value step.matrix) - $even")" \
    "$(by '10 * 6 * 64 * 2 * 3 * 16 * 32 / (989.4e12 * 0.833)')"
mixture product_reads=0
alone=$(value step.matrix)
mixture product_reads=0 imbalance=1
equal 'one expert rank waits for no other' "$(value step.matrix)" "$alone"
mixture expert=2 tensor=2
equal 'tensor ranks divide each expert' "$(value memory.weights)" \
    $((2 * (table / 2 + dense / 2 + 2 * 16 + 2 * 3 * 16 * 32 / 2)))
if awk -v a="$(value step.expert)" 'BEGIN { exit !(a > 0) }'; then
    pass 'tensor ranks gather the tokens of their experts'
else
    fail 'tensor ranks gather the tokens of their experts'
fi
# 8 expert ranks are all 4 replicas of 2 tensor ranks: none is left to divide
llama eight.json num_hidden_layers 1
sed -i 's/"llama",/"mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,/' \
    eight.json
plan cluster -q -m eight.json --machine "$plain" batch=8 length=64 expert=8 \
    tensor=2 --format tsv >out 2>err
equal 'expert ranks that are all ranks have whole experts' \
    "$(value memory.weights)" \
    $((2 * (table / 2 + (dense + 16 * 4) / 2 + 2 * 16 + 3 * 16 * 32)))

# --- tables by size: shares of 1/4 to 1, a power of two for each axis
tables() {
    { sed '$d' "$plain" | sed '$s/$/,/' && cat; } >sized.json
}
sized() {
    plan cluster -q -m own.json --machine sized.json devices=1 batch=1 length=8 \
        --format tsv "$@" >out 2>err
}
tables <<'END'
"bf16_products": { "rows": [1, 64], "width": [4, 64],
    "share": [0.25, 0.5, 0.5, 1], "source": "chosen" },
"bf16_attention": { "length": [2, 32], "head": [2, 32],
    "share": [0.25, 0.5, 0.5, 1], "source": "chosen" },
"link_messages": { "bytes": [2097152, 33554432], "share": [0.25, 1],
    "source": "chosen" } }
END
# 8 rows are halfway from 1 to 64.  Matrices of attention have width 16, halfway;
# the MLP's sqrt(16 x 32), at 5/8; the head's sqrt(16 x 1100), beyond 64.
sized product_reads=0
sums='10 * 2304 / (3350e9 * 0.85)'
near 'products take the share of their rows and width' "$(value step.matrix)" \
    "$(by "48 * (768 * 2 + 1536 * 2 ^ 0.875) / (989.4e12 * 0.833) + $sums")"
near 'the head takes the share of the widest matrix' "$(value step.head)" \
    "$(by '48 * 17600 * sqrt(2) / (989.4e12 * 0.833) + 176e3 / (3350e9 * 0.85)')"
near 'attention takes the share of its length and head' \
    "$(value step.attention)" \
    "$(by '8 * 3.5 * 4 * 16 * 4.5 * 2 / (989.4e12 * 0.55)')"
sized compute=f32 weight_bytes=2 act_bytes=2 product_reads=0
near 'products in fp32 have their own table' "$(value step.matrix)" \
    "$(by "48 * 2304 / (66.9e12 * 0.833) + $sums")"
# A message of 8 ranks is an eighth of 4096 states of 8192: halfway.
reduced() {
    plan cluster -q -m llama-3.1-70b --machine "$1" batch=1 length=4096 \
        tensor=8 link_us=0 --format tsv >out 2>err
    value step.tensor
}
near 'messages take the share of their size' "$(reduced sized.json)" \
    "$(by "2 * $(reduced h100)")"
# 2 experts of 4 for each of 8 tokens: 4 rows an expert, a third of the way.  The
# router's 64 weights are narrower than the table.
plan cluster -q -m experts.json --machine sized.json devices=1 batch=1 length=8 \
    product_reads=0 bf16_tflops=1 --format tsv >out 2>err
experts='3072 * 2 ^ (2 - 0.625 - 1 / 3)'
sums='10 * (768 + 64 + 6144) / (3350e9 * 0.85)'
near 'products of experts have the rows of an expert' "$(value step.matrix)" \
    "$(by "48 * (768 * 2 + 64 * 2 ^ 1.5 + $experts) / (1e12 * 0.833) + $sums")"
# refused NAME WORDS: the table in standard input
refused() {
    tables
    status 3 "a table $1 is refused" plan cluster -q -m own.json \
        --machine sized.json
    like "the message for a table $1 names the member" "$2" err
}
refused 'whose sizes fall' 'sized.json: bf16_products.width:.*rising' <<'END'
"bf16_products": { "rows": [1], "width": [64, 4], "share": [1, 1],
    "source": "chosen" } }
END
refused 'with a share too few' 'f32_products.share: .* 2 numbers' <<'END'
"f32_products": { "rows": [1], "width": [4, 64], "share": [1],
    "source": "chosen" } }
END
refused 'without an axis' 'f32_attention.length:' <<'END'
"f32_attention": { "head": [4, 64], "share": [1, 1], "source": "chosen" } }
END
refused 'without a source' 'net_messages.source: ' <<'END'
"net_messages": { "bytes": [4, 64], "share": [1, 1] } }
END

# --- products in 8 bits, adapters, copies of shards
one product_reads=0 compute=f8
near 'products in 8 bits take the peak of 8 bits' "$(value step.matrix)" \
    "$(by '8 * 6 * 2304 / (1978.9e12 * 0.833) + 10 * 2304 / (3350e9 * 0.85)')"
attention=$(value step.attention)
one
equal 'attention beside products in 8 bits takes the peak of bf16' \
    "$(value step.attention)" "$attention"
status 2 'products in 8 bits are refused where there is no peak' plan cluster \
    -q -m own.json --machine a100 compute=f8
like 'the message says what to use instead' 'f8_tflops; use bf16' err
one product_reads=0 adapters=yes
near 'adapters need no gradients of weights' "$(value step.matrix)" \
    "$(by '8 * 4 * 2304 / (989.4e12 * 0.833)')"
equal 'adapters need no states of weights' \
    "$(value memory.gradients)$(value memory.states)" 00
# 64 ranks: 8 in a node divide the states, 8 nodes hold copies of them
copies() {
    plan cluster -q -m llama-3.1-70b --machine h100 nodes=8 batch=64 \
        length=512 shard=1 --format tsv "$@" >out 2>err
}
copies
all=$(value memory.states)
copies shard_ranks=8
equal 'shards inside nodes are eight times as large' "$(value memory.states)" \
    "$(by "$all * 8")"
# In a node 2 + 2 bytes a weight are scattered and gathered, with 7 hops; then
# 2 bytes of an eighth are summed over 8 nodes.
copies shard_ranks=8 overlap=0
P=$(by "$(value memory.weights) / 2")
inside=$(by "4 * 7 / 8 * $P / (450e9 * 0.82) + 2 * 7 * 2e-6")
across=$(by "2 * (7 / 8 * 2 * $P / 8 / (50e9 * 0.7) + 2 * 7 * 2e-6)")
near 'eight copies of a shard sum its gradients over the network' \
    "$(value step.reduce)" "$(by "$inside + $across")"
status 2 'shards on 48 of 64 ranks are refused' plan cluster -q -m \
    llama-3.1-70b --machine h100 nodes=8 batch=64 shard=1 shard_ranks=48
like 'the message names the ranks' 'shard_ranks=48.* 64 ranks' err

# --- memory that holds no tensor
one reserve_gb=2 reserve_share=0.25
tensors=$(awk -F '\t' '$1 ~ /^memory\./ && $1 != "memory.reserve" { s += $2 }
    END { printf "%.0f\n", s }' out)
equal 'a device reserves memory of its own and a share of tensors' \
    "$(value memory.reserve)" "$(by "2e9 + $tensors / 4")"
equal 'the figure allocated is the sum of the tensors' "$(value allocated)" "$tensors"
near 'the figure full counts the reserve' "$(value full)" \
    "$(by "$(value memory) / 80e9")"
one reserve_gb=0 reserve_share=0
equal 'memory without a reserve is that of tensors' "$(value memory)" "$tensors"
ok 'a prediction is printed as text' plan cluster -q -m own.json --machine h100
like 'text explains the figure allocated' \
    '^allocated +[0-9.]+ [GM]B  allocated by the framework, as PyTorch' out
like 'text explains the figure memory' \
    '^memory +[0-9.]+ GB  needed by the device, with context and reserve$' out

# --- a machine's file may leave out what is seldom known
sed '/attention_eff\|product_reads\|tensor_hidden\|reserve_/d' \
    "$top/plan/machines/h100.json" >short.json
ok 'a machine without the optional figures is predicted' plan cluster -q \
    -m own.json --machine short.json --format tsv
cp out short.tsv
ok 'a machine with the figures of the A100 is predicted' plan cluster -q \
    -m own.json --machine h100 --format tsv attention_eff=0.32 \
    product_reads=2 tensor_hidden=0 reserve_gb=8.8 reserve_share=0.1
same 'figures that are left out are those of the A100' out short.tsv
sed '/matrix_eff/d' "$top/plan/machines/h100.json" >bad.json
status 3 'a machine without matrix_eff is refused' plan cluster -q -m own.json \
    --machine bad.json
like 'the message names the missing figure' 'matrix_eff.*missing' err
done_testing
