#!/bin/sh
# clean --exclude: paragraphs that share words with held-out documents are cut,
# and words that many of these have do not count
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# page NUMBER: a manual page of its own words, with the notice of all pages
cat >pages.awk <<'END_AWK'
function words(n,   s) { for (s = ""; n > 0; n--)
    s = s sprintf("%c%c%d ", 97 + rand() * 26, 97 + rand() * 26, rand() * 90)
    return s "\n" }
BEGIN { srand(n); printf "NAME\n    page%d\n\n", n
    for (i = 0; i < 8; i++) printf "%s%s\n", words(9), words(9)
    print "COPYRIGHT\n    This is free software: you are free to change and"
    print "    redistribute it. There is NO WARRANTY, to the extent permitted"
    print "    by law.\n\nSEE ALSO\n    " words(4) }
END_AWK
page() { awk -v n="$1" -f pages.awk </dev/null; }
mkdir pages held
tab=$(printf '\t')
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    page $i >pages/p$i.txt
done
for i in 31 32 33 34; do page $i >held/h$i.txt; done
without() { # FILE: its text without the notice
    sed -e '/^COPYRIGHT/,/^$/d' "$1"
}
page 31 >pages/q.txt # a copy
{ page 32 | sed '/COPYRIGHT/q'; page 41 | sed 5q; } >pages/r.txt # most of one

# by default: four held-out documents have the notice, so it does not count
ok 'pages are cleaned' clean --lang en --exclude held --exclude-report r -o o pages
like 'the summary says how many runs do not count' \
    '^clean: --exclude-common: [0-9]+ runs of 13 words stand in more than 3 of 4 held-out documents, and do not count$' err
like 'copies are dropped, and their bytes are said' \
    'clean: dropped 2 documents, 0.00[0-9] MB: excluded 2$' err
unlike 'what all pages have is not cut' 'clean: cut' err
equal 'only the copies are reported' "$(cut -f 1,7 r | tr '\t\n' ':,')" \
    'input:bytes,pages/q.txt:all,pages/r.txt:all,'
equal 'pages that have the notice are kept' "$(documents o)" 20
page 20 >want
texts o | sed '1,/page20$/d' >got
sed '1,/page20$/d' want >rest
head -n "$(wc -l <rest)" got | cmp -s - rest &&
    pass 'a kept page is whole' || fail 'a kept page is whole'
# all count: the notice is cut
ok 'pages are cut' clean --lang en --exclude held --exclude-common 0 \
    --exclude-report r --dropped d -o o pages
like 'the summary says what is cut' \
    'clean: cut 20 passages, 0.00[0-9] MB, out of 20 of these documents$' err
unlike 'all runs count for 0' 'exclude-common' err
like 'cut and dropped documents are counted by source' 'held-out text: en 22$' err
cat pages/p*.txt >all
without all | grep . | sort >want
texts o | grep . | sort >got
same 'a page loses its notice alone' got want
equal 'a cut is reported by bytes' "$(sed -n "s|^pages/p7.txt.*${tab}13$tab||p" r)" \
    "$(LC_ALL=C awk '/^COPYRIGHT/ { at = n } /^SEE/ { end = n }
        { n += length($0) + 1 } END { print at "-" end "\t" "COPYRIGHT" \
        "     This is free software: you are free to change and     redistribute it" }' \
        pages/p7.txt)"
like 'what is cut is among what is dropped' \
    '"input":"pages/p7.txt".*"reason":"excluded-paragraphs","value":1,"text":"COPYRIGHT' d
clean -q -j 1 --lang en --exclude held --exclude-common 0 --exclude-report r1 -o o1 pages
clean -q -j 3 --lang en --exclude held --exclude-common 0 --exclude-report r3 -o o3 pages
same 'threads do not change the output' o3 o1
same 'threads do not change the report' r3 r1
ok 'rules judge what is left of a page' clean --min-words 168 --exclude held \
    --exclude-common 0 -o o pages/p1.txt pages/p2.txt
like 'a page that is too short without its notice is dropped' \
    'dropped 2 documents, 0.00[0-9] MB: excluded 2$' err

# a document that is held out, or stands in the corpus, many times
mkdir same many
for i in 1 2 3 4 5; do page 31 >same/s$i.txt; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do page 31 >many/m$i.txt; done
page 1 >many/z.txt
for h in held same; do
    ok "copies of what $h has are sought" clean --exclude $h -o o many
    equal "copies of what $h has are dropped, however many" "$(documents o)" 1
done

# items are strict: any part of a page that has one is dropped with it
{
    for i in 1 2 3 4 5 6; do
        echo '{"q": "This is free software: you are free to change and redistribute it. There is NO WARRANTY"}'
    done
} >items.jsonl
ok 'items are sought' clean --lang en --exclude items.jsonl --exclude held \
    --exclude-report r -o o pages/p*.txt
equal 'a page with words of an item is dropped whole, however many items have them' \
    "$(documents o) $(cut -f 7 r | sort | uniq -c | tr -s ' ' | tr '\n' ',')" \
    '0  20 all, 1 bytes,'

# words that meet where a paragraph stood
{
    page 51 | sed 12q
    echo 'one two three four five six seven'
    echo
    without held/h31.txt | sed -n 4,5p
    echo
    echo 'eight nine ten eleven twelve thirteen fourteen'
} >seam.txt
{
    cat held/h31.txt
    echo 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen'
} >h.txt
ok 'a paragraph between others is cut' clean --exclude h.txt --exclude-report r -o o seam.txt
equal 'a text that would share words without it is dropped' \
    "$(cut -f 7 r | tr '\n' ',')" 'bytes,all,'
done_testing
