#!/bin/sh
# tokenize: inputs, documents, ids, errors; the same stream for any -j
. "${0%/*}/../lib/lib.sh"
gold=$top/tests/golden/tok
tok=$gold/digits.json

# Documents
printf 'the river' >one.txt
printf 'alpha beta\n\ngamma\r\n  \ndelta\nepsilon\n' >many.txt
ok 'a file is one document' tokenize -q -t "$tok" --ids many.txt
equal 'a file is one line of ids' "$(wc -l <out)" 1
ok '--split line runs' tokenize -q -t "$tok" --ids --split line many.txt
equal '--split line leaves empty lines out' "$(wc -l <out)" 5
ok '--split blank runs' tokenize -q -t "$tok" --ids --split blank many.txt
equal '--split blank ends documents at blank lines' "$(wc -l <out)" 3
ok 'EOS closes a document' tokenize -q -t "$tok" --ids one.txt
like 'EOS is found by its usual name' ' 0$' out
ok '--no-eos is accepted' tokenize -q -t "$tok" --ids --no-eos one.txt
unlike '--no-eos leaves EOS out' ' 0$' out
ok 'a tokenizer with a template is read' tokenize -q -t "$gold/flags.json" --ids one.txt
like 'the template is applied' '^867 .* 868$' out
ok '--no-bos is accepted' tokenize -q -t "$gold/flags.json" --ids --no-bos one.txt
unlike '--no-bos leaves BOS out' '^867 ' out
status 2 '--bos is refused without a BOS' tokenize -q -t "$tok" --bos --ids one.txt
printf 'x<|im_end|>y' >special.txt
ok 'special tokens in text are text' tokenize -q -t "$tok" --ids special.txt
unlike 'special tokens in text do not become ids' '(^| )2 ' out
ok '--special is accepted' tokenize -q -t "$tok" --ids --special special.txt
like '--special finds special tokens' '^[0-9]+ 2 [0-9]+ 0$' out

# There and back
for f in "$gold/train.txt" many.txt special.txt "$top/corpus/README.md"; do
    ok "${f##*/} is tokenized" tokenize -q -t "$tok" -o s "$f"
    ok "${f##*/} is decoded" tokenize -q -t "$tok" --decode s
    same "${f##*/} is its text again" "$f" out
done
printf 'one\ntwo\n\xc3\xa9\n' >lines.txt
ok 'lines are tokenized' tokenize -q -t "$tok" --split line -o s lines.txt
ok 'lines are decoded' tokenize -q -t "$tok" --split line --decode s
same 'lines are the lines again' lines.txt out
status 3 'decoding with another tokenizer is refused' \
    tokenize -q -t "$gold/gpt2.json" --decode s
like 'the message names the other tokenizer' 'made by another tokenizer' err

# JSONL, sources, folders, compression
mkdir dir
printf '{"text":"one","l":"a"}\n\n{"l":"b","text":"two \\u0000 \\ud83d\\ude00"}\n' \
    >dir/en.jsonl
printf 'plain\n' >dir/de.txt
printf 'no text\n' >dir/README.md
ok 'JSONL is read' tokenize -q -t "$tok" --ids dir/en.jsonl
equal 'a line of JSONL is a document' "$(wc -l <out)" 2
ok '--lang-field is accepted' tokenize -q -t "$tok" --stats --lang a,b --lang-field l \
    dir/en.jsonl
equal '--lang-field names the source' "$(cut -f 1,2 out | tr '\t\n' ': ')" \
    'source:documents a:1 b:1 all:2 '
status 3 'a source that is not declared is refused' tokenize -q -t "$tok" --ids \
    --lang a,c --lang-field l dir/en.jsonl
like 'the message names the source and its place' '^tokenize: dir/en.jsonl: line 3, offset 24: "b" is none' err
ok 'a folder is read' tokenize -q -t "$tok" --stats dir
equal 'text files of a folder are sources' "$(cut -f 1,2 out | tr '\t\n' ': ')" \
    'source:documents README:1 de:1 en:2 all:4 '
ok 'plain JSONL is read' tokenize -q -t "$tok" --lang x --ids dir/en.jsonl
mv out want
mkdir packed
gzip -c dir/en.jsonl >packed/en.jsonl.gz
for pack in gzip:gz xz:xz zstd:zst bzip2:bz2; do
    if command -v "${pack%:*}" >/dev/null; then
        "${pack%:*}" -c dir/en.jsonl >"packed/en.jsonl.${pack#*:}"
        ok "JSONL by ${pack%:*} is read" tokenize -q -t "$tok" --ids \
            "packed/en.jsonl.${pack#*:}"
        same "JSONL by ${pack%:*} gives the same ids" want out
    else
        skip "JSONL by ${pack%:*} is read" 'not installed'
    fi
done
ok '--jsonl reads a compressed pipe' sh -c \
    'tokenize -q -t "$1" --jsonl --ids <packed/en.jsonl.gz' sh "$tok"
same 'a compressed pipe gives the same ids' want out
i=0
while [ $i -lt 400 ]; do
    i=$((i + 1))
    echo "line $i of a text that is long enough $i$i$i"
