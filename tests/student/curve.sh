#!/bin/sh
# 300 steps of distillation follow PyTorch's, which began with the same weights
# and saw the same batches (tests/golden/curve.tsv), on every kernel path.
# CURVE=python: write that file anew with scripts/oracle/curve.py
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

# The student: two of the teacher's three blocks, with random weights.
student -q -m new.json -t tok -o s --lr 0 one || exit 1
mkdir s0
cp s/model.safetensors s/tokenizer* s0
sed 's/"num_hidden_layers"/"retort": {"kept": [0, 2], "mlp": [48, 48]}, &/' \
    s/config.json >s0/config.json
stream -q -B 2 -T 64 -s 5 --batches 300 data >b || exit 1
golden=$top/tests/golden/curve.tsv
if [ -n "${CURVE:-}" ]; then
    "$CURVE" "$top/scripts/oracle/curve.py" s0 teacher b >curve.tsv || exit 1
    cp curve.tsv "$golden"
    "$CURVE" "$top/scripts/oracle/curve.py" s0 teacher b autocast \
        >curve-autocast.tsv || exit 1
    cp curve-autocast.tsv "$top/tests/golden"
fi

# within TABLE: every loss of every step is within 1e-3 of PyTorch's
within() {
    awk -F '\t' '
        /^#/ || $1 == "step" { next }
        FNR == NR { for (i = 2; i <= 6; i++) want[$1, i] = $i; n++; next }
        {
            seen++
            bad += $3 != want[$1, 2]
            for (i = 3; i <= 6; i++) {
                d = ($(i + 1) - want[$1, i]) / want[$1, i]
                d = d < 0 ? -d : d
                bad += !(d <= 1e-3)
                if (d > most) { most = d; at = $1 }
            }
        }
        END {
            printf "# largest difference %.2g, at step %d\n", most, at
            exit !(n == 300 && seen == n && bad == 0)
        }' "$golden" "$1"
}
# distil RUN KERNELS RATE [option ...]
distil() {
    run=$1 kernels=$2 rate=$3
    shift 3
    env RETORT_KERNELS="$kernels" student -q -m s0 -o "$run" -j 2 \
        --lr "$rate" --temperature 3 --warmup 20 --weight-decay 0.1 --save 0 "$@" "$from"
}
# near AUTOCAST TABLE: losses in bfloat16 are, by root mean square, no farther
# from fp32's than PyTorch's autocast's from its own
near() {
    awk -F '\t' '
        /^#/ || $1 == "step" || $1 == "rate" { next }
        NF == 3 {                   # of autocast
            if ($1 == 0.001) most[60] = $2
            if ($3 > most[300]) most[300] = $3
            next
        }
        NF == 7 { want[$1] = $3; next }
        {
            d = $4 / want[$1] - 1
            sum[300] += d * d
            if ($1 <= 60) sum[60] += d * d
            seen++
        }
        END {
            for (n = 60; n <= 300; n += 240) {
                is = sum[n] / n # squares: not every awk has sqrt
                printf "# first %d steps: off by %.2g, autocast by %.2g (squared)\n", \
                    n, is, most[n] * most[n]
                bad += !(is > 0 && is <= most[n] * most[n])
            }
            exit !(seen == 300 && bad == 0)
        }' "$1" "$golden" "$2"
}

teacher -q -m teacher --dtype f32 -o kd b || exit 1
from=kd
for k in ref avx2 avx512; do
    if distil "try.$k" $k 0 --steps 1 2>/dev/null; then
        ok "$k: 300 steps are made" distil "run.$k" $k 1e-3
        ok "$k: each loss is within 1e-3 of PyTorch" within "run.$k/metrics.tsv"
        grep '^#' out
    else
        skip "$k: 300 steps are made" 'this processor has no such kernels'
    fi
done
distil other '' 1.01e-3
status 1 'a rate 1 % higher would be noticed' within other/metrics.tsv

# In bfloat16, teacher and student.  At step 63 the gradient is six times as long
# as around it, and from there on any rounding, autocast's too, leads to other
# steps: what autocast does at rates near by is as likely at this one.
bf16='--compute avx512bf16'
for k in avx2 avx512; do
    if [ ! -d "run.$k" ]; then
        skip "$k: bfloat16 is as near fp32 as PyTorch by autocast" 'this processor has no such kernels'
        continue
    fi
    # shellcheck disable=SC2086
    RETORT_KERNELS=$k teacher -q -m teacher --dtype f32 $bf16 -o kd16 b || exit 1
    from=kd16
    # shellcheck disable=SC2086
    ok "$k: 300 steps in bfloat16 are made" distil "half.$k" $k 1e-3 $bf16
    ok "$k: bfloat16 is as near fp32 as PyTorch by autocast" near \
        "$top/tests/golden/curve-autocast.tsv" "half.$k/metrics.tsv"
    grep '^#' out
done
done_testing
