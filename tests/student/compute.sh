#!/bin/sh
# Products in bfloat16, by both instructions, which every processor has at least
# in plain C: the promises of fp32 hold.
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
first_and_last || exit 1
stream -q -B 2 -T 32 -s 7 --batches 4 data >b || exit 1

# distil RUN [option ...]: 4 steps at one rate
distil() {
    run=$1
    shift
    student -m s0 -o "$run" --compute "$c" --lr 1e-3 --schedule constant \
        --save 2 "$@"
}
# later [option ...]: goes on with the run `late`, in fp32
later() {
    student -q -m s0 -o late --lr 1e-3 --schedule constant --resume "$@"
}

teacher -q -m teacher -o kd32 b || exit 1
ok 'training in fp32 succeeds' student -q -m s0 -o f32 --lr 1e-3 --schedule constant kd32
tokens='on 64 tokens that changes final states by'
cost='on the first 64 tokens that changes the loss from [0-9.]+ to [0-9.]+, '
cost="${cost}and the gradient by 0[.][0-9]+ %"
for c in avx512bf16 amx; do
    ok "the teacher runs with $c" teacher -m teacher --compute $c -o kd.$c b
    like "the teacher names the instruction $c" "^teacher: products in bfloat16 by $c\$" err
    like "the teacher tells what $c costs" \
        'final states by 0[.][0-9]+ % .*loss from .*, distributions by [0-9.e-]+ nats' err
    ok "one thread of a teacher runs with $c" teacher -q -m teacher --compute $c -j 1 -o kd1 b
    same "one thread gives the bits of several by $c" kd.$c kd1
    ok "the student trains with $c" distil $c -j 2 kd.$c
    cp err said
    like "the student tells what loss and gradient $c costs" "$cost" said
    for how in '-q -j 1' '-q --micro 1' '-q --recompute'; do
        rm -rf other
        # shellcheck disable=SC2086
        ok "a student with $how trains by $c" distil other $how kd.$c
        same_model "$how gives the same bits by $c" $c other
    done
    rm -rf other
    status 0 "a live teacher trains a student by $c" sh -c "teacher -q -m teacher --compute $c b |
        student -q -m s0 -o other --compute $c --lr 1e-3 --schedule constant"
    same_model "live and stored states give the same bits by $c" $c other

    # Killed after the checkpoint of step 2.
    rm -rf other
    cp -r $c other
    rm -r other/step-4 other/config.json other/model.safetensors
    cp -r other late
    stream -q --resume other data >rest || exit 1
    teacher -q -m teacher --compute $c -o kdrest rest || exit 1
    ok "a run by $c that was killed goes on" distil other --resume --steps 4 kdrest
    same_model "the run that was killed ends with the bits of $c" $c other
    unlike "a run that goes on tells no cost of $c again" 'changes the loss' err
    status 2 "a run by $c is not continued in fp32" later --steps 4 kdrest
    like "the message names compute and $c" "was begun otherwise: compute is .f32., not .$c." err
    ok "--override compute lets a run by $c go on" later --override compute \
        --steps 4 kdrest
    like "a run that goes on with other kernels than $c warns" \
        "written with kernels [a-z0-9]*[+]$c, continued with [a-z0-9]*: " err
    rm -r late
done
status 1 'the two instructions give other bits' cmp -s avx512bf16/model.safetensors amx/model.safetensors
status 1 'products in bf16 give other bits than fp32' cmp -s f32/model.safetensors amx/model.safetensors
# The other two programs, by fewer words: their own tests judge the figures.
c=avx512bf16
for j in 1 2; do
    ok "evalppl runs with $c and $j threads" evalppl -m teacher --compute $c -j $j \
        --format tsv one
    cut -f 1-12 out >ppl.$j
done
like "evalppl tells what $c costs" "^evalppl: teacher: $tokens" err
same "evalppl has the same figures for all threads by $c" ppl.1 ppl.2
ok "evalppl runs in fp32 beside $c" evalppl -q -m teacher --format tsv one
cut -f 1-12 out >ppl.32
status 1 "evalppl has other figures by $c than in fp32" cmp -s ppl.1 ppl.32
ok "prune runs with $c" prune -m teacher --compute $c --blocks 2 --calib-rows 1 -o cut one
like "prune tells what $c costs" "^prune: teacher: $tokens" err

# Where the instruction is missing.
ok 'products in plain C run' env RETORT_KERNELS=ref teacher -q -m teacher --compute amx -o slow b
like 'slow products are warned of, even with -q' \
    '^teacher: --compute amx: plain C gives' err
done_testing
