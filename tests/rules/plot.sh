#!/bin/sh
# scripts/plot-cost: the table and the plot of bench's rows layer_T, _B, _V
. "${0%/*}/../lib/lib.sh"

cat >rows.tsv <<END
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
status 2 'a plot without a name is refused with status 2' "$top/scripts/plot-cost" rows.tsv
like 'the message shows the usage' 'plot-cost rows.tsv' err
echo nothing >none.tsv
status 3 'a file without rows is refused with status 3' "$top/scripts/plot-cost" none.tsv none.svg
[ ! -e none.svg ] && pass 'no plot of nothing' || fail 'no plot of nothing'
if command -v gnuplot >/dev/null; then
    ok 'gnuplot draws the plot' "$top/scripts/plot-cost" rows.tsv cost.svg
    for text in 'tokens a row' 'rows of 512 tokens' attention 'head and losses'
    do
        like "it names $text" "$text" cost.svg
    done
else
    status 1 'a table is printed without gnuplot' "$top/scripts/plot-cost" rows.tsv cost.svg
    skip 'gnuplot draws the plot' 'gnuplot is not installed'
fi
cat >want <<END
| of | tokens/s a thread | blocks, us | attention, us | its share | head, us |
|---|---|---|---|---|---|
| B = 1 | 1000 | 800.0 | 100.0 | 10 % | 200.0 |
| T = 512 | 1000 | 800.0 | 100.0 | 10 % | 200.0 |
| T = 1024 | 800 | 900.0 | 200.0 | 16 % | 350.0 |
| V = 16384 | 2000 | 400.0 | 50.0 | 10 % | 100.0 |
END
same 'the table has a line for each row' out want
done_testing
