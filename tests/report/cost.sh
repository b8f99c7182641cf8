#!/bin/sh
# report of rows of bench: how the cost of a training step grows with length,
# rows and vocabulary, as an image and as a table
. "${0%/*}/../lib/lib.sh"

cat >rows.tsv <<'END'
# threads: 2; load when starting: 0.10
# name	value	unit	reference	fraction
layer_1.7b	150.1	GF/s	148.0	1.014
# layer_1.7b: 90 tokens/s, blocks 150 GF/s, head 149 GF/s; us a token: blocks 9000.00, attention 100.00, head 2000.00
layer_T1024	120.0	GF/s	150.0	0.800
# layer_T1024: 800 tokens/s, blocks 120.0 GF/s, head 150.0 GF/s; us a token: blocks 900.00, attention 200.00, head 350.00
layer_T512	120.0	GF/s	150.0	0.800
# layer_T512: 1e+03 tokens/s, blocks 120.0 GF/s, head 150.0 GF/s; us a token: blocks 800.00, attention 100.00, head 200.00
# layer_B1: 1000 tokens/s, blocks 120.0 GF/s, head 150.0 GF/s; us a token: blocks 800.00, attention 100.00, head 200.00
# layer_V16384: 2000 tokens/s, blocks 120.0 GF/s, head 150.0 GF/s; us a token: blocks 400.00, attention 50.00, head 100.00
END
ok 'rows of bench are drawn' report -q rows.tsv
for text in 'tokens of a row' 'rows of 512 tokens' 'ids of the vocabulary' \
    'attention' 'head and losses'; do
    like "the image of bench names $text" ">$text</text>" rows.svg
done
equal 'the image of bench has a chart for T, B and V' \
    "$(grep -c '<g transform=' rows.svg)" 3
# T over 2^9 to 2^10, widened by 2 %: 1024 stands at 9.98 of 8.98 .. 10.02.
like 'a power of two is a tick' 'class="t m">1024</text>' rows.svg
unlike 'a number between powers of two is no tick' 'class="t m">7[0-9][0-9]<' \
    rows.svg
# 1250 us is the most of the panel T: all of 1024 tokens, blocks and head.
like 'the cost of all is the sum of blocks and head' '>1200</text>' rows.svg
equal 'elements of the image of bench are closed' \
    "$(grep -o '<g[ >]' rows.svg | wc -l)" "$(grep -o '</g>' rows.svg | wc -l)"
ok 'rows of bench are a table' report -q --text rows.tsv
cat >want <<'END'
step    tokens/s blocks, us attention, us its share head, us
B=1         1000      800.0         100.0      10 %    200.0
T=512       1000      800.0         100.0      10 %    200.0
T=1024       800      900.0         200.0      16 %    350.0
V=16384     2000      400.0          50.0      10 %    100.0
END
same 'the table is sorted by B, T and V' out want
head -n 4 rows.tsv >none.tsv
status 3 'rows of bench without layers are refused' report -q none.tsv
like 'the message for no layers names the file and the rows' \
    '^report: none.tsv: .*layer_' err
[ ! -e none.svg ] && pass 'no image is written without layers' ||
    fail 'no image is written without layers'
sed 's/us a token: blocks 900.00/us a token: blocks nan/' rows.tsv >nan.tsv
ok 'a cost that is no number is left out' report -q -o - nan.tsv
unlike 'a cost that is no number breaks no path' 'nan' out
done_testing