done >long.txt
gzip -c long.txt | head -c 1500 >cut.txt.gz
status 3 'a compressed file cut short is refused' tokenize -q -t "$tok" -o s2 cut.txt.gz
like 'the message says where it is cut' '^tokenize: cut.txt.gz: offset [0-9]+( of its content)?: ' err
[ ! -e s2 ] || fail 'a partial stream was left behind'

# Bad input
bad_line() {
    printf '%b' "$2" >bad.jsonl
    status 3 "JSONL with $1 is refused" tokenize -q -t "$tok" --ids bad.jsonl
    like "the message on $1 has the offset" "^tokenize: bad.jsonl: line [12], offset $3: $4" err
}
bad_line 'no object' '{"text":"a"}\n[1]\n' 13 'is no object'
bad_line 'no text' '{"text":"a"}\n{"txt":"b"}\n' 13 'the record has no text'
bad_line 'a number' '{"text":1}\n' 0 'the record has no text'
bad_line 'broken off' '{"text":"a"}\n{"text":"b\n' 2[0-9] ''
bad_line 'two values' '{"text":"a"} {}\n' 13 'more follows the object'
bad_line 'half a pair' '{"text":"\\ud800"}\n' 9 'no escape, or half of'
printf 'ab\377c\303(\n' >bytes.txt
ok 'bytes that are no UTF-8 are read' tokenize --lossy -t "$tok" -o s bytes.txt
like 'bytes that are no UTF-8 are counted' 'bytes.txt: offset 2: is not UTF-8: 2 such places' err
ok 'bytes that are no UTF-8 are decoded' tokenize -q -t "$tok" --decode s
printf 'ab\357\277\275c\357\277\275(\n' >want
same 'bytes that are no UTF-8 become U+FFFD' want out
status 3 '--strict refuses bytes that are no UTF-8' tokenize -q -t "$tok" --strict --ids bytes.txt
like 'the message says where they are' '^tokenize: bytes.txt: offset 2: is not UTF-8$' err
: >empty.txt
# The field, and inputs before the vocabulary
printf '{"title":"t","n":1,"b\\u006fdy":"x","l":[]}\n' >field.jsonl
status 3 'a record without the field is refused' tokenize -q -t "$tok" --ids field.jsonl
like 'the message names --field and fields with text' \
    'field\.jsonl: line 1, offset 0: .*"text".*--field.*"title", "body"' err
unlike 'the message names no other field' '"n"|"l"' err
ok '--field names another field' tokenize -q -t "$tok" --ids --field body field.jsonl
printf '{"n":1}\n' >field.jsonl
status 3 'a record without any text is refused' tokenize -q -t "$tok" --ids field.jsonl
like 'the message says that there is no text' 'no text "text".*no other' err
printf '{"text":"a","source":2}\n' >field.jsonl
status 3 'a record without its source is refused' tokenize -q -t "$tok" --ids \
    --lang a,b --lang-field lang field.jsonl
like 'the message names --lang-field' '"lang".*--lang-field.*"text"' err
awk 'BEGIN { printf "{"; for (i = 0; i < 40; i++)
    printf "%s\"field%d\":\"x\"", i ? "," : "", i; print "}" }' </dev/null >field.jsonl
status 3 'a record of 40 fields without text is refused' tokenize -q -t "$tok" --ids field.jsonl
like 'the message lists some of 40 fields' '"field0", .*"field7", \.\.\.' err
status 1 'no such file is said before the tokenizer is looked at' \
    tokenize -q -t none.json -o s none.txt
like 'the message names the missing file' 'none\.txt: No such file' err
status 1 'one missing file of several is said first' tokenize -q -t none.json -o s one.txt none.txt
like 'the message names the missing one' 'none\.txt: No such file' err
status 1 'a missing stream to decode is said first' tokenize -q -t none.json --decode none.docs
like 'the message names the missing stream' 'none\.docs: No such file' err
status 3 'a file that is no text is said first' sh -c 'cp "$1" x.csv &&
    tokenize -q -t none.json x.csv' sh one.txt
like 'the message names the file that is no text' 'x\.csv: .*CSV' err
status 1 'a missing file is refused' tokenize -q -t "$tok" -o s none.txt
status 2 'tokenize without a tokenizer is refused' tokenize -q one.txt
like 'the message asks for a tokenizer' '^tokenize: which tokenizer' err
status 2 '--ids refuses --stats' tokenize -q -t "$tok" --ids --stats one.txt

# Tokenizers
head -c 9000 "$tok" >cut.json
status 3 'a tokenizer cut short is refused' tokenize -q -t cut.json --ids one.txt
like 'the message names the tokenizer and an offset' '^tokenize: cut.json: offset [0-9]+: ' err
status 3 'a foreign file as tokenizer is refused' tokenize -q -t "$top/tests/golden/adamw.safetensors" \
    --ids one.txt
status 1 'a missing tokenizer is refused' tokenize -q -t none.json --ids one.txt
status 1 'a folder without a tokenizer is refused' tokenize -q -t dir --ids one.txt
sed 's/^"normalizer":null/"normalizer":{"type":"NFKC"}/' "$tok" >nfkc.json
status 3 'a component that is not implemented is refused' \
    tokenize -q -t nfkc.json --ids one.txt
