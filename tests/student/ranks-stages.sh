#!/bin/sh
# student over ranks that have stages of the model: the bits of one process
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'stages of a pipeline' || done_testing
. "$top/tests/lib/ranks_train.sh"
stream -q -B 6 -T 64 -s 7 --batches 4 -o b data || exit 1

# one RUN [option ...], staged N STAGES RUN [option ...]: of model $m on $kd
one() {
    made=$1
    shift
    student -q -m "$m" -o "$made" --lr 1e-3 --micro 1 --schedule constant \
        "$@" "$kd"
}
staged() {
    n=$1 per=$2 made=$3
    shift 3
    mpirun -n "$n" student -q -j 1 -m "$m" -o "$made" --lr 1e-3 --micro 1 \
        --schedule constant --stages "$per" "$@" "$kd"
}

# --- families, their heads tied or not, blocks that a teacher shows ---
for family in llama untied qwen2 gpt2 phi gemma3_text; do
    config t.json 9 32 48
    is="\"model_type\": \"$family\""
    case $family in
    untied)
        sed -i 's/\("tie_word_embeddings": \)true/\1false/' t.json
        is='"tie_word_embeddings": false'
        ;;
    qwen2) sed -i 's/"llama"/"qwen2"/' t.json ;;
    gpt2) # positions and biases of norms are groups of their own
        sed -i 's/"llama"/"gpt2"/; s/"hidden_act": "silu"/"activation_function": "gelu"/' t.json
        ;;
    phi) # so is the bias of the head
        sed -i 's/"llama"/"phi"/; s/"hidden_act": "silu"/"hidden_act": "gelu_new"/' t.json
        ;;
    gemma*)
        sed -i 's/"llama"/"gemma3_text"/; s/"hidden_act": "silu"/"sliding_window": 9,\
            "hidden_activation": "gelu_pytorch_tanh",\
            "sliding_window_pattern": 3, "query_pre_attn_scalar": 12/' t.json
        ;;
    esac
    d=$family m=$family/cut kd=$family/kd
    mkdir $d
    ok "a teacher of $family trains" student -q -m t.json -t tok -o $d/t --lr 1e-3 b
    ok "a student of $family has 8 blocks" prune -q -m $d/t -o $m --blocks 8 b
    like "the model of $family is as it should be" "$is" $m/config.json
    ok "the teacher of $family writes a stream" teacher -q -m $d/t -o $kd b
    ok "one process trains $family" one $d/p1
    for run in '2 2' '4 1' '2 1' '4 2'; do
        # shellcheck disable=SC2086 # two words
        set -- $run
        [ $family = llama ] || [ $(($1 * $2)) = 4 ] || continue
        ok "$1 ranks of $2 stages train $family" staged "$1" "$2" "$d/p$1-$2"
        same_run "$1 ranks of $2 stages have the bits of one process for $family" $d/p1 "$d/p$1-$2"
    done
done
like 'SquareHead has a part in the loss' '^[^	]*	[^	]*	[^	]*	[^	]*	[^	]*	[^	]*	0\.[0-9]*[1-9]' \
    gemma3_text/p1.metrics

# --- how it is run does not matter ---
m=llama/cut kd=llama/kd
ok 'a run of stages is repeated' staged 4 2 again
same_run 'a repeated run has the same bits' llama/p4-2 again
ok '3 ranks train by pieces of 4 and 2 rows' staged 3 1 odd --micro 4
same_run 'pieces of 4 and 2 rows have the bits of one process' llama/p1 odd
ok 'stages train with --recompute' staged 2 2 less --recompute
same_run 'stages with --recompute have the bits of one process' llama/p1 less
ok 'one process takes 2 messages a step' one a1 --grad-accum 2
ok '4 ranks of stages take 2 messages a step' staged 4 1 a4 --grad-accum 2
same_run '2 messages a step have the bits of one process' a1 a4
ok 'one process keeps activations and moments in bf16' one h1 --act bf16 \
    --moments bf16
ok '2 ranks of stages keep activations and moments in bf16' staged 2 2 h2 --act bf16 \
    --moments bf16
same_run 'bf16 has the bits of one process' h1 h2
ok '--stages without mpirun trains' one alone --stages 2
same_run '--stages without mpirun has the bits of one process' llama/p1 alone

# --- stop, and go on with other ranks ---
# go_on N STAGES STEPS: the rest of the run r
go_on() {
    rm -f r/config.json
    stream -q --resume r data | teacher -q -m llama/t -o rest
    kd=rest
    staged "$1" "$2" r --resume --steps "$3"
}
ok '2 ranks of stages make a step' staged 2 2 r --steps 1
ok 'each rank of stages writes a part of the optimiser' test -f \
    r/step-1/optimiser-1-of-2.safetensors
