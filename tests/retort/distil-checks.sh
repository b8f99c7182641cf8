#!/bin/sh
# retort distil: texts and models that are refused before anything is measured,
# what the plan warns of, and the folder of a run in the place of a model
. "${0%/*}/../lib/lib.sh"
export RETORT_SHAREDIR="$top"
gguf=$top/tests/golden/gguf/f32.gguf
# Sizes that a tiny model takes, as variables of the recipe.
export T=32 B=2 WARMUP=1 SAVE=40 CALIB_ROWS=2 REPAIR_ROWS=4 CONTEXT=32 \
    JUDGED_SHARE=30

mkdir mine
for i in 1 2 3 4 5 6 7 8 9; do
    sed -n "${i}s/.*\"text\": *\"\\([^\"\\\\]*\\).*/\\1/p" "$top/corpus/en.jsonl" \
        >mine/$i.txt
done
sed -n 10,12p "$top/corpus/en.jsonl" >other.jsonl

# distil ARGUMENT ...: with the tiny teacher
distil() { retort distil -m "$gguf" --params 30K "$@"; }

# --- texts ---
: >empty.txt
printf '\n\n  \n' >blank.txt
head -c 5000 "$BUILD/bin/clean" >program.txt
printf 'a few words\n' >short.txt
printf 'a few words of one short text\n' >brief.txt
mkdir hollow
cp empty.txt blank.txt hollow
unread() { # unread WHAT PATTERN ARGUMENT ...: refused before the plan
    what=$1 pattern=$2
    shift 2
    status 3 "$what is refused" distil -o unread "$@"
    like "the message says why $what is refused" "$pattern" err
    equal "no plan is printed for $what" "$(cat out)" ''
    if [ -e unread/full/measured ]; then fail "nothing is measured for $what"
    else pass "nothing is measured for $what"; fi
}
unread 'a program among the texts' 'program.txt: .*is a program' mine program.txt
unread 'an empty file among the texts' 'empty.txt: holds no document' mine empty.txt
unread 'a file of blank lines' 'blank.txt: holds no words: leave it out' mine blank.txt
unread 'a folder of empty files' 'hollow: holds no words' mine hollow
unread 'an empty file to judge on' 'empty.txt: holds no document' \
    --held-out empty.txt mine
unread 'a file of blank lines to judge on' 'blank.txt: holds no words' \
    --held-out blank.txt mine
unread 'text that is all held out' \
    'less than a row of 32 tokens; 7 share words with .*--held-out' \
    --held-out mine mine
unread 'text of less than a row' '1 documents of about [0-9] tokens .*: give more text' \
    --held-out mine short.txt
unread 'text of which no share can be held out' 'or text to judge on \(--held-out' \
    brief.txt
status 1 'text to judge on that is not there is refused' distil -o unread \
    --held-out none mine
like 'the message names the text to judge on' '^retort distil: none: No such' err
ok 'the folder takes other texts then' distil -o unread --tokens 200 --dry-run mine
cp empty.txt mine/empty.txt
ok 'an empty file in a folder of texts is no error' distil -o unread \
    --tokens 200 --dry-run mine
rm mine/empty.txt

# --- the plan ---
like 'the plan says that few documents are held out' \
    '^  held out [0-9] documents: .*intervals .*wide' out
for i in 1 2 3 4 5 6 7 8; do cat "$top/corpus/held-out/en.jsonl"; done >many.jsonl
ok 'a run with many documents to judge on is planned' distil -o many \
    --tokens 200 --held-out many.jsonl --dry-run mine
unlike 'the plan says nothing of many documents' '^  held out' out
sed -n '13,18s/.*"text": *"\([^"\\]*\).*/\1/p' "$top/corpus/en.jsonl" >mine/10.txt
cp unread/full/text.tsv before
ok 'a text that has grown is planned' distil -o unread --tokens 200 --dry-run mine
if cmp -s before unread/full/text.tsv; then fail 'text that has grown is read again'
else pass 'text that has grown is read again'; fi
rm mine/10.txt

# --- answers ---
# A trial as that of a teacher that follows instructions
instructed() {
    mkdir told
    printf '0\n4\n8\n' >told/trial.times
    printf '{"finish_reason": "eos"}\n{"finish_reason": "eos"}\n' >told/trial.jsonl
    echo 100 >told/trial.tokens
    echo WANTED=40 >told/answers.settings
    printf 'train\t90\t20000\njudge\t30\t30000\n' >told/text.tsv
    cp unread/full/measured told
}
instructed
planned() { # planned: the plan of the folder told
    "$top/scripts/distil-plan" plan told T=32 B=2 BATCHES=10 RATIO=0.25 TRIAL=2 \
        ANSWERS=50 TEACHER="$gguf" NAME=told MEMORY="${MEMORY:-1e12}"
}
MEMORY=1e6
export MEMORY
ok 'a run is planned for a machine of 1 MB' planned
like 'the plan says that it does not fit' '^  does not fit in memory: ' out
unset MEMORY
ok 'a teacher that follows instructions is planned' planned
like 'the plan says that half of the tokens are not of the text' \
    '^  answers  50 % of the tokens are not your text' out
