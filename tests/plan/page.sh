#!/bin/sh
# retort-plan(7) has what plan prints
. "${0%/*}/../lib/lib.sh"
ok 'the worked cases are run' \
    sh -c '"$1"/scripts/plan-page <"$1/man/retort-plan.7"' - "$top"
same 'the page has what its commands print' "$top/man/retort-plan.7" out
equal 'the page has sixteen commands' "$(grep -c '^\$ ' out)" 16

# docs/kafkalm.md: what its three commands predict, with a live teacher and with
# stored targets, stands in its table, rounded
page=$top/docs/kafkalm.md
awk '/^    plan / { on = 1 } !/^    / { on = 0 } on {
    line = $0; more = sub(/\\$/, "", line); printf "%s", line
    if (!more) print "" }' "$page" >commands
equal 'docs/kafkalm.md has three commands' "$(wc -l <commands)" 3
# speed ARGUMENT ...: tokens/s, rounded to hundreds, as the table writes them
speed() {
    sh -c "$* -q --format tsv" >out 2>err
    awk -F '\t' '$1 == "speed" {
        n = int($2 / 100 + 0.5); printf "%d,%d00\n", int(n / 10), n % 10 }
        END { if (!n) print "no speed" }' out
}
while read -r line; do
    machine=${line#*--machine }
    machine=${machine%% *}
    case $machine in
    mi300a)
        equal 'the anchored run has the published speed' "$(speed "$line")" \
            25,500
        like 'four rows a pass have the speed of the page' \
            "$(speed "$line -B 1024 micro=4")" "$page" ;;
    *)
        like "a live teacher on $machine has the speed of the page" \
            "$(speed "$line")" "$page" ;;
    esac
    like "stored targets on $machine have the speed of the page" \
        "$(speed "$line teacher=cached top=64")" "$page"
done <commands
done_testing
