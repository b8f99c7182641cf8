#!/bin/sh
# shard import and --export: there and back, damaged and hostile files
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
text=$top/tests/golden/tok/train.txt

# flip FILE OFFSET: turn the highest bit of a byte, twice is none
flip() {
    v=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    v=$((v > 127 ? v - 128 : v + 128))
    # shellcheck disable=SC2059 # an escape is a format
    printf "\\$(printf %03o $v)" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# content DIR: lengths and ids of its documents, and masks
content() {
    shard dump -q --values 1000000 "$1" >shown &&
        sed -n 's/^  document [0-9]*: [^,]*, \([0-9]*\) tokens.*/\1/p
            s/^  \(ids\|loss_mask\) [A-Z0-9]* \[[0-9]*\]//p' shown
}

ok 'documents are made' tokenize -q -t "$model" --split line -o docs "$text"
content docs >want
for f in megatron llmc datatrove npy mds; do
    ok "documents are exported as $f" shard export $f -q -o x.$f docs
    ok "the $f files are imported" shard import $f -q -t "$model" -o d.$f x.$f
    content d.$f >got
    same "$f keeps the documents" want got
    ok "the directory from $f checks" shard check d.$f
    ok "the directory from $f is exported again" shard export $f -q -o y.$f d.$f
    bad=0
    for part in x."$f"*; do
        diff -r "$part" "y${part#x}" >diff.out || bad=1
    done
    equal "$f gives the same files again" $bad 0
done
ok 'an imported directory is streamed' \
    stream -q -B 2 -T 32 --batches 2 -o s d.mds
shard list d.npy >out
like 'a source is named after its file' '^x +37 +4860 ' out
ok '--source names the source' \
    shard import npy -q -t "$model" --source web -o w x.npy
shard list -q w >out
like 'the source has the name given' '^web +37 ' out
ok 'two files make two sources' \
    shard import mds -q -t "$model" -o two x.mds y.mds
shard list -q two >out
like "the second source has its file's name" '^y +37 ' out
ok 'one of two sources is exported' \
    shard export npy -q --source y -o one.npy two
same 'only the source asked for is exported' x.npy one.npy
status 2 'a source that is not there is refused' \
    shard export npy --source z -o z.npy two

# ---- wide ids, without a tokenizer ----
ok '--vocab alone is enough' \
    shard import npy -q --vocab 70000 --eos-id 2 -o wide x.npy
shard dump -q --messages 2 --values 2 wide >out
like 'a large vocabulary has ids of 32 bits' '^  ids U32 ' out
like 'without -t the tokenizer is unknown' '^  tokenizer: 0{32}$' out
content wide >got
same 'wide ids are the same ids' want got
for f in megatron llmc datatrove npy mds; do
    ok "wide ids are exported as $f" shard export $f -q -o u.$f wide
    ok "wide $f files are imported" \
        shard import $f -q --vocab 70000 --eos-id 2 -o v.$f u.$f
    content v.$f >got
    same "wide $f keeps the documents" want got
done
ok 'a file without bounds is one document' \
    shard import npy -q --vocab 300 -o flat x.npy
shard list -q flat >out
like 'the document has all ids' '^x +1 +4860 ' out
ok 'documents may begin with an id' \
    shard import npy -q --vocab 300 --bos-id 2 -o front x.npy
status 3 'ids beyond the vocabulary are refused' \
    shard import npy --vocab 200 -o z x.npy
like 'the error names their place' \
    '^shard [a-z]*: x\.npy: offset [0-9]+: id [0-9]+, but the vocabulary ends at 200$' err
status 2 'neither -t nor --vocab is an error' shard import npy -o z x.npy
status 2 'an id of no vocabulary is refused' \
    shard import npy --vocab 300 --eos-id 300 -o z x.npy
npy_head="{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551615, 0), }"
printf '\223NUMPY\001\000'"\\$(printf %03o ${#npy_head})"'\000%s' "$npy_head" >none.npy
status 3 'documents of no ids are refused' \
    timeout 20 shard import npy --vocab 300 -o z none.npy
like 'the error counts the empty documents' \
    '^shard [a-z]*: none.npy: .*18446744073709551615 documents of no ids$' err
status 1 'a file that is not there is an error' \
    shard import npy --vocab 300 -o z nothing
status 3 'batches are not exported' shard export npy -o z.npy s
ok 'loss masks are exported' shard export datatrove -q -o m.ds docs
awk 'BEGIN { for (i = 0; i < 4860; i++) printf "%c", i % 3 ? 1 : 2 }' | tr '\002' '\000' >m.ds.loss
ok 'loss masks are imported' \
    shard import datatrove -q -t "$model" -o masked m.ds
ok 'loss masks are exported again' shard export datatrove -q -o n.ds masked
same 'loss masks stay the same' m.ds.loss n.ds.loss
ok 'formats without loss masks lose them' shard export npy -o lost.npy masked
like 'the loss of masks is warned of' 'has no loss mask' err

# ---- damage ----
# try FORMAT PATH: never anything but 0 or 3, and 3 names an offset or a file
try() {
    rc=0
    rm -rf z
    shard import "$1" -q --vocab 300 --eos-id 2 -o z "$2" >out 2>err || rc=$?
    if [ $rc = 3 ]; then
        grep -Eq '^shard [a-z]*: [^:]*: (offset [0-9]+|shard [0-9]+|shards|version)' err || rc=unnamed
    fi
    case $rc in 0 | 3) ;; *) return 1 ;; esac
}
mkdir cut
cp -r x.* cut
for part in megatron:megatron.idx megatron:megatron.bin llmc:llmc npy:npy \
    datatrove:datatrove datatrove:datatrove.index mds:mds/index.json \
    mds:mds/shard.00000.mds; do
    f=${part%%:*}
    file=x.${part#*:}
    size=$(wc -c <"$file")
    missed=''
    is_long && step=7 || step=$((size / 12 + 1))
    at=0
    while [ $at -lt "$size" ]; do
        head -c $at "$file" >"cut/$file"
        try "$f" "cut/x.$f" && [ "$rc" = 3 ] || missed="$missed $at:$rc"
        at=$((at + step))
    done
    equal "$file: every cut is refused" "$missed" ''
    cp "$file" "cut/$file"
    missed=''
    at=0
    is_long && last=600 || last=60
    while [ $at -lt "$last" ] && [ $at -lt "$size" ]; do
        flip "cut/$file" $at
        try "$f" "cut/x.$f" || missed="$missed $at:$rc"
        flip "cut/$file" $at
        at=$((at + 1))
    done
    equal "$file: a flipped bit is refused or harmless" "$missed" ''
done
done_testing
