#!/bin/sh
# student --eval: held-out batches judged beside training, the best checkpoint,
# the end by patience; interrupted or not
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches >b
teacher -q -m teacher -o kd b || exit 1
# Held out: 3 batches of other text, longer rows than those trained on
tokenize -q -t tok "$top/corpus/held-out/en.jsonl" -o docs2.st &&
    shard write -q -o data2 docs2.st &&
    stream -q -B 2 -T 96 -s 3 --batches 3 data2 >ev &&
    teacher -q -m teacher --final -o evkd ev || exit 1

cat >train <<'END'
exec student -m s0 --lr 4e-2 --schedule constant "$@"
END
# trained RUN option ...: 20 steps from the file kd, evaluated every 2
trained() {
    run=$1
    shift
    sh train -q -o "$run" --save 5 --eval evkd --eval-every 2 "$@" kd
}
# judged RUN: its log but for the time
judged() { cut -f 1-6 "$1/held-out.tsv" >"$1.held"; }
# alike WHAT RUN: all that it leaves is as in run
alike() {
    judged "$2"
    metrics "$2"
    same "$1 has the same evaluations" run.held "$2.held"
    same "$1 has the same weights" run/model.safetensors "$2/model.safetensors"
    same "$1 has the same log" run.metrics "$2.metrics"
    for f in model optimiser; do
        same "$1 has the same best checkpoint: $f" run/best/$f.safetensors \
            "$2/best/$f.safetensors"
    done
}

# --- what it says ---
ok 'a run without --eval trains' sh train -q -o plain --save 5 kd
ok 'a run with every checkpoint trains' sh train -q -o each --save 1 --keep 0 kd
ok 'a run with --eval trains' trained run
judged run
metrics run
metrics plain
same '--eval changes no bit of the training' run/model.safetensors \
    plain/model.safetensors
same '--eval changes no line of the log' run.metrics plain.metrics
equal 'every second step is evaluated' "$(cut -f 1 run.held | tr '\n' ' ')" \
    'step 2 4 6 8 10 12 14 16 18 20 '
# A step of all held-out batches from those weights says the same.
for n in 2 12; do
    ok "a student trains on the batches from step $n" sh -c "student -q -m each/step-$n -t tok -o from$n \
        --grad-accum 3 --lr 0 --squarehead 0 --schedule constant evkd"
    equal "evaluation $n is the loss of that student" \
        "$(awk -F '\t' -v n=$n '$1 == n { print $3, $4, $5, $6 }' run.held)" \
        "$(awk -F '\t' '$1 == 1 { print $3, $4, $5, $6 }' from$n/metrics.tsv)"
done
best=$(awk -F '\t' 'NR > 1 && (!b || $4 < least) { b = $1; least = $4 }
    END { print b }' run.held)
equal 'run/best leads to the best checkpoint' "$(readlink run/best)" "step-$best"
for f in model optimiser; do
    cmp -s run/best/$f.safetensors each/step-"$best"/$f.safetensors
    [ "$f" = optimiser ] || same "which is that of step $best" \
        run/best/model.safetensors each/step-"$best"/model.safetensors
done
equal 'the best checkpoint is kept beside the two newest' \
    "$(find run -name 'step-*' | sed 's/.*-//' | sort -n | tr '\n' ' ')" \
    "$(printf '%s\n' "$best" 15 20 | sort -nu | tr '\n' ' ')"
ok 'run/best is a model for evalppl' evalppl -q -m run/best docs2.st
for more in '-j 1' '--micro 1' '--recompute' '--ahead 1'; do
    # shellcheck disable=SC2086 # options
    ok "a run with $more trains" trained other $more
    alike "$more" other
    rm -rf other
done

# --- of all kinds ---
# kind WHAT FILE option ...: CE and KL at step 4, trained on kd
kind() {
    what=$1 file=$2
    shift 2
    rm -rf other from
    ok "held-out batches with $what are judged" sh train -q -o other --steps 4 --eval "$file" --eval-every 4 \
        --keep 0 "$@" kd
    ok "a student trains on batches with $what" student -q -m other/best -t tok -o from --grad-accum 3 \
        --lr 0 --squarehead 0 --schedule constant "$file"
    equal "the loss with $what is that of a step" \
        "$(awk -F '\t' 'NR == 2 { print $5, $6 }' other/held-out.tsv)" \
        "$(awk -F '\t' '$1 == 1 { print $5, $6 }' from/metrics.tsv)"
}
teacher -q -m teacher --top 5 -o evtop ev &&
    teacher -q -m teacher --sample 7 -o evdraw ev || exit 1
kind 'top tokens' evtop
kind 'tokens drawn' evdraw
kind 'no teacher' ev
equal 'batches without a teacher are judged by CE' \
    "$(awk -F '\t' 'NR == 2 { print ($4 == $5) }' other/held-out.tsv)" 1
kind 'trained by CE' evkd --kl 0 --squarehead 0
equal 'a student trained by CE is judged by it' \
    "$(awk -F '\t' 'NR == 2 { print ($4 == $5), ($6 > 0) }' \
        other/held-out.tsv)" '1 1'
shard write -q -o evdir evkd
rm -rf other
ok 'a shard directory is judged' trained other --eval evdir
alike 'a shard directory' other

# --- patience ---
# What the log of the whole run says: the first evaluation after which this many
# were no better.
for k in 1 2; do
    awk -F '\t' -v k=$k 'NR > 1 { since++
        if (NR == 2 || $4 < least) { least = $4; since = 0 }
        if (since >= k) { print $1; exit } }' run.held >stop
    if [ ! -s stop ]; then
        fail "patience $k can be seen in this run"
        continue
    fi
    stop=$(cat stop)
    rm -rf early
    ok "a run with patience $k ends with status 0" sh train -o early --save 5 --eval evkd --eval-every 2 \
        --patience $k kd
    like "patience $k is told as the reason" "^student: early: no better for $k evaluations: stopped \
after step $stop\$" err
    like "the best step of patience $k is told" '^student: early/best: held-out loss [0-9.]+, after' err
    equal "patience $k stops at the right step" "$(tail -n 1 early/metrics.tsv | cut -f 1)" "$stop"
    same "patience $k leaves the model of its last step" early/model.safetensors \
        each/step-"$stop"/model.safetensors
