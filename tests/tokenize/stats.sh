#!/bin/sh
# tokenize --stats: the table, by hand; as JSON; for any -j
. "${0%/*}/../lib/lib.sh"
gold=$top/tests/golden/tok
tok=$gold/digits.json
mkdir c
printf 'the river is wide\nxqzk  the 12 bridge\n' >c/en.txt
printf 'le fleuve est large\n\302\240\n12 ponts\n' >c/fr.txt
printf 'a\n' >c/mt.txt
ok '--stats prints a table' tokenize -q -t "$tok" --stats --split line c
mv out t
head -n 1 t | tr '\t' '\n' >cols
equal 'the table has the columns of the page' "$(tr '\n' ' ' <cols)" \
    'source documents bytes characters words tokens tokens/word characters/token split fallback distinct parity '
# column NAME SOURCE
column() {
    awk -F '\t' -v c="$1" -v s="$2" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == c) at = i; next } $1 == s { print $at }' t
}
equal 'the table counts documents' "$(column documents en)" 2
equal 'the table counts bytes' "$(column bytes fr)" 29
equal 'the table counts characters' "$(column characters fr)" 28
equal 'the table counts words' "$(column words en)" 8
equal 'the table counts the words of all' "$(column words all)" 15
ok 'ids are printed' tokenize -q -t "$tok" --no-eos --no-bos --ids --split line c/en.txt
equal 'the table counts tokens' "$(column tokens en)" "$(wc -w <out | tr -d ' ')"
equal 'the table counts distinct ids' "$(column distinct en)" \
    "$(tr ' ' '\n' <out | sort -u | wc -l | tr -d ' ')"
equal 'parity needs as many documents' "$(column parity mt)" -
# the line of a no-break space is a document too
equal 'English has the parity 1' "$(column parity en)" 1.000
sed '2d' c/fr.txt >c/sv.txt
ok 'a table with as many documents is printed' tokenize -q -t "$tok" \
    --stats --split line c
mv out t
equal 'parity is tokens for a token of English' "$(column parity sv)" \
    "$(awk -v a="$(column tokens sv)" -v b="$(column tokens en)" \
        'BEGIN { printf "%.3f", a / b }')"

# Split words, the slow way: each word alone, with the blank before it as in
# the text, is split if it has more than one token that is not only blanks.
# (This vocabulary has no token over the end of a word.)
awk 'BEGIN { srand(1); while ((getline l < ARGV[1]) > 0)
    for (n = split(l, w, " "); n > 0; n--) word[all++] = w[n]
    for (d = 0; d < 60; d++) { s = ""
        for (i = 0; i < 30; i++) s = s " " word[int(rand() * all)]
        print s } }' "$gold/train.txt" >text.txt
for t in digits gpt2 flags; do
    ok "$t: the table is printed" tokenize -q -t "$gold/$t.json" --stats --split line \
        text.txt
    mv out t
    tr -s ' ' '\n' <text.txt | sed '/^$/d; s/^/ /' >words
    ok "$t: each word is tokenized alone" tokenize -q -t "$gold/$t.json" --no-eos --no-bos \
        --ids --split line words
    printf ' ' >blank
    mv out ids
    ok "$t: the blank is tokenized" tokenize -q -t "$gold/$t.json" --no-eos --no-bos --ids blank
    awk -v blank="$(cat out)" '{ split_ += NF - ($1 == blank) > 1 } END { printf "%.4f\n", split_ / NR }' ids >want
    equal "$t: the table has the share of words split" "$(column split text)" "$(cat want)"
done
printf '   the\n\n\nis   \n' >gap
ok 'the table of words between blanks is printed' tokenize -q -t "$tok" --stats gap
mv out t
ok 'the ids of words between blanks are printed' tokenize -q -t "$tok" --no-eos --no-bos \
    --ids gap
equal 'blanks are tokens beside the two words' "$(column words gap) $(column tokens gap)" \
    "2 $(wc -w <out | tr -d ' ')"
equal 'blanks split no word' "$(column split gap)" 0.0000
ok 'a table is printed with BOS and EOS' tokenize -q -t "$gold/flags.json" --bos --stats text.txt
cut -f 6-11 out >with
ok 'a table is printed without BOS and EOS' tokenize -q -t "$gold/flags.json" --no-bos --no-eos \
    --stats text.txt
cut -f 6-11 out >without
same 'BOS and EOS do not count' with without

# The corpus: as another program counts by the offsets of tokens in the text
ok 'the corpus is read' tokenize -q -t "$gold/gpt2.json" --stats "$top"/corpus/*.jsonl
same 'the table of the corpus is that of the oracle' "$gold/stats.tsv" out
ok 'the corpus is read for JSON' tokenize -q -t "$gold/gpt2.json" --stats --format json \
    "$top"/corpus/*.jsonl
awk -F '"' 'BEGIN { n = split("source documents bytes characters words tokens" \
        " tokens/word characters/token split fallback distinct parity", col, " ")
        while ((getline l < ARGV[1]) > 0)
            if (l !~ /^source/) want[++rows] = l
        ARGV[1] = "" }
    { v[$2] = NF > 3 ? $4 : $3; gsub(/[:, ]/, "", v[$2]) }
    $2 == "parity" && "source" in v { split(want[++at], w, "\t")
        for (i = 1; i <= n; i++) { x = v[col[i]]
            if (x == "null") x = "-"
            d = x - w[i]; if (d < 0) d = -d
            if (!(i > 1 && x != "-" ? d <= 5.1e-4 : x == w[i]))
                print "row " at ": " col[i] " " x ", not " w[i] }
        delete v["source"] }
    END { if (at != rows || rows < 20) print at " rows of " rows }' \
    "$gold/stats.tsv" out >differ
equal 'JSON says what the table says' "$(cat differ)" ''

# Fallback: characters that no token has whole
printf 'ab \360\237\246\206 cd' >duck
ok 'a duck is read' tokenize -q -t "$tok" --stats duck
mv out t
ok 'the ids of a duck are printed' tokenize -q -t "$tok" --no-eos --ids duck
equal 'a duck is four bytes that fall back' "$(column fallback duck)" \
    "$(awk '{ printf "%.6f", 4 / NF }' out)"

# JSON
ok '--format json runs' tokenize -q -t "$tok" --stats --format json \
    --split line c
like 'JSON has the sources' '"source": "en"' out
like 'JSON has null where there is no parity' '"parity": null' out
mv out j
for n in 1 2 4; do
    ok "JSON is printed with -j $n" tokenize -q -t "$tok" -j $n --stats \
        --format json --split line c
    same "JSON with -j $n is the same" j out
done
status 2 '--format without --stats is refused' tokenize -q -t "$tok" \
    --format json c
done_testing
