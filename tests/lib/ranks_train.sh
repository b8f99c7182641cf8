# shellcheck shell=sh
# Training over ranks on small data; sourced after ranks.sh and has_ranks.
. "$top/tests/lib/train.sh"
first_and_last || exit 1
batches 8 >b
teacher -q -m teacher -o kd b || exit 1

# over N RUN [option ...]: 8 steps by N ranks
over() {
    n=$1 run=$2
    shift 2
    mpirun -n "$n" student -q -j 1 -m s0 -o "$run" --lr 1e-3 "$@"
}
det() {
    over "$@" --deterministic
}
same_run() {
    same_model "$1" "$2" "$3"
    metrics "$2"
    metrics "$3"
    same "$1: metrics" "$2.metrics" "$3.metrics"
}
