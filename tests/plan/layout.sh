#!/bin/sh
# plan cluster: memory against formulas by hand, parts that add up, keys,
# machines' files, sweeps, what-ifs and searches
. "${0%/*}/../lib/lib.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
# sums NAME: NAME.* of out add up to NAME
sums() {
    awk -F '\t' -v n="$1" '
        $1 == n { all = $2 }
        index($1, n ".") == 1 { sum += $2 }
        END { d = sum - all; d = d < 0 ? -d : d
              exit !(all > 0 && d <= 1e-5 * all) }' out
}

# --- memory: bytes a number of one block's activations, arXiv:2205.05198,
# table 2, of a GPT in rows of 2048, 4 a pass, on 8 tensor ranks: 34 + 5 a s / h
# cut in its three ways.
gpt() {
    plan cluster -q -m megatron-22b --machine a100 tensor=8 batch=4 micro=4 \
        length=2048 \
        flash=no --format tsv "$@" >out 2>err
}
numbers=$((2048 * 4 * 6144 * 48))
scores=$((5 * 64 * 2048 * 2048 * 4 * 48 / 8))
gpt && equal 'tensor ranks divide 24 of 34 bytes of activations' \
    "$(value memory.activations)" $((numbers * 13 + scores))
gpt sequence=yes && equal 'sequence ranks divide all 34 bytes' \
    "$(value memory.activations)" $((numbers * 34 / 8 + scores))
gpt sequence=yes recompute=selective &&
    equal 'selective recomputation stores no scores' \
        "$(value memory.activations)" \
        $((numbers * 34 / 8))
gpt recompute=full && equal 'full recomputation stores inputs and one block' \
    "$(value memory.activations)" $((numbers * 2 + numbers * 13 / 48))

# Of stages the first has as many passes in flight as there are, the last one has
# the logits: what holds more is told.
stages() {
    plan cluster -q -m megatron-175b --machine a100 nodes=8 tensor=8 \
        pipeline=8 \
        length=2048 sequence=yes --format tsv "$@" >out 2>err
}
one=$((2048 * 12288 * 12 * 34 / 8))
stages batch=64 && equal 'the first of eight stages stores eight passes' \
    "$(value memory.activations)" $((8 * one))
equal 'the first of eight stages stores no logits' "$(value memory.logits)" 0
stages batch=64 virtual=3 && equal \
    'three parts a stage store 7 / 24 more activations' \
    "$(value memory.activations)" $((8 * one * 31 / 24))
stages batch=1 && equal 'a pass alone stores its logits in fp32 twice' \
    "$(value memory.logits)" $((8 * 2048 * 51200 / 8))
equal 'a pass alone stores its activations' "$(value memory.activations)" $one
stages batch=4 virtual=3 && equal \
    'a stage stores no more passes than there are' \
    "$(value memory.activations)" $((4 * one))

plain=$top/tests/golden/plan/machine/plain.json

# Blocks that the stages do not divide, as lib/model/pass/stages.c deals them.  Of a
# block 2336 parameters, and 416 bytes for each of 64 tokens; a vocabulary of 32.
llama ten.json num_hidden_layers 10 vocab_size 32
uneven() {
    plan cluster -q -m ten.json --machine "$plain" pipeline=4 batch=16 length=64 \
        --format tsv "$@" >out 2>err
}
one=$((64 * 416))
# 2, 3, 2 and 3 blocks: the second rank has more passes in flight than the last.
uneven && equal 'a rank between is the fullest of 2, 3, 2 and 3 blocks' \
    "$(value memory.weights)" $((2 * 3 * 2336))
equal 'the rank between stores three passes of three blocks' \
    "$(value memory.activations)" $((9 * one))
equal 'the rank between stores no logits' "$(value memory.logits)" 0
# Stages of 1, 1, 1, 2, 1, 1, 1 and 2 blocks: the last rank has four, and five
# passes of a stage.
uneven virtual=2 && equal \
    'the last rank is the fullest of 2, 2, 2 and 4 blocks' \
    "$(value memory.weights)" $((2 * (4 * 2336 + 32 * 16)))
