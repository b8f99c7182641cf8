#!/bin/sh
# recipes/smollm2.mk with a tiny model in place of the one it fetches: each
# step, own text, settings that change
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/recipe.sh"

recipe() {
    run_recipe smollm2 UDHR="$work/udhr" \
        T=32 B=2 BATCHES=6 WARMUP=1 SAVE=3 CALIB_ROWS=2 CANDIDATES=0 \
        PARAMS=30K CONTEXT=32 PROMPTS="'en:a b' 'de:c \\t d'" "$@"
}
declaration

ok 'the recipe makes all its steps' recipe
o=w/full
for f in report.txt report.html samples.txt facts.txt teacher/config.json \
    pruned/config.json distilled/config.json; do
    if [ -s "$o/$f" ]; then pass "the recipe has made $f"; else fail "the recipe has made $f"; fi
done
like 'plan.txt says what memory the run takes' '^memory  ' "$o/plan.txt"
like 'plan.txt says that a short run is not measured' 'not measured' \
    "$o/plan.txt"
equal 'the plan is printed before anything is made' "$(head -n 1 out)" \
    'The distillation, at most, were nothing cut:'
recipe WORK="$work/dry" -n prune >dry
like 'layers are repaired on more rows than the pruner scores' \
    '--batches 64 [|].* --calib-rows 2 --repair-rows 64 ' dry
like 'the page is named at the end' "as a page: $work/w/full/report.html" out
like 'the models are shown at the end' '^distilled ' out
unlike 'the held-out articles are not trained on' '^eng (5|11|17|23|28):' \
    "$o/text/train/en.txt"
equal 'the held-out articles are judged on' "$(grep -c '^eng' "$o/text/held-out/en.txt")" 5
equal 'three models go on with two prompts' "$(wc -l <"$o/samples.txt")" 6
equal 'each line of samples.txt has four fields' "$(awk -F '\t' '{ print NF }' "$o/samples.txt" | uniq)" 4
like 'the page has the settings' 'RIVAL_LR|CANDIDATES' "$o/report.html"
sizes='--moments bf16 --recompute --micro 1 --top 4'
ok 'a plan of other sizes is made' recipe WORK="$work/p" STUDENT="--keep 1 ${sizes% --top*}" \
    SAYS='--hidden mapped --top 4' plan
ok 'a run of 200 steps is planned' recipe WORK="$work/n" BATCHES=200 plan
like 'the plan says that it measures 200 steps' '^plan: measures .* 200 steps' err
like 'the plan says how long the run takes' '^run.hours  ' n/full/plan.txt
ok 'a run of 100 steps is planned' recipe WORK="$work/n" BATCHES=100 plan
like 'a run of 100 steps is measured by single rows' '^plan: measures .* 1 rows' err
rm -r n
# shellcheck disable=SC2086 # words
plan -q --compute f32 -m "$gguf" --teacher "$gguf" -B 2 -T 32 $sizes --tokens 1 >asked
equal 'what STUDENT and SAYS ask for counts' \
    "$(sed -n '/^memory /s/; fits.*//p' p/full/plan.txt)" \
    "$(sed -n '/^memory /s/; fits.*//p' asked)"
unlike 'smaller STUDENT and SAYS take less memory' "$(grep '^memory ' "$o/plan.txt")" asked
rm -r p
twice recipe

# refused NAME WAS NOW: by its name, and nothing is changed
refused() {
    status 2 "another $1 is refused with status 2" recipe "$1=$3"
    like "the message says what $1 was" "was made with $1=$2, not $1=$3$" err
    like "the message says how to go on with another $1" "^remove $work/w/full[^ ]*, or choose another WORK" err
    find w -type f -exec cksum {} + | sort >after
    same "no file is changed when another $1 is refused" before after
}
refused LR 3e-4 1e-3
refused BATCHES 6 5
refused STUDENT '' --recompute
refused PARAMS 30K 29K
refused HELD_OUT '5 11 17 23 28' 5
refused SEED 1 2
status 2 'another COMPUTE is refused with status 2' recipe COMPUTE=bf16
like 'the message says what COMPUTE was' 'was made with COMPUTE=, not COMPUTE=bf16$' err
status 2 'a path with spaces is refused with status 2' recipe WORK="$work/a b"
like 'the message names the path with spaces' "WORK=$work/a b: a path with spaces" err
ok 'another CONTEXT is no error' recipe CONTEXT=16
like 'the models are judged again by another CONTEXT' '^# .*context.16|context 16' "$o/eval.tsv"
grep -v 'eval.tsv\|bits\|judged\|report\|held-out\|facts\|samples' before >want
find w -type f -exec cksum {} + | sort |
    grep -v 'eval.tsv\|bits\|judged\|report\|held-out\|facts\|samples' >after
