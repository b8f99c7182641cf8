#!/bin/sh
# student over ranks that have parts of gradients and parameters: the same bits,
# and what they send
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'gradients and parameters in parts' || done_testing
. "$top/tests/lib/train.sh"
first_and_last || exit 1
batches 4 >b
teacher -q -m teacher -o kd b || exit 1

# over N LEVEL RUN [option ...]: 4 steps by N ranks
over() {
    n=$1 level=$2 run=$3
    shift 3
    mpirun -n "$n" student -q -j 1 -m s0 -o "$run" --lr 1e-3 \
        --shard-level "$level" "$@"
}
same_run() {
    same "$1" "$2/model.safetensors" "$3/model.safetensors"
    for tap_f in "$2" "$3"; do
        cut -f 1-9 "$tap_f/metrics.tsv" >"$tap_f.metrics"
    done
    same "$1: metrics" "$2.metrics" "$3.metrics"
}

# --- the same bits ---
ok 'one process' student -q -m s0 -o d1 --lr 1e-3 --deterministic kd
for run in '2 2' '2 3' '3 2' '4 2' '4 3' '8 3'; do
    # shellcheck disable=SC2086 # two words
    set -- $run
    ok "$1 ranks, level $2" over "$1" "$2" "d$1-$2" --deterministic kd
    if [ "$1" != 3 ]; then
        same_run "$1 ranks, level $2 = one process" d1 "d$1-$2"
    fi
done
ok '3 ranks, level 1' over 3 1 d3-1 --deterministic kd
same_run '3 ranks, levels 1 and 2' d3-1 d3-2
ok '2 messages a step, one process' student -q -m s0 -o a1 --lr 1e-3 \
    --deterministic --grad-accum 2 kd
ok '2 messages a step, 4 ranks, level 3' over 4 3 a4 --deterministic \
    --grad-accum 2 kd
same_run '2 messages a step, 4 ranks, level 3 = one process' a1 a4
ok 'gathered ahead, level 3' over 2 3 do --deterministic --overlap \
    --comm-log ahead kd
same_run 'gathered ahead = one process' d1 do
if awk -F '\t' '$1 ~ /gather/ && $5 > 3000 { n++; bad += !($12 >= 0 && $13 >= 0)
        d = $12 + $13 - $8; bad += !(d < 1e-3 && d > -1e-3) }
    END { exit !(n > 0 && bad == 0) }' ahead.tsv
then pass 'what is exposed and what is hidden is all'
else fail 'what is exposed and what is hidden is all'; fi
ok 'recomputed, level 3' over 2 3 dr --deterministic --recompute kd
same_run 'recomputed, level 3 = one process' d1 dr

# --- stop, and go on with other ranks at another level ---
# go_on RUN N LEVEL STEPS: the rest of a stopped run, to so many steps
go_on() {
    rm -f "$1/config.json"
    stream -q --resume "$1" data | teacher -q -m teacher -o "$1.rest"
    over "$2" "$3" "$1" --deterministic --schedule constant --steps "$4" \
        --resume "$1.rest"
}
ok 'undisturbed' student -q -m s0 -o u --lr 1e-3 --deterministic \
    --schedule constant --steps 4 kd
ok 'a step of 8 ranks, level 3' over 8 3 r --deterministic --schedule constant \
    --steps 1 kd
ok 'of 1, level 0' go_on r 1 0 2
ok 'of 4, level 2' go_on r 4 2 3
ok 'of 2, level 3' go_on r 2 3 4
same_run '8, 1, 4, 2 ranks = undisturbed' u r
# of 3 ranks the tree is another one, the steps are as many
ok 'a step of 3 ranks, level 2' over 3 2 r3 --deterministic --schedule constant \
    --steps 1 kd
ok 'of 8, level 3' go_on r3 8 3 2
ok 'of 3, level 3' go_on r3 3 3 3
ok 'of 1, level 0' go_on r3 1 0 4
cut -f 1-9 r3/metrics.tsv >r3.metrics
near '3, 8, 3, 1 ranks' 1e-5 u.metrics r3.metrics

# --- judged beside training ---
ok 'judged, one process' student -q -m s0 -o j1 --lr 1e-3 --deterministic \
    --eval one --eval-every 2 kd
ok 'judged, 2 ranks, level 3' over 2 3 j2 --deterministic --eval one \
    --eval-every 2 --save 1 kd
for run in j1 j2; do
    cut -f 1-6 $run/held-out.tsv >$run.held
done
same 'the same evaluations' j1.held j2.held
same '... the same best' j1/best/model.safetensors j2/best/model.safetensors
same_run '... the same end' j1 j2

