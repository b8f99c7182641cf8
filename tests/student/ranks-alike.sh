#!/bin/sh
# student over ranks that are not alike: other options, another model, other
# kernels or other streams are refused before the first step
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'ranks that are not alike' || done_testing
. "$top/tests/lib/train.sh"
batches 8 >b
export MPIEXEC_TIMEOUT=30

# refused STATUS NAME WHAT COMMAND: two ranks run it in a shell, with their
# number r; they end with that status and name both ranks and, at the beginning
# of the message, NAME
refused() {
    rm -rf run
    status "$1" "$3 on one rank: the job ends with status $1" \
        mpirun -n 2 sh -c "r=\$OMPI_COMM_WORLD_RANK; $4"
    like "$3 on one rank: the message names it and the ranks" \
        "^student(\[1\])?: [^:]*$2[^:]*: rank 1 has .*rank 0 has " err
    equal "$3 on one rank: no step is made" \
        "$(sed 1d run/metrics.tsv 2>/dev/null)" ''
}
student='student -q -j 1 -m new.json -o run --lr 1e-3 --schedule constant --rank-timeout 2'
# option NAME OPTIONS [WORDS]: of student, which each rank's shell expands; the
# test's name has the words too
option() {
    refused 2 "$1" "another $1${3:-}" "$student $2 b"
}

# --- options ---
# shellcheck disable=SC2016 # the ranks' shells expand them
{
    for level in 0 1; do
        option --lr '--lr 1e-$((3 + r)) --shard-level '$level ", level $level,"
    done
    option --lr '--lr 1.000000$((r + 1))e-3' ', by a millionth,'
    option --seed '-s $r'
    option --grad-accum '--grad-accum $((1 + r))'
    option --deterministic '$([ $r = 0 ] && echo --deterministic)'
    option --shard-level '--shard-level $r'
    option --stages '--stages $r'
    option --steps '--steps $((3 + r))'
    option --comm-log '$([ $r = 0 ] && echo --comm-log comm)'
    option --output '-o run.$r'
}
# shellcheck disable=SC2016
ok 'ranks may have other numbers of threads' mpirun -n 2 sh -c \
    'student -q -m new.json -j $((1 + OMPI_COMM_WORLD_RANK)) -o threads b'

# --- kernels ---
if grep -q avx2 /proc/cpuinfo; then
    # shellcheck disable=SC2016
    refused 2 RETORT_KERNELS 'other kernels' \
        "export RETORT_KERNELS=ref; [ \$r = 0 ] || RETORT_KERNELS=avx2
        $student b"
fi

# --- models ---
for r in 0 1; do
    student -q -m new.json -t tok -s $r -o m.$r --lr 1e-3 --steps 1 \
        --schedule constant b || exit 1
    mkdir -p own.$r/m
    cp m.0/config.json m.$r/model.safetensors own.$r/m
    ln -s ../b own.$r
done
# Each rank has a folder of its own under one name, as nodes have.
for level in 0 3; do
    # shellcheck disable=SC2016
    refused 2 --model "another model, level $level," 'run=$PWD/run
        RETORT_NODE=1; export RETORT_NODE
        cd own.$r && exec student -q -j 1 -m m -o "$run" --lr 1e-3 \
            --schedule constant --shard-level '$level' b'
done

# --- streams ---
# shellcheck disable=SC2016
{
    own='stream -q -B 4 -T 64 --batches 8 -s 7'
    for what in seed:'-s $r' batches:'--batches $((3 + r))'; do
        refused 3 "${what%%:*}" "a stream of another ${what%%:*}" \
            "$own ${what#*:} data | $student"
        refused 3 "${what%%:*}" "its rows of a stream of another ${what%%:*}" \
            "$own ${what#*:} --rank \$r/2 data | $student"
    done
    refused 3 batches 'a stream of another length, its schedule a cosine,' \
        "$own --batches \$((3 + r)) data |
        student -q -j 1 -m new.json -o run --lr 1e-3"
    stream -q -B 4 -T 64 -s 7 --batches 3 data -o eval.0
    stream -q -B 4 -T 64 -s 8 --batches 3 data -o eval.1
    for r in 0 1; do mv eval.$r own.$r/eval; done
    refused 2 --eval 'other held-out batches' 'run=$PWD/run
        cd own.$r && exec student -q -j 1 -m ../new.json -o "$run" \
            --lr 1e-3 --schedule constant --eval eval b'
}
teacher -q -m teacher --top 4 -o kd b || exit 1
cp b kd.0
mv kd kd.1
refused 3 teacher 'a stream with a teacher' "$student kd.%r"
done_testing
