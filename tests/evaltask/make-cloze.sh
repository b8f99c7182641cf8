#!/bin/sh
# scripts/make-cloze: items out of any text, and that evaltask takes them
. "${0%/*}/../lib/lib.sh"
cloze=$top/scripts/make-cloze
held=$top/corpus/held-out

# field N FILE: of the items 1 document, 2 context, 3 to 6 choices, 7 answer, a
# line each, as JSON writes them (no text here has a quotation mark in it)
field() {
    sed -E 's/^\{"language": "[^"]*", "document": "([^"]*)", "context": "(.*)", "choices": \["(.*)", "(.*)", "(.*)", "(.*)"\], "answer": ([0-3])\}$/\1\t\2\t\3\t\4\t\5\t\6\t\7/' \
        "$2" | cut -f "$1"
}

ok 'make-cloze makes items of three languages' "$cloze" -c 80 -l 50 "$held/bg.jsonl" \
    "$held/en.jsonl" "$held/mt.jsonl"
cp out items
cp err told
like 'make-cloze tells how many items it made' '^mt: [0-9]+ items of [0-9]+; 0 paragraphs' told
equal 'each language has as many items' "$(sed 's/^{"language": "\([a-z]*\)".*/\1/' items | sort |
    uniq -c | awk '{ n[$1]++ } END { for (k in n) print n[k] }')" 3
equal 'the right choice is as often at each place' \
    "$(sed 's/^{"language": "\([a-z]*\)".*"answer": \([0-3]\)}$/\1 \2/' items |
        awk '{ n[$1, $2]++; all[$1]++ } END { for (l in all) for (i = 0; i < 4; i++)
            if (n[l, i] < int(all[l] / 4) || n[l, i] > int((all[l] + 3) / 4)) print l, i }')" ''
for n in 3 4 5 6; do
    equal "choice $n: 50 characters each" "$(field $n items |
        sed 's/\\[nt"\\]/x/g' | LC_ALL=C.UTF-8 awk 1 | while IFS= read -r s; do
            printf %s "$s" | LC_ALL=C.UTF-8 wc -m; done | sort -u | tr -d ' ')" 50
done

# The right text stands behind the context in the document, the wrong ones in
# others of its language: JSON's own way of writing is kept, so grep finds them.
paste "$(field 1 items >f1; echo f1)" "$(field 2 items >f2; echo f2)" \
    "$(field 3 items >f3; echo f3)" "$(field 4 items >f4; echo f4)" \
    "$(field 5 items >f5; echo f5)" "$(field 6 items >f6; echo f6)" \
    "$(field 7 items >f7; echo f7)" >table
awk -F '\t' '{ print $1 "\t" $2 $($NF + 3) }' table >right
awk -F '\t' '{ for (i = 0; i < 4; i++) if (i != $NF) print $1 "\t" $(i + 3) }' table >wrong
while IFS='	' read -r doc text; do
    sed -n "${doc##*:}p" "${doc%:*}" | grep -qF -e "$text" || echo "$doc: $text"
done <right >bad
equal 'the right text goes on from the context' "$(cat bad)" ''
while IFS='	' read -r doc text; do
    if sed -n "${doc##*:}p" "${doc%:*}" | grep -qF -e "$text"; then echo "own: $text"; fi
    grep -qF -e "$text" "${doc%:*}" || echo "none: $text"
done <wrong >bad
equal 'the wrong ones are of other documents' "$(cat bad)" ''

ok 'make-cloze runs again with one seed' "$cloze" -c 80 -l 50 -s 1 "$held/bg.jsonl" "$held/en.jsonl" "$held/mt.jsonl"
same 'one seed makes the same items' items out
ok 'make-cloze runs with another seed' "$cloze" -c 80 -l 50 -s 2 "$held/bg.jsonl" "$held/en.jsonl" \
    "$held/mt.jsonl"
if cmp -s items out; then fail 'another seed makes other items'; else pass 'another seed makes other items'; fi
ok 'make-cloze makes some items of one language' "$cloze" -c 80 -l 50 -n 3 "$held/en.jsonl"
equal '-n makes as many items as asked for' "$(grep -c . out)" 3
equal 'a language has the same items alone and among others' "$(grep -cxFf out items)" 3

# --- copies, fields, plain text ---
awk 'function word(k) { return substr("abcdefghijklmnopqrstuvwxyz", k % 26 + 1, 1) k * 7919 % 1000 }
    function say(from, n,    s) { for (; n > 0; n--) s = s word(from++) " "; return s }
    BEGIN { for (d = 0; d < 6; d++)
        print "{\"n\": [1, {\"text\": \"]\"}], \"body\": \"" say(d * 90, 70) "\", \"la\": \"xx\"}"
        # a copy of the first but for some words at its beginning
        print "{\"body\": \"new words " say(3, 67) "\", \"la\": \"xx\"}"
        print "{\"body\": \"\\u00e9\\u010d \\\"" say(900, 70) "\", \"la\": \"xx\"}" }' >own.jsonl
ok 'make-cloze takes fields by name' "$cloze" -t body -g la own.jsonl
equal 'the note counts a copy that is left out' "$(cat err)" \
    'xx: 7 items of 7; 1 paragraphs that are there already left out'
equal 'a copy gives no item' "$(grep -c '"own.jsonl:7"' out)" 0
like 'escapes of JSON stay as they are' '"context": "\\u00e9\\u010d \\"' out
awk 'function word(k) { return substr("abcdefghijklmnopqrstuvwxyz", k % 26 + 1, 1) k * 7919 % 1000 }
    BEGIN { for (d = 0; d < 5; d++) { for (p = 0; p < 2; p++) {
        for (k = 0; k < 60; k++) printf "%s ", word(d * 160 + p * 80 + k)
        print "a \"quote\" \\ and more" } print "" } }' >yy.plain.txt
ok 'make-cloze reads plain text' "$cloze" yy.plain.txt
equal 'plain text gives an item for each paragraph' "$(grep -c '^{"language": "yy", ' out)" 10
cp out plain

# --- evaltask ---
ok 'evaltask takes them' evaltask -q -m "$top/tests/golden/gguf/f32-hf" --task \
    "$top/recipes/tasks/cloze.form=plain" --format tsv
equal 'evaltask finds ten items of four choices' "$(awk -F '\t' '$1 == "cloze" { print $5, $6 }' out)" \
    '10 0.250000'

# --- misuse ---
status 2 'a run without a file is refused' "$cloze"
status 2 'a length that is no number is refused' "$cloze" -l x own.jsonl
status 2 'a length that is too short is refused' "$cloze" -l 7 own.jsonl
status 1 'a missing file is an error' "$cloze" none.jsonl
status 3 'a line without the field is refused' "$cloze" own.jsonl
like 'the error names line and field' 'own.jsonl: line 1: no object with a text "text"' err
status 3 'too little text is refused' "$cloze" -c 9999 -t body -g la own.jsonl
like 'the error names the language' 'xx: 0 paragraphs of 10059 characters' err
status 3 'more items than there are are refused' "$cloze" -n 9 -t body -g la own.jsonl
like 'the error says how many items there are' 'xx: only 7 items' err
head -n 3 own.jsonl >few.jsonl
status 3 'three documents are too few' "$cloze" -t body -g la few.jsonl
done_testing
