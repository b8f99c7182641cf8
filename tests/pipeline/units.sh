#!/bin/sh
# recipes/units.sh on a small model: a table, pairs, and going on
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
echo '{{ messages }}' >s0/chat_template.jinja
units() {
    "$top/recipes/units.sh" -m s0 -o w -s 2 -g 2 -d 2 -p 4 -n 6 -j 2 "$@"
}
ok 'the recipe for GRPO ends' units grpo
equal 'three models are scored' "$(cut -f 1 w/scores.tsv | tr '\n' ' ')" \
    'model start tuned grpo '
equal 'each is scored on all hidden items' \
    "$(sed 1d w/scores.tsv | cut -f 2 | sort -u)" 6
for f in hidden tune grpo; do
    sed 's/.*"prompt": "\([^"]*\)".*/\1/' "w/$f.jsonl"
done | sort | uniq -d >both
equal 'no item is in two files' "$(cat both)" ''
equal 'fine-tuning and GRPO have all their items' \
    "$(cat w/tune.jsonl w/grpo.jsonl | wc -l | tr -d ' ')" 847
echo '{"prompt":"1 m in dm =","answer":" 10 dm","completion":" 10 dm"}
{"prompt":"1 m in dm =","answer":" 10 dm","completion":" 10 dm."}' |
    awk -f w/judge.awk >judged
equal 'the answer alone is right' "$(tr '\n' ' ' <judged)" '1 0 '


# A model of random weights answers nothing right, so its texts are made here:
# of each 8 the fourth is right, the third and the fifth wrong, the rest cut off.
texts() {
    sed 's/^{\(.*"completion": \)"\(.*\)"}$/\1\2/' "$1" | awk '{
        prompt = $0; sub(/", "completion": .*/, "", prompt)
        sub(/.*"prompt": "/, "", prompt)
        right = $0; sub(/.*"completion": /, "", right)
        for (i = 0; i < 8; i++) {
            text = i == 3 ? right : " " i " m"
            printf "{\"prompt\": \"%s\", \"completion\": \"%s\", ", prompt, right
            end = (i >= 2 && i < 5) ? "eos" : "length"
            printf "\"text\": \"%s\", \"finish_reason\": \"%s\"}\n", text, end
        }
    }'
}
head -n 4 w/train.jsonl >few
texts few >w/train.texts
head -n 3 w/hidden.jsonl >some
texts some >w/judged.texts
ok 'the recipe for DPO ends' units dpo
sed -n 's/.*"chosen": "\([^"]*\)", "rejected": "\([^"]*\)".*/\1,\2/p' \
    w/train.pairs >got
sed -n 's/.*"completion": "\([^"]*\)".*/\1, 2 m/p' few >want
same 'each prompt has a pair of the first right and the first wrong text' want got
equal 'hidden pairs are judged' "$(sed 1d w/pairs.tsv | cut -f 1)" 3
equal 'DPO is a line of the table' "$(cut -f 1 w/scores.tsv | tail -n 1)" dpo
cp w/scores.tsv before
rm -r w/grpo/model.safetensors w/grpo/config.json w/grpo.texts
ok 'a run that was stopped goes on' units grpo dpo
same 'the table is the same again' before w/scores.tsv
status 2 'another command is refused' units sft
like 'the message tells the commands' 'grpo or dpo' err
done_testing
