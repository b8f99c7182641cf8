#!/bin/sh
# recipes/scaling.sh: its table has the form that report reads
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a table of scaling' || done_testing
. "$top/tests/lib/train.sh"
scaling() {
    sh "$top/recipes/scaling.sh" -m teacher -d data -B 4 -T 64 -s 3 -w 1 "$@"
}
ok '1 and 4 ranks' scaling -n '1 4' -p 50 -o f -- -q --recompute
like 'what the tokens take is said, first' '^run.hours	' err
mkdir run && cp out run/scaling.tsv
equal 'a line each, weak and strong' "$(cut -f 1-4 out | tr '\t\n' ' ;')" \
    'mode ranks threads rows;weak 1 1 4;weak 4 1 16;strong 1 1 4;strong 4 1 4;'
# operations a token by plan: with --recompute those of a forward pass more
equal 'HFU over MFU' "$(awk -F '\t' 'FNR == NR { v[$1] = $2; next }
    $1 == "strong" && $2 == 1 {
        x = ($9 / $8) / (1 + v["token.forward"] / v["token.train"])
        print (x > 0.999 && x < 1.001) }' f/plan.tsv out)" 1
equal 'efficiency begins with 1' "$(sed -n 2p out | cut -f 7)" 1.000
unlike 'numbers' 'nan|inf' out
ok 'report' report --text -o text run
like 'shows it' '^strong  *4  *1  *4 ' text
ok 'without GFLOPS' scaling -n 1 -o g
like 'no share of them' '^weak	1	1	4	[0-9.]*	[0-9.]*	1.000	-	-	' out
status 2 'a folder that is there' scaling -n 1 -o g
done_testing
