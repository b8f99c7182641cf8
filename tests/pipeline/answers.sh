#!/bin/sh
# recipes/answers.mk with a tiny model that follows instructions of one kind:
# questions and answers beside text, steps on the student's own answers, what
# the models can do
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/recipe.sh"
. "$top/tests/lib/results.sh"

# --- the teacher: it adds numbers ---
mkdir tok mine
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
    '<|im_end|>' >tok/tokenizer_config.json
# The awks differ in rand().
awk 'function draw(n) { x = x * 16807 % 2147483647; return int(x * n / 2147483647) }
    BEGIN { x = 1; for (i = 0; i < 600; i++) {
    a = draw(10); b = draw(10); c = draw(10)
    printf "{\"text\": \"%s<|im_start|>user\\nadd %d and %d and %d<|im_end|>\\n" \
        "<|im_start|>assistant\\nthe sum of them is %d<|im_end|>\\n\"}\n",
        i % 3 ? "" : "<|im_start|>system\\nYou add numbers.<|im_end|>\\n",
        a, b, c, a + b + c } }' >sums.jsonl
llama new.json vocab_size 1024 hidden_size 48 intermediate_size 96 \
    num_hidden_layers 2 num_attention_heads 4 num_key_value_heads 2 \
    head_dim 12 max_position_embeddings 512 initializer_range 0.05
tokenize -q -t tok --special --no-eos -o sums.st sums.jsonl &&
    shard write -q -o sums sums.st &&
    stream -q -B 4 -T 128 -s 1 --batches 60 -o b sums &&
    student -q -m new.json -t tok -o chat --lr 1e-2 --schedule constant b ||
    exit 1
cat >chat/chat_template.jinja <<'END'
{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}

{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}
END
for i in 1 2 3 4 5 6 7 8 9; do
    sed -n "$i"p "$top/corpus/en.jsonl" >"mine/$i.jsonl"
done
sed -n 10,12p "$top/corpus/en.jsonl" >other.jsonl
gguf=$work/chat

# --- a run ---
recipe() {
    run_recipe smollm2 UDHR=none TEXT="$work/mine" HELD_OUT_TEXT="$work/other.jsonl" \
        T=64 B=2 BATCHES=20 WARMUP=1 SAVE=5 CALIB_ROWS=2 CANDIDATES=0 PARAMS=85K \
        CONTEXT=64 PROMPTS="'en:add 3'" LONGEST=30 TRIAL=8 "$@"
}
ok 'the teacher is tried before anything else' recipe plan
o=w/full
cp $o/trial.txt said
equal 'the plan says that the teacher follows instructions' "$(sed q said)" \
    'The teacher follows instructions: 8 of 8 answers to its questions end by'
like 'the plan says how long the questions and answers take' \
    '^0[.]0 hours before the distillation' said
like 'the plan says how many questions are asked' \
    '^50 % of the tokens are its own answers, to [0-9]+ questions:$' said
# 64 * 2 * 20 / 2 tokens, and a quarter more
tokens=$(tokenize --chat -q -t chat --ids $o/trial.jsonl | wc -w)
equal 'as many questions are wanted as fill half of the tokens' \
    "$(sed -n 's/^WANTED=//p' $o/answers.settings)" $((1600 * 8 / tokens + 1))
ok 'the recipe makes all its steps' recipe
sed -n '/^The teacher/,$p' $o/plan.txt >got
same 'the plan has what the trial says' got $o/trial.txt
shard list -q $o/answers >kinds
equal 'each answer is a document of the source answers' \
    "$(awk 'on { print $1, $2 } /^source / { on = 1 }' kinds)" \
    "answers $(grep -c '' $o/answers.jsonl)"
unlike 'no answer was cut off' '"finish_reason": "length"' $o/answers.jsonl
equal 'weights have half for the answers' "$(cat $o/weights)" 'mine=0.5,answers=0.5'
stream -q -T 64 -B 2 --batches 20 -s 1 --weights mine=0.5,answers=0.5 -o mixed \
    $o/train $o/answers
