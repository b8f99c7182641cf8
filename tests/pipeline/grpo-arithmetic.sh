#!/bin/sh
# recipes/grpo-arithmetic.sh on a small model: a table, and going on
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
echo '{{ messages }}' >s0/chat_template.jinja
sums() {
    "$top/recipes/grpo-arithmetic.sh" -m s0 -o w -s 2 -g 2 -n 6 -j 2
}
ok 'the recipe ends' sums
equal 'three models are scored' "$(cut -f 1 w/scores.tsv | tr '\n' ' ')" \
    'model start tuned grpo '
equal 'each on all hidden sums' "$(sed 1d w/scores.tsv | cut -f 2 | sort -u)" 6
for f in hidden tune grpo; do
    sed 's/.*"prompt": "\([^"]*\)".*/\1/' "w/$f.jsonl"
done | sort | uniq -d >both
equal 'no sum is in two files' "$(cat both)" ''
equal 'all sums are there' "$(cat w/tune.jsonl w/grpo.jsonl | wc -l | tr -d ' ')" \
    11115
echo '{"prompt":"1 + 2 =","answer":" 3","completion":" 3"}
{"prompt":"1 + 2 =","answer":" 3","completion":" 3."}
{"prompt":"1 + 2 =","answer":" 3","completion":" 13"}' |
    awk -f w/judge.awk >judged
equal 'the answer alone is worth 1, with more 0.2' "$(tr '\n' ' ' <judged)" \
    '1 0.2 0 '
cp w/scores.tsv before
rm -r w/grpo/model.safetensors w/grpo/config.json w/grpo.texts
ok 'a run that was stopped goes on' sums
same 'the table is the same again' before w/scores.tsv
done_testing
