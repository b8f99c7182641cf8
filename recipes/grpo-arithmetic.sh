#!/bin/sh
# Teach a small model sums: supervised fine-tuning on some, then GRPO on others,
# which an awk program judges; score it on sums that it was never trained on.
# usage: recipes/grpo-arithmetic.sh [-m MODEL] [-o folder] [-s steps] [-g steps]
#            [-n items] [-j threads]
#
#   -m  model to begin with (default: smollm2-135m.gguf)
#   -o  folder for everything; a run that was stopped goes on there
#   -s  steps of fine-tuning, of 8 rows of 128 tokens (default: 60)
#   -g  steps of GRPO, of 64 texts of 8 prompts (default: 200)
#   -n  hidden sums that are scored (default: 400)
#
# The sums are a + b and a - b of numbers from 10 to 99.  The numbers say which
# are hidden, which are for fine-tuning, and which for GRPO, so that none is two
# of these.  Columns of the table, FOLDER/scores.tsv:
#   strict   share of texts that are the answer alone and end with EOS
#   lenient  share of texts whose first number is the answer
#   +-       half of the 95 % interval of the number before
# What strict gains beyond lenient is the form of answers, not arithmetic.  The
# columns reward and drift of FOLDER/grpo/metrics.tsv show the course.  Two cores
# take about an hour.
set -eu
export LC_ALL=C
model=smollm2-135m.gguf out=grpo-arithmetic tuned=60 steps=200 items=400
threads=0
while getopts m:o:s:g:n:j: option; do
    case $option in
    m) model=$OPTARG ;;
    o) out=$OPTARG ;;
    s) tuned=$OPTARG ;;
    g) steps=$OPTARG ;;
    n) items=$OPTARG ;;
    j) threads=$OPTARG ;;
    *) exit 2 ;;
    esac
done
mkdir -p "$out"

# sums FIRST LAST: print the sums whose number modulo 10 is FIRST to LAST
sums() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        for (a = 10; a < 100; a++)
            for (b = 10; b < 100; b++) {
                k = (a * 7 + b * 13 + int(a * b / 11)) % 10
                if (k < first || k > last) continue
                put(a " + " b, a + b)
                if (a >= b) put(a " - " b, a - b)
            }
    }
    function put(sum, answer) {
        printf "{\"prompt\": \"%s =\", \"completion\": \" %s\"}\n", sum, answer
    }'
}
# mixed: print lines in an order that is always the same
mixed() {
    awk '{ k = (k * 3877 + 29573) % 139968; printf "%06d\t%s\n", k, $0 }' |
        sort | cut -f 2
}
# A program that judges: 1 for the answer alone, 0.2 if the text begins with it.
# GRPO gives the prompts the member "answer" in place of "completion".
cat >"$out/judge.awk" <<'END'
{
    match($0, /"answer":"[^"]*"/)
    want = substr($0, RSTART + 10, RLENGTH - 11)
    match($0, /"completion":"[^"]*/)
    got = substr($0, RSTART + 14, RLENGTH - 14)
    reward = 0
    if (index(got, want) == 1) reward = got == want ? 1 : 0.2
    print reward
}
END
if [ ! -e "$out/ready" ]; then
    sums 0 0 | mixed | head -n "$items" >"$out/hidden.jsonl"
    sums 1 3 | mixed >"$out/tune.jsonl"
    sums 4 9 | mixed | sed 's/"completion"/"answer"/' >"$out/grpo.jsonl"
    tokenize -q -t "$model" --chat "$out/tune.jsonl" -o "$out/docs"
    rm -rf "$out/data"
    shard write -q -o "$out/data" "$out/docs"
    rm "$out/docs"
    : >"$out/ready"
fi

# finished RUN: does it hold a finished model?
finished() {
    [ -e "$1/config.json" ]
}
# resume RUN: print the options that begin a run or continue it
resume() {
    if [ -e "$1/options.json" ]; then echo "--resume $1"; else echo "-o $1"; fi
}
finished "$out/tuned" || {
    from=
    for step in "$out"/tuned/step-*; do
        [ ! -d "$step" ] || from="--resume $out/tuned"
    done
    # shellcheck disable=SC2046,SC2086 # lists of options
    stream -q -B 8 -T 128 -s 1 --shuffle --batches "$tuned" $from "$out/data" |
        student -m "$model" $(resume "$out/tuned") -j "$threads" --lr 1e-4 \
            --save 20
}
# shellcheck disable=SC2046 # lists of options
finished "$out/grpo" || student grpo -m "$out/tuned" $(resume "$out/grpo") \
    -j "$threads" -B 64 --group 8 -n 6 --lr 2e-5 --schedule constant \
    --warmup 5 --steps "$steps" --save 20 --reward "awk -f $out/judge.awk" \
    "$out/grpo.jsonl"

# score NAME MODEL: print a line of the table
score() {
    [ -e "$out/$1.texts" ] || {
        generate run -q -m "$2" -t "$model" -j "$threads" --exact -n 6 \
            --prompts "$out/hidden.jsonl" >"$out/$1.tmp"
        mv "$out/$1.tmp" "$out/$1.texts"
    }
    awk -v name="$1" '
    function member(key) {      # the text after "key": "
        at = index($0, "\"" key "\": \"")
        rest = substr($0, at + length(key) + 5)
        return substr(rest, 1, index(rest, "\"") - 1)
    }
    function root(x, r, i) {    # not every awk has sqrt
        r = x > 1 ? x : 1
        for (i = 0; i < 60; i++) r = (r + x / r) / 2
        return r
    }
    function half(p) { return 1.96 * root(p * (1 - p) / n) }
    {
        want = member("completion"); got = member("text"); n++
        strict += got == want && member("finish_reason") == "eos"
        if (match(got, /-?[0-9]+/))
            lenient += (" " substr(got, RSTART, RLENGTH)) == want
    }
    END {
        printf "%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\n", name, n, strict / n,
            half(strict / n), lenient / n, half(lenient / n)
    }' "$out/$1.texts"
}
{
    printf 'model\titems\tstrict\t+-\tlenient\t+-\n'
    score start "$model"
    score tuned "$out/tuned"
    score grpo "$out/grpo"
} >"$out/scores.tmp"
mv "$out/scores.tmp" "$out/scores.tsv"
cat "$out/scores.tsv"