like 'the message names the path of the component' \
    '^tokenize: nfkc.json: normalizer.type: NFKC is not implemented' err
mkdir model
cp "$tok" model/tokenizer.json
echo '{"eos_token":{"content":"<|im_end|>"},"model_max_length":1'"$(
    printf '%030d' 0)"'}' >model/tokenizer_config.json
ok 'a model directory is read' tokenize -q -t model --ids one.txt
like 'the EOS of a model directory is known' ' 2$' out

# Threads
i=0
while [ $i -lt 30 ]; do
    i=$((i + 1))
    cat "$gold/train.txt" long.txt
done >big.txt
i=0
while [ $i -lt 40000 ]; do
    i=$((i + 1))
    echo "$i"
done >short.txt
for how in file line blank; do
    ok "-j 1 tokenizes by $how" tokenize -q -j 1 -t "$tok" --split $how -o a \
        big.txt short.txt many.txt
    ok "-j 3 tokenizes by $how" tokenize -q -j 3 -t "$tok" --split $how -o b \
        big.txt short.txt many.txt
    same "-j 3 writes the same bytes by $how" a b
done

# A reader that leaves
mkfifo pipe
tokenize -q -t "$tok" --split line big.txt >pipe 2>err &
head -c 100 <pipe >out
wait $!
equal 'a closed pipe is no error' "$?" 0
mkfifo pipe2
tokenize -q -t "$tok" --split line --ids big.txt >pipe2 2>err &
head -c 100 <pipe2 >out
wait $!
equal 'a closed pipe is no error for --ids' "$?" 0

# A SentencePiece model inside a GGUF
printf 'The river  bends.\n' >sp.txt
ok 'a SentencePiece GGUF is read' tokenize -q -t "$gold/spm/spm.gguf" -o s sp.txt
ok 'a SentencePiece GGUF decodes' tokenize -q -t "$gold/spm/spm.gguf" --decode s
same 'a SentencePiece GGUF gives the text again' out sp.txt
# Of a model's file only the tokenizer is read, whatever its tensors are.
head -c 30000 "$top/tests/golden/gguf/f32.gguf" >half.gguf
ok "a tokenizer in a GGUF without weights is read" tokenize -q -t half.gguf --ids \
    one.txt

# Tekken's vocabulary with the pattern of Llama 3; a stream holds the hash
awk 'FNR == NR { if (/^"Regex":/) r = $0; next } /^"Regex":/ { $0 = r } 1' \
    "$gold/family/llama3.json" "$gold/family/nemo.json" >wrong.json
cp "$gold/family/nemo.json" right.json
ok 'a tokenizer with a wrong pattern is read' tokenize -q -t wrong.json -o wrong.s sp.txt
equal 'a wrong pattern is told once' "$(grep -c 'wrong.json: pre_tokenizer: .*Tekken' err)" 1
mkdir fix keep neither
for i in fix keep neither; do
    cp wrong.json "$i/tokenizer.json"
done
printf '{"fix_mistral_regex": true}' >fix/tokenizer_config.json
printf '{"fix_mistral_regex": false}' >keep/tokenizer_config.json
printf '{"fix_mistral_regex": "true"}' >neither/tokenizer_config.json
ok 'fix_mistral_regex mends the pattern' tokenize -q -t fix -o fix.s sp.txt
equal 'a mended pattern is not told' "$(cat err)" ''
ok 'the right pattern is read' tokenize -q -t right.json -o right.s sp.txt
equal 'a right pattern is not told' "$(cat err)" ''
same 'the mended pattern gives the same stream' right.s fix.s
ok 'fix_mistral_regex false keeps the pattern' tokenize -q -t keep -o keep.s \
    sp.txt
equal 'a pattern that is kept is not told' "$(cat err)" ''
same 'the pattern is kept as the file has it' wrong.s keep.s
status 1 'the two patterns are two tokenizers' cmp -s wrong.s right.s
status 3 'another setting is refused' tokenize -q -t neither --ids sp.txt
like 'the message says what the setting is' 'fix_mistral_regex: is neither true nor false' err
ok 'the environment has no say' env RETORT_MISTRAL_REGEX=fix tokenize -q \
    -t wrong.json -o env.s sp.txt
same 'the environment does not change ids' wrong.s env.s

# One document of 64 MB without a place to cut: text and ids, no more.
if is_long; then
    awk 'BEGIN { srand(1); for (i = 0; i < 16000000; i++)
        printf "%c%c%c%c", 97 + rand() * 26, 97 + rand() * 26,
            97 + rand() * 26, 97 + rand() * 26 }' >letters.txt
    tr '[:lower:]' a <letters.txt >letter.txt
    for name in gpt2 family/llama2; do
        for text in letters letter; do
            ok "64 MB of $text, $name, in 500 MB of address space" \
                sh -c 'ulimit -v 500000; exec "$@"' sh tokenize \
                -q -j 1 -t "$gold/$name.json" -o long "$text.txt"
        done
    done
    rm -f letters.txt letter.txt long
fi
done_testing