ok '1 rank goes on without stages' go_on 1 0 2
ok '4 ranks go on in stages' go_on 4 2 3
ok '3 ranks go on in stages' go_on 3 1 4
kd=llama/kd
same_run '2, 1, 4 and 3 ranks end as one process' llama/p1 r
ok '4 ranks make a step at level 3' mpirun -n 4 student -q -j 1 -m $m -o z \
    --lr 1e-3 --micro 1 --schedule constant --shard-level 3 --steps 1 $kd
stream -q --resume z data | teacher -q -m llama/t -o rest
rm z/config.json
ok 'stages go on with a run of level 3' mpirun -n 2 student -q -j 1 -m $m -o z --lr 1e-3 \
    --micro 1 --schedule constant --stages 1 --resume -- rest

# --- what is sent, and waited for ---
ok 'ranks of stages write a log' staged 2 2 log --comm-log log --steps 1
# 6 pieces of 64 x 32 numbers: two outputs and a gradient from rank 0, and the
# other way; the embedding's gradient there and its values back
sent() {
    awk -F '\t' -v op="$1" '$1 == op && $5 >= 8192 { n += $4 * $7 }
        END { print n + 0 }' "$2"
}
equal 'rank 0 sends its outputs and gradients' "$(sent send log.tsv)" \
    $((4 * 6 * 64 * 32 * 3 + 4 * vocab * 32))
if awk -F '\t' '$1 == "recv" && $5 == 8192 { wait += $14 }
    END { exit !(wait > 0) }' log.tsv
then pass 'waiting for a stage is told'; else fail 'waiting for a stage is told'; fi
ok 'ranks of stages write a timeline' staged 2 1 line --timeline line.json --steps 1
like 'the timeline has backward passes' '"name":"backward"' line.json
like 'the timeline has waiting for another stage' '"name":"wait for another stage"' line.json

# --- memory: a stage of the model is there, and no more ---
config big.json 8 256 1024
sed -i 's/\("tie_word_embeddings": \)true/\1false/' big.json
parts() { # the numbers of -v: weights, gradients, moments
    sed -n 's/^student: memory in MB: .*weights \([0-9.]*\), gradients \([0-9.]*\), moments \([0-9.]*\),.*/\1 \2 \3/p' err
}
m=big.json
ok 'one process tells its memory' student -v -m big.json -o big1 --micro 1 --steps 1 \
    --schedule constant one
parts >mem1
ok '4 ranks of stages tell their memory' mpirun -n 4 student -v -j 1 -m big.json -o big4 --micro 1 \
    --steps 1 --schedule constant --stages 1 one
parts >mem4
# of 8 equal blocks B and two matrices E rank 0 has 2 B and E
if paste mem1 mem4 | awk '{ exit !(NF == 6 && $4 / $1 < 0.3 && $5 / $2 < 0.3 &&
    $6 / $3 < 0.3 && $4 / $1 > 0.2) }'
then pass "memory of one, and of the first of 4: $(cat mem1), $(cat mem4) MB"
else fail "memory of one, and of the first of 4: $(cat mem1), $(cat mem4) MB"; fi

# plan(1) says the same of it.
ok 'plan predicts the memory of stages' plan -q -m big.json -T 64 --machine epyc --format tsv nodes=4 \
    pipeline=4 batch=4 micro=1 weight_bytes=4 grad_bytes=4 state_bytes=8
awk -F '\t' '{ mb[$1] = $2 / 1e6 } END { printf "%.1f %.1f %.1f\n",
    mb["memory.weights"], mb["memory.gradients"], mb["memory.states"] }' out >said
same 'student and plan tell the same memory' said mem4

# --- what is refused ---
for with in '--shard-level 1' '--deterministic' '--wire bf16' '--overlap' \
    '--eval one'; do
    # shellcheck disable=SC2086 # two words
    status 2 "--stages is refused with $with" mpirun -n 2 student -q -j 1 -m llama/cut -o no \
        --stages 1 $with llama/kd
    like "the message names ${with%% *}" \
        "^student.*: --stages over ranks does not go with ${with%% *}" err
done
status 2 'more stages than blocks are refused' mpirun -n 3 student -q -j 1 -m llama/cut \
    -o no --stages 3 llama/kd
like 'the message tells ranks, stages and blocks' '3 ranks .* 9 stages, .* 8 blocks' err
# shellcheck disable=SC2016 # the ranks' shells expand it
status 3 "rows of a rank's own are refused" mpirun -n 2 sh -c 'stream -q -B 4 -T 64 --batches 1 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    student -q -j 1 -m llama/cut -o no --stages 1'
like 'the message tells that every rank reads all rows' 'with --stages every rank reads all rows' err
done_testing
