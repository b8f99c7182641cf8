#!/bin/sh
# shard write --append and several inputs: sources by name, all or nothing
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
text=$top/tests/golden/tok/train.txt
# store ARGUMENT ...: in small shards
store() { shard write -q --frame 1 --shard-size 1500 "$@"; }

# docs NAME SOURCE FROM TO: a stream of these lines as documents
docs() {
    sed -n "$3,$4p" "$text" >"$1.txt"
    tokenize -q -t "$model" --split line --lang "$2" -o "$1" "$1.txt"
}
# content DIR: source, length, key of every document, and ids, in order
content() {
    shard dump -q --values 1000000 "$1" >shown &&
        sed -n 's/^  document [0-9]*: \(.*\)/\1/p
            s/^  \(ids\|loss_mask\) [A-Z0-9]* \[[0-9]*\]//p' shown
}
# rows DIR: the ids of all rows
rows() {
    shard dump -q --values 1000000 "$1" >shown && sed -n 's/^  ids [^]]*\]//p' shown
}
# number DIR SOURCE: documents of a source, as the table says
number() {
    shard list -q "$1" >table && awk -v s="$2" '$1 == s { print $2 }' table
}
# lines NAME ...: how many documents were in them
lines() {
    for f in "$@"; do cat "$f.txt"; done | grep -c .
}

docs a en 1 12
docs b fr 13 20
docs c en 21 30
docs d de 31 36
for i in 1 2 3 4; do docs p$i en $((3 * i - 2)) $((3 * i)); done

# ---- the same twice ----
store -o twice a && store --append -o twice c
cp -r twice before
status 2 'messages just added are refused' shard write --append -o twice c
like 'the error says that they were added before' \
    '^shard [a-z]*: c: message [0-9]+ holds what twice has already' err
ok 'a refused input changes nothing' diff -r before twice
ok 'other documents are added' store --append -o twice p1
cp -r twice after
status 2 'messages added earlier are refused' shard write --append -o twice c
like 'the error names the message added earlier' \
    '^shard [a-z]*: c: message [0-9]+ holds what twice has' err
status 2 'the messages that it began with are refused' \
    shard write --append -o twice a
status 2 'old messages behind new ones are refused' \
    shard write --append -o twice b c
status 2 'old messages with a new source are refused' \
    shard write --append -o twice d c
ok 'refused inputs change nothing' diff -r after twice
equal 'refused inputs leave no file' "$(find . -name '*.append*')" ''

# ---- several inputs, one directory ----
ok 'three streams are stored as one' store -o all a b c
ok 'the directory of three streams checks' shard check -q all
content a >want; content b >>want; content c >>want
content all >got
same 'three streams hold what they held, in order' want got
equal 'en has the documents of both streams' "$(number all en)" "$(lines a c)"
equal 'fr has the documents of its stream' "$(number all fr)" "$(lines b)"
ok 'a directory is an input too' shard write -q -o da a
ok 'a directory and a stream are stored together' \
    sh -c 'shard write -q -o mixed da - <b'
ok 'the mixed directory checks' shard check -q mixed
equal 'fr is a new source there' "$(number mixed fr)" "$(lines b)"
ok 'the joined streams are streamed' stream -q -B 2 -T 32 -o s all
status 2 'a complete directory is not replaced' shard write -o all a b
ok '-f replaces a complete directory' shard write -q -f -o all a b c
status 3 'a text is no input' \
    shard write --append -o all "$top/tests/shard/append.sh"
ok 'a stream of another vocabulary is made' sh -c "printf 'x\n' >x.txt &&
    tokenize -q -t '$top/tests/golden/tok/digits.json' --lang en -o other x.txt"
status 3 'streams of two tokenizers are refused' shard write -o bad a other
like 'the error names both tokenizers' \
    '^shard [a-z]*: other: made with tokenizer .* but a with ' err
[ ! -e bad ] || fail 'something was made'
# tokenizers of the same ids that end documents by different ones
for end in 1 2; do
    mkdir end$end
    cp "$top/tests/golden/tok/digits.json" end$end/tokenizer.json
done
names=$(sed -n 's/.*"content": *"\(<|[a-z_]*|>\)".*/\1/p' end1/tokenizer.json | sort -u)
for end in 1 2; do
    printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
        "$(printf '%s\n' "$names" | sed -n ${end}p)" >end$end/tokenizer_config.json
    tokenize -q -t end$end --lang en -o ended$end x.txt || fail "text ends by eos $end"
done
status 3 'streams of two ends of documents are refused' shard write -o bad ended1 ended2
like 'the error names both ends' \
    '^shard [a-z]*: ended2: documents begin and end with ids .*, but in ended1 with ' err

