#!/bin/sh
# report: charts of a search, a profile and sparse layers
. "${0%/*}/../lib/lib.sh"

# points ID: the marks of figure ID, a line each
points() {
    sed -n "/<figure id=\"$1\">/,/<\\/figure>/p" page.html |
        sed -n '/role="img"/,$p' | grep '^<g class="c' || true
}

mkdir run
{
    printf 'trial\tkind\ttaken\tparams\ttokens\tkl\tobjective\n'
    # of 2048 tokens, but one: halving scored it on fewer
    printf '%s\t%s\t0\t%s\t%s\t0.5\t%s\n' \
        1 whole 4000000 2048 2.0 2 greedy 3000000 2048 3.5 \
        3 greedy 3000000 2048 3.0 4 greedy 2000000 2048 3.2 \
        5 greedy 2000000 512 0.1 6 tabu 2000000 2048 2.9 \
        7 '<b>&' 2500000 2048 2.8
    printf '4\tgreedy\t1\t2000000\t2048\t0.5\t3.2\n' # the same, taken
} >run/search.tsv
ok 'the log of a search is shown' report -q -o page.html run
for id in search-path search-front; do
    like "the page of a search has $id" "<figure id=\"$id\">" page.html
done
unlike 'the page of a search has nothing else' \
    '(influence|outliers|layer-error|id="pruned")' page.html
printf '9\tgreedy\t1\t2000' >>run/search.tsv
cp page.html whole.html
sed -n '/id="search-path"/,/figure>/p' page.html >path
like 'a kind with two trials has a path' 'svg>greedy<' path
unlike 'a kind with one trial has no path' 'svg>(whole|tabu)<' path
ok 'a log with a line that is being written is shown' report -q -o page.html run
same 'a line that is being written is left out' page.html whole.html
points search-front >got
equal 'each trial on all tokens has a mark' "$(wc -l <got)" 6
like 'the name of a kind is escaped' \
    '</svg>&lt;b&gt;&amp;amp;</span>|</svg>&lt;b&gt;&amp;</span>' page.html
# The front: 2 million and 2.8 beats none of 2 million and 2.9; 2.5 and 2.8 does
# not beat it in size; 3 million at 3.0 is beaten; 4 million and 2.0 is not.
sed -n '/id="search-front"/,/figure>/p' page.html | grep 'c0 line' >got
equal 'the front has three corners' \
    "$(sed 's/[ML]/\
/g' got | grep -c '^[0-9.]* [0-9.]*')" 3

mkdir run/profile
{
    printf 'block\tinfluence\tattention\tmlp\n'
    printf '%s\t%s\t0.1\t0.2\n' 0 0.9 1 0.3 2 0.5
} >run/profile/blocks.tsv
{
    printf 'block\tinput\tchannel\tclass\tmax\tmean_sq\n'
    for b in 0 1; do
        printf '%s\tmlp\t%s\trest\t%s\t1.0\n' $b 0 1 $b 1 1000 $b 2 10 $b 3 -
        printf '%s\tmlp\t0\tfirst\t1e9\t1.0\n' $b
    done
    printf -- '-1\tmlp\t0\trest\t1000\t1.0\n1e9\tmlp\t0\trest\t1000\t1.0\n'
    printf -- '0\tmlp\t-5\trest\t1000\t1.0\n'
} >run/profile/channels.tsv
{
    printf 'block\tlayer\terror\n'
    printf '%s\t%s\t%s\n' 0 q 0.01 1 q 0.02 0 down 0.2 1 down -
} >run/sparse.tsv
ok 'a profile and sparse layers are shown' report -q -o page.html run
for id in influence outliers-mlp layer-error search-path; do
    like "the page of a profile has $id" "<figure id=\"$id\">" page.html
done
unlike 'inputs that are not there have no map' 'outliers-(attn|o|down)' \
    page.html
sed -n '/id="outliers-mlp"/,/figure>/p' page.html | grep -o \
    'opacity="[0-9.]*"' >got
printf 'opacity="1.00"\nopacity="0.33"\n%.0s' 1 2 >want
same 'the darkest is a thousand times the root mean square' got want
ok 'a folder of a profile alone is shown' report -q -o other.html run/profile
like 'the page of a profile alone has the influence' \
    '<figure id="influence">' other.html
printf 'block\tinfluence\n0\t1\n' >run/profile/blocks.tsv
status 3 "a profile that lacks columns is left out" report -q -o page.html run
like 'the page names the file that lacks columns' \
    'Left out: run/profile/blocks.tsv: .*no column attention' page.html
done_testing
