# shellcheck shell=sh
# Training over ranks on small data; sourced after ranks.sh and has_ranks.
. "$top/tests/lib/train.sh"
first_and_last || exit 1
batches 8 >b
teacher -q -m teacher -o kd b || exit 1

# over N RUN [option ...]: train with N ranks
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
    same "$1, and equal metrics" "$2.metrics" "$3.metrics"
}
# apart A B: print the largest difference of two models' weights, relative to
# their largest weight
apart() {
    for tap_f in "$1" "$2"; do
        od -A n -v -t f4 -w4 -j 4000 "$tap_f/model.safetensors" >"$tap_f.numbers"
    done
    paste "$1.numbers" "$2.numbers" | awk '
        /n/ { print $0; bad = 1; exit } # nan, inf
        { d = $1 - $2; d = d < 0 ? -d : d; x = $1 < 0 ? -$1 : $1
          if (d > most) most = d; if (x > top) top = x }
        END { if (!bad) print (top > 0 ? most / top : 1) }'
}