# ---- append ----
ok 'three inputs make one directory' store -o d1 p1 p2 p3
cp -r d1 before
content d1 >want; content p4 >>want
cp d1/*.shard.zst .
ok 'a stream is added to the directory' shard write -q --append -o d1 p4
ok 'the directory added to checks' shard check -q d1
content d1 >got
same 'old documents come before new ones' want got
equal 'the source counts all documents' "$(number d1 en)" "$(lines p1 p2 p3 p4)"
# All files but the last are as they were.
for f in 0*.shard.zst; do [ ! -e "d1/$f" ] || cmp -s "$f" "d1/$f" || echo "$f"; done >changed
equal 'files of the directory stay' "$(cat changed)" ''
kept=$(find . -maxdepth 1 -name '0*.shard.zst' -exec sh -c '[ -e "d1/$1" ]' _ {} \; -print | wc -l)
had=$(find . -maxdepth 1 -name '0*.shard.zst' | wc -l)
equal 'only the last file is written anew' $((had - kept)) 1
rm 0*.shard.zst
if command -v zstd >/dev/null; then
    zstd -dc d1/*.shard.zst >pipe
    ok 'the directory is one stream' shard dump -q pipe
fi
ok 'two more streams are added' shard write -q --append -o d1 c a
ok 'the directory of six streams checks' shard check -q d1
content c >>want; content a >>want
content d1 >got
same 'documents keep the order of inputs' want got
ok 'a stream makes one shard' shard write -q -o one p1
ok 'a small stream is added to one shard' shard write -q --append -o one p2
ok 'streams are added on three threads' shard write -q --append -j 3 -o one p3
ok 'the shard added to checks' shard check -q one
content p1 >want; content p2 >>want; content p3 >>want
content one >got
same 'one shard holds all documents' want got
equal 'all documents are in one file' \
    "$(find one -name '*.zst' | wc -l | tr -d ' ')" 1
ok '--append makes a new directory' shard write -q --append -o fresh p1
ok 'the new directory checks' shard check -q fresh
ok 'a copy is repaired without its manifest' \
    sh -c 'cp -r d1 r && rm r/manifest.json r/*.index &&
    shard repair -q -o rr r'
content rr >got
content d1 >want
same 'the repaired copy has the same documents' want got

# ---- new sources: written anew ----
ok 'a new source is added' shard write -q --append -o d1 d
ok 'the directory with a new source checks' shard check -q d1
content d >>want
content d1 >got
same 'the documents of the new source follow' want got
equal 'the new source counts its documents' "$(number d1 de)" "$(lines d)"
equal 'no other directory is left' "$(find . -maxdepth 1 -name 'd1*')" ./d1

# ---- batches ----
stream -q -B 2 -T 64 -s 1 --batches 9 -o b1 all
stream -q -B 3 -T 64 -s 2 --batches 9 -o b2 all
stream -q -B 3 -T 32 -s 2 --batches 9 -o b3 all
ok 'batches are stored' shard write -q --frame 2K --shard-size 3K -o rows b1
ok 'batches are added' shard write -q --append -o rows b2
ok 'the directory of batches checks' shard check -q rows
rows b1 >want; rows b2 >>want
rows rows >got
same 'rows of both streams are there' want got
ok 'rows of both streams are replayed' stream -q -B 5 --batches 9 -o s rows
status 3 'rows of another length are refused' shard write --append -o rows b3
like 'the error names both lengths' \
    'rows of 32 tokens, but rows has rows of 64' err
status 3 'documents are not added to batches' shard write --append -o rows a
teacher -q -m "$model" --final -o k1 b1
teacher -q -m "$model" --final -o k2 b2
teacher -q -m "$top/tests/golden/gguf/q8_0.gguf" --final -o k3 b2
status 3 'a teacher where there was none is refused' \
    shard write --append -o rows k1
ok 'batches with a teacher are stored' \
    shard write -q --frame 2K --shard-size 9K -o kd k1
ok 'more batches of the teacher are added' shard write -q --append -o kd k2
ok 'the directory with a teacher checks' shard check -q kd
stream -q -B 2 -T 64 --batches 2 all >few
teacher -q -m "$model" --final --no-head -o headless few
ok 'rows without a teacher are stored' shard write -q -o plain few
status 3 'hidden states without their head are refused' \
    shard write --append -o plain headless
status 3 'batches of another teacher are refused' shard write --append -o kd k3
status 3 'batches without a teacher are refused' shard write --append -o kd b2
ok 'refused batches change nothing' shard check -q kd
equal 'refused batches leave no file' \
    "$(find . -name '*.tmp.*' -o -name '*.append')" ''

# ---- refusals ----
status 2 '--append excludes -f' shard write -f --append -o d1 p1
status 2 'check knows no --append' shard check --append d1
head -c 2000 a >short
ok 'the copy is whole before' shard check -q before
cp -r before d2
status 3 'a stream that breaks off is refused' shard write --append -o d2 short
ok 'the broken stream adds nothing' diff -r before d2
status 3 'a directory that is open is refused' \
    sh -c 'shard write -q --frame 1 --shard-size 1 -o open short 2>err2
    shard write --append -o open p1'

# ---- kill -9 while it is added to: as before, or done ----
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    content before >old; content p4 >added
    cat old added >new
    killed=0
    missed=''
    is_long && step=1 || step=3
    for call in openat write fsync rename unlink; do
        k=1
        while :; do
            rm -rf d2 && cp -r before d2
            rc=0
            strace -f -o /dev/null -e trace=$call \
                -e inject=$call:signal=KILL:when=$k \
                shard write -q --append -j 1 -o d2 p4 2>err || rc=$?
            [ $rc != 0 ] || break
            killed=$((killed + 1))
            shard check -q d2 >out 2>&1 || missed="$missed $call:$k:check"
            content d2 >got
            if cmp -s old got; then
                shard write -q --append -o d2 p4 2>err && content d2 >got
            fi
            cmp -s new got || missed="$missed $call:$k"
            [ -z "$(find d2 -name '*.tmp.*')" ] || shard write -q --append -o d2 p4
            k=$((k + step))
        done
    done 2>/dev/null
    equal "killed at $killed system calls, readable, and added then" "$missed" ''
    [ "$killed" -gt 9 ] || fail 'too few kills'
else
    skip 'killed at system calls' 'no strace'
fi

# ---- a full disk ----
rm -rf d2 && cp -r before d2
rc=0
(ulimit -f 1; exec shard write -q --append -o d2 a b) 2>err || rc=$?
equal 'a file limit ends the program' $rc 1
like 'the error says that the file is too large' ': File too large$' err
ok 'a failed append changes nothing' diff -r before d2
done_testing
