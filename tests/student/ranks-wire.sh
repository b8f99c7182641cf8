#!/bin/sh
# student --wire bf16: what many steps come to is nearer to that of fp32 than
# what another order of the data comes to
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'many steps with a bf16 wire' || done_testing
. "$top/tests/lib/train.sh"
is_long && steps=300 || steps=40
for s in 1 2; do
    stream -q -B 4 -T 64 -s $s --batches "$steps" -o order$s data || exit 1
done

# train RUN INPUT [option ...]
train() {
    run=$1 input=$2
    shift 2
    mpirun -n 2 student -q -j 1 -m new.json -o "$run" --lr 1e-3 --save 0 \
        --eval one --eval-every "$steps" "$@" "$input"
}
# loss RUN: held-out, of the end
loss() {
    awk -F '\t' -v steps="$steps" '$1 == steps { print $4 }' "$1/held-out.tsv"
}
ok "$steps steps with an fp32 wire are made" train f32 order1
ok 'steps with a bf16 wire are made' train bf16 order1 --wire bf16
ok 'steps in another order of the data are made' train other order2
if awk -v a="$(loss f32)" -v b="$(loss bf16)" -v c="$(loss other)" 'BEGIN {
    wire = b - a; seed = c - a
    if (wire < 0) wire = -wire
    if (seed < 0) seed = -seed
    print "loss " a ", " wire " by the wire, " seed " by the order"
    exit !(a > 0 && b > 0 && c > 0 && wire > 0 && wire <= 0.1 * seed) }' >out
then pass "$(cat out)"; else fail "$(cat out)"; fi
done_testing