equal 'the last rank stores five passes of two blocks' \
    "$(value memory.activations)" $((10 * one))
equal 'the last rank stores its logits' "$(value memory.logits)" \
    $((4 * 2 * 64 * 32))
# Its time: 8 passes of four blocks.  Of each token and block 6 x 2304 operations
# in products, and 3.5 x 4 x 16 a key, of 32.5, in attention.  Three times,
# products move 2304 weights and, of each token, 4 states, 2 x 24 numbers of heads
# and 3 x 32 channels, of 2 bytes each, twice; adding gradients moves 10 bytes a
# weight.  The stages are filled by the other six blocks.
if awk -F '\t' '{ v[$1] = $2 }
    function near(a, b) { return a > 0 && a / b < 1.0001 && a / b > 0.9999 }
    END {
        t = 8 * 4 * 64 * 6 * 2304 / (989.4e12 * 0.833)
        moved = 2304 + 64 * (4 * 16 + 2 * 24 + 3 * 32)
        t += 8 * 4 * (3 * 2 * 2 * moved + 10 * 2304) / (3350e9 * 0.85)
        a = 8 * 4 * 64 * 3.5 * 4 * 16 * 32.5 / (989.4e12 * 0.55)
        fill = (v["step.matrix"] + v["step.attention"] + v["step.vector"]) * \
            6 / 4
        exit !(near(v["step.matrix"], t) && near(v["step.attention"], a) &&
            near(v["step.bubble"], fill / 16))
    }' out
then
    pass 'the last rank is the slowest of 2, 2, 2 and 4 blocks'
else
    fail \
        "the last rank is the slowest of 2, 2, 2 and 4 blocks:" \
        "$(value step.matrix)," \
        "$(value step.bubble)"
fi

# 2, 3, 3 and 2 blocks: the second rank has more to do than the last, although
# the last has the head.
uneven edges=1 && equal 'edges=1 takes a block from the first and last stage' \
    "$(value memory.weights)" $((2 * 3 * 2336))
equal 'the slowest rank has no head' "$(value step.head)" 0
if awk -F '\t' '{ v[$1] = $2 }
    END { a = 3 / 8 * (v["step.hand-over"] + 7 / 9 * \
            (v["step.matrix"] + v["step.attention"] + v["step.vector"]))
        exit !(a > 0 && v["step.bubble"] / a < 1.0001 &&
            v["step.bubble"] / a > 0.9999) }' out
then
    pass 'the slowest of 2, 3, 3 and 2 blocks waits for three ranks'
else
    fail "the slowest of 2, 3, 3 and 2 blocks waits: $(value step.bubble)"
fi
status 2 'more edges than blocks are refused' uneven edges=6
like 'the message tells stages, blocks and edges' '4 stages.*10 blocks.*edges=6' err
# Each rank has two stages, of 2 and 3 blocks, and five passes in flight; the
# first has the embedding and the head.  One rank's pass x 2 / 3 is waited for.
uneven schedule=dual && equal 'DualPipe stores two stages on a rank' \
    "$(value memory.weights)" $((2 * (5 * 2336 + 2 * 32 * 16)))
equal 'DualPipe has one pass more in flight than stages' \
    "$(value memory.activations)" $((5 * one * 5 / 2))
if awk -F '\t' '{ v[$1] = $2 }
    END { a = 2 / 3 / 8 * (v["step.matrix"] + v["step.attention"] + \
            v["step.vector"] + v["step.hand-over"])
        exit !(a > 0 && v["step.bubble"] / a < 1.0001 &&
            v["step.bubble"] / a > 0.9999) }' out
then
    pass 'DualPipe waits for 2/3 of a pass of one rank'
