#!/bin/sh
# prune sparsify: ended in the middle of its walk it leaves nothing, and run
# again it writes the same bytes
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

config wide.json 12 96 256
student -q -m wide.json -t tok -o wide --lr 1e-3 one || exit 1
batches 30 >b
# sparse NAME [option ...]
sparse() {
    name=$1
    shift
    prune sparsify -m wide -o "$name" --report "$name.tsv" --calib-rows 0 \
        --method "$method" "$@" b
}
method=obs
sparse whole -q 2>err || { method=wanda && sparse whole -q; } || exit 1

for signal in TERM KILL; do
    prune sparsify -v -m wide -o cut --report cut.tsv --calib-rows 0 \
        --method $method b 2>err &
    pid=$!
    await grep -q 'block 1, ' err
    kill -$signal $pid
    wait $pid 2>/dev/null && fail "$signal: it was not ended"
    like "$signal ends sparsify behind block 1" 'block 1, ' err
    unlike "$signal ends sparsify before the last block" 'block 11, ' err
    equal "$signal leaves no output of sparsify" \
        "$(ls -d cut cut.tmp cut.tsv 2>&-)" ''
    ok "sparsify runs again after $signal" sparse cut -q
    for f in model.safetensors config.json; do
        same "after $signal sparsify writes the same $f" whole/$f cut/$f
    done
    for f in whole cut; do cut -f 1-10 $f.tsv >$f.report; done
    same "after $signal sparsify writes the same report" whole.report cut.report
    rm -r cut cut.tsv
done
done_testing
