#!/bin/sh
# tokenize: a long document, which is read in sections, gives what it gives
# where something wants the whole of it (--min-chars), and takes little memory.
. "${0%/*}/lib.sh"
gold=$top/tests/golden/tok

# 1.2 MB: prose, lines of all kinds, and a stretch of 300 kB without any cut.
# What wants the whole gets it from a file where it has more than 1 MB.
prose() {
    {
        cat "$gold/nfc.txt" "$gold/train.txt" "$gold/family/texts.jsonl" \
            "$gold/nfc.txt" "$gold/nfc.txt" "$gold/train.txt"
        printf 'cat\001alog e\314\201 \305\237i \305\243ar\302\205a\r\n'
    } | tr -d '\000\002-\010\013\014\016-\037'
}
{
    prose
    awk 'BEGIN { srand(1); for (i = 0; i < 300000; i++)
        printf "%c", 97 + rand() * 26 }'
    prose
} >long.txt
# The same as a string of JSON.
sed 's/\\/\\\\/g; s/"/\\"/g; s/\x01/\\u0001/g; s/\t/\\t/g
    s/\r/\\r/g; s/\xc3\xa9/\\u00e9/g
    s/\xf0\x9f\x98\x80/\\ud83d\\uDE00/g' long.txt |
    awk '{ printf "%s\\n", $0 }' >string
record() {  # record BEFORE AFTER: a text of that string between them
    printf '%s' "$1"
    cat string
    printf '%s\n' "$2"
}
{
    record '{"id": 1, "text": "' '", "lang": "de", "x": [1, {"a": "\\"}]}'
    printf '{"text": "short", "lang": "en"}\r\n'
    record '{"lang": "en", "a": null, "text": "' "\"}$(printf '\r')"
    printf '{"lang": "en", "text": ""}\n'
    record ' { "text" : "' '" , "lang":"de"}'
    # more than a section in the file, less as text
    printf '{"lang": "de", "text": "'
    awk 'BEGIN { for (i = 0; i < 50000; i++) printf "\\u0061\\u0020" }'
    printf '"}\n'
} >long.jsonl
{ cat long.txt; printf '\377\376 \342\202 \360\237'; cat long.txt; } >bad.txt

for name in digits family/qwen family/llama2; do
    for in in long.txt long.jsonl bad.txt; do
        for opts in '' '--nfc --strip-controls --romanian --special'; do
            # shellcheck disable=SC2086
            tokenize -j 2 -t "$gold/$name.json" $opts --ids "$in" >got 2>e1
            # shellcheck disable=SC2086
            tokenize -j 1 -t "$gold/$name.json" $opts --ids --min-chars 1 \
                "$in" >want 2>e2
            if [ -s want ] && cmp -s got want && [ "$(sed '$d' e1)" = \
                "$(sed '$d' e2)" ]; then
                pass "$name, $in $opts: the ids of the whole"
            else
                fail "$name, $in $opts: other ids or notes"
            fi
        done
    done
done

for in in long.txt '--lang en,de --lang-field lang long.jsonl' bad.txt; do
    # shellcheck disable=SC2086
    tokenize -q -t "$gold/digits.json" --stats $in >got
    # shellcheck disable=SC2086
    tokenize -q -t "$gold/digits.json" --stats --min-chars 1 $in >want
    same "--stats $in" got want
done

# Faults are where they are, and nothing of that document is written.
fault() {   # fault NAME FILE ARG ...: the message, twice
    what=$1
    file=$2
    shift 2
    status 3 "$what" tokenize -q -t "$gold/digits.json" "$@" -o x "$file"
    cp err mine
    [ ! -e x ] || fail "$what: a stream was left behind"
    tokenize -q -t "$gold/digits.json" "$@" --min-chars 1 -o x "$file" 2>want
}
fault 'not UTF-8' bad.txt --strict
same 'the offset of the whole' mine want
{ printf '{"text": "'; cat string; printf '\377'; record '' '"}'; } >bad.jsonl
fault 'JSON that is not UTF-8' bad.jsonl --strict
same 'the offset of the whole' mine want
record '{"text": "' "\", \"x\": \"$(printf '\377')\"}" >bad.jsonl
fault 'not UTF-8 behind the text' bad.jsonl --strict
same 'the offset of the whole' mine want
for end in '' '"' '", "a": }' '\q"}' '\ud800"}' '", "lang": 1}'; do
    { printf '{"text": "a"}\n'; record '{"text": "' "$end"; } >bad.jsonl
    case $end in *lang*) set -- --lang de --lang-field lang ;; *) set -- ;; esac
    fault "a damaged record, $end" bad.jsonl "$@"
    like 'says where' '^tokenize: bad.jsonl: offset [0-9]+: ' mine
done
record '{"text": "' '", "text": "b"}' >bad.jsonl
status 3 'two texts' tokenize -q -t "$gold/digits.json" -o x bad.jsonl
like 'are told' 'offset 0: the record has a long text "text" and another' err

within() {  # within MB FILE: the peak that the closing line there tells
    sed -n 's/.*, peak \([0-9.]*\) MB$/\1/p' "$2" |
        awk -v most="$1" '{ ok = $1 > 0 && $1 <= most } END { exit !ok }'
}

# 64 MB on one line, in 64 MB.
line() {
    awk 'BEGIN { for (i = 0; i < 100000; i++)
        printf "The quick brown fox jumps over the lazy dog, and 12 more; " }'
}
line >part
cat part part part part part part part part part part part >long.txt
{ printf '{"text": "'; cat long.txt; printf '"}\n'; } >long.jsonl
case $BUILD in
*address* | *thread*) skip 'memory' 'a sanitizer takes more' ;;
*)
    copies=5
    is_long && copies=40
    for _ in $(seq $copies); do
        cat part
    done >longer.txt
    head -c $((copies * 4000000)) /dev/zero | tr '\0' a >equal.txt
    sed 's/[ ,;]//g' longer.txt >nospace.txt
    for in in '-j 1 longer.txt' '-j 2 longer.txt' '-j 2 long.jsonl' \
        '-j 2 --nfc --strip-controls long.txt' '-j 2 --split blank long.txt' \
        '-j 1 --min-chars 9 longer.txt' \
        '-j 2 --dedup exact --dedup minhash --mem 1M longer.txt' \
        '-j 1 --boilerplate 2 --mem 1M long.jsonl' \
        '-j 1 --stats equal.txt' '-j 2 equal.txt' '-j 2 nospace.txt'; do
        out='-o got'
        case $in in *--stats*) out=-v ;; esac
        # shellcheck disable=SC2086
        ok "$in" tokenize -t "$gold/gpt2.json" $out $in
        like 'is one document' ' 1 documents' err
        if within 64 err; then
            pass 'in 64 MB'
        else
            fail "in 64 MB: $(cat err)"
        fi
    done
    # The rules of Gopher drop them.
    ok 'rules of Gopher' tokenize -t "$gold/gpt2.json" -o got \
        --gopher-repetition --gopher-quality --dropped dropped longer.txt
    if [ -s dropped ] && within 64 err; then
        pass 'in 64 MB'
    else
        fail "in 64 MB: $(cat err)"
    fi
    # No spaces: one word for vocabularies as SentencePiece makes them.
    ok 'a text without spaces' tokenize -t "$gold/family/llama2.json" -o got \
        nospace.txt
    if within 64 err; then
        pass 'in 64 MB'
    else
        fail "in 64 MB: $(cat err)"
    fi
    ;;
esac
done_testing