like 'the plan says how to train on text alone' '--answers 0' out
cp told/stages stages

# --- what is left to do ---
all=$(sed -n 's/^  time     \(.*\) by steps.*/\1/p' out)
touch told/train.done told/questions.jsonl
printf '{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n' >told/answers.all.jsonl.part
ok 'a run that has begun is planned' planned
like 'the plan says what time is left' \
    "^  time     [0-9]+ s left of $all by steps measured here: answers 60 s, prune" out
same 'the stages of the run stay the same' stages told/stages
touch told/answers.all.jsonl
mkdir told/pruned told/distilled
touch told/pruned/config.json told/distilled/config.json told/eval.tsv told/summary.txt
{ echo step; seq 10; } >told/distilled/metrics.tsv
ok 'a run at its end is planned' planned
like 'the plan says that nothing is left' '^  time     nothing is left to do' out
{ echo step; seq 5; } >told/distilled/metrics.tsv
ok 'a run that becomes longer is planned' planned
like 'the stages after a longer distillation are left too' \
    ' left of .*: distil [0-9]+ s, judge [0-9]+ s, write [0-9]+ s' out

# --- models ---
mkdir bare wordless
cp "$top/tests/golden/gguf/f32-hf/config.json" bare
cp "$top"/tests/golden/gguf/f32-hf/*.safetensors wordless
cp bare/config.json wordless
# lacks WHAT FOLDER: refused as teacher does
lacks() {
    status "$3" "$1 is refused" retort distil -m "$2" --params 30K -o lacking \
        --dry-run mine
    sed -n '1s/^[^:]*: //p' err >got
}
lacks 'a teacher without weights' bare 3
stream -q -T 32 --batches 1 -B 1 unread/full/train >one.st 2>/dev/null || :
teacher -q -m bare <one.st >/dev/null 2>err
sed -n '1s/^[^:]*: //p' err >want
same 'the message on weights is that of teacher' got want
like 'the message names the weights' 'bare.*safetensors' got
lacks 'a teacher without a tokenizer' wordless 1
tokenize -q -t wordless mine/1.txt >/dev/null 2>err
sed -n '1s/^[^:]*: //p' err >want
same 'the message on the tokenizer is that of tokenize' got want
like 'the message names the tokenizer' 'wordless/tokenizer.json' got
status 3 'a student to distil into without weights is refused' \
    retort distil -m "$gguf" --into bare -o lacking --dry-run mine
like 'the message names the student' 'bare.*safetensors' err

# --- the folder of a run as a model ---
mkdir -p run/student
cp "$top"/tests/golden/gguf/f32-hf/* run/student
for command in 'generate run -m run x' 'tokenize -t run mine/1.txt' \
    'convert run copy' 'evalppl -m run mine/1.txt' 'retort distil -m run mine'; do
    # shellcheck disable=SC2086 # words
    status 1 "the folder of a run is refused by ${command%% *}" $command
    like "the message of ${command%% *} says where the model is" \
        '[^ ]*: run: .*run/student' err
done
rm run/student/config.json
status 1 'a folder without a model is refused' generate run -m run x
like 'the message names the file that is missing' '^generate run: run/config.json: No' err

# --- settings may change until the run begins ---
ok 'a run is planned' distil -o free --tokens 200 --dry-run mine
sed 's/^time[.]waited .*/time.waited 0 %/' free/full/measured >before
cp before free/full/measured # else a busy machine measures again
ok 'another size is planned in its folder' retort distil -m "$gguf" --params 29K \
    -o free --tokens 400 --dry-run mine
like 'the plan has the other size' '^free: 29 thousand' out
like 'the plan has the other length' '^  tokens   448,' out
same 'steps are not measured again for it' before free/full/measured
ok 'other text is planned in its folder' distil -o free --tokens 200 --dry-run mine \
    other.jsonl
ok 'rows of another length are planned in its folder' env T=16 retort distil \
    -m "$gguf" --params 30K -o free --tokens 200 --dry-run mine
like 'the plan says what the environment sets' '^  set .* T=16 .*, in the env' out
if cmp -s before free/full/measured; then fail 'then steps are measured again'
else pass 'then steps are measured again'; fi
ok 'the run is made as the last command says' distil -o free --tokens 200 mine
equal 'it has the rows of that command' \
    "$(grep -x 'T=.*' free/full/settings)" T=32
status 2 'then another size is refused' retort distil -m "$gguf" --params 29K \
    -o free --tokens 200 mine
like 'the message says how the run was made' 'made with --params 30000, not' err

ok 'the same size by another option is refused, too' test \
    "$(retort distil -m "$gguf" --ratio 0.5 -o free --tokens 200 mine 2>&1 |
        grep -c 'made with .*--ratio')" -gt 0

# --- a run keeps its type of products, which need not be the default ---
case $(retort doctor 2>/dev/null) in
*"bfloat16: A"*) type=f32 options='' ;;
*) type=avx512bf16 options='--compute avx512bf16' ;;
esac
ok 'a run of another type of products is made' distil -o typed --tokens 64 \
    --compute $type mine
