#!/bin/sh
# scripts/humaneval: what passes, what does not, and what cannot do harm
. "${0%/*}/../lib/lib.sh"

for p in python3 prlimit; do
    command -v $p >/dev/null && continue
    skip 'scripts/humaneval runs problems' "no $p"
    done_testing
done
run() { "$top/scripts/humaneval" "$@"; }
# item NAME COMPLETION: a function that doubles
item() {
    printf '{"task_id": "%s", "prompt": "def f(x):\\n", "text": "%s", "entry_point": "f", "test": "def check(f):\\n    assert f(2) == 4\\n"}\n' \
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
    like 'the message says that there is no namespace' 'no namespace without a network' err
    skip 'problems have no network' 'no namespaces'
    set -- --no-sandbox
else
    item online '    import socket; socket.create_connection((\"127.0.0.1\", 9), 1)' \
        >net.jsonl
    ok 'problems run without a network' run net.jsonl
    like 'a problem cannot reach its own machine' 'online	0	OSError: .Errno 101. Network is unreachable' out
fi
ok 'all items are run' run "$@" --seconds 1 --megabytes 512 items
equal 'the items that are right pass' "$(awk -F '\t' '$2 == 1 { print $1 }' out |
    tr '\n' ' ')" 'right writes '
like 'why not: wrong' 'wrong	0	AssertionError' out
like 'why not: broken' 'broken	0	SyntaxError' out
like 'why not: it leaves' 'leaves	0	ended before its tests' out
like 'why not: endless' 'endless	0	killed' out
like 'why not: large' 'large	0	MemoryError' out
# sqrt(2/9 * 7/9 / 8)
like 'the share that passes has its standard error' '^# pass@1 0.2222, standard error 0.1470: 2 of 9$' out
[ ! -e left ] && pass 'no file is left by an item' || fail 'no file is left by an item'
# first N: the recipe with the first N problems
first() {
    n=$1
    shift
    make -s --no-print-directory -C "$top" -f recipes/judge.mk \
        MODEL="$top/tests/golden/gguf/f32-hf" HUMANEVAL="$PWD/items" NEW=8 \
        LIMIT="$n" OUT="$PWD/made" BIN="$BUILD/bin" SANDBOX="$*"
}
ok 'the recipe runs four problems' first 4 "$@"
like 'the recipe prints the share' '^humaneval: pass@1 0.0000, standard error 0.0000: 0 of 4$' out
equal 'the recipe writes four texts' "$(grep -c '"finish_reason"' made/humaneval.texts.jsonl)" 4
ok 'the recipe runs fewer problems' first 2 "$@"
like 'fewer problems are judged anew' ': 0 of 2$' out
sed 's/"text"/"completion"/' items >bad
status 1 'items without completions are refused' run bad
like 'the message names the member that is missing' "bad: item 1: no member 'text'" err
: >bad
status 1 'a file without items is refused' run bad
status 2 'humaneval without a file is refused' run
done_testing
