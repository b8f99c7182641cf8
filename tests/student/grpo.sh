#!/bin/sh
# student grpo: groups of texts, rewards by programs, kill and resume, ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
for i in 1 2 3 4 5; do
    printf '{"prompt": "the %s", "want": "%s"}\n' "$i" "$i"
done >p.jsonl
# a text's reward is the share of letters e in it
cat >judge.awk <<'END'
{
    sub(/.*"completion":"/, "")
    n = length($0)
    print n ? gsub(/e/, "") / n : 0
}
END
cat >thirds.awk <<'END'
{ print (length($0) % 3 == 0) }
END
for f in judge thirds; do
    cat >$f <<END
#!/bin/sh
exec awk -f $f.awk
END
    chmod +x $f
done
# grpo RUN [option ...]: groups of 4 texts of at most 8 tokens of 2 prompts
grpo() {
    run=$1
    shift
    student grpo -q -m s0 -o "$run" --reward ./judge -B 8 \
        --group 4 -n 8 --lr 1e-3 "$@" p.jsonl
}
# column NAME RUN: a column of the metrics
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) k = i; next } { print $k }' "$2/metrics.tsv"
}
# numbers RUN: all of its metrics but the time
numbers() { sed 's/	[^	]*$//' "$1/metrics.tsv" >"$1.numbers"; }

# --- a run ---
ok '20 steps are made' grpo whole --steps 20 --save 5 --beta 0.1
numbers whole
equal 'training gives the log probabilities of generation, to the bit' \
    "$(column drift whole | sort -u)" 0
equal 'the reference is the model at first' "$(column kl whole | head -n 1)" 0
ok 'the model leaves the reference' test "$(column kl whole | tail -n 1)" != 0
mean() { awk '{ s += $1 } END { print s / NR }'; }
ok 'texts are written for a reward' grpo learn --steps 60 --save 0 -B 32 \
    --lr 3e-3 --schedule constant
ok 'rewards rise' awk -v a="$(column reward learn | head -n 5 | mean)" \
    -v b="$(column reward learn | tail -n 5 | mean)" \
    'BEGIN { print a, b; exit !(b > 2 * a) }'
ok 'report draws the run' report -q whole -o page.html
like 'the page shows the reward' 'Reward' page.html
ok 'the result writes texts' generate run -q -m whole -n 4 'the'

# --- what must not matter ---
ok '1 thread makes the steps' grpo j1 --steps 5 --save 5 --beta 0.1 -j 1
ok 'steps are made with 1 text and 1 row at a time' grpo m1 --steps 5 \
    --save 5 --beta 0.1 --at-once 1 --micro 1
same_model '1 thread gives the bits of all' j1 m1

# --- kill and resume ---
student grpo -q -m s0 -o killed --reward ./judge -B 8 --group 4 \
    -n 8 --lr 1e-3 --steps 20 --save 5 --beta 0.1 p.jsonl &
victim=$!
await [ -d killed/step-10 ]
kill -9 $victim
wait $victim 2>/dev/null
ok 'a killed run goes on' grpo killed --steps 20 --save 5 --beta 0.1 --resume killed
same_model '10 steps, a kill and the rest = 20 steps' whole killed
numbers killed
same 'its metrics are those of 20 steps' whole.numbers killed.numbers
status 2 'a run is not continued with another group' grpo killed --group 2 \
    --steps 20 --save 5 --beta 0.1 --resume killed
like 'the option that differs is named' 'group' err

# --- several steps of a batch ---
ok 'a batch gives 2 steps' grpo twice --steps 4 --save 2 --iterations 2 \
    --lr 3e-3 --schedule constant
equal 'rewards are those of the batch in both' \
    "$(column reward twice | uniq | wc -l)" 2
ok 'in the second step the ratio is not 1' test \
    "$(column clip_ratio/high_max twice | sed -n 2p)" != 0
status 5 'a run is stopped' grpo stopped --steps 3000 --save 300 --iterations 3 \
    --max-time 1s
ok 'it ends the batch that it has begun' sh -c \
    '[ $(($(tail -n 1 stopped/metrics.tsv | cut -f 1) % 3)) = 0 ]'
status 2 'steps that are no multiple of --iterations are refused' grpo no --steps 5 --save 2 \
    --iterations 2

# --- rewards ---
ok 'equal rewards teach nothing' student grpo -q -m s0 -o equal --reward \
    "sed 's/.*/1/'" -B 8 --group 4 -n 4 --steps 1 p.jsonl
equal 'all groups are counted' "$(column frac_reward_zero_std equal)" 1
same_model 'the weights stay' s0 equal
ok 'groups of equal rewards are left out' grpo drop --steps 3 --drop-equal \
    -n 2 --reward-time 30s
