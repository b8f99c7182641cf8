#!/bin/sh
# student: trained on rounded and masked weights (--qat, --mask)
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches >b
teacher -q -m teacher -o kd b || exit 1

# distil RUN [option ...]: 20 steps
distil() {
    run=$1
    shift
    student -q -m s0 -o "$run" --lr 1e-3 --schedule constant "$@" kd
}
# bare MODEL: as MODEL.bare, without a tokenizer, which a GGUF could not say
bare() {
    rm -rf "$1.bare"
    mkdir "$1.bare"
    cp "$1/config.json" "$1/model.safetensors" "$1.bare"
}

# --- rounded ---
for type in q8_0 q4_0; do
    ok "--qat $type trains" distil $type --qat $type
    bare $type
    ok "the model of --qat $type becomes a GGUF" convert -q --dtype $type $type.bare $type.gguf
    ok "the GGUF of $type is converted back" convert -q $type.gguf $type.back
    same_model "conversion to $type changes no number" $type $type.back
    status 1 "the checkpoint of $type has other numbers" cmp -s $type/model.safetensors \
        $type/step-20/model.safetensors
    mv $type/step-20 $type.w
    bare $type.w
    ok "the checkpoint is converted to $type" convert -q --dtype $type $type.w.bare \
        again.gguf
    same "the checkpoint gives the GGUF of the result: $type" again.gguf $type.gguf
done
# Rows of 256 numbers, which types of k need
config wide.json 1 256 256
ok 'a student with wide rows is made' student -q -m wide.json -t tok -o wide --lr 1e-3 one
stream -q -B 1 -T 64 -s 7 --batches 3 data >three
for type in q4_k q4_k_m q5_k q6_k; do
    ok "--qat $type trains" student -m wide -o $type --qat $type --lr 1e-3 three
    like "the exact GGUF of $type is noted" "convert --dtype $type $type/step-3 " err
    bare $type/step-3
    if [ $type = q4_k ]; then # with a tokenizer, which this GGUF could not say
        sed -n 's/.*of exactly these weights: //p' err >command
        rm $type/step-3/tok*
        ok 'the command of the note makes that GGUF' sh ./command
        mv FILE.gguf noted.gguf
    fi
    ok "the checkpoint of $type becomes a GGUF" convert -q --dtype $type \
        $type/step-3.bare $type.gguf
    [ $type != q4_k ] || same 'the noted command makes the same file' noted.gguf $type.gguf
    ok "the GGUF of $type is read back" convert -q $type.gguf $type.back
    same_model "the GGUF of the checkpoint holds the weights trained as $type" $type \
        $type.back
    ok "the GGUF of $type is converted to its own type" convert -q --dtype $type \
        $type.gguf $type.same.gguf
    same "conversion of a GGUF to its own type changes no byte: $type" $type.gguf \
        $type.same.gguf
done
status 2 '--mask is refused with --qat q4_k' student -m wide -o x --qat q4_k --mask 2:4 three
like 'the message names --mask and q4_k' '--mask: .*--qat q4_k' err
ok 'a run without --qat trains' distil plain
bare plain
ok 'a model without --qat becomes a GGUF' convert -q --dtype q4_0 plain.bare plain.gguf
ok 'the GGUF without --qat is converted back' convert -q plain.gguf plain.back
status 1 'conversion changes numbers without --qat' cmp -s plain/model.safetensors \
    plain.back/model.safetensors
ok '--qat int8 trains with products in bf16, recomputed' distil int8 --qat int8 \
    --compute bf16 --recompute --grad bf16 --moments bf16

# --- masked ---
# fours MODEL: how many fours of neighbours in its file have two zeros or more
fours() {
    tap_n=$(od -An -t u8 -N 8 "$1/model.safetensors" | tr -d ' ')
    od -An -v -t x4 -w16 -j $((8 + tap_n)) "$1/model.safetensors" |
        grep -c ' 00000000.* 00000000'
}
all=$((2 * (2 * 32 * 48 + 2 * 32 * 24 + 3 * 32 * 48) / 4))
ok '--mask 2:4 trains' distil masked --mask 2:4 --steps 12 --save 1 --keep 0
equal 'two of each four weights are zero' "$(fours masked)" $all
equal 'weights in checkpoints are not zero' "$(fours masked/step-12)" 0
same 'masks stay between choices' masked/step-1/masks.safetensors masked/step-9/masks.safetensors
status 1 'masks are chosen anew after ten steps' cmp -s masked/step-9/masks.safetensors \
    masked/step-10/masks.safetensors
