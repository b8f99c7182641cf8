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
status 2 'what has just been added' shard write --append -o twice c
like 'is not added again' '^shard [a-z]*: c: message [0-9]+ holds what twice has already' err
ok 'and nothing has changed' diff -r before twice
ok 'other documents are' store --append -o twice p1
cp -r twice after
status 2 'nor what was added earlier' shard write --append -o twice c
like 'which is named' '^shard [a-z]*: c: message [0-9]+ holds what twice has' err
status 2 'or what it began with' shard write --append -o twice a
status 2 'behind what is new' shard write --append -o twice b c
status 2 'or with a new source' shard write --append -o twice d c
ok 'and nothing has changed' diff -r after twice
equal 'nor is anything left' "$(find . -name '*.append*')" ''

# ---- several inputs, one directory ----
ok 'three streams' store -o all a b c
ok 'it checks' shard check -q all
content a >want; content b >>want; content c >>want
content all >got
same 'hold what they held, in order' want got
equal 'en' "$(number all en)" "$(lines a c)"
equal 'fr' "$(number all fr)" "$(lines b)"
ok 'directories too' shard write -q -o da a
ok 'and a stream' sh -c 'shard write -q -o mixed da - <b'
ok 'it checks' shard check -q mixed
equal 'fr is new there' "$(number mixed fr)" "$(lines b)"
ok 'they stream' stream -q -B 2 -T 32 -o s all
status 2 'a complete one is not replaced' shard write -o all a b
ok 'but by -f' shard write -q -f -o all a b c
status 3 'other ids' shard write --append -o all "$top/tests/shard/append.sh"
ok 'of another vocabulary' sh -c "printf 'x\n' >x.txt &&
    tokenize -q -t '$top/tests/golden/tok/digits.json' --lang en -o other x.txt"
status 3 'they are refused' shard write -o bad a other
like 'by name' '^shard [a-z]*: other: made with tokenizer .* but a with ' err
[ ! -e bad ] || fail 'something was made'

# ---- append ----
ok 'one directory' store -o d1 p1 p2 p3
cp -r d1 before
content d1 >want; content p4 >>want
cp d1/*.shard.zst .
ok 'is added to' shard write -q --append -o d1 p4
ok 'it checks' shard check -q d1
content d1 >got
same 'what was there, then what is new' want got
equal 'counted' "$(number d1 en)" "$(lines p1 p2 p3 p4)"
# All files but the last are as they were.
for f in 0*.shard.zst; do [ ! -e "d1/$f" ] || cmp -s "$f" "d1/$f" || echo "$f"; done >changed
equal 'its files stay' "$(cat changed)" ''
kept=$(find . -maxdepth 1 -name '0*.shard.zst' -exec sh -c '[ -e "d1/$1" ]' _ {} \; -print | wc -l)
had=$(find . -maxdepth 1 -name '0*.shard.zst' | wc -l)
equal 'but the last one' $((had - kept)) 1
rm 0*.shard.zst
if command -v zstd >/dev/null; then
    zstd -dc d1/*.shard.zst >pipe
    ok 'it is one stream' shard dump -q pipe
fi
ok 'again, in two' shard write -q --append -o d1 c a
ok 'it checks' shard check -q d1
content c >>want; content a >>want
content d1 >got
same 'in order' want got
ok 'of one shard' shard write -q -o one p1
ok 'is added to' shard write -q --append -o one p2
ok 'on three threads' shard write -q --append -j 3 -o one p3
ok 'it checks' shard check -q one
content p1 >want; content p2 >>want; content p3 >>want
content one >got
same 'all of it' want got
equal 'is in one shard' "$(find one -name '*.zst' | wc -l | tr -d ' ')" 1
ok 'a new directory too' shard write -q --append -o fresh p1
ok 'it checks' shard check -q fresh
ok 'repaired without a manifest' sh -c 'cp -r d1 r && rm r/manifest.json r/*.index &&
    shard repair -q -o rr r'
content rr >got
content d1 >want
same 'there is the same' want got

# ---- new sources: written anew ----
ok 'a new source' shard write -q --append -o d1 d
ok 'it checks' shard check -q d1
content d >>want
content d1 >got
same 'is there' want got
equal 'by name' "$(number d1 de)" "$(lines d)"
equal 'and nothing else' "$(find . -maxdepth 1 -name 'd1*')" ./d1

# ---- batches ----
stream -q -B 2 -T 64 -s 1 --batches 9 -o b1 all
stream -q -B 3 -T 64 -s 2 --batches 9 -o b2 all
stream -q -B 3 -T 32 -s 2 --batches 9 -o b3 all
ok 'batches' shard write -q --frame 2K --shard-size 3K -o rows b1
ok 'and more of them' shard write -q --append -o rows b2
ok 'they check' shard check -q rows
rows b1 >want; rows b2 >>want
rows rows >got
same 'all rows' want got
ok 'are replayed' stream -q -B 5 --batches 9 -o s rows
status 3 'rows of another length' shard write --append -o rows b3
like 'are named' 'rows of 32 tokens, but rows has rows of 64' err
status 3 'documents' shard write --append -o rows a
teacher -q -m "$model" --final -o k1 b1
teacher -q -m "$model" --final -o k2 b2
teacher -q -m "$top/tests/golden/gguf/q8_0.gguf" --final -o k3 b2
status 3 'a teacher where there was none' shard write --append -o rows k1
ok 'with a teacher' shard write -q --frame 2K --shard-size 9K -o kd k1
ok 'more of the same' shard write -q --append -o kd k2
ok 'it checks' shard check -q kd
stream -q -B 2 -T 64 --batches 2 all >few
teacher -q -m "$model" --final --no-head -o headless few
ok 'rows without a teacher' shard write -q -o plain few
status 3 'hidden states without their head' shard write --append -o plain headless
status 3 'another teacher' shard write --append -o kd k3
status 3 'none' shard write --append -o kd b2
ok 'which changed nothing' shard check -q kd
equal 'and left nothing' "$(find . -name '*.tmp.*' -o -name '*.append')" ''

# ---- refusals ----
status 2 'with -f' shard write -f --append -o d1 p1
status 2 'with --check' shard check --append d1
head -c 2000 a >short
ok 'whole before' shard check -q before
cp -r before d2
status 3 'a stream that breaks off' shard write --append -o d2 short
ok 'adds nothing' diff -r before d2
status 3 'a directory that is open' sh -c 'shard write -q --frame 1 --shard-size 1 -o open short 2>err2
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
equal 'no room' $rc 1
like 'is named' ': File too large$' err
ok 'and changed nothing' diff -r before d2
done_testing
