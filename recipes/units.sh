#!/bin/sh
# Teach a small model to convert units ("34 m in cm =" " 3400 cm") in two steps:
# supervised fine-tuning on some items, then GRPO or DPO on others.  Score it on
# items that it was never trained on.
# usage: recipes/units.sh [-m MODEL] [-o folder] [-s steps] [-g steps]
#            [-d steps] [-p prompts] [-n items] [-j threads] [-c type]
#            [grpo|dpo ...]
#
#   -m  model to begin with (default: smollm2-135m.gguf)
#   -o  folder for everything; a run that was stopped goes on there
#   -s  steps of fine-tuning, of 8 rows of 64 tokens (default: 20)
#   -g  steps of GRPO, of 64 texts of 8 prompts (default: 160)
#   -d  steps of DPO, of 16 pairs (default: 30)
#   -p  prompts that pairs are made from, hidden ones as many (default: 300)
#   -n  hidden items that are scored (default: all 329)
#   -c  type of the factors of products, such as bf16 (default: f32)
#
# An awk program judges: 1 for the answer alone.  grpo trains on its rewards.
# dpo lets the fine-tuned model write 8 texts for each prompt, and makes a pair
# of the first right and the first wrong one.  Without a command both are run.
# Columns of the table, FOLDER/scores.tsv:
#   strict   share of texts that are the answer alone and end with EOS
#   lenient  share of texts whose first number is the answer
#   +-       half of the 95 % interval of the number before
# FOLDER/pairs.tsv has the reward accuracy of pairs that were made from hidden
# items: the share of pairs whose right text gained more probability by DPO than
# the wrong one.
set -eu
export LC_ALL=C
model=smollm2-135m.gguf out=units tuned=20 grpo=160 dpo=30 prompts=300
items=329 threads=0 compute=f32
while getopts m:o:s:g:d:p:n:j:c: option; do
    case $option in
    m) model=$OPTARG ;;
    o) out=$OPTARG ;;
    s) tuned=$OPTARG ;;
    g) grpo=$OPTARG ;;
    d) dpo=$OPTARG ;;
    p) prompts=$OPTARG ;;
    n) items=$OPTARG ;;
    j) threads=$OPTARG ;;
    c) compute=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- grpo dpo
mkdir -p "$out"

# items FIRST LAST: print the items whose number modulo 10 is FIRST to LAST
items() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        n = split("km:m:1000 m:cm:100 cm:mm:10 m:mm:1000 kg:g:1000 " \
            "g:mg:1000 l:ml:1000 t:kg:1000 hl:l:100 m:dm:10 dm:mm:100 " \
            "kV:V:1000", pair, " ")
        for (i = 1; i <= n; i++) {
            split(pair[i], p, ":")
            for (a = 2; a < 100; a++) {
                k = (a * 7 + i * 13 + int(a * i / 11)) % 10
                if (k < first || k > last) continue
                printf "{\"prompt\": \"%d %s in %s =\", ", a, p[1], p[2]
                printf "\"completion\": \" %d %s\"}\n", a * p[3], p[2]
            }
        }
    }'
}
# mixed N: print N lines in an order that is always the same
mixed() {
    awk '{ k = (k * 3877 + 29573) % 139968; printf "%06d\t%s\n", k, $0 }' |
        sort | cut -f 2 | sed "$1q"
}
cat >"$out/judge.awk" <<'END'
{
    match($0, /"answer":"[^"]*"/)
    want = substr($0, RSTART + 10, RLENGTH - 11)
    match($0, /"completion":"[^"]*/)
    print (want == substr($0, RSTART + 14, RLENGTH - 14) ? 1 : 0)
}
END
# Pairs from lines of generate: of each prompt's 8 neighbours the first right
# and the first wrong text that EOS ended.
cat >"$out/pairs.awk" <<'EOF'
function member(key) {      # the text after "key": "
    at = index($0, "\"" key "\": \"")
    rest = substr($0, at + length(key) + 5)
    return substr(rest, 1, index(rest, "\"") - 1)
}
function end_prompt() {
    if (right != "" && wrong != "") {
        printf "{\"prompt\": \"%s\", \"chosen\": \"%s\", ", prompt, right
        printf "\"rejected\": \"%s\"}\n", wrong
    }
    right = wrong = ""
}
(NR - 1) % 8 == 0 { end_prompt() }
{
    prompt = member("prompt")
    text = member("text")
    if (member("finish_reason") != "eos" || text ~ /\\/) next
    if (text == member("completion")) right = right == "" ? text : right
    else wrong = wrong == "" ? text : wrong
}
END { end_prompt() }
EOF
if [ ! -e "$out/ready" ]; then
    items 0 2 | mixed "$items" >"$out/hidden.jsonl"
    items 3 4 | mixed 1000 >"$out/tune.jsonl"
    items 5 9 | mixed 4000 >"$out/train.jsonl"
    # the judge's program gets the answer; GRPO gets no completions
    sed 's/"completion"/"answer"/' "$out/train.jsonl" >"$out/grpo.jsonl"
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
# writes FILE MODEL OUT [option ...]: let a model continue the prompts of FILE
writes() {
    [ -e "$3" ] || {
        file=$1 from=$2 to=$3
        shift 3
        generate run -q -m "$from" -t "$model" -j "$threads" --exact -n 9 \
            --compute "$compute" --at-once 64 --prompts "$file" "$@" >"$to.tmp"
        mv "$to.tmp" "$to"
    }
}
# score NAME MODEL: print a line of the table
score() {
    writes "$out/hidden.jsonl" "$2" "$out/$1.texts"
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
        if (match(got, /[0-9]+/))
            lenient += index(want, " " substr(got, RSTART, RLENGTH) " ") == 1
    }
    END {
        printf "%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\n", name, n, strict / n,
            half(strict / n), lenient / n, half(lenient / n)
    }' "$out/$1.texts"
}
# pairs NAME PROMPTS SEED: make NAME.pairs from texts of the fine-tuned model
pairs() {
    sed 'p;p;p;p;p;p;p' "$2" >"$out/$1.eight"
    writes "$out/$1.eight" "$out/tuned" "$out/$1.texts" --temperature 1 -s "$3"
    awk -f "$out/pairs.awk" "$out/$1.texts" >"$out/$1.pairs"
}

