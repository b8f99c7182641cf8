#!/bin/sh
# student grpo --lora, student on-policy --lora: adapters are trained on texts
# that the model writes with them
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
ok 'a model for adapters is made' student -q -m s0 -o base --lr 1e-3 one
for i in 1 2 3 4 5; do
    printf '{"prompt": "the %s", "completion": " %s and all"}\n' "$i" "$i"
done >p.jsonl
# a text's reward is the share of letters e in it
cat >judge.awk <<'END'
{
    sub(/.*"completion":"/, "")
    n = length($0)
    print n ? gsub(/e/, "") / n : 0
}
END
# grpo RUN [option ...]: an adapter, by groups of 4 texts of 2 prompts
grpo() {
    run=$1
    shift
    student grpo -q -m base -o "$run" --reward "awk -f judge.awk" -B 8 \
        --group 4 -n 8 --lr 1e-2 --schedule constant --lora 4 "$@" p.jsonl
}
# near RUN [option ...]: an adapter, by a teacher and batches of 8 texts
near_teacher() {
    run=$1
    shift
    student on-policy -q -m base -o "$run" -B 8 -n 8 --lr 1e-2 \
        --schedule constant --lora 4 "$@" p.jsonl
}
# column NAME RUN: a column of the metrics
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) k = i; next } { print $k }' "$2/metrics.tsv"
}
# numbers RUN: all of its metrics but the time
numbers() { sed 's/	[^	]*$//' "$1/metrics.tsv" >"$1.numbers"; }
same_adapter() {
    same "$1" "$2/adapter_model.safetensors" "$3/adapter_model.safetensors"
}

# --- rewards ---
ok '10 steps of an adapter are made' grpo whole --steps 10 --save 2 --beta 0.1
numbers whole
equal 'training gives the log probabilities of generation, to the bit' \
    "$(column drift whole | sort -u)" 0
equal 'the reference is the model without the adapter' \
    "$(column kl whole | head -n 1)" 0
ok 'the adapter leaves the reference' test "$(column kl whole | tail -n 1)" != 0
ok 'the run holds an adapter' test -s whole/adapter_model.safetensors
status 1 'the run holds no weights of the model' test -e whole/model.safetensors
ok 'the result writes texts' generate run -q -m base --adapter whole -n 4 the
ok 'the whole model is trained one step' grpo full --lora 0 --steps 1
for c in loss reward reward_std entropy completions/mean_length; do
    equal "an adapter begins with the $c of the model" \
        "$(column $c whole | head -n 1)" "$(column $c full)"
done
ok 'steps are made with 1 thread, text and row at a time' grpo one-row \
    --steps 10 --beta 0.1 -j 1 --at-once 1 --micro 1 --recompute
same_adapter 'threads, texts at a time and rows of a pass change no bit' whole \
    one-row
ok 'an adapter is trained further' grpo further --lora 0 --adapter whole \
    --beta 0.1 --steps 2
ok 'its reference is the model without it' test \
    "$(column kl further | head -n 1)" != 0
ok 'the adapter is merged' convert -q --adapter whole --into-weights base merged
ok 'the merged adapter is the reference' grpo tied --lora 0 --adapter whole \
    --reference merged --beta 0.1 --steps 1
ok 'the adapter is near the model that it was merged into' awk \
    -v kl="$(column kl tied)" 'BEGIN { print kl; exit !(kl < 1e-9 && kl > -1e-9) }'
ok 'a DoRA is trained' grpo dora --lora-dora --lora-rs --steps 3 --beta 0.1
equal "a DoRA's log probabilities are those of generation" \
    "$(column drift dora | sort -u)" 0

student grpo -q -m base -o killed --reward "awk -f judge.awk" -B 8 --group 4 \
    -n 8 --lr 1e-2 --schedule constant --lora 4 --steps 10 --save 2 --keep 0 \
    --beta 0.1 p.jsonl &
victim=$!
await [ -d killed/step-4 ]
kill -9 $victim
wait $victim 2>/dev/null
rm -f killed/adapter_config.json
ok 'a killed run of rewards goes on' grpo killed --steps 10 --save 2 \
    --beta 0.1 --resume killed
same_adapter 'a run of rewards, killed and resumed, has the bits of 10 steps' \
    whole killed
numbers killed
same 'its metrics are those of 10 steps' whole.numbers killed.numbers

# --- a teacher ---
ok '10 steps of an adapter approach a teacher' near_teacher approach \
    --score-with teacher --steps 10 --save 2
numbers approach
ok 'the loss falls' awk -v a="$(column loss approach | head -n 1)" \
    -v b="$(column loss approach | tail -n 1)" 'BEGIN { print a, b; exit !(b < a) }'
ok 'the whole model approaches it one step' near_teacher all --lora 0 \
    --score-with teacher --steps 1
equal 'an adapter begins with the loss of the model' \
    "$(column loss approach | head -n 1)" "$(column loss all)"
ok 'the model teaches its own adapter' near_teacher self --score-with base \
    --steps 1
equal 'the first loss of its own adapter is 0' "$(column loss self)" 0
ok 'steps by a teacher are made with 1 thread, text and row at a time' \
    near_teacher small --score-with teacher --steps 10 -j 1 --at-once 1 \
    --micro 1