same 'another CONTEXT trains nothing again' want after
ok 'a rival is trained and judged' recipe CONTEXT=16 rival
like 'the rival is judged beside the others' '^rival ' out
like 'the rival is on the page' 'rival' "$o/report.html"
status 2 'another RIVAL_LR is refused with status 2' recipe CONTEXT=16 RIVAL_LR=1e-2 rival
like 'the message says what RIVAL_LR was' 'rival[*] was made with RIVAL_LR=3e-4, not RIVAL_LR=1e-2$' err

# --- a finished run made longer ---
# steps MODEL: those of its log
steps() {
    sed 1d "$o/$1/metrics.tsv" | cut -f 1 | tr '\n' ' '
}
cp "$o/distilled/metrics.tsv" six
status 2 'more BATCHES with another LR are refused with status 2' recipe CONTEXT=16 BATCHES=8 LR=1e-3
like 'the message says what LR was' 'was made with LR=3e-4, not LR=1e-3$' err
unlike 'the message does not name BATCHES' BATCHES err
same 'nothing is trained by another LR' six "$o/distilled/metrics.tsv"
ok 'more BATCHES make the run longer' recipe CONTEXT=16 BATCHES=8 report
equal 'the longer run goes on from its last step' "$(steps distilled)" '1 2 3 4 5 6 7 8 '
head -n 7 "$o/distilled/metrics.tsv" >got
same 'the longer run keeps its first six steps' six got
equal 'the rival of the longer run goes on too' "$(steps rival)" '1 2 3 4 5 6 7 8 '
like 'the longer run records its BATCHES' '^BATCHES=8$' "$o/distilled.settings"
cp "$o/distilled/metrics.tsv" eight
ok 'a run of equal BATCHES is no error' recipe CONTEXT=16 BATCHES=8 report
same 'a run of equal BATCHES trains nothing' eight "$o/distilled/metrics.tsv"
rm "$o/distilled/config.json"
ok 'a longer run that was stopped at its begin goes on' recipe CONTEXT=16 BATCHES=12 report
equal 'the stopped run has all twelve steps' "$(steps distilled)" '1 2 3 4 5 6 7 8 9 10 11 12 '
status 2 'fewer BATCHES are refused with status 2' recipe CONTEXT=16 BATCHES=6
like 'the message says what BATCHES were' 'was made with BATCHES=12, not BATCHES=6$' err
ok 'a run LIKE the longer one is linked' recipe CONTEXT=16 BATCHES=12 \
    WORK="$work/q" LIKE="$work/w" like
status 2 'a linked run is not made longer' recipe CONTEXT=16 BATCHES=15 WORK="$work/q"
like 'the message says what BATCHES the linked run had' 'was made with BATCHES=12, not BATCHES=15$' err
rm -r q

# --- what is typed ---
status 2 'a variable that is not known is refused with status 2' recipe BATCHS=30
like 'the message has the nearest name of a variable' 'BATCHS=30.* no such.*BATCHES=30' err
status 2 'a variable of another recipe is refused with status 2' recipe FILES=3
like 'the message names the variable of another recipe' 'FILES=3.* no such' err
for v in MODEL GGUF; do
    status 2 "the old variable $v is refused with status 2" recipe $v=x
    like "the message says that $v is called TEACHER" "$v=x: type TEACHER=x" err
done
ok 'the target help ends with status 0' recipe help
like 'help shows the values of variables' '^  BATCHES +6 +steps' out
like 'help shows the values that depend on variables' "^  UDHR +$work/udhr " out
unlike 'help shows no syntax of make' '\$\(' out
status 2 'a teacher that is not there is refused with status 2' recipe TEACHER=none/x.gguf plan
like 'the message names the teacher that is not there' 'TEACHER=none/x.gguf.* no such' err
ok 'a directory is taken as the teacher' recipe TEACHER="$top/tests/golden/gguf/f32-hf/" \
    WORK="$work/hf" prune
ok 'a name of get-model is fetched' recipe TEACHER=smollm2-135m \
    WORK="$work/hf" -n fetch
like 'scripts/get-model fetches a named teacher' "get-model smollm2-135m $work/hf" out
rm -r hf
mkdir elsewhere
ok 'the recipe runs from another folder' sh -c 'cd elsewhere && make -s --no-print-directory \
    -f "$1/recipes/smollm2.mk" -o programs TEACHER="$2" UDHR=../udhr T=32 B=2 \
    BATCHES=6 WARMUP=1 SAVE=3 CALIB_ROWS=2 CANDIDATES=0 PARAMS=30K CONTEXT=32 \
    BUILD="$BUILD" PROMPTS="en:a" row RESULTS=rows' sh "$top" "$gguf"
