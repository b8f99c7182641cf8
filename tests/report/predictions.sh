#!/bin/sh
# report of a sweep of plan: on the page of a folder, and as an image of a file
. "${0%/*}/../lib/lib.sh"

mkdir run
plan cluster -q -m llama-3.1-70b --machine h100 -B 512 -T 8192 tensor=8 \
    pipeline=4 virtual=5 nodes=8..32 recompute=none,full --format tsv \
    >run/plan.tsv || fail 'a sweep is printed'
ok 'the page has a sweep' report -q -o page.html run
like 'the page has the table of a sweep' '<th scope="col">efficiency</th>' \
    page.html
for c in step speed speed.rank efficiency mfu memory full bubble exposed; do
    like "the page has a chart of $c" "<figure id=\"plan-$c\">" page.html
done
unlike 'the page draws no figure that the sweep lacks' 'plan-run.days' page.html
equal 'each of nine charts has two series' \
    "$(grep -c '</svg>recompute \(none\|full\)</span>' page.html)" 18
like 'charts are drawn over the first key' '>nodes</text>' page.html

# ---- a file is an image ----
cp run/plan.tsv sweep.tsv
ok 'a sweep in a file is drawn' report -q sweep.tsv
like 'the image of a sweep is SVG' \
    '^<svg xmlns="http://www.w3.org/2000/svg" viewBox=' sweep.svg
equal 'the image has a chart of each figure' \
    "$(grep -c '<g transform=' sweep.svg)" 9
equal 'elements of the image are closed' \
    "$(grep -o '<g[ >]' sweep.svg | wc -l)" \
    "$(grep -o '</g>' sweep.svg | wc -l)"
like 'the image names its series' '>recompute full</text>' sweep.svg
status 2 'the image of a sweep as text is refused' report --text sweep.tsv
sed 's/^nodes/compute/; 2,$s/^[0-9]*/bf16/' sweep.tsv >words.tsv
status 3 'a sweep over words is refused' report -q words.tsv
like 'the message for a sweep over words names the column' \
    '^report: words.tsv: .*compute' err
sed '3s/	.*//' sweep.tsv >torn.tsv
status 3 'a sweep with a short row is refused' report -q torn.tsv
like 'the message for a short row names file and line' \
    '^report: torn.tsv: line 3: ' err
done_testing
