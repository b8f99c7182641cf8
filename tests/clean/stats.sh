#!/bin/sh
# clean --stats: the table by hand, and as JSON; for any -j
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"
mkdir c
printf 'the river is wide\nxqzk  the 12 bridge\n' >c/en.txt
printf 'le fleuve est large\n\302\240\n12 ponts\n' >c/fr.txt
printf 'a\n' >c/mt.txt
ok '--stats prints a table' run --stats c
cat >want <<'END'
source documents bytes characters words dropped
en 2 36 36 8 0
fr 3 29 28 6 0
mt 1 1 1 1 0
all 6 66 65 15 0
END
tr '\t' ' ' <out >got
same 'the table counts documents, bytes, characters and words' got want
ok '--stats runs with rules' run --stats --min-words 2 c
equal 'the table counts dropped documents' "$(column dropped all out)" 2
equal 'the table leaves dropped words out' "$(column words all out)" 14
ok '--format json prints JSON' run --stats --format json --min-words 2 c
cp out json
like 'JSON has the sources' '"source": *"en"' json
like 'JSON counts the dropped of a source' '"dropped": *1' json
like 'JSON counts the dropped by reason' '"min-words": *2' json
unlike 'no document is written' '"key"' json
for n in 1 2 4; do
    ok "JSON is printed with -j $n" run -j $n --stats --format json \
        --min-words 2 c
    same "JSON with -j $n is the same" json out
done
ok 'text is counted after boilerplate is cut' clean -q --stats --boilerplate 1 \
    --split line --lang x c/en.txt c/en.txt
equal 'lines that are cut are not counted' "$(column bytes x out)" 36
done_testing
