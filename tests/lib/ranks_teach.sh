# shellcheck shell=sh
# A teacher over ranks on small data; sourced after ranks.sh and has_ranks.
. "$top/tests/lib/train.sh"
batches 4 >b

# say [option ...]: print the output of a teacher in one process for the stream
# b
say() {
    teacher -q -m teacher --hidden 0,2 --final "$@" b
}
# over N [option ...]: run a teacher with N ranks
over() {
    tap_n=$1
    shift
    mpirun -n "$tap_n" teacher -q -j 1 --mpi -m teacher "$@"
}
