#!/bin/sh
# retort-plan(7) has what plan prints
. "${0%/*}/../lib/lib.sh"
ok 'the cases are run' sh -c '"$1"/scripts/plan-page <"$1/man/retort-plan.7"' \
    - "$top"
same 'and print what the page has' "$top/man/retort-plan.7" out
equal 'cases' "$(grep -c '^\$ ' out)" 8
done_testing
