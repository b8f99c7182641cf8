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

ok 'the forward KL trains' distil -o forward kd
like 'the loss names the forward KL' 'loss = 0.25 CE [+] 1 KL [(]T = 1[)]' err
ok 'the reverse KL trains' distil --kl-direction reverse -o reverse kd
like 'the loss names the reverse KL' 'loss = 0.25 CE [+] 1 reverse KL [(]T = 1[)]' err
ok 'the Jensen-Shannon divergence trains' distil --kl-direction js:0.25 -o js kd
like 'the loss names JS and its beta' 'loss = 0.25 CE [+] 1 JS [(]T = 1, beta = 0.25[)]' err
for run in forward reverse js; do
    divergence $run >d
    ok "$run falls from $(cat d)" awk '{ exit !($2 > 0 && $2 < $1) }' d
done
cut -f 6 forward/metrics.tsv reverse/metrics.tsv js/metrics.tsv | sort -u >terms
equal 'the three directions have different terms' "$(wc -l <terms)" 25
for how in '-j 1' '--micro 3 -j 3' '--recompute --micro 1'; do
    # shellcheck disable=SC2086 # a list
    ok "$how trains with JS" distil -q --kl-direction js:0.25 $how -o "j${how#* }" kd
    same "$how has the same bits" js/model.safetensors "j${how#* }/model.safetensors"
done
ok 'JS without a beta trains' distil --kl-direction js -o half kd
like 'beta is 0.5 by default' 'beta = 0.5' err

# --- a run is continued as it was begun ---
ok 'four steps of JS are made' distil -q --kl-direction js:0.25 --steps 4 \
    --schedule constant -o parts kd
stream -q --resume parts data | teacher -q -m teacher -o rest || exit 1
on() { distil -q --steps 8 --schedule constant -o parts --resume "$@" -- rest; }
status 2 'a run is not continued by another direction' on --kl-direction reverse
like 'the message names both directions' 'kl-direction is "reverse", not "js:0.25"' err
status 2 'a run is not continued by another beta' on --kl-direction js
like 'the message names both betas' 'kl-direction is "js", not "js:0.25"' err
ok 'a run goes on by the same direction' on --kl-direction js:0.25
ok 'a run in one piece succeeds' distil -q --kl-direction js:0.25 --steps 8 \
    --schedule constant -o whole kd
same 'a run in two pieces has the model of one' parts/model.safetensors whole/model.safetensors
# Of a version that did not know an option, options.json does not have it.
ok 'four forward steps are made' distil -q --steps 4 --schedule constant -o older kd
grep -v '"kl-' older/options.json >o && mv o older/options.json
stream -q --resume older data | teacher -q -m teacher -o rest || exit 1
on() { distil -q --steps 8 --schedule constant -o older --resume "$@" -- rest; }
status 2 'a run from before --kl-direction is not continued by reverse' on --kl-direction reverse
like 'the message names forward as its direction' 'kl-direction is "reverse", not "forward"' err
ok 'a run from before --kl-direction goes on' on
ok 'a forward run in one piece succeeds' distil -q --steps 8 --schedule constant -o plain kd
same 'the run from before --kl-direction has the same model' older/model.safetensors plain/model.safetensors

# --- what is not exact, or means nothing ---
teacher -q -m teacher --top 16 --hidden none -o top b || exit 1
teacher -q -m teacher --sample 16 --hidden none -o drawn b || exit 1
ok 'the reverse KL trains on top tokens' distil -q --kl-direction reverse -o by-top top
ok 'its first value is below that of all tokens' awk '
    FNR == 2 { kl[++n] = $6 } END { print kl[1], kl[2]; exit !(0 < kl[1] && kl[1] < kl[2]) }' \
    by-top/metrics.tsv reverse/metrics.tsv
status 3 'JS refuses draws' distil -q --kl-direction js -o not drawn
like 'the message tells of drawn tokens' '--kl-direction js needs final states.* tokens drawn from it' err
status 3 'JS refuses a stream without a teacher' distil -q --kl-direction js -o not b
status 2 'a beta is refused for another direction than js' distil -q --kl-direction reverse:0.5 -o not kd
status 2 'a beta that is no number is refused' distil -q --kl-direction js:x -o not kd
for beta in 0 1; do
    status 2 "a beta of $beta is refused" distil -q --kl-direction js:$beta -o not kd
    like "the message for beta $beta tells what to use" 'use forward or reverse' err
done
done_testing