else
    fail "DualPipe waits for 2/3 of a pass of one rank: $(value step.bubble)"
fi
uneven schedule=dual shard=1 && equal \
    'the optimiser divides over both ranks that have a stage' \
    "$(value memory.states)" $((12 * (5 * 2336 + 2 * 32 * 16) / 4))
head=$(value step.head)
uneven && equal 'every second pass of DualPipe has the head' \
    "$(awk "BEGIN { printf \"%.3g\", 2 * $head }")" \
    "$(awk "BEGIN { printf \"%.3g\", $(value step.head) }")"
status 2 'DualPipe of too few passes is refused' uneven batch=8 schedule=dual
like 'the message tells what DualPipe needs' 'even pipeline.*twice as many passes' err

# ZeRO (arXiv:1910.02054): 2 + 2 + 12 bytes a parameter, the last, the last two,
# all over N = 64 ranks; 6144 of the last norm are left out.
P=$(($(plan cluster -q -m megatron-22b --machine a100 batch=64 --format tsv \
    nodes=8 2>err | awk -F '\t' '$1 == "parameters" { print $2 }') - 6144))
for shard in 0 1 2 3; do
    plan cluster -q -m megatron-22b --machine a100 nodes=8 batch=64 \
        shard=$shard \
        --format tsv >out 2>err
    equal "shard=$shard divides weights as ZeRO does" \
        "$(value memory.weights)" \
        $((shard < 3 ? 2 * P : 2 * P / 64))
    equal "shard=$shard divides gradients as ZeRO does" \
        "$(value memory.gradients)" \
        $((shard < 2 ? 2 * P : 2 * P / 64))
    equal "shard=$shard divides states as ZeRO does" "$(value memory.states)" \
        $((shard < 1 ? 12 * P : 12 * P / 64))
done

# Parameters by hand: of Llama 3.1 70B, published as 70.6e9.
ok 'a layout of Llama 3.1 70B is predicted' plan cluster -q -m llama-3.1-70b \
    --machine h100 nodes=64 --format tsv \
    batch=512 length=8192 tensor=8 pipeline=4 virtual=5 sequence=yes shard=1
equal 'Llama 3.1 70B has the published parameters' "$(value parameters)" \
    $((2 * 128256 * 8192 + 8192 + \
        80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192)))
for n in step memory; do
    if sums $n; then pass "$n is the sum of its parts"
    else fail "$n is the sum of its parts"; fi
done
equal '512 devices hold 16 replicas' "$(value replicas)" 16
equal '512 rows of 16 replicas make 32 passes' "$(value passes)" 32

# --- a model is predicted the same from its config.json, which the library
# reads, and from a file of its sizes
llama own.json
cat >sizes.json <<'EOF'
{"vocab_size": 1100, "hidden_size": 16, "intermediate_size": 32,
 "num_hidden_layers": 2, "num_attention_heads": 2,
 "num_key_value_heads": 1, "head_dim": 8, "tie_word_embeddings": true}
EOF
ok 'a family that student trains is predicted' plan cluster -q -m own.json \
    --machine h100 batch=8 --format tsv
cp out own.tsv
ok 'a file of sizes is predicted' plan cluster -q -m sizes.json \
    --machine h100 batch=8 --format tsv
same 'both readers predict the same figures' own.tsv out
ok 'plan run reads the same configuration' plan run -q -m own.json --format tsv
equal 'plan run counts the parameters of plan cluster' "$(value parameters)" \
    "$(awk -F '\t' '$1 == "parameters" { print $2 }' own.tsv)"
sed 's/"vocab_size"/"num_local_experts": 4, "num_experts_per_tok": 2, &/' \
    sizes.json >experts.json
ok 'a GGUF is predicted' plan cluster -q -m "$top/tests/golden/gguf/f32.gguf" \
    --machine h100 batch=8 --format tsv
cp out gguf.tsv
ok 'a config.json of the GGUF is predicted' plan cluster -q -m \
    "$top/tests/golden/gguf/f32-hf" --machine h100 batch=8 --format tsv
