#!/bin/sh
# tokenize: long documents: how much memory they take, where they are refused
# and where they are cut.
. "${0%/*}/../lib/lib.sh"
gold=$top/tests/golden/tok
tok=$gold/gpt2.json

# ---- --max-doc

for i in 1 2 3 4 5 6 7 8 9; do
    printf 'Paragraph %s has\ntwo lines of text.\n\n' $i
done >doc.txt                       # 9 paragraphs of 36 bytes
printf '{"text": "too long"}\n' >doc.jsonl
ok 'a document of as many bytes' tokenize -q -t "$tok" --ids --max-doc 324 \
    doc.txt
status 3 'of one more' tokenize -q -t "$tok" --ids --max-doc 323 doc.txt
why='doc.txt: offset 0: a document of more than 323 bytes; --max-doc allows'
like 'is refused by name, with advice' \
    "^tokenize: $why.* --split-long cuts them\$" err
status 3 'a line of JSON' tokenize -q -t "$tok" --ids --max-doc 16 \
    --split-long doc.jsonl
like 'cannot be cut' '^tokenize: doc.jsonl: offset 0: .*for each$' err
status 3 'in a stream' tokenize -q -t "$tok" --max-doc 323 doc.txt
{
    echo '<mediawiki><page><title>T</title><ns>0</ns><revision><text>'
    cat doc.txt
    echo '</text></revision></page></mediawiki>'
} >dump.xml
status 3 'a page' tokenize -q -t "$tok" --ids --max-doc 300 --split-long \
    dump.xml
like 'neither' '^tokenize: dump.xml: .*for each$' err

# ---- --split-long

# pieces WHAT WANT OPTION ...: what is cut, | between pieces
pieces() {
    what=$1 want=$2
    shift 2
    ok "$what" tokenize -q -t "$tok" --split-long -o s "$@"
    tokenize -q -t "$tok" --decode --split line s | tr '\n' '|' >got
    printf '%s\n' "$want" >want
    echo >>got
    same "$what: the pieces" got want
}
printf 'a b\n\nc d\ne f\ng h i j' >p.txt
pieces 'behind a blank line' 'a b|||c d|e f|g h i j|' --max-doc 16 p.txt
printf 'one two\n \t\nthree four\nfive six seven' >p.txt
pieces 'that has blanks' "one two| $(printf '\t')||three four||five six seven|" \
    --max-doc 16 p.txt
printf 'aaaa bbbb cccc dddd' >p.txt
pieces 'behind a blank' 'aaaa bbbb cccc |dddd|' --max-doc 16 p.txt
printf 'aaaaaaaaaaaaaaa\303\251b' >p.txt
pieces 'before a character' 'aaaaaaaaaaaaaaa|éb|' --max-doc 16 p.txt
printf 'aaaaaaaaaaaa\nbb bb bb bb bb bb bb\nc\n' >p.txt
pieces 'of a line' 'aaaaaaaaaaaa|bb bb bb bb bb |bb bb|c|' --max-doc 16 \
    --split line p.txt
printf '\n\naaa bbb ccc ddd\neee\n\nfff\n' >p.txt
pieces 'of a paragraph' 'aaa bbb ccc ddd||eee|fff|' --max-doc 16 \
    --split blank p.txt

# Nothing is left out, whatever is in the document and however short a piece.
cat "$gold/nfc.txt" "$gold/train.txt" "$top"/corpus/el.jsonl >all.txt
for most in 16 100 4000 262144 1000000; do
    ok "pieces of $most" tokenize -q -t "$tok" --split-long --max-doc $most \
        -o s all.txt
    tokenize -q -t "$tok" --decode s >got
    same 'have all of the text' got all.txt
done

# Numbers, and so keys, of the pieces, go on through the file; a text in the
# same places has the same.
ok 'pieces' sh -c "tokenize -q -t '$tok' --split-long --max-doc 36 doc.txt |
    shard write -q -o d"
keys_of() {
    shard dump "$1" | sed -n 's/.*tokens, key //p' >"$2"
    [ -s "$2" ] || fail "no keys in $1"
}
keys_of d keys
split_keys() {
    tokenize -q -t "$tok" --split blank --lang doc "$1" | shard write -q -o "$2"
}
rm -rf d2
ok 'paragraphs of the same file' split_keys doc.txt d2
keys_of d2 keys2
same 'are records of the same numbers' keys keys2

# Broken off at a piece, and resumed.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    cat "$gold/nfc.txt" "$gold/train.txt" "$top"/corpus/el.jsonl
done >all.txt
rm -rf want d
ok 'undisturbed' sh -c "tokenize -q -t '$tok' --split-long --max-doc 100 \
    all.txt | shard write -q --frame 2K --shard-size 1K -o want"
tokenize -q -t "$tok" --split-long --max-doc 100 -o whole all.txt
head -c $(($(wc -c <whole) / 2)) whole |
    shard write -q --frame 2K --shard-size 1K -o d 2>err
ok 'the first pieces are there' test -e d/00000.index
status 2 'other pieces' sh -c "tokenize -q -t '$tok' --split-long \
    --max-doc 101 --resume d all.txt >s"
like 'are refused' 'was begun with other options' err
tokenize -q -t "$tok" --split-long --max-doc 100 --resume d all.txt 2>err |
    shard write -q --frame 2K --shard-size 1K -o d 2>>err
ok 'resumed, the same' diff -r want d

