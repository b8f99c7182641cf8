#!/bin/sh
# retort-plan(7) has what plan prints
. "${0%/*}/../lib/lib.sh"
ok 'the cases are run' sh -c '"$1"/scripts/plan-page <"$1/man/retort-plan.7"' \
    - "$top"
same 'and print what the page has' "$top/man/retort-plan.7" out
equal 'cases' "$(grep -c '^\$ ' out)" 15

ok 'plots of the sweeps' "$top/scripts/plan-plots" plots
equal 'pages' "$(wc -l <out)" 5
equal 'a chart of each figure that is drawn' \
    "$(grep -c '<figure' plots/1/report.html)" 7
equal 'none over words' "$(grep -c '<figure' plots/5/report.html)" 0
done_testing
