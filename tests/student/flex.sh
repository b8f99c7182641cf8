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

ok 'the teacher sends all blocks' teacher -q -m big -o kd b
ok 'a student of another shape trains' distil -o run kd
like 'the note tells which blocks are compared' \
    "SquareHead: the teacher's blocks 2,4 of 5, at the same relative depth; their 48 numbers averaged to 32" err
like 'the note tells which ids are compared' "KL is over the tokenizer's [0-9]* ids: the teacher's vocabulary is 1088, the student's 1024" err
like 'the loss has all three terms' 'loss = 0.25 CE [+] 1 KL [(]T = 1[)] [+] 1 SquareHead' err
for how in '-j 1' '--micro 3 -j 3' '--micro 1 --recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "a student with $how trains" distil -q $how -o "run${how##* }" kd
    same_run "$how gives the same bits" run "run${how##* }"
done
ok 'the teacher sends only mapped blocks' \
    teacher -q -m big --final --hidden mapped --student run -o mapped b
ok 'the mapped blocks are 2 and 4' sh -c '
    grep -aq "teacher.hidden.2" mapped && grep -aq "teacher.hidden.4" mapped &&
    ! grep -aq "teacher.hidden.3" mapped'
ok 'a student trains from the mapped blocks' distil -q -o frommapped mapped
same_run 'mapped blocks give the same model' run frommapped
ok 'a stream of states is stored in shards' shard write -q -o kds mapped
ok 'a student trains from shards' sh -c 'stream -q -B 4 kds |
    student -q -m new.json -t tok --lr 1e-3 -o replayed'
same_run 'shards give the same model' run replayed
ok 'a student trains from a live teacher' sh -c 'teacher -q -m big b |
    student -q -m new.json -t tok --lr 1e-3 -o live'
same_run 'a live teacher gives the same model' run live

# --- in two parts ---
ok 'five steps are made in one run' distil -q --steps 5 --schedule constant -o whole --save 1 kd
ok 'three steps are made first' distil -q --steps 3 --schedule constant -o parts --save 1 kd
ok 'two more steps are made' sh -c 'stream -q --resume parts data >rest &&
    teacher -q -m big rest | student -q -m new.json -t tok --lr 1e-3 \
        --steps 5 --schedule constant -o parts --save 1 --resume'
same_run 'three and two steps give the model of five' whole parts

# --- tokens of a teacher with more rows ---
teacher -q -m big --top 16 --hidden none -o topped b || exit 1
ok 'the top tokens of a larger vocabulary train a student' distil -q -o over \
    topped
done_testing
