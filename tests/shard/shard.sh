#!/bin/sh
# shard: store, check, list, dump, damage, resume, kill, full disk
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
text=$top/tests/golden/tok/train.txt

# unhex PAGE FILE: the bytes of the hex dump in a man page
unhex() {
    sed -n 's/^[0-9a-f]\{4\}\(\( [0-9a-f][0-9a-f]\)*\)  .*/\1/p' "$1" |
        awk '{
            for (i = 1; i <= NF; i++) {
                d = "0123456789abcdef"
                v = (index(d, substr($i, 1, 1)) - 1) * 16
                v += index(d, substr($i, 2, 1)) - 1
                printf "\\%03o", v
            }
        }' >octal
    # shellcheck disable=SC2059 # octal is a format
    printf "$(cat octal)" >"$2"
}

# flip FILE OFFSET: turn one bit of a byte, twice is none
flip() {
    v=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    v=$((v % 2 ? v - 1 : v + 1))
    # shellcheck disable=SC2059 # an escape is a format
    printf "\\$(printf %03o $v)" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# ---- the pages ----
unhex "$top/man/retort-stream.5" page
equal 'retort-stream(5) shows a stream of 680 bytes' "$(wc -c <page | tr -d ' ')" 680
ok 'the stream of the page can be read' shard dump -q -t "$model" page
like "the page's stream has its document" \
    '^  document 0: en, 5 tokens, key c3d813c0554b0670$' out
like 'the document of the page has its text' '^    Hi\.\\n' out
printf 'Hi.\n' >en.txt
ok 'the stream of the page can be written' \
    tokenize -q -t "$model" --lang en -o again en.txt
same 'tokenize writes the bytes of the page' page again
ok 'the stream of the page is stored' shard write -q -o page.d page
unhex "$top/man/retort-shard.5" page.index
equal 'retort-shard(5) shows an index of 376 bytes' "$(wc -c <page.index | tr -d ' ')" 376
# The fields that tell of the compressed bytes depend on the version of zstd.
for range in 1:48 81:24 169:208; do
    tail -c "+${range%:*}" page.index | head -c "${range#*:}" >a
    tail -c "+${range%:*}" page.d/00000.index | head -c "${range#*:}" >b
    same "the index of the page has ${range#*:} bytes from byte ${range%:*}" a b
done

# ---- store and give back ----
ok 'documents are made' tokenize -q -t "$model" --split line -o docs "$text"
ok 'the documents are stored' \
    shard write -q --frame 2K --shard-size 2K -o d docs
ok 'batches are made' stream -q -B 2 -T 64 -s 1 --batches 60 -o batches d
ok 'the batches are stored' \
    shard write -q --frame 4K --shard-size 6K -o whole batches
ok 'batches are stored in lz4' \
    shard write -q --codec lz4 --frame 4K --shard-size 6K -o lz batches
ok 'batches are stored on three threads' \
    shard write -q -j 3 --frame 4K --shard-size 6K -o three batches
ok 'threads change no byte' diff -r whole three
ok 'three directories check' shard check whole lz d
like 'each directory has a verdict' \
    '^whole: good, complete: 62 messages, 120 rows, [0-9]+ tokens in [0-9]+ shards$' out
like 'the closing line ends the check' '^shard check [0-9.]+: wall ' err
ok 'a directory is listed' shard list whole
like 'the list has shards' '^00001\.shard\.zst +[0-9]+ ' out
like 'the list has sources' '^train +[0-9]+ +[0-9]+ 100\.00%$' out
ok 'a directory is dumped' \
    shard dump -q --messages 3 --values 2 -t "$model" whole
like 'the dump shows batches' '^#1 batch at [0-9]+, [0-9]+ bytes$' out
like 'the dump shows tensors' '^  ids U16 \[2,64\] [0-9]+ [0-9]+ \.\.\.$' out
like 'the dump shows text' '^    [A-Za-z"]' out
if command -v zstd >/dev/null; then
    zstd -dc whole/*.zst >back
    same 'zstd -dc gives the stream back' batches back
    ok 'zstd -l reads a shard' zstd -l whole/00000.shard.zst
    ok 'zstd -t checks a shard' zstd -t whole/00000.shard.zst
else
    skip 'zstd gives the stream back' 'no zstd'
fi
if command -v lz4 >/dev/null; then
    for f in lz/*.lz4; do lz4 -dc "$f"; done >back
    same 'lz4 -dc gives the stream back' batches back
else
    skip 'lz4 gives the stream back' 'no lz4'
fi
shard write -q -o stdin <batches
shard write -q -o file batches
ok 'a pipe and a file make the same directory' diff -r stdin file

# ---- refusals ----
for a in shm:x unix:x tcp:h:1; do
    status 2 "the address $a is refused" shard write -o "$a" batches
    like "the error names the address $a" \
        "^shard [a-z]*: $a: .*not supported" err
    [ ! -e "$a" ] || fail "$a was made"
done
status 2 'a complete directory is not replaced' shard write -o whole batches
like 'the error names -f' '^shard [a-z]*: whole: .*-f' err
ok '-f replaces a complete directory' shard write -q -f -o file docs
mkdir other
echo precious >other/file
status 2 'a folder of other things is not replaced' \
    shard write -f -o other batches
equal 'the folder of other things stays' "$(ls other)" file
status 2 'write without -o is refused' shard write batches
status 2 'a missing command is refused' shard -q whole
status 2 'a check of nothing is refused' shard check
status 2 'lz4 has no level 13' shard write --codec lz4 --level 13 -o x batches
status 3 'a folder that is no directory is refused' shard check other
[ ! -e x ] || fail 'x was made'
status 3 'the wrong tokenizer is refused' \
    shard dump -t "$top/tests/golden/tok/digits.json" whole

status 2 'a complete directory is refused' shard write -o whole docs
equal 'the refusal has no other line' "$(grep -c . err)" 2
unlike 'the refusal does not say that it stays open' 'stays open' err
echo '{"text": ""}' >nothing.jsonl
tokenize -q -t "$model" --lang en nothing.jsonl -o empty.st
ok 'an empty stream is stored' shard write -o empty empty.st
like 'an empty directory is made, which is said' \
    '^shard [a-z]*: empty: is complete, and holds nothing' err

# ---- damage, through the programs ----
cp -r whole bad
n=0
missed=''
for f in bad/manifest.json bad/00000.index bad/00000.shard.zst \
    bad/00003.shard.zst; do
    size=$(wc -c <"$f")
    for at in 0 7 $((size / 3)) $((size / 2)) $((size - 10)) $((size - 1)); do
        flip "$f" "$at"
        for p in 'shard check bad' 'shard dump bad' \
            'stream -q -B 2 bad'; do
            rc=0
            $p >out 2>err || rc=$?
            n=$((n + 1))
            if [ $rc != 3 ] || ! grep -q 'bad' err; then
                missed="$missed $p:$f:$at:$rc"
            fi
        done
        flip "$f" "$at"
    done
done
equal "a flipped bit is found, $n times" "$missed" ''
ok 'the restored directory checks' shard check bad
flip bad/00002.shard.zst 40
status 3 'a damaged directory fails the check' shard check whole bad
like 'the error has the place of the damage' \
    '^shard [a-z]*: bad/00002\.shard\.zst: frame 0 at byte 0: ' err
like 'the damaged directory has a verdict' '^bad: BAD$' out
like 'the good directory has its verdict' '^whole: good' out
truncate -s 100 bad/00002.shard.zst 2>/dev/null || head -c 100 whole/00002.shard.zst >bad/00002.shard.zst
status 3 'a cut shard is found' shard check bad
rm bad/00002.shard.zst
status 3 'a missing shard is found' shard check bad

# ---- a stream that breaks off, and goes on ----
# broken WHAT DIR: it is a valid open directory, or complete, or nothing yet
broken() {
    if [ -e "$2/manifest.json" ] && ! shard check -q --partial "$2" >out 2>err; then
        fail "$1"
        sed 's/^/# /' err
        return 1
    fi
}
# resume DIR: go on, and compare with the undisturbed one
resume() {
    # Killed on its way out, after its work.
    if shard check -q "$1" >out 2>&1; then
        diff -r whole "$1" >err 2>&1
        return
    fi
    if shard list -q "$1" 2>/dev/null | grep -q '^committed'; then
        stream -q -B 2 -T 64 -s 1 --batches 60 --resume "$1" d >rest 2>err
    else
        cp batches rest
    fi
    shard write -q --frame 4K --shard-size 6K -o "$1" rest 2>>err || return 1
    diff -r whole "$1" >>err 2>&1
}
head -c 70000 batches >short
status 3 'a stream that breaks off is refused' \
    shard write --frame 4K --shard-size 6K -o r short
like 'the error names the place where it breaks off' \
    '^shard [a-z]*: short: offset 70000: ' err
like 'committed shards are told' \
    '^shard [a-z]*: r: [0-9]+ shards are committed' err
status 3 'readers refuse the open directory' shard dump r
like 'the error says that it is open' \
    '^shard [a-z]*: r: the directory is open' err
status 3 'stream refuses the open directory' stream -q -B 2 r
status 3 'check refuses the open directory' shard check r
ok 'check --partial accepts the open directory' shard check --partial r
like 'the verdict says that it is open' '^r: good, open: ' out
ok 'dump --partial accepts the open directory' shard dump --partial r
status 2 'another stream is refused' shard write -o r batches
ok 'the directory that was open goes on' resume r
rm -rf r
head -c 3000 batches >short
status 3 'a stream breaks off before its first shard' \
    shard write --codec lz4 --frame 4K --shard-size 6K -o r short
ok 'a directory without a shard begins again' shard write -o r batches
like 'the codec of the first run is kept' \
    '^shard [a-z]*: r: goes on as it was begun: lz4 -1, frames of 4096, shards of 6144 bytes$' err
ok 'the directory begun again is the undisturbed one' diff -r lz r
ok '-f begins it in another codec' shard write -f -o r batches
unlike '-f does not keep the codec' 'as it was begun' err
missed=''
size=$(wc -c <batches)
for at in 10 184 300 5000 20000 52000 90000 $((size - 140)) $((size - 1)); do
    rm -rf r
    head -c "$at" batches >short
    shard write -q --frame 4K --shard-size 6K -o r short 2>err
    broken "cut at $at" r
    resume r || missed="$missed $at"
done
equal 'cut anywhere and continued it is the undisturbed one' "$missed" ''

# ---- with a teacher between ----
kd() { teacher -q -m "$model" --final; }
stream -q -B 2 -T 64 -s 1 --batches 12 d >few
kd <few >kd.whole
ok 'a stream with a teacher is stored' \
    shard write -q --frame 4K --shard-size 20K -o kd kd.whole
head -c 90000 kd.whole >short
shard write -q --frame 4K --shard-size 20K -o kr short 2>err
ok 'a stream with a teacher is resumed' \
    stream -q -B 2 -T 64 -s 1 --batches 12 --resume kr d
mv out few.rest
kd <few.rest >rest
ok 'the resumed stream goes through the teacher' shard write -q -o kr rest
ok 'the directory with a teacher is identical' diff -r kd kr
teacher -q -m "$model" --final --no-head <few >headless 2>err &&
    status 3 'a teacher without its head is refused' shard write -o kn headless

# ---- kill -9 ----
# A pipe that stays open after some bytes: the writer is killed while it waits.
missed=''
for at in 1000 30000 60000 100000; do
    rm -rf r fifo
    mkfifo fifo
    shard write -q --frame 4K --shard-size 6K -o r fifo 2>err &
    pid=$!
    exec 9>fifo
    head -c "$at" batches >&9
    sleep 0.1
    kill -9 $pid
    wait $pid 2>/dev/null
    exec 9>&-
    broken "killed after $at" r
    resume r || missed="$missed $at"
done
equal 'killed while it waits, continued' "$missed" ''
if command -v strace >/dev/null &&
    strace -o /dev/null true 2>/dev/null; then
    killed=0
    missed=''
    is_long && step=1 || step=7
    # The leak sanitizer does not work under strace.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
    export ASAN_OPTIONS
    for call in openat write fsync rename close; do
        k=1
        while :; do
            rm -rf r
            rc=0
            strace -f -o /dev/null -e trace=$call \
                -e inject=$call:signal=KILL:when=$k \
                shard write -q --frame 4K --shard-size 6K -o r batches \
                2>err || rc=$?
            [ $rc != 0 ] || break
            if [ $rc != 137 ]; then
                missed="$missed $call:$k:$rc"
                break
            fi
            killed=$((killed + 1))
            broken "killed at $call $k" r
            resume r || missed="$missed $call:$k"
            k=$((k + step))
        done
    done 2>/dev/null
    [ -n "$missed" ] && sed 's/^/# /' err
    equal "killed at $killed system calls, continued" "$missed" ''
else
    skip 'killed at system calls' 'no strace'
fi

# ---- interrupted ----
rm -rf r fifo
mkfifo fifo
shard write --frame 4K --shard-size 6K -o r fifo 2>err &
pid=$!
exec 9>fifo
head -c 60000 batches >&9
await [ -e r/manifest.json ]
kill -INT $pid
exec 9>&-
rc=0
wait $pid || rc=$?
equal 'an interrupt ends write with status 5' "$rc" 5
broken 'interrupted' r
equal 'nothing half written is left' "$(find r -name '*.tmp.*')" ''
ok 'the interrupted directory goes on' resume r

# ---- a full disk ----
rm -rf r
rc=0
(ulimit -f 3; exec shard write --frame 4K --shard-size 6K -o r batches) \
    2>err || rc=$?
equal 'a limit on file size ends write' "$rc" 1
like 'the error says that the file is too large' \
    '^shard [a-z]*: r/.*: File too large$' err
broken 'a limit on file size' r
mkdir small
if mount -t tmpfs -o size=48k tmpfs small 2>/dev/null; then
    status 1 'a full disk ends write' \
        shard write --frame 4K --shard-size 6K -o small/r batches
    like 'the error says that no space is left' \
        '^shard [a-z]*: small/r/.*: No space left on device$' err
    like 'shards committed before stay' 'shards are committed' err
    ok 'the directory on the full disk is good' shard check --partial small/r
    cp -r small/r r2
    umount small
    ok 'the directory on the full disk goes on' resume r2
else
    skip 'a full disk ends write' 'cannot mount a small one'
fi

# ---- -f replaces shards, nothing else ----
mkdir ckpt
echo '{"version": 1, "step": 3}' >ckpt/manifest.json
echo weights >ckpt/model.safetensors
echo other >ckpt/00000.index
cp -r ckpt ckpt.was
status 2 'a folder with another manifest is refused' shard write -q -f -o ckpt \
    docs
like 'the error names the other manifest' \
    "^shard [a-z]*: ckpt: is no shard directory: its manifest.json" err
ok 'the folder with another manifest stays' diff -r ckpt ckpt.was
status 2 'shards without a manifest are refused' sh -c \
    'shard write -q -o nomani docs && rm nomani/manifest.json &&
    shard write -q -o nomani docs'
like 'the error names both ways out' 'shard repair .*-f ' err
ok '-f replaces shards without a manifest' shard write -q -f -o nomani docs
printf 'damage' | dd of=nomani/manifest.json bs=1 seek=300 conv=notrunc 2>err
ok '-f replaces a damaged directory' shard write -q -f -o nomani docs
ok 'the new directory checks' shard check -q nomani

done_testing
