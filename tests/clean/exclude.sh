#!/bin/sh
# clean --exclude: documents that share words with held-out text
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# By hand: what a word is, and what counts
cat >held.jsonl <<'END'
{"id": 7, "q": {"ctx": "The Café opens at TEN, and it (usually) closes at 11 or 12."},
 "ends": ["too short", "exactly eight words stand \"here\" for you now"]}
END
tr '\n' ' ' <held.jsonl >one.jsonl
{
    echo 'He says: "the cafe opens -- at ten and it usually closes at 11, or 12" so'
    echo 'He says: the cafe opens at ten and it usually closes at 11 of'
    echo 'cafe opens at ten and it usually closes at 11 or 12 q'
    echo 'café opens at ten and it usually closes at 11'
    echo 'opens at ten and it usually closes'
    echo 'before EXACTLY eight words stand here for you now, and after it much more text'
    echo 'exactly eight words stand here for you'
    echo 'too short'
    echo 'or 12 exactly eight words'
} >docs
ok '--exclude runs' run --exclude one.jsonl --exclude-report r --dropped d docs
equal 'documents with 13 shared words or a whole short item are dropped' \
    "$(why)" '0:excluded 3:excluded 5:excluded '
like 'the report says how many words are shared' \
    '"reason":"excluded","value":8,' d
tab=$(printf '\t')
cat >want <<END
input${tab}record${tab}source${tab}held_out${tab}item${tab}words${tab}bytes${tab}text
docs${tab}0${tab}docs${tab}one.jsonl${tab}0${tab}13${tab}all${tab}the cafe opens -- at ten and it usually closes at 11, or 12
docs${tab}3${tab}docs${tab}one.jsonl${tab}0${tab}10${tab}all${tab}café opens at ten and it usually closes at 11
docs${tab}5${tab}docs${tab}one.jsonl${tab}0${tab}8${tab}all${tab}EXACTLY eight words stand here for you now
END
same 'the table has the documents and the words' r want
ok '--exclude-words 5 runs' run --exclude one.jsonl --exclude-words 5 --dropped d docs
equal 'fewer words find more documents' "$(why)" '0:excluded 1:excluded 2:excluded 3:excluded 4:excluded 5:excluded 6:excluded '
ok '--exclude ends with a summary' clean --split line --exclude one.jsonl docs
like 'the summary has the sources' '^clean: share 13 words with held-out text: docs 3$' err
like 'the summary has the reason' 'dropped 3 documents, 0.000 MB: excluded 3$' err
like 'the summary counts texts that are too short' '1 texts of fewer than 8 words' err

# Planted copies, by an oracle: awk knows words of ASCII, the program Unicode.
# held: texts of held-out items; text: documents.  A line is a text.
awk 'function w() { return v[int(rand() * 800)] }
function line(n,   s) { s = w(); while (--n > 0) s = s " " w(); return s }
BEGIN { srand(11)
    for (i = 0; i < 800; i++) v[i] = sprintf("%c%c%d", 97 + i % 26,
        97 + int(i / 26) % 26, i % 7)
    for (i = 0; i < 300; i++) { h[i] = line(4 + int(rand() * 40)); print h[i] }
    for (i = 0; i < 4000; i++) {
        s = line(rand() < .3 ? 5 + int(rand() * 8) : 10 + int(rand() * 60))
        if (rand() < .4) {      # a part of a held-out text, in other dress
            n = split(h[int(rand() * 300)], x, " ")
            k = 6 + int(rand() * 10)
            a = 1 + int(rand() * (n > k ? n - k + 1 : 1)); c = ""
            for (j = a; j < a + k && j <= n; j++)
                c = c (rand() < .2 ? toupper(x[j]) : x[j]) \
                    (rand() < .2 ? ", -- " : " ")
            s = rand() < .2 ? c : substr(s, 1, int(rand() * length(s))) \
                ". " c "; " s
        }
        print s >"text" } }' >held </dev/null
cat >oracle <<'END'
function take(s) { s = tolower(s); gsub(/[^a-z0-9]+/, " ", s)
    return split(s, x, " ") }
function run(i, k,   s) { s = x[i]; while (--k > 0) s = s " " x[++i]; return s }
BEGIN { least = n < 8 ? n : 8 }
FNR == NR { m = take($0); k = m < n ? m : n
    if (m >= least) { size[k]; for (i = 1; i + k - 1 <= m; i++) any[run(i, k)] }
    for (k = least; k < n; k++)
        for (i = 1; i + k - 1 <= m; i++) short[run(i, k)]
    next }
{ m = take($0); hit = m >= least && m < n && (run(1, m) in short)
    for (k in size) for (i = 1; i + k - 1 <= m && !hit; i++)
        hit = (run(i, k) in any)
    if (hit) print FNR - 1 }
END
sed 's/.*/{"id": 1, "a": [true, {"b": ["&"]}]}/' held >planted.jsonl
for n in 13 8 10 5 20; do
    awk -v n=$n -f oracle held text >want
    for h in held planted.jsonl; do
        ok "$n words of $h are looked for" run --exclude $h --exclude-words $n \
            --exclude-report r text
        sed 1d r | cut -f 2 >got
        same "$n words of $h are found where awk finds them" got want
    done
