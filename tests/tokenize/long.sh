#!/bin/sh
# tokenize: long documents: how much memory they take, where they are refused
# and where they are cut.
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/long.sh"
gold=$top/tests/golden/tok
tok=$gold/gpt2.json

# ---- --max-doc

for i in 1 2 3 4 5 6 7 8 9; do
    printf 'Paragraph %s has\ntwo lines of text.\n\n' $i
done >doc.txt                       # 9 paragraphs of 36 bytes
printf '{"text": "too long"}\n' >doc.jsonl
ok 'a document of --max-doc bytes is read' tokenize -q -t "$tok" --ids --max-doc 324 \
    doc.txt
status 3 'a document of a byte more is refused' tokenize -q -t "$tok" --ids --max-doc 323 doc.txt
why='doc.txt: offset 0: a document of more than 323 bytes; --max-doc allows'
like 'the message names the file and --split-long' \
    "^tokenize: $why.* --split-long cuts them\$" err
status 3 'a long line of JSON is refused' tokenize -q -t "$tok" --ids --max-doc 16 \
    --split-long doc.jsonl
like 'the message does not offer to cut JSON' '^tokenize: doc.jsonl: offset 0: .*for each$' err
status 3 'a long document ends a stream with status 3' tokenize -q -t "$tok" --max-doc 323 doc.txt
{
    echo '<mediawiki><page><title>T</title><ns>0</ns><revision><text>'
    cat doc.txt
    echo '</text></revision></page></mediawiki>'
} >dump.xml
status 3 'a long page of a dump is refused' tokenize -q -t "$tok" --ids --max-doc 300 --split-long \
    dump.xml
like 'the message does not offer to cut a page' '^tokenize: dump.xml: .*for each$' err

# ---- --split-long

# pieces WHAT WANT OPTION ...: what is cut, | between pieces
pieces() {
    what=$1 want=$2
    shift 2
    ok "a text is cut $what" tokenize -q -t "$tok" --split-long -o s "$@"
    tokenize -q -t "$tok" --decode --split line s | tr '\n' '|' >got
    printf '%s\n' "$want" >want
    echo >>got
    same "a text is cut $what into these pieces" got want
}
printf 'a b\n\nc d\ne f\ng h i j' >p.txt
pieces 'behind a blank line' 'a b|||c d|e f|g h i j|' --max-doc 16 p.txt
printf 'one two\n \t\nthree four\nfive six seven' >p.txt
pieces 'behind a blank line with spaces' "one two| $(printf '\t')||three four||five six seven|" \
    --max-doc 16 p.txt
printf 'aaaa bbbb cccc dddd' >p.txt
pieces 'behind a blank' 'aaaa bbbb cccc |dddd|' --max-doc 16 p.txt
printf 'aaaaaaaaaaaaaaa\303\251b' >p.txt
pieces 'before a character' 'aaaaaaaaaaaaaaa|éb|' --max-doc 16 p.txt
printf 'aaaaaaaaaaaa\nbb bb bb bb bb bb bb\nc\n' >p.txt
pieces 'after it was split into lines' 'aaaaaaaaaaaa|bb bb bb bb bb |bb bb|c|' --max-doc 16 \
    --split line p.txt
printf '\n\naaa bbb ccc ddd\neee\n\nfff\n' >p.txt
pieces 'after it was split into paragraphs' 'aaa bbb ccc ddd||eee|fff|' --max-doc 16 \
    --split blank p.txt

# Nothing is left out, whatever is in the document and however short a piece.
cat "$gold/nfc.txt" "$gold/train.txt" "$top"/corpus/el.jsonl >all.txt
for most in 16 100 4000 262144 1000000; do
    ok "a text is cut into pieces of $most" tokenize -q -t "$tok" --split-long --max-doc $most \
        -o s all.txt
    tokenize -q -t "$tok" --decode s >got
    same "pieces of $most have all of the text" got all.txt
done

# Numbers, and so keys, of the pieces, go on through the file; a text in the
# same places has the same.
ok 'pieces are kept as shards' sh -c "tokenize -q -t '$tok' --split-long --max-doc 36 doc.txt |
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
ok 'paragraphs of the same file are kept' split_keys doc.txt d2
keys_of d2 keys2
same 'pieces and paragraphs have the same keys' keys keys2

# Broken off at a piece, and resumed.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    cat "$gold/nfc.txt" "$gold/train.txt" "$top"/corpus/el.jsonl
done >all.txt
rm -rf want d
ok 'pieces are written undisturbed' sh -c "tokenize -q -t '$tok' --split-long --max-doc 100 \
    all.txt | shard write -q --frame 2K --shard-size 1K -o want"
tokenize -q -t "$tok" --split-long --max-doc 100 -o whole all.txt
head -c $(($(wc -c <whole) / 2)) whole |
    shard write -q --frame 2K --shard-size 1K -o d 2>err
ok 'half of the pieces are there' test -e d/00000.index
status 2 '--resume refuses another --max-doc' sh -c "tokenize -q -t '$tok' --split-long \
    --max-doc 101 --resume d all.txt >s"
like 'the message says that options differ' 'was begun with other options' err
tokenize -q -t "$tok" --split-long --max-doc 100 --resume d all.txt 2>err |
    shard write -q --frame 2K --shard-size 1K -o d 2>>err
ok '--resume ends with the same pieces' diff -r want d

# What is too long is known only when it is there: go on with a larger limit.
{ cat "$gold/train.txt" "$gold/train.txt" "$gold/train.txt"; head -c 40000 \
    /dev/zero | tr '\0' x; } >late.txt
rm -rf d want
tokenize -q -t "$tok" --split line late.txt | shard write -q --frame 2K \
    --shard-size 1K -o want
tokenize -q -t "$tok" --split line --max-doc 20000 late.txt 2>err |
    shard write -q --frame 2K --shard-size 1K -o d 2>>err
like 'a long line ends a run' 'late.txt: offset [0-9]+: a document of more than' err
ok '--resume goes on with a larger --max-doc' sh -c "tokenize -q -t '$tok' --split line \
    --resume d late.txt | shard write -q --frame 2K --shard-size 1K -o d"
for dir in want d; do
    shard list $dir | tail -n 1 >$dir.list
done
same 'the run that went on has the same documents' want.list d.list

# ---- time and memory

measured() {
    tokenize -t "$tok" -o s "$@"
}
case $BUILD in
*address* | *thread*) skip 'time of long texts' 'a sanitizer takes more' ;;
*)
    time_texts
    for family in llama3 qwen nemo llama2; do
        tok=$gold/family/$family.json
        for file in colon.txt marks.txt base.txt letters.txt; do
            quick "$file with $family" $file
        done
    done
    ;;
esac
tok=$gold/gpt2.json
case $BUILD in
*address* | *thread*) skip 'memory of long texts' 'a sanitizer takes more' ;;
*)
    memory_texts
    for file in line.txt lines.txt line.jsonl equal.txt empty.txt random.txt; do
        within $file -j 2
    done
    measured() {
        tokenize -t "$tok" "$@"
    }
    within line.txt -j 1 --stats
    measured() {
        tokenize -t "$gold/family/llama2.json" -o s "$@"
    }
    within random.txt -j 2 -v
    ;;
esac
done_testing