ok 'the same command without the type goes on' distil -o typed --tokens 64 mine
equal 'the run keeps its type' "$(grep '^PRUNE=' typed/full/settings)" \
    "PRUNE=$options"

# --- files beside the text ---
mkdir papers
cp mine/*.txt papers
echo x >papers/one.pdf
echo x >papers/two.docx
cp mine/1.txt held.txt
ok 'a folder of text and other files is planned' distil -o beside --tokens 200 \
    --held-out held.txt --dry-run papers
like 'the plan says which files are passed over' \
    '^  text     2 files passed over: 1 .docx, 1 .pdf' out
like 'the plan says what is held out' '^  left out 1 documents that share words' out
ok 'some of a few texts beside other files is held out' distil -o beside2 --tokens 200 \
    --dry-run papers
unlike 'documents that are held out are not left out, too' '^  left out' out
# judged_share FILE: per cent of the text in FILE that is held out
judged_share() {
    env -u JUDGED_SHARE make -s -f "$top/recipes/own.mk" TEACHER="$gguf" TEXT="$1" help |
        awk '$1 == "JUDGED_SHARE" { print $2 }'
}
equal '10 % of few bytes are held out' "$(judged_share held.txt)" 10
head -c 10000000 /dev/zero | tr '\000' a >large.txt
equal '5 % of 10 MB are held out' "$(judged_share large.txt)" 5
rm large.txt

# --- the time is short for answers ---
# timed MINUTES [CHOSEN]: the length of the run in the folder told
timed() {
    MEMORY=1e12 "$top/scripts/distil-plan" length told T=32 B=2 RATIO=0.25 TRIAL=2 \
        ANSWERS=50 TEACHER="$gguf" NAME=told MAX_TIME="$1" CHOSEN="${2:-}"
}
rm -rf told
instructed
rm told/answers.settings
ok 'a run of some minutes has a length' timed 300
like 'it has no answers, as there is time for few steps with them' '^SHORT=[0-9]*$' out
steps=$(sed -n 's/^BATCHES=//p' out)
ok 'a run of some minutes with answers has a length' timed 300 yes
unlike 'answers that were asked for are not left out' SHORT out
if [ "$(sed -n 's/^BATCHES=//p' out)" -lt "$steps" ]
then pass 'it has fewer steps'; else fail 'it has fewer steps'; fi
# planned BEGUN CHOSEN: the plan of the run in that folder
planned() {
    MEMORY=1e12 "$top/scripts/distil-plan" plan told T=32 B=2 RATIO=0.25 TRIAL=2 \
        ANSWERS=50 TEACHER="$gguf" NAME=told BATCHES=9 BEGUN="$1" CHOSEN="$2"
}
echo WANTED=0 >told/answers.settings
ok 'a run that has begun without answers goes on without' planned yes ''
unlike 'a small folder is not counted' '^  disk .* more' out
status 1 'answers that it does not have are refused' planned yes yes
like 'the message says how to go on' 'without answers .* leave --answers out' err
ok 'answers may be asked for before a run begins' planned '' yes
head -c 120000000 /dev/zero >told/states
ok 'a folder that has files is planned' planned yes ''
like 'what it has is not counted twice' '^  disk     0 kB more, of' out
rm told/states

# --- a reader that leaves ---
# The run is so long that it does not end by itself.
rc=0
retort distil -m "$gguf" --params 30K --tokens 30M -o long mine 2>said |
    head -n 2 >lines &
wait $! || rc=$?
equal 'a reader of two lines ends' $rc 0
like 'the reader has got the plan' '^long: 30 thousand' lines
if await grep -q 'peak' said; then pass 'the run ends when its reader has left'
else fail 'the run ends when its reader has left'; fi
like 'the run says that it can go on' 'has left.*same command goes on' said
mkfifo pipe
retort distil -m "$gguf" --params 30K --tokens 30M -o long mine >pipe 2>said &
pid=$!
head -n 1 <pipe >lines
rc=0
wait $pid || rc=$?
equal 'a run whose reader leaves ends with status 0' $rc 0
ok 'the folder of that run is free' retort distil -m "$gguf" --params 30K -o long \
    --dry-run mine

# --- what is lost by a stop ---
# A recipe that only waits, in the stage of answers.
mkdir -p fake/recipes fake/scripts
cat >fake/recipes/own.mk <<'END'
.PHONY: settings checked plan made
settings checked:
plan:
	@mkdir -p $(WORK)/full
	@printf 'x\n  fits\n' >$(WORK)/full/plan.txt
	@printf 'answers\t60\tanswers.jsonl\tanswers.jsonl.part\t5\tanswers\n' \
	    >$(WORK)/full/stages
made:
	@touch $(WORK)/at-work
	@sleep 60
END
RETORT_SHAREDIR="$PWD/fake" retort distil -m "$gguf" -o asked mine >lines 2>said &
pid=$!
ok 'a run comes to its answers' await test -e asked/at-work
kill -INT $pid
rc=0
wait $pid || rc=$?
equal 'a run that is stopped at its answers ends with status 5' $rc 5
like 'the stop says which answers are kept' \
    'the answers up to the first unfinished one are kept, .* a round of texts' said
done_testing