status 3 'a run whose rewards are always equal ends' student grpo -q -m s0 \
    -o stuck --reward "sed 's/.*/1/'" -B 8 --group 4 -n 1 --steps 1 \
    --drop-equal p.jsonl
like 'it says what prompts to take' 'sometimes' err
status 3 'a run without any reward ends' student grpo -q -o silent --reward \
    "sed 's/.*/null/'" -B 8 --group 4 -m s0 -n 1 --steps 200 --save 0 p.jsonl
like 'the first batch without a reward is told' \
    'step 1: nothing is learnt: .* wrote null for all texts' err
equal 'it is told once' "$(grep -c 'nothing is learnt: ' err)" 1
like 'the end says why' 'in 100 batches .* wrote null for all texts' err
ok 'one of two programs may judge nothing' student grpo -m s0 -o of-two --reward \
    ./judge --reward "sed 's/.*/null/'" -B 8 --group 4 -n 1 --steps 2 p.jsonl
equal 'the program that judges nothing is named once' "$(grep -c \
    "step [0-9]*: reward program 'sed .*' wrote null for all 8 texts" err)" 1
status 3 'a reward that is too large is refused' grpo no --steps 1 --reward \
    "sed '2s/.*/-1e155/; 2!s/.*/1/'"
like 'the line of a reward that is too large is named' "line 2: '-1e155'" err
rm -rf no
ok 'two programs judge' grpo two --steps 1 --reward "sed 's/.*/1/'" \
    --reward-weights 1,0.5
sum=$(column reward two)
one=$(column reward whole | head -n 1)
ok 'rewards are added by their weights' awk -v a="$sum" -v b="$one" \
    'BEGIN { d = a - b - 0.5; exit !(d < 1e-6 && d > -1e-6) }'
status 2 'too few weights are refused' grpo no --steps 1 --reward-weights 1,2
status 1 'a program that dies ends the run' student grpo -q -m s0 -o dead \
    --reward '[ ! -e dead/step-2 ] && sed "s/.*/1/"' -B 8 --group 4 -n 4 \
    --steps 4 --save 1 p.jsonl
like 'the program and its status are named' 'reward program.*status 1' err
ok 'the checkpoint before is whole' generate run -q -m dead/step-2 -n 2 the
status 2 'a run without a program is refused' student grpo -q -m s0 -o no \
    --steps 1 p.jsonl
status 2 'a batch of no whole groups is refused' grpo no --steps 1 --group 3
status 2 'prompts by a pipe are refused' student grpo -q -m s0 -o no --reward \
    cat --steps 1 -

# --- ranks ---
. "$top/tests/lib/ranks.sh"
has_ranks 'grpo over ranks' || done_testing
ok 'one process trains by --deterministic' grpo d1 --steps 3 --save 3 \
    --beta 0.1 --scale-rewards batch --deterministic
ok '2 ranks write and judge a batch' ranks 2 student grpo -q -m s0 -o d2 \
    --reward ./judge -B 8 --group 4 -n 8 --lr 1e-3 --steps 3 \
    --save 3 --beta 0.1 --scale-rewards batch --deterministic -j 1 p.jsonl
same_model '2 ranks have the bits of one process' d1 d2
numbers d1
numbers d2
same '2 ranks have the metrics of one process' d1.numbers d2.numbers
ok '4 ranks write and judge a batch' ranks 4 student grpo -q -m s0 -o d4 \
    --reward ./judge -B 8 --group 4 -n 8 --lr 1e-3 --steps 3 \
    --save 3 --beta 0.1 --scale-rewards batch --deterministic -j 1 p.jsonl
same_model '4 ranks have the bits of one process' d1 d4
ok '2 ranks leave out groups of equal rewards' ranks 2 student grpo -q -m s0 \
    -o r2 --reward ./thirds -B 16 --group 2 \
    -n 4 --steps 2 --save 0 --drop-equal --shard-level 2 -j 1 p.jsonl
ok 'as many are left out as are counted' test "$(column dropped r2 | head -n 1)" \
    -gt 0
# Rank 1 waits for its judge in the third step, longer than --rank-timeout and
# three steps
cat >slow <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || [ "$(grep -c . waits/metrics.tsv)" != 3 ] ||
    sleep 8
exec awk -f judge.awk
END
chmod +x slow
ok 'a rank may wait for its judge longer than --rank-timeout' ranks 2 student \
    grpo -q -m s0 -o waits --reward ./slow -B 8 --group 4 -n 8 --steps 3 \
    --rank-timeout 1 -j 1 p.jsonl
status 2 'ranks without the same number of rows are refused' ranks 3 student \
    grpo -q -m s0 -o no --reward cat -B 8 --group 4 --steps 1 p.jsonl
done_testing
