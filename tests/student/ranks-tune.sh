#!/bin/sh
# student --tune-comm: what it tries changes no bits, and what it finds is kept
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'segments of messages' || done_testing
. "$top/tests/lib/ranks_train.sh"
stream -q -B 2 -T 32 -s 7 --batches 40 -o many data

# train RUN STEPS INPUT [option ...]
train() {
    run=$1 steps=$2 input=$3
    shift 3
    mpirun -n 2 student -j 1 -m s0 -o "$run" --lr 1e-3 --schedule constant \
        --steps "$steps" "$@" "$input"
}
# found KEY RUN: the numbers of that name in its tunings
found() {
    sed -n '/"tuned"/,$s/^ *"'"$1"'": \([0-9]*\),*$/\1/p' "$2/options.json" |
        tr '\n' ' '
}
for level in 0 3; do
    ok "level $level" train plain 36 many --shard-level $level
    ok 'tuned' train tuned 18 many --shard-level $level --tune-comm
    segment=$(found segment tuned)
    like 'it is told' "^student: --tune-comm: segments of ${segment}numbers" err
    equal 'and recorded' "$(found step tuned); $(found ranks tuned)" '17 ; 2 '
    equal 'with all five' "$(grep -cE \
        '^ *"(4096|16384|65536|262144|1048576)": [0-9.e-]+,?$' \
        tuned/options.json)" 5
    rm tuned/config.json
    stream -q --resume tuned -o rest data
    ok 'resumed' train tuned 36 rest --shard-level $level --tune-comm --resume
    equal 'it is tried again' "$(found step tuned)" '17 35 '
    same_run "level $level, tuned or not" plain tuned
    rm -r plain tuned rest
done
done_testing