done
# --- the model card ---
like 'the card says that it is distilled' '^- "distillation"$' early/README.md
like 'the card names the start by its hash' \
    "^- parent: .s0., XXH3-128 .$(sed -n 's/.*"model": "\([0-9a-f]\{32\}\)".*/\1/p' \
        early/options.json)." early/README.md
like 'the card names the teacher by the hash of its head' \
    "head .$(sed -n 's/.*"teacher": "\([0-9a-f]\{32\}\)".*/\1/p' early/options.json)." \
    early/README.md
like 'the card lists the options given' '^- `--patience [0-9]`$' early/README.md
unlike 'the card lists no other options' '--(weight-decay|model|save)' early/README.md
like 'the card has the last held-out KL' \
    "KL to the teacher \| $(awk -F '\t' 'END { printf "%.4f", $6 }' early/held-out.tsv) " \
    early/README.md
like 'a card without --eval has the training loss' 'training loss .* [0-9.]+ ' \
    plain/README.md

cp early/held-out.tsv before
rm early/config.json
echo 'my notes' >early/README.md
ok 'a run that patience ended is resumed' sh -c "stream -q --resume early data | teacher -q -m teacher |
    sh train -o early --save 5 --eval evkd --eval-every 2 --patience 2 --resume"
same 'a run that patience ended stays at its end' early/held-out.tsv before
like 'a card that the user wrote stays' '^my notes$' early/README.md
like 'the card that stays is noted' 'early/README.md: .*edited' err

