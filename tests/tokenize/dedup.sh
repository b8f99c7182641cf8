#!/bin/sh
# tokenize --dedup: exact and near duplicates, the same for any memory and -j
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# Exact: the same words
{
    echo 'The café opens at ten.'
    echo 'the CAFE opens, at ten'
    echo 'The café opens at eleven.'
    printf 'The cafe\314\201 \357\254\201ne\n'
    echo 'the cafe fine'
    echo 'It costs 12 euro'
    echo 'It costs 13 euro'
    echo '!!!'
    echo '???'
    echo '!!!'
    echo 'caf e'
    echo 'cafe'
} >x
ok '--dedup exact' run --dedup exact --dropped d --ids x
equal 'drops the same words' "$(why)" '1:dup-exact 4:dup-exact 9:dup-exact '
equal 'and keeps the others' "$(wc -l <out)" 9
cat x x >y
ok 'all twice' run --dedup exact --ids y
equal 'is all once' "$(wc -l <out)" 9
ok 'over inputs' run --dedup exact --stats x y
like 'too' '^y	0	' out

# Near: 2000 pairs that share 88 of 96 words in the middle; of runs of five
# words 84 of 100: a Jaccard similarity of 84/100 or so, as awk counts it.
pairs() {
    awk -v n="$1" -v own="$2" 'BEGIN { srand(7)
        for (d = 0; d < n; d++) { a = b = ""
            for (w = 0; w < 100; w++) {
                s = sprintf("w%07dx ", d * 100 + w)
                gsub(/0/, "o", s)
                a = a s
                b = b (w < own ? "q" : "") s }
            print a; print b } }'
}
# own of 100 words differ at the front: 96 - own runs of 96 + own are shared
caught() {
    pairs 2000 "$1" >p
    ok "pairs with $1 words of their own" run --dedup "$2" --stats p
    equal 'all first ones are kept' "$(awk -F '\t' '$1 == "p" {
        print $2 + $13, ($2 >= 2000) }' out)" '4000 1'
    awk -F '\t' -v low="$3" -v high="$4" '$1 == "p" { c = $13 / 2000
        print "# caught", c; exit !(c >= low && c <= high) }' out >share
    cat share
    if awk '{ exit !($3 >= '"$3"' && $3 <= '"$4"') }' share; then
        pass "$2 catches $3 to $4 of them"
    else
        fail "$2 catches $3 to $4 of them"
    fi
}
# J = 85.33/106.67 = 0.8: 1 - (1 - 0.8^8)^14 = 0.9236, sd 0.0059
caught 10.667 minhash 0.90 0.945
# J = 0.5: (96 - 32)/(96 + 32): 0.0534, sd 0.005
caught 32 minhash 0.033 0.074
# one band of one row catches J
caught 32 minhash:1x1 0.455 0.545
# exact text
caught 0 minhash 1 1

# Memory, threads, order
awk 'BEGIN { srand(3); for (d = 0; d < 16000; d++) {
    k = int(rand() * 12000); s = ""
    for (w = 0; w < 12; w++) s = s sprintf("v%dz ", (k * 131 + w * 7) % 99991)
    print s (rand() < .5 ? "tail" : "") } }' >big
ok 'one thread' run --dedup exact --dedup minhash -j 1 --dropped d1 \
    -o s1 big
for more in '-j 3' '-j 1 --mem 1M' '-j 4 --mem 1M'; do
    # shellcheck disable=SC2086 # options
    ok "$more" run --dedup exact --dedup minhash $more --dropped d2 -o s2 big
    same 'the same documents' s1 s2
    same 'the same dropped' d1 d2
done
RETORT_KERNELS=ref
export RETORT_KERNELS
ok 'without vectors' run --dedup exact --dedup minhash --dropped d2 -o s2 big
same 'the same' d1 d2
unset RETORT_KERNELS
ok 'little memory' tokenize -v -t "$tok" --split line --dedup minhash \
    --mem 1M --stats big
like 'needs files, and merges them' 'keys went to ([1-9][0-9]|[89]) files' err
sort -u big | wc -l >want
ok 'exact alone' run --dedup exact --stats --mem 1M big
equal 'keeps what sort -u keeps' "$(awk -F '\t' '$1 == "big" { print $2 }' \
    out)" "$(tr -d ' ' <want)"
mkdir full
TMPDIR=$PWD/full
export TMPDIR
ok 'files in TMPDIR' run --dedup minhash --mem 1M --stats big
equal 'have no names' "$(ls full)" ''
TMPDIR=$PWD/none
status 1 'a TMPDIR that is not there' run --dedup minhash --mem 1M --stats big
like 'is named' 'none/retort-' err
done_testing
