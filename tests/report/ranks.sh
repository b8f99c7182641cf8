#!/bin/sh
# report: what ranks sent each other, and how training over them scales
. "${0%/*}/../lib/lib.sh"

mkdir run
printf '%s\t%s\t%s\t%s\t%s\n' op from count bytes ms \
    all_gather_into_tensor 1024 30 46080 15.5 \
    all_gather_into_tensor 4194304 10 52428800 800 \
    reduce_scatter_tensor 2048 7 14336 3 >run/comm-log2.tsv
ok 'a log of collectives is shown' report -o page.html run
for id in count bytes time; do
    like "the page has the chart of $id" "id=\"comm-$id\"" page.html
done
# Each power of two between is a row; each value is told where it is drawn.
equal 'charts have rows from 1 KB to 4 MB' "$(grep -o '>[0-9]* [KM]B<' page.html |
    sort | uniq -c | awk '$1 == 3' | wc -l)" 13
for v in 30 10 7 50 0.8; do
    like "the value $v is a tick or a mark" "(^|[^0-9.])$v([^0-9]|\$)" page.html
done
like 'the charts name the operations' 'reduce_scatter_tensor' page.html

printf \
    'mode\tranks\tthreads\trows\ttokens/s\tsd\tefficiency\tmfu\thfu\texposed\twaited\tslowest\teta_h\n' \
    >run/scaling.tsv
printf '%s\t1\t1\t8\t100.5\t1.5\t1.000\t-\t-\t0\t0\t-\t2.5\n' weak \
    >>run/scaling.tsv
printf '%s\t2\t1\t16\t190.0\t2.5\t0.945\t-\t-\t0.05\t0.01\t1\t1.3\n' weak \
    >>run/scaling.tsv
ok 'a table of scaling is shown as text' report --text -o text run
like 'efficiency is shown in per cent' \
    '^weak  *2  *1  *16  *190\.0  *2\.5  *94\.5  *-  *-  *5\.0' text
ok 'a table of scaling is shown on a page' report -o page.html run
like 'the page has the efficiency of the text' '94\.5' page.html

printf 'ability\tmodel\titems\tshare\tshare_se\tchange\tchange_se\n' \
    >run/abilities.tsv
printf 'IFEval\t%s\t40\t%s\t0.0715\t%s\n' whole 0.275 '-	-' small 0.225 \
    '-0.05	0.0349' >>run/abilities.tsv
ok 'a table of abilities is shown as text' report --text -o text run
like 'abilities and their changes are shown in per cent' \
    '^IFEval  *small  *40  *22\.5  *7\.[12]  *-5\.0  *3\.5$' text
ok 'a table of abilities is shown on a page' report -o page.html run
like 'the page has the abilities of the text' '<td>-5\.0</td>' page.html

printf 'op\tfrom\tcount\tbytes\tms\nx\tmany\t1\t1\t1\n' >run/comm-log2.tsv
status 3 'a size that is no number is bad input' report -o page.html run
like 'the message for a bad size names file and line' \
    'comm-log2.tsv: line 2: ' err
unlike 'a file with a bad size is left out' 'comm-count' page.html
printf 'op\tfrom\tcount\tbytes\tms\nx\t-\t1\t1\t1\ny\t1e300\t1\t1\t1\n' \
    >run/comm-log2.tsv
ok 'sizes beyond all numbers are shown' report -o page.html run
done_testing