# --- rounding apart, without --deterministic; rows that ranks have of their own ---
# apart A B: the largest distance of two models over the largest number
apart() {
    for tap_f in "$1" "$2"; do
        od -A n -v -t f4 -w4 -j 4000 "$tap_f/model.safetensors" >"$tap_f.numbers"
    done
    paste "$1.numbers" "$2.numbers" | awk '
        { d = $1 - $2; d = d < 0 ? -d : d; x = $1 < 0 ? -$1 : $1
          if (!(d <= most)) most = d; if (x > top) top = x }
        END { print (top > 0 ? most / top : 1) }'
}
near_1e6() {
    if awk "BEGIN { exit !($2 <= 1e-6) }"; then pass "$1: $2"; else fail "$1: $2"; fi
}
one='--steps 1 --schedule constant --grad-accum 2'
# shellcheck disable=SC2086
{
    ok 'one step of one process' student -q -m s0 -o o1 --lr 1e-3 $one kd
    ok 'level 2, 2 ranks' over 2 2 o2 $one kd
    ok 'level 3, 3 ranks' over 3 3 o3 $one kd
}
near_1e6 'level 2, one step' "$(apart o1 o2)"
near_1e6 'level 3, one step' "$(apart o1 o3)"
# shellcheck disable=SC2016 # the ranks' shells expand it
own='stream -q -B 4 -T 64 -s 7 --batches 4 \
    --rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE data |
    teacher -q -m teacher | student -q -j 1 -m s0 --lr 1e-3 --shard-level 3'
ok 'streams of their own' mpirun -n 3 sh -c "$own -o own3 $one"
near_1e6 'level 3, one step' "$(apart o1 own3)"
status 0 'gradients in bf16 on the wire' mpirun -n 2 student -j 1 -m s0 -o w3 \
    --lr 1e-3 --shard-level 3 --wire bf16 --steps 1 --schedule constant kd
like 'what it costs is told' \
    '^student: gradients are sent in bf16: rounding changes them by 0\.[0-3][0-9] %' err

# --- what is sent: a model of 4 blocks, its head tied or not ---
config tied.json 4 32 48
sed 's/\("tie_word_embeddings": \)true/\1false/' tied.json >untied.json
# sent LEVEL MODEL: bytes of all 4 ranks in 2 steps, without small messages
sent() {
    rm -rf wire*
    mpirun -n 4 student -j 1 -m "$2" -o wire --comm-log wire --save 0 \
        --shard-level "$1" --steps 2 --schedule constant kd 2>err || return
    cat wire.tsv wire-[123].tsv |
        awk -F '\t' '$1 ~ /tensor/ && $5 > 3000 { n += $4 * $7 } END { print n }'
}
# Of n ranks all but one send each part, 4 bytes a number.  A step: gradients or
# parameters besides the sums of gradients; at level 3 the backward pass finds
# two of four blocks in the buffers.  At its end all is gathered for the
# checkpoint, and again for the result, of which a tied embedding is there.
for model in tied untied; do
    for level in 0 1 2 3; do
        got=$(sent $level $model.json)
        sed -n 's/^student: \([0-9]*\) parameters.*/\1/p' err >params
        if awk -v got="$got" -v E=$((vocab * 32)) -v level=$level \
            -v heads="$([ $model = tied ] && echo 1 || echo 2)" '
            { P = $1; block = (P - 32 - heads * E) / 4
              want = 2 * 2 * P
              if (level == 3)
                  want += 2 * 2 * block + 2 * P - (heads == 1 ? E : 0)
              off = got / (3 * 4 * want) - 1
              print "off by " off
              exit !(off <= 0.03 && off >= -0.03) }' params >off
        then
            pass "$model, level $level: $got bytes sent"
        else
            fail "$model, level $level: $got bytes sent, $(cat off)"
        fi
    done
done

# --- two nodes of two ranks, which keep copies ---
# The same model, 2 messages a step: between nodes parameters travel once a step
# and for the checkpoint.  In a node, in shares of a half: in a step's second
# pass, forward, the two blocks that the first has not left, and two in each
# backward pass; at the end four for the result.
ok 'copies in nodes' env RETORT_NODE=2 mpirun -n 4 -x RETORT_NODE student -q \
    -j 1 -m tied.json -o nodes --comm-log nodes --save 0 --shard-level 3 \
    --node-copy --deterministic --grad-accum 2 --schedule constant kd
ok 'no copies' mpirun -n 4 student -j 1 -m tied.json -o plain --save 0 \
    --shard-level 3 --deterministic --grad-accum 2 --schedule constant kd
same_run 'copies in nodes' plain nodes
sed -n 's/^student: \([0-9]*\) parameters.*/\1/p' err >params
P=$(cat params)
block=$(((P - 32 - vocab * 32) / 4))
# gathered GROUP: bytes of all ranks, without small messages
gathered() {
    cat nodes.tsv nodes-[123].tsv | awk -F '\t' -v group="$1" '
        $1 ~ /gather/ && $2 == group && $5 > 3000 { n += $4 * $7 }
        END { print n + 0 }'
}
equal 'between nodes' "$(gathered world)" $((3 * 4 * 3 * (P - 32)))
equal 'in nodes' "$(gathered node)" $((2 * 4 * block * (2 * (2 + 2 + 2) + 4)))
done_testing