same_adapter 'threads and rows change no bit of an adapter by a teacher' \
    approach small
student on-policy -q -m base -o stopped -B 8 -n 8 --lr 1e-2 \
    --schedule constant --lora 4 --score-with teacher --steps 10 --save 2 \
    --keep 0 p.jsonl &
victim=$!
await [ -d stopped/step-4 ]
kill -9 $victim
wait $victim 2>/dev/null
rm -f stopped/adapter_config.json
ok 'a killed run by a teacher goes on' near_teacher stopped \
    --score-with teacher --steps 10 --save 2 --resume stopped
same_adapter 'a run by a teacher, killed and resumed, has the bits of 10 steps' \
    approach stopped
echo '{{ messages }}' >tok/chat_template.jinja
tokenize -q -t tok --chat p.jsonl -o docs5 && shard write -q -o data5 docs5 &&
    stream -q -B 5 -T 64 --epochs 1 data5 |
        teacher -q -m teacher --final --dtype f32 -o kd5 || exit 1
ok 'an adapter is trained further on texts of data' student on-policy -q \
    -m base -o on-data --adapter whole --score-with teacher --written 0 -B 5 \
    -n 8 --lr 1e-3 --steps 1 p.jsonl
ok 'an adapter is trained further on a stream of them' student -q -m base \
    -o on-stream --adapter whole --ce 0 --kl 1 --kl-direction reverse \
    --lr 1e-3 --steps 1 kd5
for c in scored loss norm; do
    column $c on-data >a
    column $c on-stream >b
    near "an adapter has the $c of student train" 1e-5 a b
done
if [ -x "$BUILD/bin/serve" ]; then
    serve -m teacher --port 0 --targets 64 2>serving &
    server=$!
    await grep -q listening serving
    url=$(sed -n 's/.*listening at \([^,]*\),.*/\1/p' serving)
    ok 'a server judges the texts of an adapter' near_teacher far \
        --score-with "$url" --top 1024 --steps 1
    column loss far >a
    column loss all >b
    near 'a server gives an adapter the loss of a model' 1e-5 a b
    kill $server
    wait $server 2>/dev/null
else
    skip 'a server judges the texts of an adapter' \
        'built without libmicrohttpd (libmicrohttpd-dev)'
fi

# --- a quantised model ---
mkdir bare
cp base/config.json base/model.safetensors bare
for type in q8_0 q4_0; do
    ok "the model is quantised to $type" convert -q --dtype $type bare $type.gguf
    ok "an adapter of $type is trained" student grpo -q -m $type.gguf -t tok \
        -o $type --reward "awk -f judge.awk" -B 8 --group 4 -n 8 --lr 1e-2 \
        --schedule constant --lora 4 --beta 0.1 --steps 3 p.jsonl
    equal "training has the log probabilities of generation with $type" \
        "$(column drift $type | sort -u)" 0
    equal "the reference is the $type model without the adapter" \
        "$(column kl $type | head -n 1)" 0
    ok "an adapter of $type approaches a teacher" student on-policy -q \
        -m $type.gguf -t tok -o near-$type --score-with teacher -B 8 -n 8 \
        --lr 1e-2 --schedule constant --lora 4 --steps 2 p.jsonl
done

# --- refused ---
status 2 'dropout is refused with rewards' grpo no --lora-dropout 0.1 --steps 1
like 'the message says that the ratio would not be 1' 'lora-dropout.*ratio' err
ok 'an adapter with dropout approaches a teacher' near_teacher dropped \
    --score-with teacher --lora-dropout 0.1 --steps 1
status 3 'an adapter with dropout is refused with rewards' grpo no --lora 0 \
    --adapter dropped --steps 1
like 'the message names the adapter and its member' 'dropped.*lora_dropout' err
for with in '--qat q8_0' '--mask 2:4' '--grad bf16' '--shard-level 2'; do
    # shellcheck disable=SC2086 # the option and its value are two words
    status 2 "--lora is refused with $with" grpo no --steps 1 $with
    like "the message names --lora and ${with%% *}" \
        "--lora.*${with%% *}|${with%% *}.*--lora" err
done

# --- over ranks ---
has_ranks 'adapters on texts over ranks' || done_testing
for n in 1 2 4; do
    ok "$n ranks train an adapter by rewards" ranks $n student grpo -q \
        -m base -o g$n --reward "awk -f judge.awk" -B 8 --group 4 -n 8 \
        --lr 1e-2 --lora 4 --beta 0.1 --steps 3 --deterministic -j 1 p.jsonl
    ok "$n ranks train an adapter by a teacher" ranks $n student on-policy -q \
        -m base -o t$n --score-with teacher -B 8 -n 8 --lr 1e-2 --lora 4 \
        --steps 3 --deterministic -j 1 p.jsonl
done
for n in 2 4; do
    same_adapter "$n ranks have the bits of 1 by rewards" g1 g$n
    same_adapter "$n ranks have the bits of 1 by a teacher" t1 t$n
done
numbers g1
numbers g2
same '2 ranks have the metrics of 1' g1.numbers g2.numbers
done_testing