same 'a GGUF and its config.json predict the same' gguf.tsv out
ok 'a mixture of 4 experts is predicted' plan cluster -q -m experts.json \
    --machine h100 batch=8 expert=4 --format tsv
equal 'all parameters of experts are counted' "$(value parameters)" \
    $((1100 * 16 + 16 + 2 * (16 * 8 * 6 + 16 * 4 + 4 * 3 * 16 * 32 + 2 * 16)))
equal 'parameters that a token meets are counted' "$(value parameters.active)" \
    $((1100 * 16 + 16 + 2 * (16 * 8 * 6 + 16 * 4 + 2 * 3 * 16 * 32 + 2 * 16)))

for n in 3 8; do
    status 2 "$n groups of 4 experts are refused" plan cluster -q -m \
        experts.json --machine h100 \
        batch=8 expert=$n
    like "the message for $n groups names experts and ranks" \
        "expert=$n does not divide both 4 experts and the 8 ranks with the same stage" err
done

# What the optimiser reads and writes is what the rank has: of a mixture too, whose
# experts are on fewer ranks.  24 bytes of states, 2 of a gradient and a weight.
ok 'a mixture on 768 ranks is predicted' plan cluster -q -m moe-2t --machine \
    mi300x pipeline=24 expert=16 \
    context=16 batch=1024 length=8192 shard=1 nodes=96 --format tsv
if awk -v s="$(value memory.states)" -v t="$(value step.optimiser)" 'BEGIN {
    x = t * 5300e9 * 0.8 / (s * 28 / 12); exit !(x > 0.9999 && x < 1.0001) }'
then
    pass 'the optimiser moves what the rank holds'
else
    fail 'the optimiser moves what the rank holds'
fi

# Blocks with a window and without, as Gemma 3 has them: five of six see 64 keys.
llama near.json model_type '"gemma3_text"' num_hidden_layers 6
sed -i 's/"model_type"/"sliding_window": 64, &/; s/"hidden_act": "silu",//' \
    near.json
sed 's/: 64,/: 4096,/' near.json >far.json
for f in near far; do
    plan cluster -q -m $f.json --machine h100 batch=8 length=4096 --format \
        tsv >out 2>err
    value step.attention
done >steps
if awk '{ t[NR] = $1 } END {
    keys = 5 * (4097 / 2 - (64 * 65 / 2 + 4032 * 64) / 4096)
    x = (t[2] - t[1]) / (4096 * 3.5 * 4 * 16 * keys / (989.4e12 * 0.55))
    exit !(x > 0.999 && x < 1.001) }' steps
then
    pass 'blocks without a window see all keys'
else
    fail "blocks without a window see all keys: $(cat steps)"
fi

# --- teachers: where they are
distil() {
    plan cluster -q -m mistral-15b --teacher mistral-24b --machine mi300a \
        nodes=4 \
        batch=16 length=1024 shard=3 --format tsv "$@" >out 2>err
}
distil teacher=cached top=64 tokens=1000000
equal 'a cached teacher has no weights' "$(value memory.teacher)" 0
equal 'stored targets take 6 bytes a token of the top' "$(value run.targets)" \
    $((1000000 * (6 * 64 + 8)))
distil teacher=block weight_bytes=4 # 2 d 128 (H + KV) + 3 d 32768 + 2 d, V d
equal 'a teacher read by the block takes one block and its head' \
    "$(value memory.teacher)" \
    $((4 * (2 * 5120 * 128 * 40 + 3 * 5120 * 32768 + 2 * 5120 + 131072 * 5120)))
distil teacher=cached
equal 'of stored states a student needs the head' "$(value memory.teacher)" \
    $((2 * 131072 * 5120))
distil teacher=block weight_bytes=4 top=64
equal 'of stored tokens it needs none' "$(value memory.teacher)" \
    $((4 * (2 * 5120 * 128 * 40 + 3 * 5120 * 32768 + 2 * 5120)))
