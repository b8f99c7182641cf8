#!/bin/sh
# teacher over ranks that are not alike: other options, another model or other
# kernels are refused before the first batch
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'teachers that are not alike' || done_testing
. "$top/tests/lib/ranks_teach.sh"
export MPIEXEC_TIMEOUT=30

# refused NAME WHAT COMMAND: two ranks run it in a shell, with their number r
refused() {
    rm -f kd
    status 2 "$2 on one rank: the job ends with status 2" \
        mpirun -n 2 sh -c "r=\$OMPI_COMM_WORLD_RANK; $3"
    like "$2 on one rank: the message names it and the ranks" \
        "^teacher(\[1\])?: [^:]*$1[^:]*: rank 1 has .*rank 0 has " err
}
teacher='teacher -q -j 1 --mpi -o kd'
# shellcheck disable=SC2016 # the ranks' shells expand them
{
    refused --top 'another --top' "$teacher -m teacher --top \$((4 + r)) b"
    refused --tensor 'another --tensor' \
        "$teacher -m teacher --tensor \$((1 + r)) b"
    refused --shard 'another --shard' \
        "$teacher -m teacher \$([ \$r = 0 ] && echo --shard world) b"
    refused --dtype 'another --dtype' \
        "$teacher -m teacher --dtype \$([ \$r = 0 ] && echo f32 || echo bf16) b"
    if grep -q avx2 /proc/cpuinfo; then
        refused RETORT_KERNELS 'other kernels' \
            "export RETORT_KERNELS=ref; [ \$r = 0 ] || RETORT_KERNELS=avx2
            $teacher -m teacher b"
    fi
    # Each rank has a folder of its own under one name, as nodes have.
    mkdir own.0 own.1
    cp -r teacher own.0
    student -q -m t.json -t tok -o own.1/teacher -s 4 --lr 1e-3 one || exit 1
    for how in '' '--shard world'; do
        refused --model "another model $how" "RETORT_NODE=1
            export RETORT_NODE; b=\$PWD/b; cd own.\$r
            teacher -q -j 1 --mpi -o ../kd -m teacher $how \$b"
    done
    # a student whose tokenizer has two ids exchanged, others on each rank
    cp -r tok own.0
    cp -r tok own.1
    sed 's/^"A":35,/"A":36,/; s/^"B":36,/"B":35,/' tok/tokenizer.json \
        >own.0/tok/tokenizer.json
    sed 's/^"B":36,/"B":37,/; s/^"C":37,/"C":36,/' tok/tokenizer.json \
        >own.1/tok/tokenizer.json
    refused --student-tokenizer "another student's tokenizer" \
        'b=$PWD/b; cd own.$r && exec teacher -q -j 1 --mpi -o ../kd \
            -m ../teacher --top 4 --student-tokenizer tok $b'
}
# shellcheck disable=SC2016
ok 'ranks may have other numbers of threads' mpirun -n 2 sh -c \
    'teacher -q -j $((1 + OMPI_COMM_WORLD_RANK)) --mpi -m teacher -o kd b'
done_testing
