#!/bin/sh
# clean: the documents it writes, and that every reader knows them
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

# What is written
mkdir in
printf 'a "quoted" text\\\twith\001controls \303\251\n' >in/de.txt
printf '{"text":"one\\ntwo"}\n\n{"text":"\\u0000"}\n' >in/en.jsonl
ok 'documents are written' clean -q in
sed 's/"options":"[0-9a-f]*","inputs":"[0-9a-f]*"/"hashes"/' out >got
# Keys: Python's xxhash 4.1.0 (xxHash 0.8.4), xxhash.xxh3_64_hexdigest(source +
# b'\0' + input + b'\0' + record.to_bytes(8, 'little'))
cat >want <<'E2'
{"retort":"documents","version":1,"hashes","from":"0 0 0 0","sources":["de","en"]}
{"input":"in/de.txt","record":0,"source":"de","key":"32ec134b359a555a","next":"0 0 1 34","text":"a \"quoted\" text\\\twith\u0001controls é\n"}
{"input":"in/en.jsonl","record":0,"source":"en","key":"b681dc9b7be1e32c","next":"1 0 1 20","text":"one\ntwo"}
{"input":"in/en.jsonl","record":2,"source":"en","key":"b940cae0986678af","next":"1 0 3 39","text":"\u0000"}
{"retort":"end"}
E2
same 'documents are written as clean(1) has it' got want
cp out docs.out
ok '-o writes a file' clean -q -o docs in
same 'the file has the same documents' docs.out docs
cp docs same.docs

# Streams of documents are those of the text
all="$top/corpus/bg.jsonl $top/corpus/en.jsonl $top/corpus/code.jsonl"
# shellcheck disable=SC2086 # words
{
    ok 'text is tokenized' tokenize -q -t "$tok" -o text.s $all
    clean -q $all >docs.jsonl
    ok 'documents on standard input are tokenized' sh -c \
        "tokenize -q -t '$tok' <docs.jsonl >docs.s"
}
same 'clean without options does not change a stream' text.s docs.s
shard_keys() {
    shard write -q -f -o "$1.d" "$1" && shard dump "$1.d" | grep 'key '
}
shard_keys text.s >text.keys
for form in docs.jsonl docs docs.jsonl.gz; do
    case $form in
    docs) mv docs.jsonl docs ;;
    *.gz) gzip -c docs >docs.jsonl.gz ;;
    esac
    ok "a file $form is tokenized" tokenize -q -t "$tok" -o f.s $form
    shard_keys f.s >f.keys
    same "sources and keys of $form are kept" text.keys f.keys
    ok "a vocabulary is trained on $form" bpe -q -o v.json --vocab 300 $form
done
# shellcheck disable=SC2086 # words
ok 'a vocabulary is trained on text' bpe -q -o v2.json --vocab 300 $all
same 'documents and text train the same vocabulary' v.json v2.json
ok 'standard input may be compressed' sh -c \
    "gzip -c <docs | tokenize -q -t '$tok' -o f.s"
same 'a compressed stream of documents is the same' text.s f.s
mkdir many
cp docs many/x.jsonl
echo 'more text' >many/zz.txt
ok 'a folder may hold documents and text' tokenize -q -t "$tok" --stats many
equal 'documents keep their sources in a folder' \
    "$(cut -f 1 out | tr '\n' ' ')" 'source bg en code zz all '
clean -q docs | tail -n +2 | sed 's/.*"key":"\([^"]*\)".*/\1/' >keys
tail -n +2 docs | sed 's/.*"key":"\([^"]*\)".*/\1/' >keys.1
same 'documents that are cleaned again keep their keys' keys keys.1
ok 'documents may be filtered by lines' sh -c \
    "grep -v '\"source\":\"bg\"' docs | tokenize -q -t '$tok' --stats >out"
unlike 'the documents that were filtered are gone' '^bg' out

# What is refused
refused() {
    status 3 "$1 is refused" tokenize -q -t "$tok" -o never bad
    like "the message on $1 says where and why" "$2" err
    [ ! -e never ] || fail "$1 left a stream"
}
sed '$d' same.docs >bad
refused 'a file without its last line' 'bad: offset [0-9]+:.*break off'
{ cat same.docs; sed 1d same.docs; } >bad
refused 'a file with lines behind the last' 'bad: offset [0-9]+:.*more follows'
sed q same.docs | tr -d '\n' >bad
refused 'a first line without an end' 'bad: offset [0-9]+: .*break off'
printf '{"retort":"documents"' >bad
refused 'a first line that breaks off' 'bad: offset 21: '
printf '{"retort":"docu' >bad
ok 'a text that begins like documents is a text' tokenize -q -t "$tok" -o f.s bad
sed 's/"source":"en"/"source":"xx"/' same.docs >bad
refused 'an unknown source' 'bad: line 3, offset [0-9]+: "source"'
sed 's/,"key":"[^"]*"//' same.docs >bad
refused 'a document without a key' 'bad: line 2, offset [0-9]+: "key" is missing'
sed 's/"key":"./"key":"x/' same.docs >bad
refused 'a key that is no hash' 'bad: line 2, offset [0-9]+: "key"'
sed 's/"version":1/"version":2/' same.docs >bad
refused 'another version' 'bad: .*version'
sed 's/"sources":\[[^]]*\]/"more":0/' same.docs >bad
refused 'a first line without sources' 'bad: .*"sources"'
sed 's/"next":"[^"]*"/"next":"1 x"/' same.docs >bad
status 3 'a place that is none is refused' sh -c \
    "tokenize -q -t '$tok' -o never - <bad"
like 'the message names the place' '"next"' err
tar -cf bad.tar docs.jsonl.gz many/x.jsonl
status 3 'documents in an archive are refused' tokenize -q -t "$tok" -o never \
    bad.tar
like 'the message says to unpack them' 'x.jsonl: .*archive' err
for option in '--lang-path --lang a,b' '--wiki'; do
    # shellcheck disable=SC2086 # words
    status 2 "$option is refused with documents" clean -q $option same.docs
    like "the message on $option names the file" 'same.docs: .*--lang' err
done
ok '--lang names the source of documents anew' tokenize -q -t "$tok" --stats \
    --lang x same.docs
equal 'all documents have the source of --lang' \
    "$(cut -f 1,2 out | tr '\t\n' ': ')" 'source:documents x:3 '

# A text of many escapes is longer in documents than --max-doc allows.
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "\001\"" }' >esc.txt
clean -q --max-doc 2000 esc.txt >esc.docs
ok '--max-doc is the length of the text that clean reads' tokenize -q \
    -t "$tok" --max-doc 2000 -o f.s esc.docs
done_testing
