#!/bin/sh
# scripts/humaneval: what passes, what does not, and what cannot do harm
. "${0%/*}/../lib/lib.sh"

for p in python3 prlimit; do
    command -v $p >/dev/null && continue
    skip 'scripts/humaneval' "no $p"
    done_testing
done
run() { "$top/scripts/humaneval" "$@"; }
# item NAME COMPLETION: a function that doubles
item() {
    printf '{"task_id": "%s", "prompt": "def f(x):\\n", "completion": "%s", "entry_point": "f", "test": "def check(f):\\n    assert f(2) == 4\\n"}\n' \
        "$1" "$2"
}

{
    item right '    return 2 * x'
    item wrong '    return x'
    item broken '    return ('
    item leaves '    import os; os._exit(0)'
    item quits '    raise SystemExit'
    item endless '    while True: pass'
    item large '    return len(bytearray(1 << 30)) * 0 + 4'
    item writes '    open(\"left\", \"w\").write(\"x\"); return 4'
    item floods '    open(\"left\", \"w\").write(\"x\" * 30000000); return 4'
} >items
set --
if ! unshare -rn true 2>/dev/null && ! unshare -n true 2>/dev/null; then
    status 1 'without a namespace nothing is run' run items
    like 'which is said' 'no namespace without a network' err
    skip 'no network' 'no namespaces'
    set -- --no-sandbox
else
    item online '    import socket; socket.create_connection((\"127.0.0.1\", 9), 1)' \
        >net.jsonl
    ok 'no network' run net.jsonl
    like 'not even to itself' 'online	0	OSError: .Errno 101. Network is unreachable' out
fi
ok 'items' run "$@" --seconds 1 --megabytes 512 items
equal 'those that pass' "$(awk -F '\t' '$2 == 1 { print $1 }' out |
    tr '\n' ' ')" 'right writes '
like 'why not: wrong' 'wrong	0	AssertionError' out
like 'why not: broken' 'broken	0	SyntaxError' out
like 'why not: it leaves' 'leaves	0	ended before its tests' out
like 'why not: endless' 'endless	0	killed' out
like 'why not: large' 'large	0	MemoryError' out
# sqrt(2/9 * 7/9 / 8)
like 'the share and its error' '^# pass@1 0.2222, standard error 0.1470: 2 of 9$' out
[ ! -e left ] && pass 'nothing is left' || fail 'something is left'
# first N: the recipe with the first N problems
first() {
    n=$1
    shift
    make -s --no-print-directory -C "$top" -f recipes/humaneval.mk \
        MODEL="$top/tests/golden/gguf/f32-hf" HUMANEVAL="$PWD/items" NEW=8 \
        LIMIT="$n" OUT="$PWD/made" BIN="$BUILD/bin" SANDBOX="$*"
}
ok 'the recipe' first 4 "$@"
like 'says the share' '^# pass@1 0.0000, standard error 0.0000: 0 of 4$' out
equal 'of 4 texts' "$(grep -c '"finish_reason"' made/texts.jsonl)" 4
ok 'of fewer' first 2 "$@"
like 'anew' ': 0 of 2$' out
sed 's/"completion"/"text"/' items >bad
status 1 'no completions' run bad
like 'says so' "bad: item 1: no member 'completion'" err
: >bad
status 1 'no items' run bad
status 2 'no file' run
done_testing
