#!/bin/sh
# Real models on public task sets against lm-eval: make check-tasks TASKS=DIR
# MODELS=DIR, where TASKS holds blimp-20.jsonl, xcopa-et.jsonl, xcopa-it.jsonl
# and MODELS the files of tests/real/models.sh.  Without them a line says that
# this was skipped.
if [ -z "${RETORT_TASKS:-}" ] || [ -z "${RETORT_MODELS:-}" ]; then
    echo '1..0 # SKIP no tasks: make check-tasks TASKS=DIR MODELS=DIR'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"
forms=$top/recipes/tasks
answers=$top/tests/golden/tasks/real.tsv

# lm-eval puts a space before every sentence of BLiMP; others do not.
{ cat "$forms/blimp.form"; echo 'delimiter ""'; } >pair.form
# check NAME FIFTH TENTH ACC: every figure of lm-eval's, of each item of BLiMP
# and XCOPA, or of the first of five and of ten, and ACC of BLiMP without the
# space.
check() {
    tasks=''
    for t in "blimp=blimp-20 $2" "xcopa-et=xcopa-et $3" "xcopa-it=xcopa-it $3"; do
        n=${t#* } t=${t% *}
        awk -v n="$n" 'NR % n == 1 || n == 1' "$RETORT_TASKS/${t#*=}.jsonl" \
            >"${t%=*}.jsonl"
        tasks="$tasks --task $forms/${t%=*}.form=${t%=*}.jsonl"
    done
    model=$RETORT_MODELS/$1.gguf
    if [ ! -f "$model" ]; then
        skip "$1 is scored by tasks" 'no such model'
        return 0
    fi
    # shellcheck disable=SC2086 # a list of words
    ok "$1 is scored by tasks" evaltask -q -m "M=$model" $tasks \
        --task pair.form=blimp.jsonl --format tsv --items items
    # The mean log probability of all choices within 1e-5, relative.
    awk -F '\t' -v model="$1" -v acc="$4" '
        function off(x, y, by) { return !(x - y <= by && y - x <= by) }
        FILENAME == "items" { if (FNR > 1) { sum[$1] += $9; n[$1]++ } next }
        FILENAME == "out" { if ($2 == "(all)") got[$1] = $0; next }
        $1 == model { t = $2; sub(/_/, "-", t); seen++
            # items acc acc_se acc_norm acc_bytes
            split("5 7 8 9 11", at, " "); split(got[t], v, "\t")
            for (i = 1; i <= 5; i++) if (off(v[at[i]], $(i + 2), 1e-6))
                print t, "column", at[i] ":", v[at[i]], "not", $(i + 2)
            if (!n[t] || off(sum[t] / n[t], $9, -1e-5 * $9))
                print t, "mean", n[t] ? sum[t] / n[t] : "none", "not", $9 }
        END { split(got["pair"], v, "\t")
            if (acc != "" && sprintf("%.3f", v[7]) != acc)
                print "pair", v[7], "not", acc
            if (seen != 3) print seen + 0, "tasks" }' items out "$answers" >differs
    equal "$1 has the figures of lm-eval" "$(cat differs)" ''
}

check smollm2-135m 1 1 ''
check gemma3-270m 1 1 0.785
check qwen2.5-coder-0.5b 5 10 ''
done_testing
