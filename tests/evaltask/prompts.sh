#!/bin/sh
# evaltask: several prompts of one task, their best and their median
. "${0%/*}/../lib/lib.sh"
m=$top/tests/golden/gguf/f32-hf
items=items.jsonl
awk 'function draw(n) { x = x * 16807 % 2147483647; return int(x * n / 2147483647) }
BEGIN {
    x = 7
    n = split("river cat old sits on green over stone asks many light seven", w, " ")
    for (i = 0; i < 25; i++) {
        printf "{\"question\": \"%s %s %s\", \"options\": [", w[draw(n) + 1],
            w[draw(n) + 1], w[draw(n) + 1]
        for (k = 0; k < 3; k++)
            printf "%s\"%s%s\"", k ? ", " : "", w[draw(n) + 1],
                draw(2) ? " " w[draw(n) + 1] : ""
        printf "], \"right\": %d}\n", draw(3)
    }
}' >$items

# form NAME CONTEXT: a task whose context is CONTEXT
form() {
    printf '%s\n' 'kind choice' "context \"$2\"" 'choices {options}' \
        'answer {right}' >"$1.form"
    tasks="$tasks --task $1.form=$items"
}
tasks=''
form odd_p0 '{question}'
form odd_p1 'Q: {question}\nA:'
form odd_p2 '{question} {question} Well,'
form lone 'Now {question}'
form even_p0 '{question}'
form even_p10 'It is'

# shellcheck disable=SC2086 # a list
ok 'tasks of several prompts are scored' evaltask -q --base "$m" \
    -m two="$top/tests/golden/gguf/q4_1-hf" $tasks --format tsv \
    --compare -o scores.tsv
# best and median of each figure over the rows of the prompts
cat >expect.awk <<'EOT'
function median(list, n,  v, i, k, x) {
    split(list, v, " ")
    for (i = 1; i <= n; i++)
        for (k = i + 1; k <= n; k++)
            if (v[k] + 0 < v[i] + 0) { x = v[i]; v[i] = v[k]; v[k] = x }
    return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
}
$1 ~ /_p[0-9]+$/ && $2 == "(all)" && NF > 15 {
    stem = $1; sub(/_p[0-9]+$/, "", stem)
    k = stem "\t" $3; n[k]++
    if (n[k] == 1 || $7 > top[k]) { top[k] = $7; row[k] = $7 "\t" $9 "\t" $11 }
    acc[k] = acc[k] " " $7; norm[k] = norm[k] " " $9
    byte[k] = byte[k] " " $11
}
END {
    for (k in n) {
        print k "\t(best)\t" row[k]
        printf "%s\t(median)\t%.6f\t%.6f\t%.6f\n", k, median(acc[k], n[k]), \
            median(norm[k], n[k]), median(byte[k], n[k])
    }
}
EOT
awk -F '\t' -f expect.awk scores.tsv | sort >expected
awk -F '\t' -v OFS='\t' '$2 ~ /best|median/ { print $1, $3, $2, $7, $9, $11 }' \
    scores.tsv | sort >got
same 'best and median are those of the prompts'"'"' rows' expected got
equal 'two tasks of two models have prompts' "$(($(wc -l <got)))" 8
ok 'prompts differ, so that best and median do' awk -F '\t' '
    { v[$1, $2, $3] = $4 } $3 == "(best)" { k[$1 "\t" $2] }
    END { for (x in k) { split(x, p, "\t")
        n += v[p[1], p[2], "(best)"] != v[p[1], p[2], "(median)"] }
        exit n == 0 }' got
equal 'a median has no error and no recovery' "$(awk -F '\t' \
    '$2 == "(median)" && ($8 != "-" || $16 != "-" || $17 != "-") { n++ }
    END { print n + 0 }' scores.tsv)" 0
equal 'differences are those of tasks' \
    "$(awk 'NF == 8 && /best|median/' scores.tsv)" ''
# shellcheck disable=SC2086 # a list
ok 'a table for people is printed' evaltask -q -m one="$m" $tasks
like 'it has the best prompt below the prompts' '^  \(best\) +one ' out
like 'it has the median below the prompts' '^  \(median\) +one ' out
equal 'one prompt alone has neither' "$(evaltask -q -m "$m" --format tsv \
    --task odd_p0.form="$items" --task lone.form="$items" |
    grep -cE 'best|median')" 0
done_testing
