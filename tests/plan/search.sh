#!/bin/sh
# plan search tries every divisor and says why nothing fits; plan cluster tells
# its inputs and that a layout does not fit
. "${0%/*}/../lib/lib.sh"

value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}

# --- every divisor: a layout given by hand is not faster than the first found
huge='-m llama-3.1-405b --machine h100 -B 2048 -T 8192 nodes=2048'
# shellcheck disable=SC2086 # words
ok '405B on 2048 nodes is searched' plan search -q $huge --layouts 20 \
    --format tsv
cp out found
best=$(sed -n 2p found | cut -f 11)
# by_hand KEY=VALUE ...: no layout by hand is faster
by_hand() {
    # shellcheck disable=SC2086
    plan cluster -q $huge --format tsv sequence=yes shard=1 "$@" >out 2>err
    if awk -v a="$best" -v b="$(value step)" 'BEGIN { exit !(a > 0 && a <= b) }'
    then
        pass "the search finds no slower layout than $*"
    else
        fail "the search finds no slower layout than $*: $best, $(value step)"
    fi
}
by_hand tensor=8 pipeline=16 virtual=4 context=2
by_hand tensor=8 pipeline=8 virtual=5 context=2
by_hand tensor=4 pipeline=16 virtual=3 context=2
if awk -F '\t' 'NR > 1 && 126 % ($2 * $3) > 0 { n++ } END { exit !n }' found; then
    pass 'stages that do not divide the blocks are tried'
else
    fail 'stages that do not divide the blocks are tried'
fi
if awk -F '\t' 'NR > 1 { n += $3 ~ /^[3567]$/ } END { exit !n }' found; then
    pass 'parts of a stage that are no power of two are tried'
else
    fail 'parts of a stage that are no power of two are tried'
fi
ok 'layouts without effect are searched' plan search -q -m llama-3.1-70b \
    --machine h100 nodes=4 -B 64 -T 4096 --layouts 100 --format tsv
equal 'no two rows have the same memory and time' \
    "$(cut -f 9,11 out | sort | uniq -d)" ''

# --- nothing fits
status 1 'a search in which nothing fits' plan search -m llama-3.1-405b \
    --machine h100 -B 64 -T 4096 nodes=2
like 'the message says how much memory the smallest layout takes' \
    'no layout fits: .* of 80 GB' err
like 'the message says how many nodes would fit' 'nodes=(4|8|16|32|64)( |$)' err
nodes=$(sed -n 's/.*or nodes=\([0-9]*\).*/\1/p' err)
ok 'as many nodes as the message says fit' plan search -q -m llama-3.1-405b \
    --machine h100 -B 64 -T 4096 nodes="${nodes:-1}"
status 1 'a search with keys that do not fit' plan search -m llama-3.1-70b \
    --machine h100 -B 64 -T 4096 nodes=4 shard=0 tensor=1 pipeline=1
like 'the message for keys says which values would fit' 'these values: tensor' err
status 2 'a batch that no layout divides is refused' plan search -m \
    llama-3.1-70b --machine h100 -B 7 -T 4096 nodes=3 context=1 tensor=1 \
    pipeline=1
like 'the message for a batch that no layout divides names -B' ' -B ' err

# --- a layout that does not fit
status 1 'a layout of many times the memory' plan cluster -m llama-3.1-405b \
    --machine h100 -B 8 -T 4096
like 'the note says that the layout does not fit' 'does not fit: .* 80' err
like 'the figures of the layout are printed' '^full .* %' out
fits='-m llama-3.1-70b --machine h100 -B 64 -T 4096 nodes=8 shard=3 --recompute'
# shellcheck disable=SC2086
ok 'a layout that fits is predicted' plan cluster -q $fits --format tsv
# share FULL: the memory of a device of which the layout needs FULL
share() { awk -v m="$(value memory)" -v f="$1" 'BEGIN { print m / f / 1e9 }'; }
short=$(share 1.45) shorter=$(share 1.55)
# shellcheck disable=SC2086
ok 'a layout 45 % above the memory' plan cluster $fits memory_gb="$short"
like 'the note says that the layout may not fit' 'may not fit' err
# shellcheck disable=SC2086
status 1 'a layout 55 % above the memory' plan cluster $fits \
    memory_gb="$shorter"

# --- inputs are told
# shellcheck disable=SC2086
ok 'a layout is predicted with its notes' plan cluster $fits price=2
like 'a note tells models, machine and keys' \
    'llama-3.1-70b on h100: nodes=8 shard=3 batch=64 length=4096 .*price=2$' err
unlike 'keys at their defaults are not told' 'pipeline=' err
unlike 'a batch that is given is not called the default' 'batch=[0-9]+ .the default' err
ok 'a layout is predicted without -B and -T' plan cluster -m mistral-15b \
    --machine h100 shard=3 teacher=cached --teacher mistral-24b
like 'a note says that -B was not given' 'batch=8 \(.*-B' err
like 'a note says that -T was not given' 'length=512 \(.*-T' err
like 'a note tells the teacher' 'taught by mistral-24b' err
ok 'the keys batch and length are the options' plan cluster -m mistral-15b \
    --machine h100 shard=3 batch=8 length=512
unlike 'a batch that its key gives is not called the default' 'batch=[0-9]+ .the default' err
ok 'a sweep is told' plan cluster -m llama-3.1-70b --machine h100 -B 64 \
    nodes=4,8
unlike 'a key with several values is not told' 'nodes=' err

# --- units
# shellcheck disable=SC2086
ok 'a layout is predicted as text' plan cluster -q $fits
like 'memory is in GB' '^memory\.weights +[0-9.]+ GB$' out
unlike 'a large memory is not in MB' '^memory\.weights .* MB$' out
done_testing