distil teacher=world
slow=$(value step)
distil teacher=node
if awk -v a="$slow" -v b="$(value step)" 'BEGIN { exit !(b > 0 && b < a) }'; \
    then
    pass 'a teacher in each node is gathered faster'
else
    fail "a teacher in each node is gathered faster: $(value step), $slow"
fi

# --- sweeps, what-if, search
sweep() {
    plan cluster -q -m llama-3.1-70b --machine h100 tensor=8 pipeline=4 \
        virtual=5 \
        batch=512 length=8192 sequence=yes shard=1 "$@"
}
ok 'a sweep is printed as TSV' sweep --format tsv nodes=8..32 \
    recompute=none,full
equal 'a sweep has its keys as the first columns' \
    "$(head -n 1 out | cut -f 1-3)" "$(printf 'nodes\trecompute\tranks')"
equal 'a sweep has a row for each combination' "$(wc -l <out)" 7
equal 'the first row of a sweep has efficiency 1' \
    "$(sed -n 2p out | cut -f 9)" 1
ok 'chosen columns of a sweep are printed as JSON' sweep --format json \
    nodes=8,16 --columns step.gather,mfu
like 'a row of a sweep is an object' \
    '"nodes": 16, "step.gather": 0, "mfu": 0\.' out
ok 'a sweep is printed with bars' sweep --format bars nodes=8..32 --columns \
    ranks
equal 'bars show the last column' "$(tr -d '\n' <out | tr -s ' ')" \
    "nodes ranks8 64 ##########16 128 ####################32 256 $(
        printf %040d 0 | tr 0 '#')"
status 2 'a column of no figure is refused' sweep nodes=8,16 --columns none
like 'the message for an unknown column names it' 'no figure none' err
ok 'changes are printed as TSV' sweep nodes=8 --format tsv --what-if \
    recompute=full --what-if net_gbs=25,price=2
equal 'each change has a column of figures and one of ratios' \
    "$(head -n 1 out)" \
    "$(printf 'figure\tas given\trecompute=full\trecompute=full ratio\tnet_gbs=25,price=2\tnet_gbs=25,price=2 ratio')"
like 'a figure that stays has the ratio 1' \
    '^parameters	70553706496	70553706496	1\.000' out
ok 'five layouts are searched for' plan search -q -m llama-3.1-70b --machine \
    h100 --layouts 5 nodes=4 batch=64 length=4096 --format tsv
equal 'a search prints heads and five rows' "$(wc -l <out)" 6
awk -F '\t' \
    'NR > 1 { if ($11 > 1 || $13 + 0 < last) exit 1; last = $13 + 0 }' out
rc=$?
equal 'all layouts fit and the fastest is the first' "$rc" 0
first=$(sed -n 2p out)
# shellcheck disable=SC2086 # fields
set -- $first
ok 'the first layout can be predicted by its keys' plan cluster -q -m \
    llama-3.1-70b --machine h100 nodes=4 batch=64 \
    length=4096 --format tsv tensor="$1" pipeline="$2" virtual="$3" \
    context="$4" expert="$5" shard="$6" recompute="$7" micro="$8" \
    sequence="$9"
equal 'the first layout takes as long by its keys' "$(value step)" "${13}"
equal 'the first layout takes as much memory at most' \
    "$(value likely.memory.high)" "${12}"
ok 'sequence=no is taken from the operands' plan search -q -m llama-3.1-70b \
    --machine h100 --layouts 1 \
    nodes=4 batch=64 length=4096 --format tsv tensor=8 pipeline=1 sequence=no
found=$(sed -n 2p out | cut -f 13)
ok 'that layout without sequence is predicted' plan cluster -q -m \
    llama-3.1-70b --machine h100 nodes=4 batch=64 \
    length=4096 --format tsv tensor=8 sequence=no \
    shard="$(sed -n 2p out | cut -f 6)" micro="$(sed -n 2p out | cut -f 8)" \
    recompute="$(sed -n 2p out | cut -f 7)"
