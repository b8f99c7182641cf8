#!/bin/sh
# student --kl-direction: what is minimised, in any grouping, kept by --resume.
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches 8 >b
teacher -q -m teacher -o kd b || exit 1
distil() { student -m s0 --lr 1e-3 "$@"; }
# divergence RUN: its first step's, and its last
divergence() { awk 'NR == 2 { a = $6 } { b = $6 } END { print a, b }' "$1/metrics.tsv"; }

ok 'forward' distil -o forward kd
like 'is said' 'loss = 0.25 CE [+] 1 KL [(]T = 3[)]' err
ok 'reverse' distil --kl-direction reverse -o reverse kd
like 'is said' 'loss = 0.25 CE [+] 1 reverse KL [(]T = 3[)]' err
ok 'js' distil --kl-direction js --kl-beta 0.25 -o js kd
like 'is said' 'loss = 0.25 CE [+] 1 JS [(]T = 3, beta = 0.25[)]' err
for run in forward reverse js; do
    divergence $run >d
    ok "$run: falls from $(cat d)" awk '{ exit !($2 > 0 && $2 < $1) }' d
done
cut -f 6 forward/metrics.tsv reverse/metrics.tsv js/metrics.tsv | sort -u >terms
equal 'three different terms, and the heading' "$(wc -l <terms)" 25
for how in '-j 1' '--micro 3 -j 3' '--recompute --micro 1'; do
    # shellcheck disable=SC2086 # a list
    ok "$how" distil -q --kl-direction js --kl-beta 0.25 $how -o "j${how#* }" kd
    same 'the same bits' js/model.safetensors "j${how#* }/model.safetensors"
done
ok 'half of beta, by default' distil --kl-direction js -o half kd
like 'is said' 'beta = 0.5' err

# --- a run is continued as it was begun ---
ok 'four steps' distil -q --kl-direction js --kl-beta 0.25 --steps 4 \
    --schedule constant -o parts kd
stream -q --resume parts data | teacher -q -m teacher -o rest || exit 1
on() { distil -q --steps 8 --schedule constant -o parts --resume "$@" rest; }
status 2 'another direction' on --kl-direction reverse
like 'is refused by name' 'kl-direction is "reverse", not "js"' err
status 2 'another beta' on --kl-direction js
like 'is refused by name' 'kl-beta is 0.5, not 0.25' err
ok 'the same' on --kl-direction js --kl-beta 0.25
ok 'in one piece' distil -q --kl-direction js --kl-beta 0.25 --steps 8 \
    --schedule constant -o whole kd
same 'the same model' parts/model.safetensors whole/model.safetensors
# Of a version that did not know an option, options.json does not have it.
ok 'four steps forward' distil -q --steps 4 --schedule constant -o older kd
grep -v '"kl-' older/options.json >o && mv o older/options.json
stream -q --resume older data | teacher -q -m teacher -o rest || exit 1
on() { distil -q --steps 8 --schedule constant -o older --resume "$@" rest; }
status 2 'begun without --kl-direction' on --kl-direction reverse
like 'it was forward' 'kl-direction is "reverse", not "forward"' err
ok 'which needs not be said' on
ok 'in one piece' distil -q --steps 8 --schedule constant -o plain kd
same 'the same model' older/model.safetensors plain/model.safetensors

# --- what is not exact, or means nothing ---
teacher -q -m teacher --top 16 --hidden none -o top b || exit 1
teacher -q -m teacher --sample 16 --hidden none -o drawn b || exit 1
status 3 'top tokens' distil -q --kl-direction reverse -o not top
like 'are refused' '--kl-direction reverse is exact from final states .* its top tokens' err
status 3 'draws' distil -q --kl-direction js -o not drawn
like 'are refused' '--kl-direction js is exact .* tokens drawn from it' err
status 3 'no teacher' distil -q --kl-direction js -o not b
status 2 'beta without js' distil -q --kl-beta 0.5 -o not kd
for beta in 0 1; do
    status 2 "beta $beta" distil -q --kl-direction js --kl-beta $beta -o not kd
    like 'says what to use' 'use forward or reverse' err
done
done_testing
