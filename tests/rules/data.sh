#!/bin/sh
# Rules for data: binary is refused to a terminal, a full disk is an error, a
# reader that leaves is none, foreign and broken input is exit 3
. "${0%/*}/../lib/lib.sh"
model=$top/tests/golden/gguf/f32.gguf
hf=$top/tests/golden/gguf/f32-hf
text=$top/tests/golden/tok/train.txt

{
    printf '\001'
    head -c 20000 /dev/urandom
} >noise
: >nothing

# rules PROGRAM COMMAND: COMMAND is a shell command that writes a stream on
# standard output; leaves the stream in PROGRAM.out.  False if it fails.
rules() {
    p=$1
    shift
    status 0 "$p writes a stream" sh -c "$*"
    [ "$tap_got" = 0 ] || return
    mv out "$p.out"
    [ -s "$p.out" ] || fail "$p wrote nothing"
    if command -v script >/dev/null; then
        rc=0
        terminal "$*" || rc=$?
        equal "$p: binary is refused to a terminal" "$rc" 2
        like "$p says that it does not write to a terminal" "$p: .*not written to a terminal" screen
    else
        skip "$p: binary on a terminal" 'no script(1)'
    fi
    if [ -e /dev/full ]; then
        status 1 "$p: a full disk fails with status 1" sh -c "$* >/dev/full"
        like "$p names the full disk" "^$p: .*: No space left on device" err
    else
        skip "$p: a full disk fails with status 1" 'no /dev/full'
    fi
    mkfifo pipe
    sh -c "$* >pipe" 2>err &
    writer=$!
    head -c 10 <pipe >out
    wait $writer
    equal "$p: a reader that leaves is no error" "$?" 0
    rm pipe
}

# foreign PROGRAM COMMAND: the command reads a stream on standard input
foreign() {
    p=$1
    shift
    for bad in nothing noise short flipped; do
        status 3 "$p refuses the input '$bad' with status 3" sh -c "$* <$bad"
        like "$p says where the input '$bad' is wrong" "^$p( write)?: <stdin>: .*(offset|byte|without|ends|empty)" err
        rm -rf result
    done
}

# damage FILE: short and flipped are broken copies of the stream
damage() {
    n=$(wc -c <"$1")
    head -c $((n - 100)) "$1" >short
    {
        head -c $((n / 2)) "$1"
        head -c $((n / 2 + 1)) "$1" | tail -c 1 | tr '\000-\377' '\001-\377\000'
        tail -c +$((n / 2 + 2)) "$1"
    } >flipped
}

for p in tokenize shard stream teacher student evalppl; do
    case $p in
    tokenize)
        rules "$p" "tokenize -t $model $text"
        damage tokenize.out
        ;;
    shard)
        foreign "$p" shard write -o result
        ok 'shard writes a directory of the stream' shard write -o data tokenize.out
        ;;
    stream)
        rules "$p" stream -B 2 -T 64 -s 1 --batches 4 data
        damage stream.out
        ;;
    teacher)
        rules "$p" "teacher -m $model --final stream.out"
        foreign "$p" "teacher -m $model --final"
        ;;
    student) foreign "$p" "student -m $hf -o result" ;;
    evalppl) foreign "$p" "evalppl -m $model" ;;
    esac
done
done_testing