teacher -q -m chat --final --hidden mapped --student $o/pruned -o said.st mixed
student -q -m $o/pruned --warmup 1 --lr 3e-4 -o by-hand said.st
same 'the student has learnt text and answers half and half' \
    by-hand/model.safetensors $o/distilled/model.safetensors
like 'the page has the result of the trial' 'FOLLOWS.*yes' $o/report.html
twice recipe

# --- settings ---
# refused NAME WAS NOW WHAT: by its name
refused() {
    status 2 "another $1 is refused with status 2" recipe "$1=$3"
    like "the message says what $1 was" "$4 was made with $1=$2, not $1=$3$" err
}
refused ANSWERS 50 20 "$work/w/full"
refused ANSWERS 50 0 "$work/w/full"
refused CALIB both text "$work/w/full"
refused LONGEST 30 31 "$work/w/full"
for bad in ANSWERS=101 ANSWERS=x CALIB=all 'ANSWERS=0 ON_POLICY=3'; do
    # shellcheck disable=SC2086 # words
    status 2 "$bad is refused with status 2" recipe $bad
    like "the message has $bad" "[*][*][*] ${bad#ANSWERS=0 }" err
done
ok 'a run LIKE the first one is linked' recipe WORK="$work/l" LIKE="$work/w" LR=1e-3 like
ok 'the linked run is made' recipe WORK="$work/l" LR=1e-3 distil
if [ -h l/full/answers ] && [ -h l/full/pruned ]; then pass 'the linked run asks nothing'
else fail 'the linked run asks nothing'; fi
unlike 'no program of the linked run writes texts' '^generate' err
ok 'a run LIKE it of other BATCHES is linked' recipe WORK="$work/k" LIKE="$work/w" BATCHES=30 like
if [ -e k/full/train ]; then fail 'a run of other BATCHES asks its own questions'
else pass 'a run of other BATCHES asks its own questions'; fi
ok 'a longer run goes on' recipe BATCHES=24 distil
equal 'the longer run has all its steps' "$(sed -n '$s/	.*//p' $o/distilled/metrics.tsv)" 24
rm -r l k

# --- a run that is stopped between the steps of asking ---
cp -r w kept
rm -r $o/distilled* $o/pruned $o/answers $o/weights $o/eval.tsv
rm $o/answers.done $o/answers.jsonl $o/answers.all.jsonl
head -n 9 kept/full/questions.jsonl >$o/questions.jsonl.part
rm $o/questions.jsonl
ok 'a run that was stopped while it asked goes on' recipe distil
for f in questions.jsonl answers.jsonl weights; do
    same "the stopped run has the same $f" $o/$f kept/full/$f
done
same 'the stopped run ends with the same model' $o/distilled/model.safetensors \
    by-hand/model.safetensors
rm -r w && mv kept w

# --- text alone, answers alone, another calibration ---
ok 'a run of text alone is made' recipe WORK="$work/t" ANSWERS=0 distil
unlike 'a run of text alone asks nothing' '^generate' err
if [ -e t/full/answers.settings ]; then fail 'a run of text alone has no trial'
else pass 'a run of text alone has no trial'; fi
sed '/^ANSWERS=/d' t/full/settings >older && cp older t/full/settings
ok 'a run older than ANSWERS is text alone' recipe WORK="$work/t" ANSWERS=0 distil
status 2 'an older run with answers is refused' recipe WORK="$work/t" distil
like 'the message says that the older run had none' 'was made with no ANSWERS, not ANSWERS=50$' err
ok 'a model is cut by answers' recipe WORK="$work/a" ANSWERS=100 CALIB=answers prune
equal 'weights of answers alone' "$(cat a/full/weights)" 'mine=0,answers=1'
rm -r t a

status 2 'answers of which none is left are refused' recipe WORK="$work/x" \
    REWARD='sed s/.*/0/' prune
like 'the message says that none is left' '^no answer of the teacher is left' err
rm -r x

# --- a teacher that does not follow instructions ---
cp -r chat base && rm base/chat_template.jinja
ok 'a base model is distilled on text' recipe TEACHER="$work/base" WORK="$work/n" distil
like 'the plan says that the model writes no questions' \
    '^The teacher does not follow instructions: it writes no questions:' out
