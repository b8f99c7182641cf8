#!/bin/sh
# Measure how training over ranks scales; print a table separated by tabs.
# usage: recipes/scaling.sh -m STUDENT [-d DATA] [-n "1 2 4"] [-j threads]
#            [-B rows] [-T length] [-s steps] [-w warm] [-p gflops] [-t tokens]
#            [-o folder] [-- student options]
#
# For each number of ranks it trains STUDENT for STEPS steps on batches of DATA
# (shards; default: of the corpus of this tree), after WARM steps that do not
# count: "weak" with ROWS rows a rank, "strong" with ROWS rows in all.  Each
# rank has THREADS threads, with a core each if there are enough.  Columns:
#   tokens/s, sd   mean over steps, standard deviation of a step
#   efficiency     tokens/s a rank over that of the first number of ranks
#   mfu, hfu       model and hardware FLOPs utilisation: shares of GFLOPS, the
#                  peak of a rank (hfu counts the operations that --recompute
#                  repeats); "-" without -p.  make bench BENCH=sgemm tells the
#                  GFLOPS of this machine
#   exposed        share of the time of all steps in which a collective ran and
#                  nothing else did
#   waited         share of the time in which ranks waited for others before a
#                  collective, on average (traffic before the first step counts,
#                  so take many steps; --comm-log, which measures this, makes
#                  ranks wait at each collective)
#   slowest        the rank that waited least, for which the others waited
#   eta_h          hours for TOKENS tokens (default: 1e9)
# Run it on a machine that does nothing else; with more ranks than cores a table
# shows the form, not the speed.
set -eu
export LC_ALL=C
model='' data='' ranks='1 2' threads=1 rows=8 length=512 steps=10 warm=2
peak='' tokens=1e9 folder=scaling
while getopts m:d:n:j:B:T:s:w:p:t:o: option; do
    case $option in
    m) model=$OPTARG ;;
    d) data=$OPTARG ;;
    n) ranks=$OPTARG ;;
    j) threads=$OPTARG ;;
    B) rows=$OPTARG ;;
    T) length=$OPTARG ;;
    s) steps=$OPTARG ;;
    w) warm=$OPTARG ;;
    p) peak=$OPTARG ;;
    t) tokens=$OPTARG ;;
    o) folder=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ -z "$model" ] || [ -e "$folder" ]; then
    echo "usage: scaling.sh -m STUDENT [option ...] [-- student options], into" \
        "a new folder ($folder)" >&2
    exit 2
fi
mkdir -p "$folder"
if [ -z "$data" ]; then
    data=$folder/data
    tokenize -q -t "$model" "$(dirname "$0")"/../corpus/*.jsonl |
        shard write -q -o "$data"
fi

# First print the cost of TOKENS on one rank; flop NAME prints operations a
# token.
plan measure -q -m "$model" -T "$length" -B "$rows" -j "$threads" \
    --compute f32 --tokens "$tokens" --format tsv >"$folder/plan.tsv"
awk -F "\t" '$1 == "memory" || $1 == "time.step" || $1 ~ /^run[.]/' \
    "$folder/plan.tsv" >&2
flop() {
    awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$folder/plan.tsv"
}
train=$(flop token.train) again=0
case " $* " in *' --recompute '*) again=$(flop token.forward) ;; esac
cores=$(getconf _NPROCESSORS_ONLN)

# row MODE RANKS ROWS: train, and print its line
row() {
    run=$folder/$1-$2
    stream -q -B "$3" -T "$length" --batches $((warm + steps)) \
        -o "$run.in" "$data"
    bind='--bind-to none'
    [ $(($2 * threads)) -gt "$cores" ] ||
        bind="--map-by slot:PE=$threads --bind-to core"
    shown=$1 n=$2 batch=$3
    shift 3
    # shellcheck disable=SC2086 # a list of words
    mpirun --oversubscribe $bind -n "$n" student -q -j "$threads" -m "$model" \
        -o "$run" --schedule constant --save 0 --comm-log "$run.comm" "$@" \
        "$run.in" >&2
    logs=$run.comm.tsv
    for r in $(seq 1 $((n - 1))); do logs="$logs $run.comm-$r.tsv"; done
    # shellcheck disable=SC2086 # a list of files
    awk -F '\t' -v OFS='\t' -v mode="$shown" -v n="$n" -v j="$threads" \
        -v rows="$batch" -v warm="$warm" -v train="$train" -v again="$again" \
        -v peak="$peak" -v tokens="$tokens" -v base="$folder/$shown.base" '
        # sqrt, which busybox does not have
        function root(x, r, i) {
            r = x > 1 ? x : 1
            for (i = 0; i < 60; i++) r = (r + x / r) / 2
            return r
        }
        FNR == 1 { file++; next }
        file == 1 {
            all += $10
            if ($1 > warm) {
                v = ($2 - had) / $10
                k++; sum += v; square += v * v
            }
            had = $2
            next
        }
        $1 != "broadcast" { exposed[file - 2] += $12; wait[file - 2] += $14 }
        END {
            mean = sum / k
            sd = k > 1 ? (square - sum * mean) / (k - 1) : 0
            sd = sd > 0 ? root(sd) : 0
            if ((getline first < base) <= 0) {
                first = mean / n
                print first >base
            }
            least = 0
            for (r = 0; r < n; r++) {
                e += exposed[r] / n; w += wait[r] / n
                if (wait[r] < wait[least]) least = r
            }
            use = peak > 0 ? mean / n / (peak * 1e9) : 0
            mfu = peak > 0 ? sprintf("%.4g", use * train) : "-"
            hfu = peak > 0 ? sprintf("%.4g", use * (train + again)) : "-"
            last = n > 1 ? least : "-"
            print mode, n, j, rows, sprintf("%.1f", mean), sprintf("%.1f", sd),
                sprintf("%.3f", mean / n / first), mfu, hfu,
                sprintf("%.4f", e / 1e3 / all), sprintf("%.4f", w / 1e3 / all),
                last, sprintf("%.3g", tokens / mean / 3600)
        }' "$run/metrics.tsv" $logs
    rm -rf "$run" "$run.in"
}
printf '%s\t' mode ranks threads rows tokens/s sd efficiency mfu hfu exposed \
    waited slowest
echo eta_h
for n in $ranks; do row weak "$n" $((rows * n)) "$@"; done
for n in $ranks; do row strong "$n" "$rows" "$@"; done
