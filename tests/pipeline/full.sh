#!/bin/sh
# A full disk, or a limit on file size: exit 1, the file is named, and what was
# there before is intact
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1
stream -q -B 4 -T 64 -s 7 --batches 12 -o batches data
teacher -q -m teacher -o kd batches

# refused PATH command ...: no room; the message names a file below PATH
refused() {
    where=$1
    shift
    status 1 "no room: $*" "$@"
    like "the message names the file: $*" \
        "^$1( write)?: ${where}[^ ]*: (No space left on device|File too large)\$" err
    equal "the message is one line: $*" "$(grep -vc ' = ' err)" 1
}
# every DIR: all programs that write, into DIR where there is little room
every() {
    refused "$1/" tokenize -q -t tok -o "$1/x" "$top/corpus/en.jsonl"
    refused "$1/" bpe -q -o "$1/x.json" "$top/corpus/en.jsonl"
    refused "$1/" shard write -q -o "$1/d" kd
    refused "$1/" stream -q -B 4 -T 64 --epochs 9 -o "$1/x" data
    refused "$1/" teacher -q -m teacher -o "$1/x" batches
    refused "$1/" student -q -m s -o "$1/run" --lr 1e-3 batches
    refused "$1/" prune -q -m teacher -o "$1/cut" --ratio 0.1 batches
    refused "$1/" convert -q teacher "$1/x"
    refused "$1/" convert -q teacher "$1/x.gguf"
    equal "programs without room leave nothing in $1" "$(find "$1" -name x -o -name 'x.*' -o \
        -name cut -o -name '*.tmp*' -o -name 'config.json')" ''
}

student -q -m s -o part --lr 1e-3 --steps 4 --schedule constant kd
rm part/config.json
stream -q --resume part data >rest.b
teacher -q -m teacher -o rest rest.b
student -q -m s -o whole --lr 1e-3 --schedule constant kd
# resume DIR: it goes on to the end of an undisturbed run
resume() {
    find "$1" -type f -path "*step*" -exec cksum {} + >after
    same "the checkpoint in $1 is intact" before after
    ok "the run in $1 goes on when there is room" student -q -m s -o "$1" --lr 1e-3 \
        --schedule constant --resume -- rest
    same "the run in $1 ends in the same bytes" "$1/model.safetensors" whole/model.safetensors
}

# --- a limit on file size ---
mkdir limit
(
    ulimit -f 16            # 8 KB
    every limit
    echo "$tap_count $tap_failed" >counts
)
read -r tap_count tap_failed <counts
cp -r part again
find again -type f -path "*step*" -exec cksum {} + >before
(
    ulimit -f 100
    refused again/ student -q -m s -o again --lr 1e-3 --schedule constant \
        --resume -- rest
    echo "$tap_count $tap_failed" >counts
)
read -r tap_count tap_failed <counts
resume again

# --- a small disk ---
mkdir small
if mount -t tmpfs -o size=8k tmpfs small 2>/dev/null; then
    every small
    umount small
    mount -t tmpfs -o size=4m tmpfs small
    cp -r part small/run
    find small/run -type f -path "*step*" -exec cksum {} + >before
    # Room for a part of the next checkpoint.
    room=$(df -k small | awk 'NR == 2 { print $4 }')
    head -c $(((room - 300) * 1024)) /dev/zero >small/filler
    refused small/run/ student -q -m s -o small/run --lr 1e-3 \
        --schedule constant --resume -- rest
    rm small/filler
    resume small/run
    umount small
else
    skip 'programs fail on a small disk' 'cannot mount one'
fi

# --- reports and text on a full device ---
if [ -e /dev/full ]; then
    for command in 'evalppl -q -m teacher docs.st' 'plan -q -m new.json' \
        'shard list -q data' 'shard dump -q data' \
        'tokenize -q -t tok --decode docs.st' 'stream -q data' \
        'tokenize -q -t tok docs.st' 'stream -q --dry-run data' \
        'teacher -q -m teacher batches' \
        'generate run -q -m teacher Hi -n 3'; do
        status 1 "a full device ends with status 1: $command" sh -c "$command >/dev/full"
        equal "the full device is named in one line: $command" "$(sed 's/^\(shard\|generate\|plan\) [a-z]*:/\1:/' err)" \
            "${command%% *}: <stdout>: No space left on device"
    done
fi
done_testing