like 'the row of another folder has the command of the tree' 'make -f recipes/smollm2.mk ' \
    elsewhere/rows/smollm2.tsv
rm -r elsewhere

# --- a run that takes from another what is the same ---
mkdir -p p
mv udhr p/udhr
{ echo; awk 'BEGIN { print "<article data-number=\"31\">\n<p>" \
    "one two three four five six seven eight nine ten eleven twelve 1 2" \
    "</p>\n</article>" }'; } | tee -a p/udhr/deu_1996.html |
    sed 's/31/5/' >>p/udhr/eng.html
ok 'a first run fetches text and cuts the model' recipe UDHR="$work/p/udhr" WORK="$work/p" prune
like 'text that is judged on is found in the training text' 'one two three' p/full/shared.tsv
# keys RUN: those of what it has judged
keys() {
    awk -F '\t' '$1 == "document" { on = 1 } on { print $1, $2, $3 }' \
        "$1/full/eval.tsv" | sort
}
ok 'the first run is judged' recipe UDHR="$work/p/udhr" WORK="$work/p" report
ok 'a second run links what is the same' recipe UDHR="$work/q/udhr" WORK="$work/q" LIKE="$work/p" LR=1e-3 like
ok 'the second run goes on from the links' recipe UDHR="$work/q/udhr" WORK="$work/q" LR=1e-3 report
equal 'both runs have judged the same documents' "$(keys q)" "$(keys p)"
if [ -h q/udhr ] && [ -h q/full/text ] && [ -h q/full/pruned ]; then
    pass 'the second run has neither fetched nor cut'
else fail 'the second run has neither fetched nor cut'; fi
mv p/udhr udhr
rm -r p q

# --- text of one's own ---
mkdir mine other
for i in 1 2 3 4 5 6 7 8 9; do
    sed -n "$i"p "$top/corpus/en.jsonl" >"mine/$i.txt"
done
sed -n 10,12p "$top/corpus/en.jsonl" >other/x.txt
{   # a part of what is judged on, in other words
    echo 'A text of its own, in which it says:'
    sed -n 2p other/x.txt | cut -d ' ' -f 5-22 | tr '[:lower:]' '[:upper:]'
} >mine/a.txt
status 2 'HELD_OUT_TEXT without TEXT is refused with status 2' recipe HELD_OUT_TEXT="$work/other"
like 'the message says that HELD_OUT_TEXT goes with TEXT' 'HELD_OUT_TEXT.* goes with TEXT' err
mkdir 'my text'
status 2 'a TEXT with a space is refused with status 2' recipe TEACHER=smollm2-135m \
    WORK="$work/never" TEXT="$work/mine $work/my text" all
like 'the message says what to do about a space' \
    "there is no file or folder $work/my; for a path with spaces name a link" err
status 2 'a TEXT that is not there is refused with status 2' recipe TEACHER=smollm2-135m \
    WORK="$work/never" TEXT="$work/nowhere" all
like 'the message names the TEXT that is not there' \
    "TEXT=$work/nowhere: there is no file or folder $work/nowhere[.]" err
status 2 'a HELD_OUT_TEXT that is not there is refused with status 2' recipe \
    TEACHER=smollm2-135m WORK="$work/never" TEXT="$work/mine" HELD_OUT_TEXT=nowhere all
if [ -e never ]; then fail 'nothing is fetched for a TEXT that is not there'
else pass 'nothing is fetched for a TEXT that is not there'; fi
rmdir 'my text'
alone() {
    recipe WORK="$work/alone" UDHR=none TEXT="$work/mine" "$@"
}
ok 'TEXT without HELD_OUT_TEXT is trained on' alone JUDGED_SHARE=30 report
held=$(grep -c '"key":' alone/full/held-out.jsonl)
if [ "$held" -gt 0 ] && [ "$held" -lt 9 ]; then pass 'a part of TEXT is held out'
else fail "a part of TEXT is held out: $held of 10"; fi
like 'models are judged on the part of TEXT that is held out' '^distilled ' out
shard list -q alone/full/train >out
trained=$(awk 'on { n += $2 } /^source / { on = 1 } END { print n + 0 }' out)
if [ "$trained" -gt 0 ] && [ $((trained + held)) -le 10 ]; then
    pass 'the part of TEXT that is held out is not trained on'