equal 'that layout without sequence takes as long' "$(value step)" "$found"
ok 'a key is set in a search' plan search -q -m llama-3.1-70b --machine h100 \
    --layouts 3 nodes=4 batch=64 length=4096 --format tsv pipeline=1
equal 'a key that is set stays as it is' \
    "$(cut -f 2 out | sort -u | tr '\n' ' ')" '1 pipeline '

ok 'numbers of nodes are compared' plan search -q -m llama-3.1-70b --machine h100 \
    --layouts 2 nodes=1,4,8 batch=64 length=4096 --format tsv --tokens 10G price=2
equal 'numbers of nodes that fit have two layouts each' \
    "$(cut -f 1 out | tr '\n' ' ')" 'nodes 4 4 8 8 '
like 'a run has its days and its cost' '	run.days	run.cost$' out
equal 'the cost is that of the hours' "$(awk -F '\t' 'NR == 2 {
    x = $NF / ($(NF - 1) * 24 * 4 * 8 * 2); print (x > 0.9999 && x < 1.0001) }' out)" 1
ok 'one and four machines are compared' plan cluster -q -m llama-3.1-8b \
    --machine office nodes=1,4 -B 32 tokens=2M --columns run.days,working --format tsv
equal 'one machine has no share of working time' \
    "$(awk -F '\t' '{ print $1, ($3 == "-") }' out | tr '\n' ' ')" 'nodes 0 1 1 4 0 '
cut -f 2 out >days
plan cluster -q -m llama-3.1-8b --machine office nodes=1,4 -B 32 --tokens 2e6 \
    --columns run.days,working --format tsv >out 2>err
equal 'a count has the same suffixes as a key and as an option' \
    "$(cut -f 2 out)" "$(cat days)"
ok 'a layout that may not fit is printed' plan search -m mistral-15b --teacher \
    mistral-24b --machine h100 -B 1024 -T 4096 nodes=1
like 'a note says how much memory it may take' \
    'the first may not fit: up to 8[0-9][.][0-9] of 80 GB' err
ok 'a search says what plan cluster takes' plan search -m llama-3.1-70b \
    --machine h100 nodes=4 batch=64 length=4096
like 'the keys of the first layout have sequence' \
    'plan cluster takes the first as tensor=.* sequence=(yes|no)$' err
ok 'a search is noted to extrapolate' plan search -m llama-3.1-8b --teacher \
    llama-3.1-8b --machine h100 batch=512 length=4096 shard=2 micro=2 tensor=4
like 'its reason is a teacher' 'extrapolates: .*a teacher' err
status 1 'a search names models that are files of sizes' plan search -m \
    llama-31-70b --machine h100
like 'their nearest name is proposed' 'did you mean llama-3.1-70b' err

# --- what is asked for is said
ok 'formulas are printed as TSV' plan cluster -q -m llama-3.1-70b --machine \
    h100 --explain nodes=4 batch=32 shard=3 --format tsv
equal 'every number has its formula' \
    "$(awk -F '\t' '$4 == ""' out)" ''
ok 'keys are printed with a machine' plan cluster -q --keys --machine h100 \
    tensor=4 --format tsv
like 'a key of the layout has its value' '^tensor	4	' out
like 'a figure of the machine is a key' '^net_gbs	50	' out
plan cluster -q --keys --machine h100 --format tsv | sed 1d | cut -f 1,3 | \
    while IFS='	' read -r key help; do
    grep -A 1 -Fxe ".It Cm $key" "$top/man/plan-cluster.1" | grep -Fxqe \
        "$help" ||
        echo "$key"
