#!/bin/sh
# student dpo: log 2 at the first step, losses by name, resume, bad pairs
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
first_and_last || exit 1

# pairs N: N pairs of texts of different lengths, as JSONL
pairs() {
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++) {
            good = ""
            for (k = 0; k <= i % 5; k++) good = good " " (7 * i + k) % 23
            printf "{\"prompt\": \"Item %d of %d:\", \"chosen\": \"%s\", " \
                "\"rejected\": \" no %d\"}\n", i, n, good, i % 3
        }
    }'
}
# prefer RUN [option ...]: 20 steps of 4 pairs
prefer() {
    run=$1
    shift
    student dpo -q -m s0 -o "$run" --lr 1e-3 -B 4 --epochs 2 "$@" -- pairs.jsonl
}
# column NAME FILE: that column of a file of metrics
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) c = i; next } { print $c }' "$2"
}
pairs 40 >pairs.jsonl
dpo_metrics() { cut -f 1-14 "$1/metrics.tsv" >"$1.metrics"; }

ok '20 steps on pairs are made' prefer run
equal 'the log has a line a step' "$(wc -l <run/metrics.tsv)" 21
equal 'the loss of the first step is log 2 to the last digit' \
    "$(column loss run/metrics.tsv | head -n 1)" 0.693147181
equal 'rewards are 0 in the first step' \
    "$(sed -n 2p run/metrics.tsv | cut -f 5-8)" "$(printf '0\t0\t0\t0')"
ok 'the last steps prefer the chosen completions' awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rewards/accuracies") c = i }
    NR > 16 { sum += $c } END { exit !(sum / 5 > 0.9) }' run/metrics.tsv
ok 'the result is a model' evalppl -q -m run --base s0 docs.st
for l in sigmoid_norm hinge sppo_hard apo_zero sigmoid,sft:0.5; do
    ok "the loss $l trains" prefer "by-$l" --loss "$l" --steps 2
done
ok 'ipo trains' prefer by-ipo --loss ipo --steps 2
equal "ipo's loss of the first step is 1/(4 beta^2)" \
    "$(column loss by-ipo/metrics.tsv | head -n 1)" 25
status 2 'an unknown loss is refused' prefer not --loss sigmod
like 'the message names the loss' "loss.*sigmod" err
status 2 'exo_pair is refused without smoothing' prefer not --loss exo_pair
like 'the message names the smoothing' 'label-smoothing' err

ok 'a trained model is judged by a step of rate 0' student dpo -q -m run --reference s0 \
    --lr 0 -B 40 -o judged pairs.jsonl
ok 'it prefers the chosen completions' awk -F '\t' '
    NR == 2 { exit !($7 > 0.9 && $8 > 0) }' judged/metrics.tsv

# --- what must not matter ---
for o in '-j 1' '--micro 1' '--micro 3' --recompute; do
    # shellcheck disable=SC2086
    ok "a run with $o is made" prefer "x$o" $o --steps 5 --schedule constant
done
for o in '--micro 1' '--micro 3' --recompute; do
    same_model "$o changes no bit" 'x-j 1' "x$o"
done

# --- the reference's numbers from the records ---
cp -r s0 other
ok 'the same reference by name changes nothing' prefer named --reference other \
    --steps 5 --schedule constant
same_model 'a reference of the same weights gives the same bits' 'x-j 1' named
sed 's/}$/, "ref_chosen_logps": -20, "ref_rejected_logps": -20.5}/' pairs.jsonl >stored.jsonl
ok 'log probabilities of the records are used' student dpo -q -m s0 -o stored -B 4 \
    --steps 1 --schedule constant --beta 1 stored.jsonl
ok 'the rewards are differences to them' awk -F '\t' 'NR == 2 {
    d = $9 + 20 - $5; e = $10 + 20.5 - $6
    exit !(d * d < 1e-12 && e * e < 1e-12) }' stored/metrics.tsv
ok 'log probabilities of the reference are stored' prefer storing --steps 5 \
    --schedule constant --store-reference with.jsonl
same_model 'a run that stores them has the bits of others' 'x-j 1' storing
equal 'each pair is stored' "$(wc -l <with.jsonl)" 40
like 'a pair keeps its members' '"prompt": "Item 0 of 40:".*"ref_chosen_logps"' \
    with.jsonl
ok 'a run from the stored pairs needs no reference' \
    student dpo -q -m s0 -o from --lr 1e-3 -B 4 --epochs 2 --steps 5 \
    --schedule constant --reference none.gguf with.jsonl
same_model 'a run from the stored pairs has the bits of others' 'x-j 1' from
ok 'a run that stored them goes on without storing' prefer storing --steps 8 \
    --schedule constant --override steps --resume
status 2 'pairs that have the numbers are not stored again' student dpo -q \
    -m s0 -o no --store-reference again.jsonl with.jsonl
like 'the message says that they have them' 'store-reference.*already' err

