#!/bin/sh
# What the system refuses: shard names it, and what is there is whole
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
text=$top/tests/golden/tok/train.txt
ok 'documents are made' tokenize -q -t "$model" --split line -o docs "$text"
ok 'the documents make a directory' shard write -q --frame 2K -o d docs
ok 'batches are made' stream -q -B 2 -T 64 -s 1 --batches 30 -o batches d
# store NAME ...: the batches in several small shards
store() { shard write -q -j 1 --frame 4K --shard-size 6K "$@"; }
ok 'the batches make a directory' store -o whole batches

# refused WHAT: the status in rc is 1, and the one line in err names a file
refused() {
    if [ "$rc" != 1 ] ||
        [ "$(grep -vcE ' = |: [0-9]+ shards are committed' err)" != 1 ] ||
        ! grep -Eq "^shard [a-z]*: [^ ]+: ($why)\$" err; then
        missed="$missed $1:$rc"
        cp err err.kept
    fi
}
# verdict WHAT: nothing was missed
verdict() {
    equal "$1" "$missed" ''
    [ -z "$missed" ] || sed 's/^/# /' err.kept
    missed=
}
missed=

# ---- the order in which a shard is committed ----
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    strace -f -y -o trace -e trace=fsync,rename \
        shard write -q -j 1 --frame 4K --shard-size 6K -o traced batches
    # As f: shard, i: index, m: manifest, d: the folder; lower case synced,
    # R renamed.
    sed -n 's/.*fsync(.*\.shard\.zst\.tmp.*/f/p; s/.*fsync(.*\.index\.tmp.*/i/p
        s/.*fsync(.*manifest\.json\.tmp.*/m/p; s/.*rename(.*/R/p
        s/.*fsync([0-9]*<[^>]*traced>.*/d/p' trace | tr -d '\n' >order
    like 'file, index, manifest, each synced, renamed, the folder synced' \
        '^(mRd|mRdd)?(fRdiRdmRd)+$' order
    n=0
    is_long && step=1 || step=4
    for inject in write:ENOSPC write:EIO fsync:EIO rename:EIO; do
        call=${inject%:*}
        why='No space left on device|Input/output error'
        k=1
        while :; do
            rm -rf r
            rc=0
            strace -f -y -o trace -e trace="$call" \
                -e inject="$call:error=${inject#*:}:when=$k" \
                shard write -q -j 1 --frame 4K --shard-size 6K -o r batches \
                2>err || rc=$?
            grep -q INJECTED trace || break
            if grep -q '/tsan\..*INJECTED' trace; then     # the sanitizer's own
                k=$((k + 1))
                continue
            fi
            n=$((n + 1))
            refused "$inject:$k"
            [ ! -e r/manifest.json ] || shard check -q --partial r >out 2>&1 ||
                missed="$missed $inject:$k:damaged"
            # But for the last sync of the folder, when all is there.
            if shard check -q r >out 2>&1 && ! diff -r whole r >out; then
                missed="$missed $inject:$k:complete"
            fi
            [ -z "$(find r -name '*.tmp.*')" ] || missed="$missed $inject:$k:left"
            k=$((k + step))
        done
    done
    verdict "$n calls that fail"
    [ "$n" -gt 3 ] || fail 'too few of them'

    # Every second call is interrupted by a signal, as on some file systems.
    for call in fsync flock write openat; do
        rm -rf r
        only=
        [ $call != openat ] || only='-P r' # not those of the loader
        # shellcheck disable=SC2086 # words
        ok "an interrupted $call is made again" strace -f -o trace $only \
            -e trace=$call -e inject=$call:error=EINTR:when=1+2 \
            shard write -q -j 1 --frame 4K --shard-size 6K -o r batches
        like "... of $call some were" INJECTED trace
        ok "... the same shards with $call" diff -r whole r
    done
else
    skip 'calls that fail' 'no strace'
fi

# ---- a limit on file size, in every mode that writes ----
why='File too large'
for f in megatron llmc datatrove npy mds; do
    shard export $f -q -o good.$f d
    rc=0
    (ulimit -f 1; exec shard export $f -q -o part.$f d) 2>err || rc=$?
    refused "export $f"
    [ -z "$(find . -path './part*' -name '*.tmp*')" ] || missed="$missed $f:tmp"
    rc=0
    shard import $f -q -t "$model" -o x part.$f 2>err && missed="$missed $f:read"
    rc=0
    (ulimit -f 1; exec shard import $f -q -t "$model" -o im.$f good.$f) \
        2>err || rc=$?
    refused "import $f"
    shard check -q im.$f >out 2>&1 && missed="$missed $f:complete"
done
verdict 'exports and imports'
cp -r whole bad
rm bad/00001.index
cp -r bad bad2
rc=0
(ulimit -f 3; exec shard repair -q bad) 2>err || rc=$?
sed -i '/seek table\|found without/d' err
refused repair
verdict 'repair'
ok 'what was to be repaired is as it was' diff -r bad bad2
rc=0
(ulimit -f 3; tokenize -q -t "$model" --split line "$text" "$text" "$text" |
    shard write -q --frame 1 -o piped 2>err) || rc=$?
refused 'tokenize | shard'
verdict 'a pipe into a limit'
shard check -q piped >out 2>&1 && fail 'called complete'

# ---- a reader that leaves ----
rc=0
for mode in dump list; do
    { shard $mode -q whole 2>err; echo $? >rc; } | head -c 1 >/dev/null
    equal "shard $mode ends quietly when its reader leaves" "$(cat rc err)" 0
done
done_testing
