#!/bin/sh
# report of rows of recipes/results: an image of what is kept, by tokens and size
. "${0%/*}/../lib/lib.sh"

tr ' ' '\t' >rows.tsv <<'END'
run model tokens parameters documents kl recovery command
a teacher - 4000000 40 0.0 100.0 make
a pruned - 2000000 40 1.5 20.0 make
a distilled 100000 2000000 40 0.9 60.0 make
a rival 100000 2000000 40 1.1 50.0 make
b distilled 200000 3000000 40 0.7 80.0 make
peer distilled 100000 2000000 - 0.1 - other
END
ok 'rows of runs are drawn' report -q rows.tsv
like 'rows of runs make an SVG image' \
    '^<svg xmlns="http://www.w3.org/2000/svg" viewBox=' rows.svg
equal 'elements of the image are closed' \
    "$(grep -o '<g[ >]' rows.svg | wc -l)" "$(grep -o '</g>' rows.svg | wc -l)"
for text in 'tokens trained on' 'million parameters' 'recovery, %' \
    'KL from the teacher, nats'; do
    like "the image has the axis $text" ">$text</text>" rows.svg
done
# Marks: by tokens distilled 2, rival 1; by size pruned 1 more; in two charts
# each; and six in legends, two of trained models, three by size, twice.
equal 'each row is a mark and the peer none' \
    "$(grep -c '^<g class="c[0-9]">' rows.svg)" "$(((3 + 4 + 2 + 3) * 2))"
# 200k of 98k..202k tokens across, 80 % of 48.8..81.2 up
like 'a mark has its place and its colour' \
    '<g class="c2"><circle cx="399.2" cy="33.3"' rows.svg
awk -F '\t' -v OFS='\t' 'NR > 1 { $7 = "-" } 1' rows.tsv >plain.tsv
ok 'rows without tasks are drawn' report -q -o - plain.tsv
unlike 'rows without tasks have no recovery' recovery out
like 'rows without tasks have KL' 'KL from the teacher, nats' out
awk -F '\t' -v OFS='\t' '$2 == "rival" { $2 = "<b>&" } 1' rows.tsv >bad.tsv
ok 'rows with odd names are drawn' report -q -o - bad.tsv
unlike 'odd names are escaped' '<b>' out
head -n 2 rows.tsv >none.tsv
status 3 'rows without a cut model are bad input' report -q none.tsv
like 'the message for no cut model names the file' \
    'none.tsv: .*no row of a cut model' err
sed 's/0.9/x/' rows.tsv >word.tsv
status 3 'a row with a word for a number is bad input' report -q word.tsv
like 'the message for a word names line and column' \
    'word.tsv: line 4: kl is not a number' err
status 2 'rows of runs as text are refused' report --text rows.tsv
done_testing