done >missing
equal 'plan-cluster.1 has every key' "$(cat missing)" ''
for m in machines models; do
    for f in "$top/plan/$m"/*.json; do
        n=${f##*/}
        grep -Eq -e "^\.(Cm|Pa) ${n%.json}( [,.])?$" \
            "$top/man/plan-cluster.1" ||
            fail "plan-cluster.1 does not name $n"
    done
done
for f in "$top"/plan/models/*.json; do
    n=${f##*/}
    ok "${n%.json} is read" plan cluster -q -m "${n%.json}" --machine mi355x \
        nodes=64 batch=512 shard=3
done

# --- wrong input
bad() {
    status 2 "$1 is refused" plan cluster -q -m llama-3.1-70b --machine h100 \
        batch=8 "$2"
    like "the message for $1 says what to write" "$3" err
}
bad 'an unknown key' colours=1 'colours: there is no such key.*--keys'
bad 'a misspelt key' node=1 'did you mean nodes'
bad 'a key without value' tensor 'key=value'
bad 'an unknown word' recompute=some 'none, selective, products, full'
bad 'half a rank' tensor=1.5 'whole number'
bad 'a value that is NaN' tensor=nan 'whole number'
bad 'a number of ranks that does not divide' tensor=3 'do not divide'
bad 'a batch that does not divide' batch=9 'no multiple'
bad 'a pipeline of more stages than blocks' pipeline=128 \
    'do not divide|80 blocks'
bad 'a backward range' nodes=8..4 'b >= a'
status 2 'an unknown machine is refused' \
    plan cluster -m llama-3.1-70b --machine none
like 'the message for an unknown machine names the shipped' \
    'a100, epyc, h100' err
status 2 'changes of a sweep are refused' plan cluster -m own.json \
    --machine h100 --what-if tensor=2 nodes=1,2
like 'the message for changes of a sweep says to choose' 'ask for one' err
ok 'one prediction prints chosen columns' plan cluster -q -m own.json \
    --machine h100 --columns mfu,step
like 'it has no other columns' '^ *mfu +step$' out
for one in '-B 8' 'nodes=8' 'nodes=8 --what-if tensor=2'; do
    # shellcheck disable=SC2086 # words
    status 2 "bars of one prediction by $one are refused" plan cluster -m \
        own.json --machine h100 \
        batch=64 --format bars $one
done
status 2 'bars of one process are refused' plan run -m own.json --format bars
status 2 'options of one process are refused' \
    plan cluster -m own.json --machine h100 -j 2
sed 's/"memory_gb": \[80, ".*"\]/"memory_gb": [80, ""]/' \
    "$top/plan/machines/h100.json" >bare.json
status 3 'a figure without its source is refused' plan cluster -m own.json \
    --machine bare.json
like 'the message for no source names file and figure' \
    'bare.json: memory_gb: ' err
sed '/net_us/d' "$top/plan/machines/h100.json" >less.json
status 3 'a figure that is missing is refused' plan cluster -m own.json \
    --machine less.json
like 'the message for a missing figure names it' \
    'less.json: net_us: .*missing' err
sed 's/"net_us"/"net_ms"/' "$top/plan/machines/h100.json" >other.json
sed '2s/^/"usual": { "compute": "f64" },/' "$plain" >usual.json
status 2 'a usual key of another value is refused' plan cluster -m own.json \
    --machine usual.json
like 'the message says where it is' 'usual.json: usual: compute=f64: give one of' err
sed '2s/^/"usual": { "overlap": 0 },/' "$plain" >usual.json
status 3 'a usual key that is no text is refused' plan cluster -m own.json \
    --machine usual.json
status 3 'a figure that is not known is refused' plan cluster -m own.json \
    --machine other.json
like 'the message for an unknown figure names it' \
    'other.json: net_ms: .*not known' err
printf '{"vocab_size": 10}' >half.json
status 3 'a file without sizes is refused' \
    plan cluster -m half.json --machine h100
like 'the message for missing sizes names file and member' \
    'half.json: hidden_size' err
done_testing
