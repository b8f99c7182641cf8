#!/bin/sh
# student --eval over ranks: held-out batches are shared, and the figures are
# those of one process to the bit
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'held-out batches over ranks' || done_testing
. "$top/tests/lib/ranks_train.sh"

# Held out: 7 batches of 3 rows, the last of fewer, longer than those trained on
tokenize -q -t tok "$top/corpus/held-out/en.jsonl" -o docs2.st &&
    shard write -q -o data2 docs2.st &&
    stream -q -B 3 -T 96 -s 3 --batches 7 data2 >ev &&
    teacher -q -m teacher --final -o evkd ev || exit 1

# judged RUN: its log but for the time, and what the checkpoint says of it
judged() {
    cut -f 1-6 "$1/held-out.tsv" >"$1.held"
    cat "$1"/best/optimiser*.safetensors | tr -c ' -~' '\n' |
        grep -o '"best_loss":"[^"]*"' | sort -u >>"$1.held"
}
eval='--deterministic --eval evkd --eval-every 2 --save 4 --micro 1'
# shellcheck disable=SC2086 # options
ok 'one process trains with --eval' student -q -j 1 -m s0 -o single --lr 1e-3 $eval kd
judged single
equal 'one process evaluates 4 times' "$(wc -l <single.held)" 6
for how in '2 0' '4 0' '2 3' '4 2' '4 3'; do
    n=${how% *} level=${how#* }
    # shellcheck disable=SC2086 # options
    ok "$n ranks at level $level train with --eval" over "$n" "r$n-$level" $eval \
        --shard-level "$level" kd
    judged "r$n-$level"
    same "$n ranks at level $level have the figures of one process" single.held \
        "r$n-$level.held"
    same_model "$n ranks at level $level have the weights of one process" single "r$n-$level"
done
# More ranks than batches
stream -q -B 3 -T 96 -s 3 --batches 1 data2 >ev1 || exit 1
for n in 1 4; do
    ok "$n ranks judge one held-out batch" over "$n" "few$n" --deterministic \
        --eval ev1 --eval-every 4 kd --shard-level $((n == 1 ? 0 : 3))
    cut -f 1-6 "few$n/held-out.tsv" >"few$n.held"
done
same '4 ranks have the figures of one for one held-out batch' few1.held few4.held

# A rank that judges for longer than --rank-timeout, with the only batch, while
# the other waits: the steps are short.
stream -q -B 448 -T 256 -s 3 --batches 1 data >large || exit 1
export RETORT_KERNELS=ref
ok 'a rank that judges for longer than --rank-timeout is not ended' \
    over 2 slow --eval large --eval-every 1 --steps 1 --rank-timeout 1 \
    --schedule constant b
equal 'judging took longer than --rank-timeout' "$(awk -F '\t' 'NR == 2 { print ($7 > 2) }' \
    slow/held-out.tsv)" 1
done_testing
