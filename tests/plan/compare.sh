#!/bin/sh
# plan compare: two machines at their fastest layouts
. "${0%/*}/../lib/lib.sh"

# cell NAME COLUMN: of the TSV in out
cell() {
    awk -F '\t' -v n="$1" -v c="$2" '$1 == n { print $c }' out
}
two='-m llama-3.1-70b -B 256 -T 4096 --tokens 1e9 --format tsv'
# shellcheck disable=SC2086 # words
ok 'two machines are compared' plan compare $two h100 a100 nodes=4,8 price=2,3
cp out both
like 'the columns are the machines' '^figure	h100	a100	ratio$' out
equal 'each machine has its own nodes' "$(cell ranks 2) $(cell ranks 3)" '32 64'
like 'a note tells which machine is cheaper' \
    'costs [0-9.]+ times as much as' err
awk -F '\t' '$1 == "run.cost" { c[1] = $2; c[2] = $3 }
    $1 == "run.device-hours" { h[1] = $2; h[2] = $3 }
    END { exit !(c[1] / h[1] > 1.99 && c[1] / h[1] < 2.01 &&
        c[2] / h[2] > 2.99 && c[2] / h[2] < 3.01) }' out
rc=$?
equal 'each machine has its own price' "$rc" 0
set -- h100 4 2 a100 8 3
for column in 2 3; do
    ok "a search on $1" plan search -q -m llama-3.1-70b -B 256 -T 4096 \
        --machine "$1" nodes="$2" --layouts 1 --format tsv
    step=$(sed -n 2p out | cut -f 13)
    cp both out
    equal "$1 has the layout that a search finds" "$(cell step $column)" "$step"
    shift 3
done
# shellcheck disable=SC2086
ok 'two machines with one value of each key' plan compare $two h100 a100 \
    nodes=8 tensor=8
equal 'a key with one value has it on both' "$(cell tensor 2)$(cell tensor 3)" 88
unlike 'no machine is cheaper without a price' 'costs' err

# shellcheck disable=SC2086
status 1 'a machine on which nothing fits ends the comparison' plan compare \
    $two h100 a100 nodes=16,1
like 'the message says what would fit' 'nodes=' err
# shellcheck disable=SC2086
status 2 'three values for two machines are refused' plan compare $two h100 \
    a100 nodes=1,2,3
like 'the message for three values says to give one for each machine' \
    'one for each machine' err
# shellcheck disable=SC2086
status 2 'one machine alone is refused' plan compare $two h100 nodes=4
like 'the message for one machine says where both stand' 'two machines' err
# shellcheck disable=SC2086
status 2 'a machine that is not known is refused' plan compare $two h100 none nodes=8
done_testing
