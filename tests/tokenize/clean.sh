#!/bin/sh
# tokenize: filters, boilerplate, languages, and the file of what they drop
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# Length
printf 'one\ntwo words\n\303\251\303\251\nthree little words\n\nx\n' >len
ok '--min-chars' run --ids --min-chars 2 --dropped d len
equal 'counts characters' "$(why)" '5:min-chars '
ok '--max-chars' run --ids --max-chars 9 --dropped d len
equal 'too' "$(why)" '3:max-chars '
ok '--min-words' run --ids --min-words 2 --dropped d len
equal 'counts words' "$(why)" '0:min-words 2:min-words 5:min-words '
equal 'the others are there' "$(wc -l <out)" 2
ok '--max-words' run --ids --max-words 2 --dropped d len
equal 'too' "$(why)" '3:max-words '
like 'a record says what was measured' \
    '^\{"input":"len","record":3,"source":"len","reason":"max-words","value":3.0,"text":"three little words"\}$' d
ok 'the summary' tokenize -t "$tok" --split line --ids --min-words 2 len
like 'counts by reason' 'dropped 3 documents: min-words 3$' err
ok 'nothing is dropped by default' run --stats --dropped d len
equal 'and nothing written' "$(wc -c <d)" 0
like 'but all counted' '^len	5	' out
ok '--strict fails' run --ids --min-words 2 --dropped d len
rm -f d
printf 'fine line here\n\377\n' >bad
status 3 'bad input' run --ids --strict --min-words 4 --dropped d bad
ok 'leaves no file' sh -c '[ ! -e d ] && [ -z "$(ls | grep tmp)" ]'
if [ -e /dev/full ]; then
    status 1 'a folder that is not there' run --ids --dropped no/d len
    like 'is named' 'no/d' err
fi

# Boilerplate: a line is cut once two documents had it
{
    printf '{"text":"Home | About us | Contact\\nText of number one.\\nok"}\n'
    printf '{"text":"home about US contact\\nhome about US contact\\nText two."}\n'
    printf '{"text":"Text three is here.\\nHOME, ABOUT US: CONTACT!\\nok"}\n'
    printf '{"text":"ok\\nok\\nHome About us Contact"}\n'
    printf '{"text":"\\n\\nHome About us Contact\\n"}\n'
} >b.jsonl
ok '--boilerplate' tokenize -q -t "$tok" --boilerplate 2 --dropped d \
    -o s b.jsonl
ok 'decoded' tokenize -q -t "$tok" --decode --split line s
{
    printf 'Home | About us | Contact\nText of number one.\nok\n'
    printf 'home about US contact\nhome about US contact\nText two.\n'
    printf 'Text three is here.\nok\nok\nok\n\n'
} >lines
same 'leaves what is not' lines out
equal 'and tells' "$(why)" \
    '2:boilerplate-lines 3:boilerplate-lines 4:boilerplate-lines 4:boilerplate '
like 'which lines' '"text":"HOME, ABOUT US: CONTACT!\\n"' d
awk 'BEGIN { for (d = 0; d < 3000; d++) {
    printf "{\"text\":\"" 
    for (l = 0; l < 6; l++)
        printf "common line number %d\\nown line %d of %d\\n",
            (d * 7 + l * l) % 900, l, d
    print "\"}" } }' >many.jsonl
ok 'many lines' tokenize -q -t "$tok" --boilerplate 3 -j 1 --dropped d1 \
    -o s1 many.jsonl
for more in '-j 3' '-j 2 --mem 1M'; do
    # shellcheck disable=SC2086 # options
    ok "$more" tokenize -q -t "$tok" --boilerplate 3 $more --dropped d2 \
        -o s2 many.jsonl
    same 'does not change documents' s1 s2
    same 'nor what is dropped' d1 d2
done
# By hand: the first three documents with a line keep it.
awk -F '"' '{ n = split($4, line, /\\n/); s = ""
    for (i in cut) delete cut[i]
    for (i = 1; i < n; i++) if (seen[line[i]] >= 3) cut[i] = 1
    for (i = 1; i < n; i++)
        if (!(i in cut) && last[line[i]] != NR) {
            seen[line[i]]++; last[line[i]] = NR }
    for (i = 1; i < n; i++) total += i in cut }
    END { print total }' many.jsonl >want
ok 'the summary' tokenize -t "$tok" --boilerplate 3 -o s2 many.jsonl
equal 'counts what awk counts' \
    "$(sed -n 's/.*cut \([0-9]*\) lines.*/\1/p' err)" "$(cat want)"

# Usage
status 2 '--boilerplate is a number' run --boilerplate x len
status 2 '--dedup has two kinds' run --dedup fuzzy len
like 'which it names' 'none of exact, minhash' err
status 2 'bands times rows have a limit' run --dedup minhash:1000x1000 len
status 2 'and are both given' run --dedup minhash:10 len

# Languages
{
    printf 'All human beings are born free and equal in dignity and rights.\n'
    printf 'Alle Menschen sind frei und gleich an W\303\274rde und Rechten geboren.\n'
    printf 'Il-bnedmin kollha jitwieldu \304\247ielsa u ugwali fid-dinjit\303\240 u d-drittijiet.\n'
    printf '12 34 56\n'
} >l
if tokenize -q -t "$tok" --lang auto --ids l >out 2>err; then
    ok '--lang auto' run --lang auto --stats l
    equal 'gives codes' "$(cut -f 1,2 out | tr '\t\n' ': ')" \
        'source:documents und:1 en:1 de:1 mt:1 all:4 '
    ok 'with names' run --lang auto:de,mt --stats l
    equal 'gives only those' "$(cut -f 1,2 out | tr '\t\n' ': ')" \
        'source:documents und:2 de:1 mt:1 all:4 '
    run --lang auto -j 1 -o s1 l
    run --lang auto -j 3 -o s2 l
    same 'whatever the threads' s1 s2
    status 2 'a name it does not give' run --lang auto:de,klingon --ids l
    like 'is refused' '"klingon"' err
    status 2 'not with --lang-field' run --lang auto --lang-field l l
else
    skip '--lang auto' 'built without CLD2 (libcld2-dev)'
    status 2 '--lang auto without CLD2' run --lang auto --ids l
    like 'names the package' 'libcld2-dev' err
fi
if is_long; then
    ok 'a build without CLD2' env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s -C "$top" BUILD="$PWD/without" "CLD2=" \
        "$PWD/without/bin/tokenize"
    status 2 'does not know auto' without/bin/tokenize -q -t "$tok" \
        --lang auto --ids l
    like 'and names the package' 'libcld2-dev' err
    ok 'but another language' without/bin/tokenize -q -t "$tok" --lang mt \
        --ids l
fi
done_testing
