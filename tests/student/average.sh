#!/bin/sh
# student --ema: the result is the average of the weights after each step
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

. "$top/tests/lib/dpo.sh"
# train RUN [option ...]: 4 steps, each with a checkpoint
train() {
    run=$1
    shift
    student dpo -q -m "$golden" -o "$run" -B 5 --epochs 4 --lr 1e-2 --save 1 --keep 0 \
        --schedule constant "$@" -- "$golden/pairs.jsonl"
}
# numbers MODEL: its weights, a line each (all have one layout)
numbers() {
    od -A n -v -t f4 -w4 -j 3000 "$1/model.safetensors"
}

ok 'a step of rate 0 leaves the first weights' train first --lr 0 --steps 1
ok '4 steps with an average are made' train run --ema 0.75
ok '4 steps without are made' train plain
same 'the average changes no step' run/step-4/model.safetensors plain/model.safetensors
for d in first run/step-1 run/step-2 run/step-3 run/step-4; do
    numbers "$d" >"${d##*/}.n"
done
paste first.n step-1.n step-2.n step-3.n step-4.n >all
awk '{ e = $1; for (i = 2; i <= 5; i++) e = 0.75 * e + 0.25 * $i; print e }' \
    OFMT=%.9g all >want
numbers run >got
paste got want >both
ok 'the result is the average of the weights' awk '
    { d = $1 - $2; n++; if (!(d * d <= 1e-12)) bad = 1 }
    END { exit !(n > 20000 && !bad) }' both
if cmp -s run/model.safetensors plain/model.safetensors; then
    fail 'the average is another model than the last step'
else
    pass 'the average is another model than the last step'
fi

# --- stop and go on ---
ok '2 steps with an average are made' train half --ema 0.75 --steps 2
rm half/config.json
ok '2 more steps are made' train half --ema 0.75 --resume
same 'the average goes on with the run' run/model.safetensors half/model.safetensors
ok '2 steps without an average are made' train none --steps 2
rm none/config.json
status 3 'an average cannot begin in the middle' train none --ema 0.75 --resume --override ema
like 'the message says so' 'without --ema' err

# --- over ranks ---
if has_ranks 'averages over ranks'; then
    ok 'one process averages by --deterministic' train d1 --ema 0.75 --deterministic
    for level in 0 1 3; do
        ok "2 ranks average at level $level" mpirun -n 2 student dpo -q -j 1 \
            -m "$golden" -o l$level -B 5 --epochs 4 --lr 1e-2 --save 1 --keep 0 \
            --schedule constant --ema 0.75 --deterministic --shard-level $level \
            "$golden/pairs.jsonl"
        same "2 ranks at level $level have the average of one process" \
            d1/model.safetensors l$level/model.safetensors
    done
fi
done_testing
