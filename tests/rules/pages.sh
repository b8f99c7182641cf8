#!/bin/sh
# README, NEWS.md and docs/: sizes, what stands where, figures in one place,
# links that lead somewhere
. "${0%/*}/../lib/lib.sh"

# at_most WHAT N LIMIT
at_most() {
    if [ "$2" -le "$3" ]; then pass "$1: at most $3"
    else fail "$1: $2, not at most $3"; fi
}
at_most 'bytes of README.md' "$(wc -c <"$top/README.md")" 9216
at_most 'lines of README.md' "$(wc -l <"$top/README.md")" 170
at_most 'bytes of NEWS.md' "$(wc -c <"$top/NEWS.md")" 4096
at_most 'bytes of docs/results.md' "$(wc -c <"$top/docs/results.md")" 24000
at_most 'bytes of docs/performance.md' "$(wc -c <"$top/docs/performance.md")" 10310
at_most 'bytes of docs/kafkalm.md' "$(wc -c <"$top/docs/kafkalm.md")" 4600
at_most 'bytes of docs/reliability.md' "$(wc -c <"$top/docs/reliability.md")" 3072
head -n 40 "$top/README.md" >begin.md
like 'README shows the picture within 40 lines' '^!\[.*\]\(docs/pipeline.svg\)$' begin.md
like 'README has a command that a newcomer can run within 40 lines' \
    '^    make demo' begin.md

# A cell of a table with a standard error, as these pages have it
grep -ohE '[0-9]+\.[0-9]+ ± [0-9.]+' "$top/docs/results.md" \
    "$top/docs/after.md" | sort -u |
    sed 's/ ± /[^0-9].*/; s/[.]\([0-9]\)/[.]\1/g; s/$/([^0-9]|$)/' | head -n 400 >figures
[ -s figures ] || fail 'docs/results.md has figures with errors'
equal 'a figure with its error stands in docs/results.md or docs/after.md alone' \
    "$(cd "$top" && grep -lEf "$RETORT_SCRATCH/figures" README.md NEWS.md \
        docs/guide.md docs/performance.md man/*.1)" ''
equal 'no page of a program has an estimate with an error' \
    "$(cd "$top" && grep -lE '[0-9] (\+/-|\\\(\+-) ?[0-9]' man/*.1)" ''

for page in README.md CONTRIBUTING.md NEWS.md docs/guide.md docs/results.md \
    docs/after.md docs/task.md docs/performance.md docs/kafkalm.md \
    docs/reliability.md docs/hacking.md; do
    dir=$top/${page%"${page##*/}"}
    tr '\n' ' ' <"$top/$page" | grep -oE '\]\( *[^)]*\)' |
        sed 's/^]( *//; s/)$//; s/#.*//' | grep -v '^[a-z]*:' | sort -u >links
    equal "every link of $page leads to a file" "$(while read -r f; do
        [ -z "$f" ] || [ -e "$dir/$f" ] || echo "$f"
    done <links)" ''
done
done_testing