like 'config.json names the pattern' '"pattern": "2:4"' masked/config.json
unlike 'config.json of a checkpoint names no pattern' '"pattern"' masked/step-12/config.json
ok 'a masked result trains on' student -q -m masked -o more --lr 1e-3 kd
equal 'a masked result keeps its zeros' "$(fours more)" $all

# --- both, killed and resumed, by other threads, by ranks ---
both='--mask 2:4 --qat q4_0'
# shellcheck disable=SC2086
ok '--mask and --qat train together' distil whole $both
# shellcheck disable=SC2086
killed_at 10 killed student -q -m s0 --lr 1e-3 --save 2 --schedule constant \
    $both
goes_on "s0 $both"
for f in optimiser masks model; do
    same "a killed run has the bits of the last checkpoint: $f" killed/step-20/$f.safetensors \
        whole/step-20/$f.safetensors
done
cp -r whole over && touch mark
stream -q --resume over data | teacher -q -m teacher -o rest0
# shellcheck disable=SC2086
ok 'a finished run is resumed' student -q -m s0 -o over --lr 1e-3 --schedule constant \
    $both --resume -- rest0
equal 'a finished run stays as it is' "$(find over -type f -newer mark)" ''
status 2 'a finished run is not changed without --qat' student -q -m s0 \
    -o over --lr 1e-3 --schedule constant --mask 2:4 --resume -- rest0
same_model 'a refused command leaves the finished run' over whole
# shellcheck disable=SC2086
ok '1 thread trains 1 row at a time' distil j1 -j 1 --micro 1 $both
same_model 'threads and rows change no bit' whole j1
# shellcheck disable=SC2086
ok '10 steps with --qat are made' distil ten --steps 10 $both
rm ten/config.json
stream -q --resume ten data | teacher -q -m teacher -o rest
status 2 'a run with --qat is not continued without' student -q -m s0 -o ten --lr 1e-3 --schedule \
    constant --mask 2:4 --resume -- rest
like 'the message names qat' 'qat is "none", not "q4_0"' err
ok '10 steps without --mask are made' distil bare10 --steps 10
rm bare10/config.json
stream -q --resume bare10 data | teacher -q -m teacher -o rest
goes() {
    student -q -m s0 -o bare10 --lr 1e-3 --schedule constant --mask 2:4 \
        --resume "$@" -- rest
}
status 2 'a run without --mask is not continued with it' goes
like 'the message names mask' 'mask is "2:4", not null' err
ok '--override mask lets the run go on' goes --override mask
equal 'the run is masked from there on' "$(fours bare10)" $all
. "$top/tests/lib/ranks.sh"
if has_ranks 'over ranks'; then
    # shellcheck disable=SC2086
    ok 'one process trains by --deterministic' distil d1 --deterministic --steps 8 $both
    for level in 0 1 2; do
        # shellcheck disable=SC2086
        ok "2 ranks train at level $level" mpirun -n 2 student -q -j 1 -m s0 -o d2 \
            --lr 1e-3 --schedule constant --deterministic --steps 8 \
            --shard-level $level $both kd
        same_model "2 ranks at level $level have the bits of one process" d1 d2
        rm -r d2
    done
    for with in '--shard-level 3' '--stages 1'; do
        # shellcheck disable=SC2086
        status 2 "2 ranks refuse --qat with $with" mpirun -n 2 student -q -m s0 -o d3 --qat q8_0 \
            $with kd
        like "the message names ${with% 1}" "--qat over ranks .* ${with% 1}" err
    done
fi

# --- misuse ---
status 2 'a mask that does not divide rows is refused' distil x --mask 2:5
like 'the message tells tensor and rows' 'q_proj.weight: rows of 32 are no multiple of 5' err
for p in unstructured 4:4 2; do
    status 2 "--mask '$p' is refused" distil x --mask $p
    like "the message names --mask '$p'" "^student: --mask: '$p'" err
done
status 2 '--mask is refused with --grad bf16' distil x --mask 2:4 --grad bf16
like 'the message names --mask and --grad' '--mask .*--grad bf16' err
done_testing
