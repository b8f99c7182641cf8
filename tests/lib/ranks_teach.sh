# shellcheck shell=sh
# A teacher over ranks on small data; sourced after ranks.sh and has_ranks.
. "$top/tests/lib/train.sh"
batches 4 >b

# say [option ...]: what one process says of b
say() {
    teacher -q -m teacher --hidden 0,2 --final "$@" b
}
# over N [option ...]: by N ranks
over() {
    tap_n=$1
    shift
    mpirun -n "$tap_n" teacher -q -j 1 --mpi -m teacher "$@"
}