# --- interrupted ---
# go RUN option ...: from where it is to the end of the stream
go() {
    run=$1
    shift
    { stream -q --resume "$run" data 2>/dev/null || cat b; } |
        teacher -q -m teacher | sh train -q -o "$run" --save 5 --eval evkd \
        --eval-every 2 --resume "$@"
}
# A pipe that holds after this many of the 20 batches, and a signal.
size=$(wc -c <kd)
for how in 'KILL 9' 'TERM 13' 'KILL 13' 'TERM 16' 'KILL 17'; do
    rm -rf cut pipe
    mkfifo pipe
    exec 7<>pipe
    head -c $((size * ${how#* } / 20 - 1000)) kd >&7 &
    sh train -q -o cut --save 5 --eval evkd --eval-every 2 pipe 2>err &
    victim=$!
    await grep -q "^$((${how#* } - 1))	" cut/metrics.tsv
    kill "-${how% *}" $victim
    wait $victim 2>/dev/null
    exec 7>&-
    wait
    [ -e cut/config.json ] && fail "$how: came too late"
    status 0 "a run goes on after $how" go cut
    alike "$how" cut
done
# Patience that began before
rm -rf cut early
ok '9 steps of 12 are made' trained cut --steps 9 --patience 5
rm cut/config.json
status 0 'a run goes on to the end of patience' go cut --patience 5
ok 'a run with patience in one piece ends' trained early --patience 5
for r in cut early; do
    judged $r
    metrics $r
done
equal 'patience ends the run at step 12' "$(tail -n 1 early.held | cut -f 1)" 12
same 'the resumed run has the same evaluations' early.held cut.held
same 'the resumed run has the same log' early.metrics cut.metrics
same 'the resumed run has the same weights' early/model.safetensors cut/model.safetensors
# Killed between the checkpoint and the link to it
rm -rf cut
cp -r run cut
rm cut/config.json cut/best
ln -s step-1 cut/best
status 0 'a run goes on whose link best is behind' go cut
alike 'a link that is behind' cut
rm -rf cut
ok '10 steps are made' trained cut --steps 10
rm cut/config.json
status 2 'a run is not resumed with other held-out text' go cut --eval ev
like 'the message names the option eval' 'begun otherwise: .*eval is' err

# --- averages ---
ok 'an average is evaluated' trained avg --ema 0.5 --eval ev --eval-every 2
ok 'a run with an average and no evaluation is made' trained blind --ema 0.5
same_model 'evaluating an average changes no bit' avg blind

# --- run/best holds what was evaluated ---
# agrees WHAT RUN evalppl-option ...: evalppl of RUN/best gives the loss that the
# run printed
agrees() {
    what=$1 run=$2
    shift 2
    said=$(sed -n "s|.*$run/best: held-out loss \([0-9.]*\),.*|\1|p" err)
    evalppl -q "$@" --format tsv ev >ppl
    equal "the loss of run/best is the one noted, $what" \
        "$(awk -F '\t' '$2 == "(all)" { printf "%.4f\n", $6; exit }' ppl)" "$said"
    equal "one model of an evaluation is left, $what" "$(ls -d "$run"/best-*)" \
        "$run/$(readlink "$run/best")"
}
for how in '--ema 0.5' '--qat q8_0' '--mask 2:4' '--qat q4_0 --ema 0.9'; do
    rm -rf of
    # shellcheck disable=SC2086 # options are words
    ok "a run with $how is evaluated" sh train -o of --save 5 --eval ev \
        --eval-every 2 $how kd
    agrees "$how" of -m of/best
done
ok 'an averaged adapter is evaluated' sh train -o lora --eval ev --eval-every 2 \
    --lora 4 --ema 0.5 kd
agrees 'of an adapter' lora -m s0 --adapter lora/best
rm -rf cut
ok '9 steps with an average are made' trained cut --ema 0.5 --eval ev --steps 9
rm cut/config.json
mkdir cut/best-3 # of an earlier evaluation than the best
mkdir cut/best-2-of-mine
status 0 'a run with an average goes on' go cut --ema 0.5 --eval ev
same_model 'it ends with the same best model' avg/best cut/best
if [ -e cut/best-3 ]; then fail 'a model of an earlier evaluation is gone'; else
    pass 'a model of an earlier evaluation is gone'; fi
if [ -d cut/best-2-of-mine ]; then pass 'a folder of another name stays'; else
    fail 'a folder of another name stays'; fi

# --- memory, usage ---
memory() { sed -n 's/.*memory in all \([0-9.]*\) MB.*/\1/p' err; }
ok 'a run without --eval tells its memory' sh train -o m1 --steps 1 b
memory >without
ok 'a run with --eval tells its memory' sh train -o m2 --steps 1 --eval evkd b
memory >with
equal '--eval needs the memory that is told' \
    "$(paste without with | awk '{ print ($2 > $1 + 0.1) }')" 1
status 1 'held-out text that does not exist is refused' sh train -q -o not --eval none b
status 2 'a pipe of held-out text is refused' sh train -q -o not --eval pipe b
status 3 'held-out documents are refused' sh train -q -o not --eval docs2.st b
status 2 '--patience without --eval is refused' sh train -q -o not --patience 1 b
status 2 'an interval of 0 steps is refused' sh train -q -o not --eval ev --eval-every 0 b
mkdir tok2
sed 's/<|endoftext|>/<|endofmytext|>/' tok/tokenizer.json >tok2/tokenizer.json
tokenize -q -t tok2 "$top/corpus/held-out/en.jsonl" | shard write -q -o data3 &&
    stream -q -B 2 -T 96 -s 3 --batches 3 data3 >ev3
status 3 'held-out text of another tokenizer is refused' sh train -q -o not --eval ev3 b
like 'the message names the tokenizer' 'another tokenizer' err
head -c $(($(wc -c <evkd) - 3000)) evkd >evcut
status 3 'held-out text that breaks off' sh train -q -o not2 --eval evcut \
    --eval-every 2 kd
done_testing