# --- stop and go on ---
ok '10 steps of a constant rate are made' prefer half --steps 10 --schedule constant
rm half/config.json
ok '20 steps are made in one go' prefer whole --schedule constant
cp -r half killed
ok '10 more steps are made' prefer half --schedule constant --resume
same_model '10 and 10 steps have the bits of 20' half whole
dpo_metrics half
dpo_metrics whole
same '10 and 10 steps have the metrics of 20' half.metrics whole.metrics
ok 'a run with a checkpoint every step is killed' sh -c '
    student dpo -q -m s0 -o k --lr 1e-3 -B 4 --epochs 2 --save 1 \
        --schedule constant pairs.jsonl &
    while [ ! -d k/step-4 ]; do sleep 0.02; done
    kill -9 $!; wait $!; [ ! -e k/config.json ]'
ok 'the killed run goes on' student dpo -q -m s0 -o k --lr 1e-3 -B 4 --epochs 2 \
    --save 1 --schedule constant --resume -- pairs.jsonl
same_model 'killed and resumed = undisturbed' k whole
head -n 39 pairs.jsonl >fewer
status 2 'other pairs are refused' student dpo -q -m s0 -o killed --lr 1e-3 -B 4 \
    --epochs 2 --schedule constant --resume -- fewer
like 'the message names the stream' 'stream is' err
status 2 'another loss is refused' prefer killed --schedule constant --loss hinge --resume
student -q -m s0 -o trained --lr 1e-3 --schedule constant --steps 1 one || fail 'a run'
status 2 'a run of student train is refused' student dpo -q -m s0 -o trained --lr 1e-3 \
    --schedule constant --resume -- pairs.jsonl
like 'the message names the command' 'command is "student dpo"' err

# --- an adapter, whose reference is the model without it ---
lora() {
    run=$1
    shift
    prefer "$run" --lora 4 --schedule constant --lr 1e-2 "$@"
}
same_adapter() {
    same "$1" "$2/adapter_model.safetensors" "$3/adapter_model.safetensors"
}
ok 'an adapter is trained on pairs' lora adapted
equal "the first loss of an adapter is log 2" \
    "$(column loss adapted/metrics.tsv | head -n 1)" 0.693147181
ok 'an adapter learns to prefer' awk -F '\t' '
    NR > 16 { sum += $7 } END { exit !(sum / 5 > 0.9) }' adapted/metrics.tsv
status 1 'the run of an adapter holds no weights' test -e adapted/model.safetensors
ok 'another number of threads and rows a pass adapts' lora threads -j 3 --micro 1
same_adapter 'threads and rows of a pass change no bit of an adapter' adapted threads
ok '10 steps of an adapter are made' lora adapting --steps 10
rm adapting/adapter_config.json
ok '10 more steps of the adapter are made' lora adapting --resume
same_adapter '10 and 10 steps have the bits of 20 for an adapter' adapted adapting
ok 'dropout in an adapter trains' lora dropped --lora-dropout 0.1 --steps 2
ok 'a DoRA trains on pairs' lora dora --lora-dora --steps 2
ok 'an adapter is trained further, against the model' lora further --lora 0 \
    --adapter adapted --steps 1
ok 'an adapter that is trained further begins with its own rewards' awk -F '\t' '
    NR == 2 { exit !($7 > 0.9 && $8 > 0) }' further/metrics.tsv

# --- what is refused ---
wrong() { # WHAT STATUS WORDS RECORD
    printf '%s\n%s\n' "$(sed 1q pairs.jsonl)" "$4" >bad.jsonl
    status "$2" "$1" student dpo -q -m s0 -o bad bad.jsonl
    like "the message about it says where: $1" "bad.jsonl: line 2: .*$3" err
}
wrong 'a record without a rejected completion is refused' 3 'rejected' \
    '{"prompt": "a", "chosen": "b"}'
wrong 'a record without a prompt is refused' 3 'no prompt' \
    '{"chosen": "b", "rejected": "c"}'
wrong 'messages without a template are refused' 2 'template' \
    '{"prompt": [{"role": "user", "content": "a"}], "chosen": [], "rejected": []}'
printf '{%% for m in messages %%}<{{ m.role }}>{{ m.content }}{%% endfor %%}%s\n' \
    '{% if add_generation_prompt %}<assistant>{% endif %}' >t.jinja
echo '{"chosen": [{"role": "user", "content": "4 + 4"}, {"role": "assistant",
    "content": "8"}], "rejected": [{"role": "user", "content": "4 + 4"},
    {"role": "assistant", "content": "44"}]}' | tr '\n' ' ' >chat.jsonl
ok 'conversations with a common beginning train' student dpo -q -m s0 -o chat \
    --template t.jinja --schedule constant chat.jsonl
equal "a conversation's first loss is log 2" "$(column loss chat/metrics.tsv)" 0.693147181
ok 'a prompt that fills a text is left out' sh -c \
    'student dpo -m s0 -o short -T 20 -B 40 pairs.jsonl 2>&1 | cat >note'
like 'a note says how many pairs are left out' 'pairs are left out' note
done_testing
