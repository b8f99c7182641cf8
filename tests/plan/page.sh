#!/bin/sh
# retort-plan(7) has what plan prints
. "${0%/*}/../lib/lib.sh"
ok 'the worked cases are run' \
    sh -c '"$1"/scripts/plan-page <"$1/man/retort-plan.7"' - "$top"
same 'the page has what its commands print' "$top/man/retort-plan.7" out
equal 'the page has fifteen commands' "$(grep -c '^\$ ' out)" 15
done_testing
