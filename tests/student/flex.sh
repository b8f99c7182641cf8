#!/bin/sh
# A student that is not cut from its teacher: other depth, width and padding of
# the vocabulary; live, precomputed, in any grouping, resumed.
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

# 3 blocks of 48 and 1088 ids teach 2 of 32 and 1024; the tokenizer has fewer.
vocab=1088
config big.json 5 48 64
stream -q -B 4 -T 64 -s 7 --batches 8 data >b || exit 1
student -q -m big.json -t tok -o big --lr 3e-3 -s 3 b || exit 1
distil() { student -m new.json -t tok --lr 1e-3 "$@"; }
same_run() {
    same "$1" "$2/model.safetensors" "$3/model.safetensors"
}

ok 'all blocks' teacher -q -m big -o kd b
ok 'a student of its own' distil -o run kd
like 'which blocks are compared' \
    "SquareHead: the teacher's blocks 2,4 of 5, at the same relative depth; their 48 numbers averaged to 32" err
like 'which ids' "KL is over the tokenizer's [0-9]* ids: the teacher's vocabulary is 1088, the student's 1024" err
like 'all three terms' 'loss = 0.25 CE [+] 1 KL [(]T = 3[)] [+] 1 SquareHead' err
for how in '-j 1' '--micro 3 -j 3' '--micro 1 --recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "$how" distil -q $how -o "run${how##* }" kd
    same_run 'the same bits' run "run${how##* }"
done
ok 'only mapped blocks' \
    teacher -q -m big --final --hidden mapped --student run -o mapped b
ok "are those" sh -c '
    grep -aq "teacher.hidden.2" mapped && grep -aq "teacher.hidden.4" mapped &&
    ! grep -aq "teacher.hidden.3" mapped'
ok 'from them' distil -q -o frommapped mapped
same_run 'the same model' run frommapped
ok 'precomputed' shard write -q -o kds mapped
ok 'replayed' sh -c 'stream -q -B 4 kds |
    student -q -m new.json -t tok --lr 1e-3 -o replayed'
same_run 'the same model' run replayed
ok 'live' sh -c 'teacher -q -m big b |
    student -q -m new.json -t tok --lr 1e-3 -o live'
same_run 'the same model' run live

# --- in two parts ---
ok 'five steps' distil -q --steps 5 --schedule constant -o whole --save 1 kd
ok 'three' distil -q --steps 3 --schedule constant -o parts --save 1 kd
ok 'two more' sh -c 'stream -q --resume parts data >rest &&
    teacher -q -m big rest | student -q -m new.json -t tok --lr 1e-3 \
        --steps 5 --schedule constant -o parts --save 1 --resume'
same_run 'the same model' whole parts

# --- tokens of a teacher with more rows ---
teacher -q -m big --top 16 --hidden none -o topped b || exit 1
ok 'the top tokens of a larger vocabulary train a student' distil -q -o over \
    topped
done_testing