finished "$out/tuned" || {
    from=
    for step in "$out"/tuned/step-*; do
        [ ! -d "$step" ] || from="--resume $out/tuned"
    done
    # shellcheck disable=SC2046,SC2086 # lists of options
    stream -q -B 8 -T 64 -s 1 --shuffle --batches "$tuned" $from "$out/data" |
        student -m "$model" $(resume "$out/tuned") -j "$threads" --lr 5e-5 \
            --compute "$compute" --schedule constant --warmup 2 --save 20
}
for command; do
    case $command in
    grpo)
        # shellcheck disable=SC2046 # lists of options
        finished "$out/grpo" || student grpo -m "$out/tuned" \
            $(resume "$out/grpo") -j "$threads" --compute "$compute" -B 64 \
            --group 8 -n 9 --lr 1e-5 --schedule constant --warmup 2 \
            --steps "$grpo" --save 20 --reward "awk -f $out/judge.awk" \
            "$out/grpo.jsonl"
        ;;
    dpo)
        sed "${prompts}q" "$out/train.jsonl" >"$out/prompts.jsonl"
        pairs train "$out/prompts.jsonl" 1
        # shellcheck disable=SC2046 # lists of options
        finished "$out/dpo" || student dpo -m "$out/tuned" \
            $(resume "$out/dpo") -j "$threads" --compute "$compute" -B 16 \
            -T 64 --lr 1e-5 --epochs 100 --steps "$dpo" --save 20 \
            "$out/train.pairs"
        sed "${prompts}q" "$out/hidden.jsonl" >"$out/prompts.jsonl"
        pairs judged "$out/prompts.jsonl" 2
        # a run with the rate 0 judges the pairs
        [ -e "$out/judged.tsv" ] || {
            rm -rf "$out/judged"
            student dpo -q -m "$out/dpo" --reference "$out/tuned" \
                -o "$out/judged" -j "$threads" --compute "$compute" -B 1 \
                -T 64 --lr 0 "$out/judged.pairs"
            mv "$out/judged/metrics.tsv" "$out/judged.tsv"
            rm -r "$out/judged"
        }
        ;;
    *)
        echo "$0: $command: give the command grpo or dpo" >&2
        exit 2
        ;;
    esac
done

{
    printf 'model\titems\tstrict\t+-\tlenient\t+-\n'
    score start "$model"
    for name in tuned grpo dpo; do
        ! finished "$out/$name" || score "$name" "$out/$name"
    done
} >"$out/scores.tmp"
mv "$out/scores.tmp" "$out/scores.tsv"
cat "$out/scores.tsv"
if [ -e "$out/judged.tsv" ]; then
    awk -F '\t' '
    function root(x, r, i) {
        r = x > 1 ? x : 1
        for (i = 0; i < 60; i++) r = (r + x / r) / 2
        return r
    }
    NR == 1 {
        for (i = 1; i <= NF; i++) if ($i == "rewards/accuracies") column = i
        next
    }
    { right += $column; n++ }
    END {
        p = right / n
        print "pairs\treward accuracy\t+-"
        printf "%d\t%.4f\t%.4f\n", n, p, 1.96 * root(p * (1 - p) / n)
    }' "$out/judged.tsv" >"$out/pairs.tsv"
    cat "$out/pairs.tsv"
fi
