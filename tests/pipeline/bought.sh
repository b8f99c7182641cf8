#!/bin/sh
# scripts/bought: the table of what pruning bought, for a small model
. "${0%/*}/../lib/lib.sh"
m=$top/tests/golden/gguf/f32-hf
bought() { "$top/scripts/bought" "$@"; }

status 2 'bought without a folder is refused' bought
like 'the message says what to type' 'usage: scripts/bought FOLDER' err
status 2 'a folder without a run is refused' bought "$PWD"
like 'the message names what is missing' 'teacher/config.json is missing' err

mkdir run
cp -r "$m" run/teacher
head -n 40 "$top/corpus/en.jsonl" >text.jsonl
tokenize -q -t "$m" text.jsonl | shard write -q -o run/train
head -n 2 "$top/corpus/held-out/en.jsonl" >held-out.jsonl
tokenize -q -t "$m" -o run/held-out.tokens held-out.jsonl
printf '# retort choice 1\nblock\tgroups\tchannels\n0\tall\tall\n' >choice
prune cut -q -m "$m" --choice choice -o run/distilled --no-repair
small() { bought run --count 4 --prompt-length 9 -n 4 "$@"; }
ok 'the table of a small run is printed' small
equal 'each model has a row' "$(sed -n 's/^| \([a-z].*\) | 1 | .*/\1/p' out |
    tr '\n' ' ')" \
    'teacher distilled zeros-2:4 q8_0.gguf q4_k.gguf distilled-q4_k.gguf '
equal 'each row has a perplexity, times, a rate and memory' "$(awk -F '|' '
    NR > 4 { for (i = 4; i <= 8; i++) if ($i + 0 <= 0) print }' out)" ''
equal 'each model but the teacher has changes with intervals' \
    "$(grep -c ' %.* %.* % (.* to .*) | ' out)" 5
ok 'two numbers of texts at a time are measured' small --at-once 1 --at-once 2
equal 'each number of texts at a time has rows' \
    "$(grep -c '^| [a-z].* | [12] | ' out)" 12
done_testing
