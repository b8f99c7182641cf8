#!/bin/sh
# student --skip-spikes: steps with a large gradient are left out and recorded
. "${0%/*}/../lib/lib.sh"

. "$top/tests/lib/dpo.sh"
# the last of every 15 pairs is far from the others
awk 'BEGIN { for (i = 0; i < 30; i++) {
    far = ""
    for (k = 0; i % 15 == 14 && k < 30; k++) far = far " " 7 * k
    printf "{\"prompt\": \"Item %d:\", \"chosen\": \" %d%s\", \"rejected\": \" %s\"}\n",
        i % 3, i % 5, far, "no" }
}' >pairs.jsonl
# train RUN [option ...]: 60 steps of a pair
train() {
    run=$1
    shift
    student dpo -q -m "$golden" -o "$run" -B 1 --epochs 2 --lr 1e-3 --save 1 --keep 0 \
        --schedule constant --loss sft "$@" -- pairs.jsonl
}

ok 'steps with spikes are left out' train run --skip-spikes 1.2
equal 'every step has a line of metrics' "$(wc -l <run/metrics.tsv)" 61
# the rule once more, from the norms
awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "norm") c = i; next }
    { if (n >= 10 && $c > 1.2 * sum / weight) { print $1; next }
      sum = 0.98 * sum + $c; weight = 0.98 * weight + 1; n++ }' run/metrics.tsv >want
cut -f 1 run/skipped.tsv | sed 1d >got
same 'the steps left out are those of the rule' got want
n=$(sed -n '$=' got)
[ "${n:-0}" -ge 2 ] && [ "$n" -le 30 ] && pass "some steps are left out" ||
    fail "some steps are left out: $n"
step=$(head -n 1 got)
same 'a step left out changes no weight' "run/step-$((step - 1))/model.safetensors" \
    "run/step-$step/model.safetensors"
equal 'its batch is recorded' "$(sed -n 2p run/skipped.tsv | cut -f 1-3)" \
    "$(printf '%s\t%s\t%s' "$step" "$step" "$step")"

ok 'half of the steps are made' train half --skip-spikes 1.2 --steps 30
rm half/config.json
ok 'the other half is made' train half --skip-spikes 1.2 --resume
same '30 and 30 steps have the bits of 60' run/model.safetensors half/model.safetensors
same '30 and 30 steps leave out those of 60' run/skipped.tsv half/skipped.tsv
done_testing