# What is too long is known only when it is there: go on with a larger limit.
{ cat "$gold/train.txt" "$gold/train.txt" "$gold/train.txt"; head -c 40000 \
    /dev/zero | tr '\0' x; } >late.txt
rm -rf d want
tokenize -q -t "$tok" --split line late.txt | shard write -q --frame 2K \
    --shard-size 1K -o want
tokenize -q -t "$tok" --split line --max-doc 20000 late.txt 2>err |
    shard write -q --frame 2K --shard-size 1K -o d 2>>err
like 'a long line' 'late.txt: offset [0-9]+: a document of more than' err
ok 'with a larger --max-doc' sh -c "tokenize -q -t '$tok' --split line \
    --resume d late.txt | shard write -q --frame 2K --shard-size 1K -o d"
for dir in want d; do
    shard list $dir | tail -n 1 >$dir.list
done
same 'the run goes on' want.list d.list

# ---- time: at most 0.2 us a byte more than prose

n=2000000
awk -v n=$n 'BEGIN { for (i = 0; i < n / 58; i++)
    printf "The quick brown fox jumps over the lazy dog, and 12 more; " }' \
    >prose.txt
yes : | head -c $n >colon.txt
awk -v n=$n 'BEGIN { for (i = 0; i < n / 4; i++)
    printf "\314\201\314\243" }' >marks.txt
{ printf a; cat marks.txt; } >base.txt
awk -v n=$n 'BEGIN { srand(3); for (i = 0; i < n; i++)
    printf "%c", (rand() < 0.5 ? 65 : 97) + rand() * 26 }' >letters.txt
cpu() {     # cpu OPTION ...: processor time of tokenize, in microseconds
    tokenize -j 1 -t "$tok" -o s "$@" 2>err
    sed -n 's/.* cpu \([0-9.]*\) s,.*/\1/p' err |
        awk '{ printf "%d\n", $1 * 1000000 }'
}
quick() {   # quick FILE OPTION ...
    runs=0
    while :; do
        most=$(cpu prose.txt)
        most=$((most + n / 5 + 100000))
        took=$(cpu "$@")
        runs=$((runs + 1))
        if [ "${took:-$most}" -lt $most ] || [ $runs = 4 ]; then
            break
        fi
    done
    if [ "${took:-$most}" -lt "$most" ]; then
        pass "$* in time"
    else
        fail "$* takes $took us, $most are allowed"
    fi
}
case $BUILD in
*address* | *thread*) skip 'time' 'a sanitizer takes more' ;;
*)
    for family in llama3 qwen nemo llama2; do
        tok=$gold/family/$family.json
        for file in colon.txt marks.txt base.txt letters.txt; do
            quick $file
        done
        quick base.txt --nfc
    done
    tok=$gold/gpt2.json
    quick marks.txt --nfc --strip-controls
    ;;
esac

# ---- memory: at most 8 bytes for each of the document's, beside the rest

case $BUILD in
*address* | *thread*) skip 'memory' 'a sanitizer takes more' ;;
*)
    n=8000000
    is_long && n=60000000
    awk -v n=$n 'BEGIN { for (i = 0; i < n / 58; i++)
        printf "The quick brown fox jumps over the lazy dog, and 12 more; " }' \
        >line.txt
    tr ' ' '\n' <line.txt >lines.txt
    { printf '{"text": "'; cat line.txt; printf '"}\n'; } >line.jsonl
    head -c $n /dev/zero | tr '\0' a >equal.txt
    tr '\0' '\n' </dev/zero | head -c $n >empty.txt
    awk -v n=$n 'BEGIN { srand(2); for (i = 0; i < n / 10; i++) {
        s = ""
        for (k = 0; k < 10; k++)
            s = s sprintf("%c", 97 + rand() * 26)
        printf "%s", s } }' >random.txt
    peak() {    # peak FILE: the peak in bytes that the closing line there tells
        sed -n 's/.*, peak \([0-9.]*\) MB$/\1/p' "$1" |
            awk '{ printf "%d\n", $1 * 1000000 }'
    }
    # With the same options a short text takes what is there anyway.
    echo a >little.txt
    within() {  # within FILE OPTION ...
        in=$1
        shift
        out='-o s'
        case $* in *--stats*) out=-v ;; esac
        # shellcheck disable=SC2086
        tokenize -t "$tok" $out "$@" little.txt >short.out 2>err
        least=$(peak err)
        # shellcheck disable=SC2086
        ok "$in $*" tokenize -t "$tok" $out "$@" "$in"
        most=$((least + 8 * $(wc -c <"$in") + 4000000))
        if [ "$least" -gt 0 ] && [ "$(peak err)" -le $most ]; then
            pass "in 8 bytes a byte"
        else
            fail "in 8 bytes a byte: $(tail -n 1 err), at first $least"
        fi
    }
    for file in line.txt lines.txt line.jsonl equal.txt empty.txt random.txt; do
        within $file -j 2
    done
    within line.txt -j 1 --stats
    within random.txt -j 2 --nfc --strip-controls
    for file in line.txt lines.txt empty.txt random.txt line.jsonl; do
        within $file -j 2 --boilerplate 2 --mem 1M
        within $file -j 2 --min-chars 9 --dedup exact --dedup minhash --mem 1M
        within $file -j 2 --gopher-repetition --gopher-quality \
            --dropped d.jsonl
    done
    tok=$gold/family/llama2.json
    within random.txt -j 2
    ;;
esac
done_testing