like 'the plan says why' 'has no chat template' n/full/plan.txt
like 'the plan says that all is text' '^All tokens are text' out
status 2 'a base model has no steps ON_POLICY' recipe TEACHER="$work/base" \
    WORK="$work/m" ON_POLICY=2
like 'the message says that there are no questions' '^ON_POLICY: there are no questions' err
rm -r n

# --- every part: fewer ids, a system, best of, on-policy, abilities ---
echo 'You add numbers.' >system.txt
printf '%s\n' 'while read -r line; do case $line in *"sum of them is 1"*) echo 1 ;;' \
    '*) echo 0 ;; esac; done' >reward
problems='' missing=''
for p in python3 prlimit; do
    command -v $p >/dev/null || missing=$p
done
printf '{"task_id": "%s", "prompt": "def f():\\n", "entry_point": "f", "test": "x"}\n' \
    a b >problems.jsonl
printf '{"key": %d, "prompt": "add 1 and 2 and 3", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}\n' \
    1 2 3 >rules.jsonl
if [ -n "$missing" ]; then skip 'models are judged by what they do' "no $missing"; else
    problems="HUMANEVAL=$work/problems.jsonl IFEVAL=$work/rules.jsonl NEW=4"
    unshare -rn true 2>/dev/null || unshare -n true 2>/dev/null ||
        problems="$problems SANDBOX=--no-sandbox"
fi
all() {
    # shellcheck disable=SC2086 # words
    recipe WORK="$work/e" VOCAB=800 SYSTEM="$work/system.txt" BEST_OF=2 \
        REWARD="sh $work/reward" ON_POLICY=2 ON_POLICY_BY='--lr 1e-3 -B 4 -n 20' \
        RESULTS="$work/r" RUN=every $problems "$@"
}
ok 'a run of every part is made' all
o=e/full
like 'each question has the system before it' '"You add numbers[.]"' $o/asked.jsonl
unlike 'answers are those of the reward' '"reward": 0' $o/answers.jsonl
equal 'each answer has its reward' "$(grep -c '"reward": 1' $o/answers.jsonl)" \
    "$(grep -c '' $o/answers.jsonl)"
like 'the vocabulary is cut' '"vocab_size": *800' $o/on-policy/config.json
equal 'the student takes two steps on its own answers' \
    "$(sed -n '$s/	.*//p' $o/on-policy/metrics.tsv)" 2
like 'the student on its own answers is judged beside the others' '^on-policy ' $o/report.txt
like 'bits.txt has the student on its own answers' '^bits/byte .* on-policy ' $o/bits.txt
if [ -n "$problems" ]; then
    for a in 'HumanEval 2' 'IFEval 3'; do
        for m in teacher pruned distilled on-policy; do echo "${a% *} $m ${a#* }"; done
    done >want
    cut -f 1-3 $o/abilities.tsv | sed 1d | tr '\t' ' ' >got
    same 'each model has an ability of each kind' got want
    like 'the report shows abilities' '^IFEval  *on-policy  *3 ' $o/report.txt
    like 'the page shows abilities' 'id="abilities"' $o/report.html
    ok 'the run has a row' all row
    again r smollm2 >wrong
    equal 'the row is what lies beside it' "$(cat wrong)" ''
    like 'the row names the files of judges without folders' \
        "HUMANEVAL='problems.jsonl' IFEVAL='rules.jsonl' " r/smollm2.tsv
    awk -F '"' 'NR == 1 { printf "{\"text\": \"%s\"}\n", $18 }' $o/answers.jsonl >seen.jsonl
    status 2 'problems that were trained on are refused' all HUMANEVAL= \
        IFEVAL="$work/seen.jsonl" abilities
    like 'the message lists the answer' 'answers.jsonl	0	.*	.*seen.jsonl	' err
    like 'the message says why the problems are refused' 'or choose another WORK or other problems$' err
fi
cp $o/on-policy/model.safetensors first
status 2 'other steps on own answers are refused' all ON_POLICY=3
like 'the message says how many there were' 'on-policy[*] was made with ON_POLICY=2, not ON_POLICY=3' err
touch system.txt
status 2 'another system is refused' all
like 'the message names the file of the system' 'was made before .*system.txt was changed' err
done_testing
