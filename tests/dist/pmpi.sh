#!/bin/sh
# the library that logs any program of MPI: with one that knows nothing of it
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a log of any program' || done_testing
case $BUILD in
*/build) ;;
*/address* | */undefined*)
    skip 'the library logs any program' 'a sanitizer has memory of its own'
    done_testing
    ;;
esac
command -v mpicc >/dev/null || { skip 'the library logs any program' 'no mpicc'; done_testing; }
library=$BUILD/lib/libretort-pmpi.so

cat >heat.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Heat in a rod, a piece a rank, ends passed to the neighbours. */
int
main(int argc, char **argv)
{
    static double u[102], all[100 * 64], sum[100], part[400], mine[100];
    double warm = 0.0, total;
    int rank, n, left, right;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    right = rank + 1 < n ? rank + 1 : MPI_PROC_NULL;
    u[50] = rank == 0 ? 1000.0 : 0.0;
    for (int k = 0; k < 10; k++) {
        MPI_Sendrecv(&u[100], 1, MPI_DOUBLE, right, 0, &u[0], 1, MPI_DOUBLE,
            left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i < 101; i++)
            u[i] += 0.1 * (u[i - 1] - u[i]);
        warm = u[1];
        MPI_Allreduce(&warm, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Allgather(u + 1, 100, MPI_DOUBLE, all, 100, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < 100 * n; i++)
        part[i] = rank;
    MPI_Reduce_scatter_block(part, mine, 100, MPI_DOUBLE, MPI_SUM,
        MPI_COMM_WORLD);
    MPI_Reduce(mine, sum, 100, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.1f\n", sum[0]);
    MPI_Finalize();
    return 0;
}
END
ok 'a program that is not ours is compiled' mpicc -o heat heat.c
ok 'the program runs without the library' mpirun -n 4 ./heat
cp out plain
ok 'the program runs with the library' env LD_PRELOAD="$library" \
    RETORT_COMM_LOG="$PWD/heat" mpirun -n 4 ./heat
same 'the library does not change its result' plain out
equal 'each rank has a log' "$(find . -name 'heat*.log' | wc -l)" 4
# row OP: group, ranks, count, whole, shard and wire of rank 0's log
row() {
    awk -F '\t' -v op="$1" '$1 == op { print $2, $3, $4, $5, $6, $7 }' heat.tsv
}
equal 'the log has 10 sums of one number' \
    "$(row all_reduce)" 'world 4 10 8 2 12'
equal 'the log has the rod gathered' "$(row all_gather_into_tensor)" \
    'world 4 1 3200 800 2400'
equal 'the log has a part for each rank' \
    "$(row reduce_scatter_tensor)" 'world 4 1 3200 800 2400'
equal 'the log has messages to the neighbour' \
    "$(row sendrecv)" 'world 4 10 8 8 8'
equal 'the log has a sum at rank 0' "$(row reduce)" 'world 4 1 800 800 0'
equal 'the log has a barrier' "$(row barrier)" 'world 4 1 0 0 0'
equal 'the log has a line for each call' "$(grep -c '^comm op: ' heat.log)" 24
ok "RETORT_COMM_DEEPSPEED logs DeepSpeed's numbers" \
    env LD_PRELOAD="$library" RETORT_COMM_DEEPSPEED=1 \
    RETORT_COMM_LOG="$PWD/old" mpirun -n 4 ./heat
like 'DeepSpeed counts a part of what is gathered' \
    '^comm op: all_gather_into_tensor .* size: 800.0 B ' old.log

# What student sends, seen by both logs.
. "$top/tests/lib/train.sh"
batches 3 >b
# moved OP LOG: bytes that rank 0 sent by such calls
moved() {
    awk -F '\t' -v op="$1" '$1 ~ op { n += $4 * $7 } END { print n }' "$2.tsv"
}
found=24 # finding nodes and comparing options, before a program begins its log
for level in 0 3; do
    ok "student runs with the library, level $level" env LD_PRELOAD="$library" \
        RETORT_COMM_LOG="$PWD/seen" mpirun -n 2 "$BUILD/bin/student" -q -j 1 \
        -m new.json -o s$level --comm-log own --shard-level $level \
        --schedule constant b
    equal "both logs count the same bytes, level $level" \
        "$(moved 'sendrecv|isend' seen)" \
        $(($(moved tensor own) + found))
done
done_testing
