#!/bin/sh
# Every indented command of docs/after.md, in its order, in one folder: with a
# tiny model and eight items.
. "${0%/*}/../lib/lib.sh"
command -v bash >/dev/null || {
    skip 'after' 'no bash, which knows when any part of a pipe has failed'
    done_testing
}
mkdir tree
ln -s "$top/scripts" tree/scripts
PATH=$BUILD/bin:$PATH
convert -q "$top/tests/golden/gguf/chat.gguf" tree/model
for i in 1 2 3 4 5 6 7 8; do
    p="\"prompt\": \"$i m in cm =\""
    echo "{$p, \"completion\": \" ${i}00 cm\"}" >>tree/items.jsonl
    echo "{$p, \"chosen\": \" ${i}00 cm\", \"rejected\": \" 7\"}" \
        >>tree/pairs.jsonl
    echo "{$p}" >>tree/prompts.jsonl
    echo "{\"messages\": [{\"role\": \"user\", \"content\": \"What are $i m in cm?\"}]}" \
        >>tree/questions.jsonl
    echo "There are ${i}00 cm in $i m, and so on with every other length." >>tree/text.txt
done
echo '{"prompt": "What are 3 m in cm?"}' >tree/judged.jsonl
awk '/^    / { if (!on) n++; on = 1; print substr($0, 5) >("block." n); next }
    { on = 0 }' "$top/docs/after.md"
n=0
while n=$((n + 1)) && [ -f block.$n ]; do
    sed 's/-B 8/-B 2/; s/--batches 20/--batches 3/; s/-n 8 --steps 20/-n 4 -B 16 --steps 2/
        s/-n 512/-n 8/' \
        block.$n >sized
    ok "the page: $(head -n 1 block.$n)" sh -c \
        'cd tree && timeout 100 bash -e -o pipefail ../sized'
done
equal 'blocks of commands' "$n" 8
for run in tuned adapter taught preferred rewarded own; do
    if [ "$(wc -l <tree/$run/metrics.tsv)" -ge 2 ]; then
        pass "the page trains $run"
    else fail "the page trains $run"; fi
done
equal 'the page drops the judged question' "$(grep -c 'What are 3 m' tree/kept.jsonl)" 0
done_testing
