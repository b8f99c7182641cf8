#!/bin/sh
# Two machines without a cluster: the commands of docs/hpc.md over two network
# namespaces, at 100 Mbit/s
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/nodes.sh"

has_ranks 'two machines' || done_testing
apart_from_others 'two machines' "$top/tests/pipeline/machines.sh" || done_testing
. "$top/tests/lib/train.sh"
first_and_last || exit 1
trap part_nodes EXIT
join_nodes 100mbit || exit 1
write_agent agent
OMPI_MCA_plm_rsh_agent=$PWD/agent
export OMPI_MCA_plm_rsh_agent
ln -s teacher T && ln -s s0 S || exit 1

# --- the page ---
awk '/^    / { print substr($0, 5); on = 1; next } on { exit }' "$top/docs/hpc.md" >page
equal 'the page has ten lines' "$(wc -l <page)" 10
# sized RUN BATCHES [EXPRESSION]: write the page's commands into RUN.sh, for a
# run of this name on so many small batches, and changed by an expression of sed
sized() {
    sed "s/192[.]168[.]1[.]/10.77.0./g; s,^PATH=[^ ]*,PATH=$PATH,
        s/-B 8 -T 512/-B 4 -T 64/; s/--batches [0-9]*/--batches $2/
        s/-o run/-j 1 -o $1 --lr 1e-3/; s/--resume run/--resume $1/
        s/>rank /> $1.rank /; s/ rank\$/ $1.rank/; ${3:-}" page >"$1.sh"
}

# --- they are run as they stand ---
sized run 60
ok 'the commands of the page train over two machines' on_first sh -e run.sh
like 'there are two machines' '2 ranks, 1 of them on this node' err
like 'weights are exchanged every 20 steps' 'exchanged every 20 steps' err

# --- what the machines send each other ---
# bytes RUN: bytes that both ranks send
bytes() {
    awk -F '\t' '$1 ~ /tensor/ { n += $4 * $7 } END { printf "%d\n", n }' \
        "$1.tsv" "$1-1.tsv"
}
sized h0 40 's/--sync-every 20 --outer 1,0.5/--comm-log h0/'
sized h5 40 's/--sync-every 20/--sync-every 5 --comm-log h5/'
ok 'two machines exchange gradients at each step' on_first sh -e h0.sh
ok 'two machines exchange weights every 5 steps' on_first sh -e h5.sh
if [ "$(bytes h5)" -gt $(($(bytes h0) * 19 / 100)) ] &&
    [ "$(bytes h5)" -lt $(($(bytes h0) * 21 / 100)) ]
then pass "5 steps send a fifth: $(bytes h5) of $(bytes h0) bytes"
else fail "5 steps send a fifth: $(bytes h5) of $(bytes h0) bytes"; fi

# --- the link is cut ---
often='s/--sync-every 20/--sync-every 5 --rank-timeout 14s/; s/--save 200/--save 40/'
sized whole 1200 "$often; s/10.77.0.1:1,10.77.0.2:1/10.77.0.1:2/"
ok 'two ranks of one machine train' on_first sh -e whole.sh
like 'there is one machine' '2 ranks, 2 of them on this node' err
sized cut 1200 "$often"
# newest: the step of the newest checkpoint
newest() {
    find cut -name 'step-*' | sed 's/.*step-//' | sort -n | tail -n 1
}
# beyond STEP: there is a checkpoint beyond it
beyond() {
    [ "$(newest)" -gt "$1" ]
}
on_first sh -e cut.sh >cut.out 2>&1 &
job=$!
await [ -d cut ] && await beyond 0
link down
sleep 10
before=$(newest)
link up
if await beyond "$before"
then pass "a link that was down for 10 s delays a run: after step $before"
else fail 'a link that was down for 10 s delays a run'; fi
link down
await grep -q 'not been heard of' cut.out
sleep 1
link up # mpirun waits for its other half for a minute more
wait $job
equal 'a link that is down for longer ends it with status 6' "$?" 6
like 'the message names the rank that is cut off' \
    '^student: rank 1 [(]process [0-9]+ on retort-b.*has not been heard of for [0-9.]+ s: .*cut off; --resume goes on' cut.out
sleep 2
rm -f cut/config.json
ok 'the same commands go on when it is up' on_first sh -e cut.sh
like 'it goes on from a checkpoint' '^student: cut/step-[0-9]+: resumed' err
same_model 'the model has the bits of a run without a network' cut whole
done_testing
