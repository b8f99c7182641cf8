#!/bin/sh
# Rows that are longer than the positions of a model: said by every program that
# runs it over them.
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

stream -q -B 2 -T 300 -s 1 --batches 2 -o long data || exit 1
stream -q -B 2 -T 64 -s 1 --batches 2 -o short data || exit 1
# said PROGRAM FILE command ...: it names rows of 300 and 256 positions, by FILE
said() {
    name=$1
    shift
    ok "$name: rows beyond the positions are run" "$@" long
    like "$name: ... and said" 'rows of 300 tokens.* 256 positions' err
    equal "$name: ... once" "$(grep -c '256 positions' err)" 1
    ok "$name: rows within the positions" "$@" short
    unlike "$name: ... are not" 'positions' err
}
taught() { rm -rf x && teacher -m teacher -o x "$@"; }
trained() { rm -rf x && student -m new.json -t tok -o x --lr 1e-3 "$@"; }
judged() { evalppl -m teacher "$@"; }
profiled() { rm -rf x && prune profile -m teacher -o x "$@"; }
said teacher taught
said student trained
said evalppl judged
said prune profiled
done_testing
