#!/bin/sh
# recipes/scaling.sh: its table has the form that report reads
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a table of scaling' || done_testing
. "$top/tests/lib/train.sh"
scaling() {
    sh "$top/recipes/scaling.sh" -m teacher -d data -B 4 -T 64 -s 3 -w 1 "$@"
}
ok 'scaling.sh runs 1 and 4 ranks' scaling -n '1 4' -p 50 -o f -- -q --recompute
like 'scaling.sh tells first how long it takes' '^run.hours	' err
mkdir run && cp out run/scaling.tsv
equal 'scaling.sh writes a line each, weak and strong' "$(cut -f 1-4 out | tr '\t\n' ' ;')" \
    'mode ranks threads rows;weak 1 1 4;weak 4 1 16;strong 1 1 4;strong 4 1 4;'
# operations a token by plan: with --recompute those of a forward pass more
equal 'HFU over MFU is that of the plan' "$(awk -F '\t' 'FNR == NR { v[$1] = $2; next }
    $1 == "strong" && $2 == 1 {
        x = ($9 / $8) / (1 + v["token.forward"] / v["token.train"])
        print (x > 0.999 && x < 1.001) }' f/plan.tsv out)" 1
equal 'the first efficiency is 1' "$(sed -n 2p out | cut -f 7)" 1.000
unlike 'all figures are finite numbers' 'nan|inf' out
ok 'report reads the folder' report --text -o text run
like 'report shows the table' '^strong  *4  *1  *4 ' text
ok 'scaling.sh runs without GFLOPS' scaling -n 1 -o g
like 'a run without GFLOPS has no share of them' '^weak	1	1	4	[0-9.]*	[0-9.]*	1.000	-	-	' out
status 2 'a folder that is there is refused' scaling -n 1 -o g
done_testing
