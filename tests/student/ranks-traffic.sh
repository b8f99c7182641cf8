#!/bin/sh
# student over ranks: the bytes that they send at each level, and between nodes
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'bytes sent' || done_testing
. "$top/tests/lib/ranks_train.sh"
batches 4 >b
teacher -q -m teacher -o kd b || exit 1

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
            pass "$model at level $level sends $got bytes"
        else
            fail "$model at level $level sends $got bytes, $(cat off)"
        fi
    done
done

# --- two nodes of two ranks, which keep copies ---
# The same model, 2 messages a step: between nodes parameters travel once a step
# and for the checkpoint, to each of the two once, and what a node then has of
# both, once more in it.  From the copies, in shares of a half: in a step's second
# pass, forward, the two blocks that the first has not left, and two in each
# backward pass; at the end four for the result.
ok 'ranks keep copies in nodes' env RETORT_NODE=2 mpirun -n 4 -x RETORT_NODE student -q \
    -j 1 -m tied.json -o nodes --comm-log nodes --save 0 --shard-level 3 \
    --node-copy --deterministic --grad-accum 2 --schedule constant kd
ok 'ranks train without copies' mpirun -n 4 student -j 1 -m tied.json -o plain --save 0 \
    --shard-level 3 --deterministic --grad-accum 2 --schedule constant kd
same_run 'copies in nodes change no bit' plain nodes
sed -n 's/^student: \([0-9]*\) parameters.*/\1/p' err >params
P=$(cat params)
block=$(((P - 32 - vocab * 32) / 4))
# gathered GROUP: bytes of all ranks, without small messages
gathered() {
    cat nodes.tsv nodes-[123].tsv | awk -F '\t' -v group="$1" '
        $1 ~ /gather/ && $2 == group && $5 > 3000 { n += $4 * $7 }
        END { print n + 0 }'
}
equal 'parameters travel once between nodes' "$(gathered across)" $((4 * 3 * (P - 32)))
equal 'parameters are gathered in nodes' "$(gathered node)" \
    $((2 * 4 * 3 * (P - 32) + 2 * 4 * block * (2 * (2 + 2 + 2) + 4)))
equal 'nothing is gathered over all ranks' "$(gathered world)" 0
done_testing
