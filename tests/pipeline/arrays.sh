#!/bin/sh
# The commands of docs/hpc.md for one node: an array's tasks, and what plan says
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
XDG_STATE_HOME=$PWD/state
export XDG_STATE_HOME
mkdir -p state/retort texts
cp "$top/plan/machines/epyc.json" state/retort/machine.json
head -n 20 "$top/corpus/en.jsonl" >texts/0.jsonl
tail -n 20 "$top/corpus/en.jsonl" >texts/1.jsonl
batches 2 | student -q -m new.json -t tok -o S || exit 1
mv data old && mv teacher T && mkdir data kd || exit 1

# block N: the N-th block of commands of the page at a tiny size
awk '/^    / { if (!on) n++; on = 1; print substr($0, 5) >("block." n); next }
    !/^$/ { on = 0 }' "$top/docs/hpc.md"
block() {
    sed 's/-B 32 -T 1024/-B 2 -T 64/; s/-B 8 -T 512/-B 4 -T 64 -j 1/
        s/--top 64/--top 4/' "block.$1"
}
# --- two tasks of an array: clean text, then the teacher's targets ---
block 3 | sed '/^stream/,$d' >clean.sh
block 3 | sed '/^clean/d' >score.sh
like 'the page has text for an array' '^clean ' clean.sh
like 'the page has targets for an array' '^stream ' score.sh
for step in clean score; do
    for task in 0 1; do
        ok "task $task runs $step" env SLURM_ARRAY_TASK_ID=$task \
            SLURM_ARRAY_TASK_COUNT=2 sh -e $step.sh
    done
done
stream -q -B 2 -T 64 data/* >all
shard dump -q all >shown
stream -q -B 2 kd/* >both
shard dump -q both >taught
# a last batch of one row is left out where there are two ranks
equal 'the parts have all batches that the teacher has to score' \
    "$(grep -c '^#[0-9]* batch ' taught)" \
    "$(($(grep -c '^#[0-9]* batch ' shown) - 1))"
ok 'a student trains on the parts' student -q -j 1 -m S -o run both

# --- plan ---
block 2 >measure.sh
block 4 >cluster.sh
ok 'the page measures a step and asks how often to exchange' sh -e measure.sh
like 'it is told' '^network 2 machines .* every 20 steps, and wait for [0-9]+ % of the time.*one of them alone: ' out
ok 'the page asks for hours' sh -e cluster.sh
equal 'it is told for 1 to 16 nodes' "$(cut -d ' ' -f 1 out | tr '\n' ' ')" \
    'nodes 1 2 4 8 16 '
done_testing
