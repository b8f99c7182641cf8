#!/bin/sh
# clean: rules for one text, boilerplate, languages, and the file of what is
# dropped
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# Length
printf 'one\ntwo words\n\303\251\303\251\nthree little words\n\nx\n' >len
ok '--min-chars is accepted' run --min-chars 2 --dropped d len
equal '--min-chars counts characters, not bytes' "$(why)" '5:min-chars '
ok '--max-chars is accepted' run --max-chars 9 --dropped d len
equal '--max-chars drops longer texts' "$(why)" '3:max-chars '
ok '--min-words is accepted' run --min-words 2 --dropped d len
equal '--min-words counts words' "$(why)" '0:min-words 2:min-words 5:min-words '
equal 'texts that are not dropped are written' "$(documents out)" 2
ok '--max-words is accepted' run --max-words 2 --dropped d len
equal '--max-words drops texts of more words' "$(why)" '3:max-words '
like 'a record says what was measured' \
    '^\{"input":"len","record":3,"source":"len","reason":"max-words","value":3,"text":"three little words"\}$' d
ok 'clean runs with a summary' clean --split line --min-words 2 len
like 'the summary counts by reason' 'dropped 3 documents, 0.000 MB: min-words 3$' err
ok 'clean without rules runs' run --stats --dropped d len
equal 'nothing is dropped by default' "$(wc -c <d)" 0
like 'every document is counted by default' '^len	5	' out
ok '--strict takes text that is UTF-8' run --min-words 2 --dropped d len
rm -f d
printf 'fine line here\n\377\n' >bad
status 3 'bad input ends clean with status 3' run --strict --min-words 4 \
    --dropped d bad
ok 'bad input leaves no file behind' sh -c \
    '[ ! -e d ] && [ -z "$(ls | grep tmp)" ]'
if [ -e /dev/full ]; then
    status 1 'a folder that is not there ends clean with status 1' run \
        --dropped no/d len
    like 'the message names the folder' 'no/d' err
fi

# Boilerplate: a line is cut once two documents had it
{
    printf '{"text":"Home | About us | Contact\\nText of number one.\\nok"}\n'
    printf '{"text":"home about US contact\\nhome about US contact\\nText two."}\n'
    printf '{"text":"Text three is here.\\nHOME, ABOUT US: CONTACT!\\nok"}\n'
    printf '{"text":"ok\\nok\\nHome About us Contact"}\n'
    printf '{"text":"\\n\\nHome About us Contact\\n"}\n'
} >b.jsonl
ok '--boilerplate is accepted' clean -q --boilerplate 2 --dropped d b.jsonl
texts out >got
{
    printf 'Home | About us | Contact\nText of number one.\nok\n'
    printf 'home about US contact\nhome about US contact\nText two.\n'
    printf 'Text three is here.\nok\nok\nok\n\n'
} >lines
same 'lines that two documents had are cut' lines got
equal 'what was cut, and an empty rest, is reported' "$(why)" \
    '2:boilerplate-lines 3:boilerplate-lines 4:boilerplate-lines 4:boilerplate '
like 'the report holds the lines that were cut' \
    '"text":"HOME, ABOUT US: CONTACT!\\n"' d
ok 'a text is judged by the lines that stay' clean -q --boilerplate 2 \
    --min-words 7 --dropped d b.jsonl
like 'a text that grew short is dropped' '"record":2,.*"min-words","value":5' d
awk 'BEGIN { for (d = 0; d < 3000; d++) {
    printf "{\"text\":\""
    for (l = 0; l < 6; l++)
        printf "common line number %d\\nown line %d of %d\\n",
            (d * 7 + l * l) % 900, l, d
    print "\"}" } }' >many.jsonl
ok 'many lines are cut by one thread' clean -q --boilerplate 3 -j 1 \
    --dropped d1 -o s1 many.jsonl
for more in '-j 3' '-j 2 --mem 1M'; do
    # shellcheck disable=SC2086 # options
    ok "many lines are cut with $more" clean -q --boilerplate 3 $more \
        --dropped d2 -o s2 many.jsonl
    same "$more does not change the documents" s1 s2
    same "$more does not change what is dropped" d1 d2
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
ok 'boilerplate is cut with a summary' clean --boilerplate 3 -o s2 many.jsonl
equal 'clean cuts as many lines as awk' \
    "$(sed -n 's/.*cut \([0-9]*\) lines.*/\1/p' err)" "$(cat want)"

# Usage
status 2 '--boilerplate refuses what is no number' run --boilerplate x len
status 2 '--dedup refuses an unknown kind' run --dedup fuzzy len
like 'the message names the kinds of --dedup' 'exact, minhash' err
status 2 'too many bands and rows are refused' run --dedup minhash:1000x1000 len
status 2 'bands without rows are refused' run --dedup minhash:10 len
status 2 '--format without --stats is refused' run --format json len
status 2 '--stats refuses -o' run --stats -o x len

# Languages
{
    printf 'All human beings are born free and equal in dignity and rights.\n'
    printf 'Alle Menschen sind frei und gleich an W\303\274rde und Rechten geboren.\n'
    printf 'Il-bnedmin kollha jitwieldu \304\247ielsa u ugwali fid-dinjit\303\240 u d-drittijiet.\n'
    printf '12 34 56\n'
} >l
if clean -q --lang auto l >out 2>err; then
    ok '--lang auto runs' run --lang auto --stats l
    equal '--lang auto tells languages by their codes' \
        "$(cut -f 1,2 out | tr '\t\n' ': ')" \
        'source:documents und:1 en:1 de:1 mt:1 all:4 '
    ok '--lang auto takes names' run --lang auto:de,mt --stats l
    equal 'languages that are not named are und' \
        "$(cut -f 1,2 out | tr '\t\n' ': ')" \
        'source:documents und:2 de:1 mt:1 all:4 '
    run --lang auto -j 1 -o s1 l
    run --lang auto -j 3 -o s2 l
    same 'languages do not depend on threads' s1 s2
    status 2 'a code that CLD2 does not give is refused' run \
        --lang auto:de,klingon l
    like 'the message names that code' '"klingon"' err
    status 2 '--lang auto refuses --lang-field' run --lang auto --lang-field l l
else
    skip '--lang auto runs' 'built without CLD2 (libcld2-dev)'
    status 2 '--lang auto without CLD2 is refused' run --lang auto l
    like 'the message names the package' 'libcld2-dev' err
fi
if is_long; then
    ok 'clean builds without CLD2' env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s -C "$top" BUILD="$PWD/without" "CLD2=" \
        "$PWD/without/bin/clean"
    status 2 'a build without CLD2 refuses --lang auto' without/bin/clean -q \
        --lang auto l
    like 'its message names the package' 'libcld2-dev' err
    ok 'a build without CLD2 takes other names' without/bin/clean -q --lang mt l
fi
done_testing
