#!/bin/sh
# student --tune-comm: what it tries changes no bits, and what it finds is kept
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'sums that are tuned' || done_testing
. "$top/tests/lib/ranks_train.sh"
stream -q -B 2 -T 32 -s 7 --batches 60 -o many data

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
    ok "level $level" train plain 56 many --shard-level $level
    ok 'tuned' train tuned 27 many --shard-level $level --tune-comm
    segment=$(found segment tuned) rings=$(found rings tuned)
    like 'segments are told' \
        "^student: --tune-comm: segment ${segment% }: [0-9.e+]+ GB/s" err
    like 'rings are told' "^student: --tune-comm: rings ${rings% }: [0-9.e+]+ GB/s" err
    equal 'and recorded' "$(found step tuned); $(found ranks tuned)" '26 ; 2 '
    equal 'with all that were tried' "$(grep -cE \
        '^ *"(4096|16384|65536|262144|1048576|1|2|4)": [0-9.e-]+,?$' \
        tuned/options.json)" 8
    rm tuned/config.json
    stream -q --resume tuned -o rest data
    ok 'resumed' train tuned 29 rest --shard-level $level --resume
    like 'as was found' "^student: segment ${segment% }, as --tune-comm found" err
    like '... rings, too' "^student: rings ${rings% }, as --tune-comm found" err
    rm tuned/config.json
    stream -q --resume tuned -o rest data
    ok 'resumed, to be tuned' train tuned 56 rest --shard-level $level \
        --tune-comm --resume
    equal 'it is tried again' "$(found step tuned)" '26 55 '
    unlike 'from the start' 'as --tune-comm found' err
    same_run "level $level, tuned or not" plain tuned
    rm -r plain tuned rest
done
ok 'no ring' train tree 18 many --deterministic --tune-comm
equal 'none is tried' "$(found step tree); $(found rings tree)" '17 ; '
unlike 'nor used' 'rings' err
ok 'ranks that were not tuned' mpirun -n 3 sh -c 'stream -q --resume tree data |
    student -j 1 -m s0 -o tree --lr 1e-3 --schedule constant --deterministic \
        --steps 19 --resume'
unlike 'go on as they are' 'as --tune-comm found' err
done_testing
