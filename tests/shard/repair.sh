#!/bin/sh
# shard check says what is damaged, --repair keeps the rest
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
text=$top/tests/golden/tok/train.txt

# smash FILE OFFSET: other bytes there
smash() {
    printf 'XXXX' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

head -n 18 "$text" >en.txt
tail -n +19 "$text" >fr.txt
ok 'documents of two sources are made' \
    tokenize -q -t "$model" --split line -o docs en.txt fr.txt
# Messages as small as tokenize makes them for one input at a time.
for i in $(seq 1 12); do
    sed -n "$((3 * i - 2)),$((3 * i))p" "$text" >"p$i.txt"
done
ok 'documents come in several messages' \
    tokenize -q -t "$model" --split line -o docs p*.txt
ok 'the documents make a directory' \
    shard write -q --frame 1 --shard-size 1 -o whole docs
shard list -q whole >out
# With one message only there is not much to lose: batches have many.
ok 'batches are made' stream -q -B 2 -T 64 -s 1 --batches 40 -o batches whole
for codec in zstd lz4; do
    ok "batches are stored by $codec" \
        shard write -q --codec $codec --frame 2K --shard-size 6K -o good.$codec batches
    cp -r good.$codec bad
    suffix=zst
    [ $codec = lz4 ] && suffix=lz4
    ok "an undamaged directory is repaired, $codec" shard repair -q -o same bad
    like "the report says that nothing is lost, $codec" \
        '^bad: nothing is lost of [0-9]+ frames$' out
    ok "an undamaged directory stays as it was, $codec" diff -r bad same

    smash bad/00001.shard.$suffix 1100
    status 3 "damage is found, $codec" shard check bad
    like "the error names shard, frame and rows, $codec" \
        "^shard [a-z]*: bad/00001\.shard\.$suffix: frame [0-9]+ at byte [0-9]+: .*: rows [0-9]+ to [0-9]+, [0-9]+ tokens" err
    like "the verdict is one line, $codec" '^bad: BAD$' out
    ok "a damaged directory is repaired, $codec" shard repair -q -o fixed bad
    like "the report counts the losses, $codec" \
        '^bad: 1 of [0-9]+ frames are lost, [1-9][0-9]* messages, [1-9][0-9]* documents, [0-9]+ tokens$' out
    ok "the repaired directory checks, $codec" shard check -q fixed
    ok "the repaired directory is streamed, $codec" stream -q -B 2 -o r fixed
    rows=$(shard list -q good.$codec | awk '/shard\./ { n += $6 } END { print n }')
    left=$(shard list -q fixed | awk '/shard\./ { n += $6 } END { print n }')
    rm -rf fixed
    ok "a repair gives the numbers, $codec" shard repair -q -o fixed bad
    lost=$(sed -n 's/^bad: .* messages, \([0-9]*\) documents.*/\1/p' out)
    equal "every other row is there, $codec" $((left + lost)) "$rows"

    # Without anything but frames.
    rm bad/*.index bad/manifest.json
    rm -rf fixed2
    ok "it is repaired without manifest and index, $codec" \
        shard repair -q --frame 2K --shard-size 6K --codec $codec -o fixed2 bad
    shard dump -q --values 100000 fixed | grep '^  ids' >a
    shard dump -q --values 100000 fixed2 | grep '^  ids' >b
    same "the same rows are saved, $codec" a b
    size=$(wc -c <bad/00002.shard.$suffix)
    head -c $((size - 30)) good.$codec/00002.shard.$suffix >bad/00002.shard.$suffix
    rm -rf fixed2
    ok "it is repaired without a seek table, $codec" \
        shard repair -q -o fixed2 bad
    ok "without a seek table it checks, $codec" shard check -q fixed2
    rm -rf bad same fixed fixed2 r
done

# ---- in place ----
cp -r good.zstd bad
smash bad/00002.index 50
smash bad/00001.shard.zst 30
ok 'a directory is repaired in place' shard repair -q bad
ok 'the directory repaired in place checks' shard check -q bad
ok 'the damaged directory is kept' test -e bad.damaged/00002.index
[ ! -e bad.repair ] || fail 'something is left'
status 2 'a second repair in place is refused' shard repair bad
rm -rf bad bad.damaged
cp -r good.zstd bad
rm bad/00001.shard.zst
ok 'a missing shard is left out' shard repair -q bad
like 'the report names the missing shard' \
    'bad/00001.shard.zst: the shard is missing' err
ok 'without the missing shard it checks' shard check -q bad

# ---- the description of the stream ----
cp -r whole lost
smash lost/00000.shard.zst 20
status 3 'a directory without its first message is refused' \
    shard repair -o x lost
like 'the error asks for the tokenizer' 'give the tokenizer \(-t\)' err
ok 'a tokenizer replaces the first message' \
    shard repair -q -t "$model" -o x lost
ok 'the directory with a new first message checks' shard check -q x
shard dump -q --messages 1 whole | sed 1d >a
shard dump -q --messages 1 x | sed 1d >b
same 'the new first message is the old one' a b
rm -rf lost x
cp -r good.zstd lost
smash lost/00000.shard.zst 20
status 3 'a first message of batches cannot be replaced' \
    shard repair -t "$model" -o x lost
status 3 'a folder with nothing to repair is refused' shard repair -o x .
status 1 'a missing directory is an error' shard repair -o x nowhere

# ---- what cannot be read now is not damaged ----
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    rm -rf x
    status 1 'a manifest that cannot be opened is an error' \
        strace -qq -o trace \
        -P good.zstd/manifest.json -e trace=openat \
        -e inject=openat:error=EACCES shard repair -q -o x good.zstd
    like 'the error names the manifest' \
        'good.zstd/manifest.json: Permission denied' err
    status 1 'a manifest that cannot be read is an error' \
        strace -qq -o trace -P good.zstd/manifest.json \
        -e trace=read -e inject=read:error=EIO \
        shard repair -q good.zstd
    status 1 'an unreadable directory is not replaced' strace -qq -o trace \
        -P good.zstd/manifest.json -e trace=openat \
        -e inject=openat:error=EIO shard write -q -f -o good.zstd batches
    ok 'the unreadable directory is whole' shard check -q good.zstd
    [ ! -e good.zstd.damaged ] || fail 'it was put aside'
else
    skip 'errors of the system are no damage' 'no strace'
fi
done_testing
