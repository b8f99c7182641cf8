#!/bin/sh
# bpe: trains a tokenizer on the documents that tokenize reads
. "${0%/*}/../lib/lib.sh"
gold=$top/tests/golden/tok
: >empty.txt

ok 'a folder gets a tokenizer' bpe -q -o t --vocab 600 "$gold/train.txt"
ok 'tokenize encodes with the trained tokenizer' tokenize -q -t t -o s \
    "$gold/train.txt"
ok 'tokenize decodes with the trained tokenizer' tokenize -q -t t --decode s
same 'the text comes back' "$gold/train.txt" out
like 'the configuration names EOS' '"eos_token": "<\|endoftext\|>"' \
    t/tokenizer_config.json
ok 'a file .json gets a tokenizer' bpe -q -o t2/x.json --vocab 600 \
    "$gold/train.txt"
same 'a folder and a file get the same bytes' t/tokenizer.json t2/x.json
ok 'standard input is read' bpe -q -o t3 --vocab 600 <"$gold/train.txt"
same 'standard input gives the same bytes as the file' t/tokenizer.json \
    t3/tokenizer.json

# Records and archives, by several threads
LC_ALL=C tr -cd '[:alnum:] ,.\n' <"$gold/train.txt" >r.txt
sed 's/.*/{"body":"&"}/' r.txt >r.jsonl
tar -cf r.tar r.jsonl
ok 'lines are documents' bpe -q -o lines.json --vocab 400 --split line r.txt
ok 'records are documents' bpe -q -o records.json --vocab 400 --field body \
    -j 1 r.jsonl
ok 'members of an archive are documents' bpe -q -o members.json --vocab 400 \
    --field body -j 3 r.tar
same 'records train like lines of their text' lines.json records.json
same 'an archive and 3 threads change nothing' records.json members.json

ok 'EOS can have another name' bpe -q -o e --vocab 300 --eos-token '</s>' r.txt
like 'the configuration names the other EOS' '"eos_token": "</s>"' \
    e/tokenizer_config.json
ok 'a vocabulary larger than the text has pairs' bpe -o few --vocab 4000 \
    --split line "$top/corpus/README.md"
like 'a note counts the entries' 'vocabulary has [0-9]+ entries' err

# misuse KEYWORDS option ...: refused with status 2, nothing written
misuse() {
    words=$1
    shift
    status 2 "misuse is refused: $*" bpe -q "$@" r.txt
    like "its message has: $words" "$words" err
    [ ! -e never ] || fail "a tokenizer was written: $*"
}
misuse '-o takes' --vocab 300
misuse '--lang auto.*clean' -o never --lang auto
misuse '--lang auto:en,de.*clean' -o never --lang auto:en,de
misuse '--strict and --lossy' -o never --strict --lossy
misuse '--lang-field and --lang-path' -o never --lang a,b --lang-field l \
    --lang-path
misuse '--eos-token' -o never --eos-token ''
misuse '--vocab' -o never --vocab 256
misuse '--tokenizer|-t' -o never -t t
misuse '--dedup' -o never --dedup exact
status 2 'tokenize has no option to train' tokenize -q --train never r.txt
[ ! -e never ] || fail 'tokenize wrote a tokenizer'

status 3 'input without text is refused' bpe -q -o never empty.txt
[ ! -e never ] || fail 'a tokenizer of nothing was written'
printf 'a b a b\n' >few.txt
ok 'the closing line is printed' bpe -o few.json few.txt
like 'the closing line counts documents and bytes' \
    '^bpe .*: 1 documents, 0[.]000 MB, wall' err
unlike 'the closing line counts no tokens' 'tokens' err
done_testing