done
[ "$(wc -l <want)" -gt 20 ] || fail 'at least 20 copies are planted'
# Every word of the table is in that item.
awk -F '\t' 'function plain(s) { s = tolower(s)
        gsub(/[^a-z0-9]+/, " ", s); sub(/^ /, "", s); return s " " }
    FNR == NR { item[FNR - 1] = " " plain($0); next }
    FNR > 1 && !index(item[$5], " " plain($8)) { bad++ }
    END { exit bad > 0 || FNR < 20 }' held r &&
    pass 'the item named has the words' || fail 'the item named has the words'

# Sources, files of any kind, threads
mkdir in
head -n 1500 text >in/aa.txt
tail -n +1501 text | sed 's/.*/{"text":"&"}/' | gzip -c >in/bb.jsonl.gz
awk -v n=13 -f oracle held text >want
mkdir h
head -n 100 held >h/x.txt
tail -n +101 held | sed 's/.*/{"a": "&"}/' | gzip -c >h/y.jsonl.gz
ok '--exclude takes files of any kind' clean --split line -j 1 --exclude h/x.txt \
    --exclude h/y.jsonl.gz --exclude-report r1 --stats in
awk 'NR > 0 { n[$1 >= 1500]++ } END { print "aa " n[0] ", bb " n[1] }' want >by
like 'excluded documents are counted by source' "held-out text: $(cat by)\$" err
equal 'the table of --stats counts them as dropped' "$(column dropped all out)" \
    "$(wc -l <want | tr -d ' ')"
for more in '-j 3' '-j 2 --exclude-words 13'; do
    # shellcheck disable=SC2086 # options
    ok "--exclude runs with $more" clean -q --split line $more --exclude h \
        --exclude-report r2 --stats in
    same "the table of $more is the same" r1 r2
done
ok '--exclude runs with --dedup' run --dedup exact --dropped d \
    --exclude one.jsonl docs docs
equal 'no excluded document counts as a duplicate' "$(why)" "$(echo '0:excluded 3:excluded
    5:excluded 0:excluded 1:dup-exact 2:dup-exact 3:excluded 4:dup-exact
    5:excluded 6:dup-exact 7:dup-exact 8:dup-exact ' | tr -s '\n ' ' ')"

# Going on
cat text text text text >in/cc.txt
ok 'a table of all is written' clean -q --split line --exclude h \
    --exclude-report r1 --stats in
# stream OPTION ...: clean and tokenize
stream() {
    clean -q --split line "$@" in | tokenize -q -t "$tok"
}
stream --exclude h >whole
for report in '' '--exclude-report r2'; do
    rm -rf dir
    head -c $(($(wc -c <whole) / 2)) whole >part
    status 3 "a directory breaks off${report:+ with }$report" shard write -q \
        --frame 2K --shard-size 1K -o dir part
    like "its beginning is kept${report:+ with }$report" '"messages": [1-9]' \
        dir/manifest.json
    # shellcheck disable=SC2086 # options
    status 0 "--resume goes on${report:+ with }$report" sh -c "clean -q \
        --split line --exclude h $report --resume dir in |
        tokenize -q -t '$tok' --resume dir |
        shard write -q --frame 2K --shard-size 1K -o dir"
    ok "the directory is read${report:+ with }$report" tokenize -q -t "$tok" \
        --decode --split line dir
    cp out text.1
    ok "the whole stream is read${report:+ with }$report" tokenize -q -t "$tok" \
        --decode --split line whole
    same "both have the same texts${report:+ with }$report" out text.1
done
same '--resume writes the whole table' r1 r2
rm -rf dir
shard write -q --frame 2K --shard-size 1K -o dir part 2>/dev/null
status 2 '--resume refuses other held-out text' clean -q --split line \
    --exclude h/x.txt --resume dir in
like 'the message says that options differ' 'begun with other options' err
status 2 '--resume refuses another --exclude-words' clean -q --split line \
    --exclude h --exclude-words 14 --resume dir in
status 2 '--resume refuses another --exclude-common' clean -q --split line \
    --exclude h --exclude-common 4 --resume dir in
status 2 '--resume refuses to go on without --exclude' clean -q --split line \
    --resume dir in

ok 'held-out text may be longer than --max-doc' clean -q --max-doc 60 \
    --split-long --exclude held text

# Usage
clean -q --split line held >held.docs
ok '--exclude takes each document of clean' run --exclude held.docs \
    --exclude-report r2 text
ok '--exclude takes the same text by lines' run --exclude held \
    --exclude-report r1 text
sed 's/held.docs/held/' r2 >r3
same 'documents and lines of held-out text exclude the same' r1 r3
status 1 'a held-out file that is not there is refused' run --exclude nofile docs
echo 'a,b' >held.csv
status 3 'held-out text of CSV is refused' run --exclude held.csv docs
like 'the message names CSV' 'held\.csv.*CSV' err
echo 'far too short' >tiny
status 3 'held-out text without enough words is refused' run --exclude tiny docs
like 'the message names that text' 'tiny: no text of 8 words' err
echo '{"a": "x' >bad.jsonl
status 3 'a damaged held-out record is refused' run --exclude bad.jsonl docs
like 'the message names the record' 'bad.jsonl: line 1, offset 8: ' err
status 2 '--exclude-words 101 is refused' run --exclude held --exclude-words 101 docs
status 2 '--exclude-report without --exclude is refused' run --exclude-report r docs
status 2 '--exclude-words without --exclude is refused' run --exclude-words 12 docs
status 2 '--exclude-common without --exclude is refused' run --exclude-common 9 docs
done_testing
