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
for family in llama untied qwen2 gemma3_text; do
    config t.json 9 32 48
    is="\"model_type\": \"$family\""
    case $family in
    untied)
        sed -i 's/\("tie_word_embeddings": \)true/\1false/' t.json
        is='"tie_word_embeddings": false'
        ;;
    qwen2) sed -i 's/"llama"/"qwen2"/' t.json ;;
    gemma*)
        sed -i 's/"llama"/"gemma3_text"/; s/"hidden_act": "silu"/"sliding_window": 9,\
            "hidden_activation": "gelu_pytorch_tanh",\
            "sliding_window_pattern": 3, "query_pre_attn_scalar": 12/' t.json
        ;;
    esac
    d=$family m=$family/cut kd=$family/kd
    mkdir $d
    ok "$family: a teacher" student -q -m t.json -t tok -o $d/t --lr 1e-3 b
    ok "a student of 8 blocks" prune -q -m $d/t -o $m --blocks 8 b
    like 'as it should be' "$is" $m/config.json
    ok 'its stream' teacher -q -m $d/t -o $kd b
    ok 'one process' one $d/p1
    for run in '2 2' '4 1' '2 1' '4 2'; do
        # shellcheck disable=SC2086 # two words
        set -- $run
        [ $family = llama ] || [ $(($1 * $2)) = 4 ] || continue
        ok "$1 ranks of $2 stages" staged "$1" "$2" "$d/p$1-$2"
        same_run "$family: $1 ranks of $2 stages = one process" $d/p1 "$d/p$1-$2"
    done
done
like 'SquareHead has a part in it' '^[^	]*	[^	]*	[^	]*	[^	]*	[^	]*	[^	]*	0\.[0-9]*[1-9]' \
    gemma3_text/p1.metrics

# --- how it is run does not matter ---
m=llama/cut kd=llama/kd
ok 'again' staged 4 2 again
same_run 'the same bits again' llama/p4-2 again
ok '3 ranks, pieces of 4 and 2 rows' staged 3 1 odd --micro 4
same_run '= one process' llama/p1 odd
ok 'recomputed' staged 2 2 less --recompute
same_run '= one process' llama/p1 less
ok '2 messages a step, one process' one a1 --grad-accum 2
ok '2 messages a step, 4 ranks' staged 4 1 a4 --grad-accum 2
same_run '= one process' a1 a4
ok 'activations and moments in bf16, one process' one h1 --act bf16 \
    --moments bf16
ok 'activations and moments in bf16, 2 ranks' staged 2 2 h2 --act bf16 \
    --moments bf16
same_run '= one process' h1 h2
ok 'without mpirun' one alone --stages 2
same_run '= one process' llama/p1 alone

# --- stop, and go on with other ranks ---
# go_on N STAGES STEPS: the rest of the run r
go_on() {
    rm -f r/config.json
    stream -q --resume r data | teacher -q -m llama/t -o rest
    kd=rest
    staged "$1" "$2" r --steps "$3" --resume
}
ok 'a step of 2 ranks' staged 2 2 r --steps 1
ok 'a checkpoint of the model, one optimiser file a rank' test -f \
    r/step-1/optimiser-1-of-2.safetensors
ok 'of 1' go_on 1 0 2
ok 'of 4' go_on 4 2 3
ok 'of 3' go_on 3 1 4
kd=llama/kd
same_run '2, 1, 4, 3 ranks = undisturbed' llama/p1 r
ok 'a step of 4 ranks at level 3' mpirun -n 4 student -q -j 1 -m $m -o z \
    --lr 1e-3 --micro 1 --schedule constant --shard-level 3 --steps 1 $kd
stream -q --resume z data | teacher -q -m llama/t -o rest
rm z/config.json
ok 'goes on in stages' mpirun -n 2 student -q -j 1 -m $m -o z --lr 1e-3 \
    --micro 1 --schedule constant --stages 1 --resume rest

# --- what is sent, and waited for ---
ok 'with a log' staged 2 2 log --comm-log log --steps 1
# 6 pieces of 64 x 32 numbers: two outputs and a gradient from rank 0, and the
# other way; the embedding's gradient there and its values back
sent() {
    awk -F '\t' -v op="$1" '$1 == op && $5 >= 8192 { n += $4 * $7 }
        END { print n + 0 }' "$2"
}
equal 'outputs and gradients of rank 0' "$(sent send log.tsv)" \
    $((4 * 6 * 64 * 32 * 3 + 4 * vocab * 32))
if awk -F '\t' '$1 == "recv" && $5 == 8192 { wait += $14 }
    END { exit !(wait > 0) }' log.tsv
then pass 'waiting for a stage is told'; else fail 'waiting for a stage is told'; fi
ok 'a timeline' staged 2 1 line --timeline line.json --steps 1
like 'of passes' '"name":"backward"' line.json
like 'and of waiting' '"name":"wait for another stage"' line.json

# --- memory: a stage of the model is there, and no more ---
config big.json 8 256 1024
sed -i 's/\("tie_word_embeddings": \)true/\1false/' big.json
parts() { # the numbers of -v: weights, gradients, moments
    sed -n 's/^student: memory in MB: .*weights \([0-9.]*\), gradients \([0-9.]*\), moments \([0-9.]*\),.*/\1 \2 \3/p' err
}
m=big.json
ok 'one process' student -v -m big.json -o big1 --micro 1 --steps 1 \
    --schedule constant one
parts >mem1
ok '4 ranks' mpirun -n 4 student -v -j 1 -m big.json -o big4 --micro 1 \
    --steps 1 --schedule constant --stages 1 one
parts >mem4
# of 8 equal blocks B and two matrices E rank 0 has 2 B and E
if paste mem1 mem4 | awk '{ exit !(NF == 6 && $4 / $1 < 0.3 && $5 / $2 < 0.3 &&
    $6 / $3 < 0.3 && $4 / $1 > 0.2) }'
then pass "memory of one, and of the first of 4: $(cat mem1), $(cat mem4) MB"
else fail "memory of one, and of the first of 4: $(cat mem1), $(cat mem4) MB"; fi

# plan(1) says the same of it.
ok 'a plan' plan -q -m big.json -T 64 --machine epyc --format tsv nodes=4 \
    pipeline=4 batch=4 micro=1 weight_bytes=4 grad_bytes=4 state_bytes=8
awk -F '\t' '{ mb[$1] = $2 / 1e6 } END { printf "%.1f %.1f %.1f\n",
    mb["memory.weights"], mb["memory.gradients"], mb["memory.states"] }' out >said
same 'as planned' said mem4

# --- what is refused ---
for with in '--shard-level 1' '--deterministic' '--wire bf16' '--overlap' \
    '--eval one'; do
    # shellcheck disable=SC2086 # two words
    status 2 "--stages $with" mpirun -n 2 student -q -j 1 -m llama/cut -o no \
        --stages 1 $with llama/kd
    like 'is refused by name' \
        "^student.*: --stages over ranks does not go with ${with%% *}" err
done
status 2 'more stages than blocks' mpirun -n 3 student -q -j 1 -m llama/cut \
    -o no --stages 3 llama/kd
like 'is refused' '3 ranks have 9 stages, .* 8 blocks' err
# shellcheck disable=SC2016 # the ranks' shells expand it
status 3 'rows of its own' mpirun -n 2 sh -c 'stream -q -B 4 -T 64 --batches 1 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    student -q -j 1 -m llama/cut -o no --stages 1'
like 'are refused' 'with --stages every rank reads all rows' err
done_testing
