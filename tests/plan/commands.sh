#!/bin/sh
# The commands of plan: which are there, which one options alone mean, and the
# formats that each prints
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

commands='run measure cluster search compare calibrate'
for c in $commands; do
    ok "plan $c explains itself" plan "$c" -h
    equal "plan $c has at most 24 options" \
        "$(awk '/^  (-.|  ), --|^      --/ { n++ }
            END { print (n - 4 <= 24 ? "few" : n - 4) }' out)" few
done
ok 'plan -h lists the commands' plan -h
for c in $commands; do
    like "plan -h has a line for $c" "^  $c +[a-z]" out
done
status 2 'plan without a command is refused' plan
like 'the message for no command says what to name' 'command.*run' err
status 2 'an unknown command is refused' plan frobnicate
status 2 'a command with a letter wrong is refused' plan clustr
like 'the message for a letter wrong names the command' 'plan cluster' err

# ---- options alone ----
ok 'plan run predicts a process' plan run -q -m new.json -B 4 -T 64 -j 1 \
    --format tsv
mv out run.tsv
ok 'options alone mean plan run' plan -q -m new.json -B 4 -T 64 -j 1 \
    --format tsv
same 'options alone print what plan run prints' out run.tsv
cluster='-q -m llama-3.1-70b -B 64 --machine h100 nodes=8 shard=3'
# shellcheck disable=SC2086 # words
ok 'plan cluster predicts ranks' plan cluster $cluster --format tsv
mv out cluster.tsv
# shellcheck disable=SC2086
ok 'options with --machine mean plan cluster' plan $cluster --format tsv
same 'options with --machine print what plan cluster prints' out cluster.tsv
for old in '--measure' '--calibrate' '--search 3'; do
    # shellcheck disable=SC2086
    status 2 "plan $old names no command and is refused" plan -m new.json $old
done
for c in cluster search; do
    status 2 "plan $c without a machine is refused" plan $c -m new.json
    like "plan $c without a machine is told of --machine" '--machine' err
    status 2 "plan $c without a model is refused" plan $c --machine h100
    like "plan $c without a model is told of -m" ' -m' err
done
for c in run measure; do
    status 2 "plan $c without a model is refused" plan $c
    like "plan $c without a model is told of -m" ' -m' err
    status 2 "plan $c takes no key of a layout" plan $c -m new.json tensor=2
done
status 2 'a search over values of one key is refused' \
    plan search -m llama-3.1-70b --machine h100 nodes=4 shard=1,2
like 'the message for values of one key names it' 'shard: ' err
status 2 'formulas of a sweep are refused' plan cluster -m llama-3.1-70b \
    --machine h100 nodes=4,8 --explain

# ---- formats ----
# members FILE: how many members of an object of JSON a line names twice
twice() {
    sed 's/": /"\
/g' "$1" | grep -o '"[^"]*"$' | sort | uniq -d
}
# shellcheck disable=SC2086
ok 'changes are printed as JSON' plan cluster $cluster --format json \
    --what-if tensor=8 --what-if price=2
like 'the ratio of two zeros is null' \
    '"figure": "step.hand-over", .*"tensor=8 ratio": null' out
unlike 'a number that is not finite stays out of JSON' \
    ': -?(nan|inf)|: -[,} ]' out
grep '"figure": "memory"' out >memory
equal 'an object names no member twice' "$(twice memory)" ''
# shellcheck disable=SC2086
ok 'formulas are printed as JSON' plan cluster $cluster --format json --explain
like 'a formula stands beside value and unit' \
    '"step": \{ "value": [0-9.]+, "unit": "s", "formula": "' out
# shellcheck disable=SC2086
ok 'layouts are printed as JSON' plan search $cluster --layouts 2 --format json
equal 'each layout is an object' "$(grep -c '"tensor": [0-9]*, ' out)" 2
ok 'keys are printed as TSV' plan cluster --keys --machine h100 --format tsv
like 'columns of keys have names' '^key	value	meaning$' out
like 'a key has a value and a meaning' '^net_gbs	50	[A-Za-z]' out
ok 'keys are printed as JSON' plan cluster --keys --format json
like 'a key is an object' '"key": "nodes", "value": 1, "meaning": "' out
like 'a word is quoted' '"key": "flash", "value": "yes"' out
done_testing
