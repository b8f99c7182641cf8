#!/bin/sh
# student: zeros of sparse matrices stay through training and checkpoints
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches >b
teacher -q -m teacher -o kd b || exit 1

# Zero the first half of block 1's down, and name it in config.json.
down=model.layers.1.mlp.down_proj.weight
head=$(od -An -t u8 -N 8 s0/model.safetensors | tr -d ' ')
head -c $((head + 8)) s0/model.safetensors |
    sed "s/.*\"$down\":[^}]*\"data_offsets\":\[//; s/\].*//" |
    tr -d '\000' >place
from=$(cut -d , -f 1 place) to=$(cut -d , -f 2 place)
at=$((head + 8 + from)) half=$(((to - from) / 2))
equal 'a matrix has 32 x 48 weights' $((2 * half)) $((4 * 32 * 48))
cp -r s0 sparse
head -c $half /dev/zero |
    dd of=sparse/model.safetensors bs=1 seek=$at conv=notrunc 2>/dev/null
sed 's/"kept"/"sparse": {"pattern": "unstructured",\
 "tensors": ["'$down'"]}, &/' s0/config.json >sparse/config.json

# zeros FILE: bytes of the first half, and of the second, that are not zero
zeros() {
    for skip in $at $((at + half)); do
        tail -c +$((skip + 1)) "$1" | head -c $half | tr -d '\000' | wc -c
    done | tr '\n' ' '
}
# distil RUN [option ...]: 20 steps
distil() {
    run=$1
    shift
    student -q -m sparse -o "$run" --lr 1e-3 --schedule constant "$@" kd
}
like_sparse() {
    zeros "$2/model.safetensors" >zeros.out
    like "$1" '^ *0 +30[0-9][0-9] ' zeros.out
}

like_sparse 'half of the matrix is zero' sparse
ok '20 steps of a sparse model are made' distil whole
like_sparse 'half of the matrix is zero after 20 steps' whole
status 1 'the other weights are trained' cmp -s whole/model.safetensors \
    sparse/model.safetensors
like 'config.json names the sparse matrix' '"model.layers.1.mlp.down_proj.weight"' \
    whole/config.json
like 'the checkpoint has a mask' '"masks.safetensors"' \
    whole/step-20/manifest.json
ok 'bfloat16 moments and gradients train a sparse model' distil half --moments bf16 --grad bf16
like_sparse 'moments and gradients in bf16 keep the zeros' half
ok 'weight decay trains a sparse model' distil decay --weight-decay 0.1
like_sparse 'weight decay keeps the zeros' decay
mv sparse/config.json named.json
tr '\n' ' ' <named.json | sed 's/"sparse": {[^}]*}, //' >sparse/config.json
ok 'a model that names no sparse matrix trains' distil dense
like 'a warning tells what keeps the zeros' \
    'sparse: .*zero.* 1 .*matri.*--mask' err
ok '--mask trains a model that names no sparse matrix' distil masked --mask 2:4
unlike '--mask gives no warning of zeros' 'zero' err
zeros dense/model.safetensors >zeros.out
unlike 'zeros that nothing names are trained' '^ *0 ' zeros.out
[ ! -e dense/step-20/masks.safetensors ] && pass '... without a mask' ||
    fail 'the checkpoint has no mask'
mv named.json sparse/config.json

ok '1 thread trains 1 row at a time' distil j1 -j 1 --micro 1
same_model 'threads and rows change no bit' whole j1
status 0 'a live stream trains a sparse model' sh -c 'stream -q -B 4 -T 64 -s 7 --batches 20 data |
    teacher -q -m teacher | student -q -m sparse -o live --lr 1e-3 \
    --schedule constant'
same_model 'a live stream gives the same model' whole live

# 10 steps, killed somewhere after; then the rest
killed_at 10 killed student -q -m sparse --lr 1e-3 --save 2 --schedule constant
goes_on sparse
for f in optimiser masks model; do
    same "a killed run has the bits of the last checkpoint: $f" killed/step-20/$f.safetensors \
        whole/step-20/$f.safetensors
done
rm killed/config.json killed/step-20/masks.safetensors
status 0 'a sparse result trains on' student -q -m whole -o more \
    --lr 1e-3 kd
like_sparse 'training on keeps the zeros' more

# --- what prune sparsify makes ---
# zeros_of MODEL: how many of its numbers are zero
zeros_of() {
    od -An -v -t x4 -w4 -j 8 "$1/model.safetensors" | grep -c '^ 00000000$'
}
ok 'prune makes a 2:4 model' prune sparsify -q -m s0 -o pairs --method magnitude one
equal "half of the products' weights are zero" "$(zeros_of pairs)" \
    $((2 * (2 * 32 * 48 + 2 * 32 * 24 + 3 * 32 * 48) / 2))
ok '20 steps of the 2:4 model are made' student -q -m pairs -o trained --lr 1e-3 kd
equal 'the 2:4 model keeps its zeros' "$(zeros_of trained)" "$(zeros_of pairs)"
like 'config.json names the pattern 2:4' '"pattern": "2:4"' trained/config.json

# --- over ranks ---
. "$top/tests/lib/ranks.sh"
if has_ranks 'over ranks'; then
    ok 'one process trains by --deterministic' distil d1 --deterministic
    ok '2 ranks train a sparse model' mpirun -n 2 student -q -j 1 -m sparse -o d2 --lr 1e-3 \
        --schedule constant --deterministic kd
    same_model '2 ranks have the bits of one process' d1 d2
    like_sparse '2 ranks keep the zeros' d2
    ok '2 ranks make 10 steps at level 3' mpirun -n 2 student -q -j 1 -m sparse \
        -o d3 --lr 1e-3 --schedule constant --deterministic --shard-level 3 \
        --steps 10 kd
    rm d3/config.json
    stream -q --resume d3 data | teacher -q -m teacher -o rest
    ok '2 ranks make the other steps at level 3' mpirun -n 2 student -q -j 1 -m sparse -o d3 \
        --lr 1e-3 --schedule constant --deterministic --shard-level 3 \
        --resume -- rest
    same_model 'level 3 has the bits of one process' d1 d3
fi
done_testing
