#!/bin/sh
# report: a sweep of plan
. "${0%/*}/../lib/lib.sh"

mkdir run
plan -q -m llama-3.1-70b --machine h100 -B 512 -T 8192 tensor=8 pipeline=4 \
    virtual=5 nodes=8..32 recompute=none,full --format tsv >run/plan.tsv ||
    fail 'a sweep'
ok 'a page of it' report -q -o page.html run
like 'its table' '<th scope="col">efficiency</th>' page.html
for c in step speed speed.rank efficiency mfu memory full bubble exposed; do
    like "a chart of $c" "<figure id=\"plan-$c\">" page.html
done
unlike 'none of what it has not' 'plan-run.days' page.html
equal 'two series in each of nine' \
    "$(grep -c '</svg>recompute \(none\|full\)</span>' page.html)" 18
like 'over nodes' '>nodes</text>' page.html
done_testing
