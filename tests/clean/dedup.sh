#!/bin/sh
# clean --dedup: exact and near duplicates, the same for any memory and -j
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
ok '--dedup exact runs' run --dedup exact --dropped d x
equal 'texts with the same words are dropped' "$(why)" \
    '1:dup-exact 4:dup-exact 9:dup-exact '
equal 'texts with other words are kept' "$(documents out)" 9
cat x x >y
ok 'all texts twice are read' run --dedup exact y
equal 'each text is kept once' "$(documents out)" 9
ok 'two files with the same texts are read' run --dedup exact --stats x y
equal 'duplicates are found over files' "$(column documents y out)" 0

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
    ok "$2 reads pairs with $1 words of their own" run --dedup "$2" --stats p
    kept=$(column documents p out) gone=$(column dropped p out)
    equal "$2 keeps all first ones of $1" \
        "$((kept + gone)) $((kept >= 2000))" '4000 1'
    echo "# caught $gone of 2000"
    if awk -v n="$gone" -v low="$3" -v high="$4" \
        'BEGIN { exit !(n / 2000 >= low && n / 2000 <= high) }'; then
        pass "$2 catches a share of $3 to $4"
    else
        fail "$2 catches a share of $3 to $4"
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

# Scripts without spaces: pairs of 100 characters from first to first + range,
# of which `own` at the front differ.  Of runs of five characters 96 - own are
# shared, as of words above.
letters() {
    LC_ALL=C awk -v n=1000 -v own="$1" -v first="$2" -v range="$3" '
        function put(c) {
            return sprintf("%c%c%c", 224 + int(c / 4096),
                128 + int(c / 64) % 64, 128 + c % 64)
        }
        BEGIN { srand(11)
            for (d = 0; d < n; d++) { a = b = ""
                for (k = 0; k < 100; k++) {
                    s = put(first + int(rand() * range))
                    a = a s
                    b = b (k < own ? put(first + int(rand() * range)) : s) }
                print a; print b } }'
}
# 0x4e00: ideographs; 0x0e01: Thai consonants
for script in 'Chinese 19968 5000' 'Thai 3585 46'; do
    # shellcheck disable=SC2086 # a name and two numbers
    set -- $script
    letters 10 "$2" "$3" >p
    ok "minhash reads $1" run --dedup minhash --stats p
    gone=$(column dropped p out)
    echo "# caught $gone of 1000"
    if [ "$gone" -ge 900 ] && [ "$gone" -le 960 ]; then
        pass "minhash catches pairs of $1 that differ in 10 of 100 characters"
    else
        fail "minhash catches pairs of $1 that differ in 10 of 100 characters"
    fi
    letters 60 "$2" "$3" >p
    ok "minhash reads $1 of which most differs" run --dedup minhash --stats p
    gone=$(column dropped p out)
    if [ "$gone" -le 20 ]; then
        pass "minhash keeps pairs of $1 that differ in 60 of 100 characters"
    else
        fail "minhash keeps pairs of $1 that differ in 60 of 100 characters" \
            "$gone of 1000 were dropped"
    fi
done

# Memory, threads, order
awk 'BEGIN { srand(3); for (d = 0; d < 16000; d++) {
    k = int(rand() * 12000); s = ""
    for (w = 0; w < 12; w++) s = s sprintf("v%dz ", (k * 131 + w * 7) % 99991)
    print s (rand() < .5 ? "tail" : "") } }' >big
ok 'one thread drops duplicates' run --dedup exact --dedup minhash -j 1 \
    --dropped d1 -o s1 big
for more in '-j 3' '-j 1 --mem 1M' '-j 4 --mem 1M'; do
    # shellcheck disable=SC2086 # options
    ok "$more drops duplicates" run --dedup exact --dedup minhash $more \
        --dropped d2 -o s2 big
    same "$more keeps the same documents" s1 s2
    same "$more drops the same documents" d1 d2
done
RETORT_KERNELS=ref
export RETORT_KERNELS
ok 'code without vectors drops duplicates' run --dedup exact --dedup minhash \
    --dropped d2 -o s2 big
same 'code without vectors drops the same documents' d1 d2
unset RETORT_KERNELS
ok 'little memory is enough' clean -v --split line --dedup minhash \
    --mem 1M --stats big
like 'little memory needs files, and merges them' \
    'keys went to ([1-9][0-9]|[89]) files' err
sort -u big | wc -l >want
ok '--dedup exact runs alone' run --dedup exact --stats --mem 1M big
equal '--dedup exact keeps what sort -u keeps' "$(column documents big out)" \
    "$(tr -d ' ' <want)"
mkdir full
TMPDIR=$PWD/full
export TMPDIR
ok 'files go to TMPDIR' run --dedup minhash --mem 1M --stats big
equal 'files in TMPDIR have no names' "$(ls full)" ''
TMPDIR=$PWD/none
status 1 'a TMPDIR that is not there is refused' run --dedup minhash --mem 1M \
    --stats big
like 'the message names TMPDIR' 'none/retort-' err
done_testing