else fail "the part of TEXT that is held out is not trained on: $trained and $held of 10"; fi
ok 'an equal JUDGED_SHARE is no error' alone JUDGED_SHARE=30 report
status 2 'another JUDGED_SHARE is refused with status 2' alone JUDGED_SHARE=90 report
like 'the message says what JUDGED_SHARE was' 'made with JUDGED_SHARE=30, not JUDGED_SHARE=90' err
status 2 'a JUDGED_SHARE of no document is refused with status 2' alone WORK="$work/none" JUDGED_SHARE=0.001 report
like 'the message says how to hold documents out' 'HELD_OUT_TEXT.*JUDGED_SHARE' err
rm -rf alone none
status 2 'TEXT in a WORK of UDHR is refused with status 2' recipe TEXT="$work/mine" HELD_OUT_TEXT="$work/other"
like 'the message says that there was no TEXT' "was made with TEXT=, not TEXT=$work/mine$" err
own() {
    recipe WORK="$work/v" UDHR=none COMPUTE=avx512bf16 TEXT="$work/mine" \
        HELD_OUT_TEXT="$work/other" "$@"
}
ok 'a model is distilled on own text' own
for run in err v/full/distilled/options.json; do
    like "products are in bfloat16 as COMPUTE says: $run" 'bfloat16 by avx512bf16|"compute": "avx' \
        "$run"
done
ok 'the shards of own text are whole' shard check v/full/train
like 'each file is a document but for the one that is judged on' \
    '9 documents|documents.*9' out
like 'a file that shares words with judged text is listed' "^$work/mine/a.txt	0	a	$work/other/x.txt	0	13	" \
    v/full/shared.tsv
if [ -e v/full/text ]; then fail 'UDHR is not read for own text'; else pass 'UDHR is not read for own text'; fi
if [ -s v/full/report.html ]; then pass 'a run of own text has a page'; else fail 'a run of own text has a page'; fi
status 2 'a run without COMPUTE is refused with status 2' own COMPUTE=
like 'the message says that COMPUTE was avx512bf16' 'distilled[*] was made with COMPUTE=avx512bf16, not COMPUTE=$' err
ok 'another prompt is no error' own PROMPTS=en:xyzzy continue
like 'models go on with the other prompt' xyzzy out
like 'bits.txt has a line for the only source' '^x  *[0-9.]+ ' v/full/bits.txt
equal 'the figures of the only source are those of all' "$(sed -n 's/^all  *//p' v/full/bits.txt)" \
    "$(sed -n 's/^x  *//p' v/full/bits.txt)"
cp v/full/eval.tsv eval1
sed -n 13p "$top/corpus/en.jsonl" >other/y.txt
ok 'a further text to judge on is no error' own report
if cmp -s eval1 v/full/eval.tsv; then fail 'the further text is judged'; else pass 'the further text is judged'; fi
status 0 'another HELD_OUT_TEXT is no error' own HELD_OUT_TEXT="$work/other/[y].t*"
cut -d ' ' -f 9-40 mine/5.txt >other/z.txt
status 2 'a text to judge on that was trained on is refused' own report
like 'the message lists the text that was trained on' "^$work/mine/5.txt	0	mine	$work/other/z.txt	0	13	" \
    err
like 'the message says why it is refused' '^these texts were trained on and share words with one' err
rm other/z.txt
status 2 'UDHR in a WORK of TEXT is refused with status 2' recipe WORK="$work/v"
like 'the message says what TEXT was' "was made with TEXT=$work/mine, not TEXT=$" err
like 'the message says that there was no UDHR' "was made with no UDHR, not UDHR=" err
status 2 'cloze items of a single text are refused with status 2' own WORK="$work/u" CLOZE=1 rival row
like 'the message says how many paragraphs there are' '^make-cloze: x: [0-9]+ paragraphs' err
for f in pruned rival distilled; do
    if [ -e "u/full/$f" ]; then fail "cloze items are refused before $f is made"; else pass "cloze items are refused before $f is made"; fi
done
touch mine/3.txt
status 2 'a text that has changed since is refused with status 2' own
like 'the message names the text that has changed' "full was made before $work/mine/3.txt was changed" err
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%d \"word\" \\\\ ", i * 7919 % 10007 }' >long.txt
ok 'a smoke run is evaluated' recipe WORK="$work/s" UDHR=none TEXT="$work/mine" \
    HELD_OUT_TEXT="$work/long.txt" SMOKE=1 report
judged=$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bytes") b = i }
    NR > 1 { n = $b } END { print n }' s/smoke/held-out.stats)
if [ "$judged" -gt 200 ] && [ "$judged" -lt 800 ]; then
    pass 'a smoke run reads the beginning of a long text'
else fail "a smoke run reads the beginning of a long text: $judged bytes"; fi
done_testing
