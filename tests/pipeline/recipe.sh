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

ok 'the whole' recipe
o=w/full
for f in report.txt report.html samples.txt facts.txt teacher/config.json \
    pruned/config.json distilled/config.json; do
    if [ -s "$o/$f" ]; then pass "$f"; else fail "$f"; fi
done
like 'says first what it takes' '^memory  ' "$o/plan.txt"
like 'and that measuring takes too long for a short run' 'not measured' \
    "$o/plan.txt"
equal 'before anything is made' "$(head -n 1 out)" \
    'The distillation, at most, were nothing cut:'
like 'names the page' "as a page: $work/w/full/report.html" out
like 'shows the models' '^distilled ' out
unlike 'the held-out articles are not trained on' '^eng (5|11|17|23|28):' \
    "$o/text/train/en.txt"
equal 'but judged on' "$(grep -c '^eng' "$o/text/held-out/en.txt")" 5
equal 'what three models say to two prompts' "$(wc -l <"$o/samples.txt")" 6
equal 'in fields' "$(awk -F '\t' '{ print NF }' "$o/samples.txt" | uniq)" 3
like 'the page has the settings' 'RIVAL_LR|CANDIDATES' "$o/report.html"
sizes='--moments bf16 --recompute --micro 1 --top 4'
ok 'of other sizes' recipe WORK="$work/p" STUDENT="--keep 1 ${sizes% --top*}" \
    SAYS='--hidden mapped --top 4' plan
ok 'a run of 200 steps' recipe WORK="$work/n" BATCHES=200 plan
like 'says what it does while it measures' '^plan: measures .* 200 steps' err
like 'and how long the run takes' '^run.hours  ' n/full/plan.txt
ok 'a run of 100' recipe WORK="$work/n" BATCHES=100 plan
like 'is measured by single rows' '^plan: measures .* 1 rows' err
rm -r n
# shellcheck disable=SC2086 # words
plan -q -m "$gguf" --teacher "$gguf" -B 2 -T 32 $sizes --tokens 1 >asked
equal 'what STUDENT and SAYS ask for counts' \
    "$(grep '^memory ' p/full/plan.txt)" "$(grep '^memory ' asked)"
unlike 'and takes less' "$(grep '^memory ' "$o/plan.txt")" asked
rm -r p
twice recipe

# refused NAME WAS NOW: by its name, and nothing is changed
refused() {
    status 2 "$1 is changed" recipe "$1=$3"
    like 'is named' "was made with $1=$2, not $1=$3$" err
    like 'what to do' "^remove $work/w/full[^ ]*, or choose another WORK" err
    find w -type f -exec cksum {} + | sort >after
    same 'all is as it was' before after
}
refused LR 3e-4 1e-3
refused BATCHES 6 5
refused STUDENT '' --recompute
refused PARAMS 30K 29K
refused HELD_OUT '5 11 17 23 28' 5
refused SEED 1 2
status 2 'COMPUTE is changed' recipe COMPUTE=bf16
like 'is named' 'was made with COMPUTE=, not COMPUTE=bf16$' err
status 2 'a path with spaces' recipe WORK="$work/a b"
like 'is named' "WORK=$work/a b: a path with spaces" err
ok 'another context' recipe CONTEXT=16
like 'judges again' '^# .*context.16|context 16' "$o/eval.tsv"
grep -v 'eval.tsv\|bits\|judged\|report\|held-out\|facts\|samples' before >want
find w -type f -exec cksum {} + | sort |
    grep -v 'eval.tsv\|bits\|judged\|report\|held-out\|facts\|samples' >after
same 'and trains nothing again' want after
ok 'a rival' recipe CONTEXT=16 rival
like 'is judged beside' '^rival ' out
like 'and is on the page' 'rival' "$o/report.html"
status 2 'with another rate' recipe CONTEXT=16 RIVAL_LR=1e-2 rival
like 'is refused' 'rival[*] was made with RIVAL_LR=3e-4, not RIVAL_LR=1e-2$' err

# --- a finished run made longer ---
# steps MODEL: those of its log
steps() {
    sed 1d "$o/$1/metrics.tsv" | cut -f 1 | tr '\n' ' '
}
cp "$o/distilled/metrics.tsv" six
status 2 'more BATCHES and another rate' recipe CONTEXT=16 BATCHES=8 LR=1e-3
like 'is refused by the rate' 'was made with LR=3e-4, not LR=1e-3$' err
unlike 'and not by the length' BATCHES err
same 'and trains nothing' six "$o/distilled/metrics.tsv"
ok 'more BATCHES make the run longer' recipe CONTEXT=16 BATCHES=8 report
equal 'from its last step on' "$(steps distilled)" '1 2 3 4 5 6 7 8 '
head -n 7 "$o/distilled/metrics.tsv" >got
same 'not anew' six got
equal 'and its rival too' "$(steps rival)" '1 2 3 4 5 6 7 8 '
like 'it is recorded' '^BATCHES=8$' "$o/distilled.settings"
cp "$o/distilled/metrics.tsv" eight
ok 'the same BATCHES again' recipe CONTEXT=16 BATCHES=8 report
same 'train nothing' eight "$o/distilled/metrics.tsv"
rm "$o/distilled/config.json"
ok 'a longer run that was stopped as it began' recipe CONTEXT=16 BATCHES=12 report
equal 'goes on' "$(steps distilled)" '1 2 3 4 5 6 7 8 9 10 11 12 '
status 2 'fewer BATCHES again' recipe CONTEXT=16 BATCHES=6
like 'are refused' 'was made with BATCHES=12, not BATCHES=6$' err
ok 'a run that takes the longer one' recipe CONTEXT=16 BATCHES=12 \
    WORK="$work/q" LIKE="$work/w" like
status 2 'does not make it longer' recipe CONTEXT=16 BATCHES=15 WORK="$work/q"
like 'but refuses' 'was made with BATCHES=12, not BATCHES=15$' err
rm -r q

# --- what is typed ---
status 2 'a variable that there is not' recipe BATCHS=30
like 'is refused with the nearest name' 'BATCHS=30.* no such.*BATCHES=30' err
status 2 'one of another recipe' recipe FILES=3
like 'is refused' 'FILES=3.* no such' err
for v in MODEL GGUF; do
    status 2 "$v" recipe $v=x
    like "$v is called TEACHER" "$v=x: type TEACHER=x" err
done
ok 'help' recipe help
like 'has values' '^  BATCHES +6 +steps' out
like 'also of other variables' "^  UDHR +$work/udhr " out
unlike 'but no syntax of make' '\$\(' out
status 2 'a teacher that is not there' recipe TEACHER=none/x.gguf plan
like 'is named' 'TEACHER=none/x.gguf.* no such' err
ok 'a directory as teacher' recipe TEACHER="$top/tests/golden/gguf/f32-hf/" \
    WORK="$work/hf" prune
ok 'a name of get-model is fetched' recipe TEACHER=smollm2-135m \
    WORK="$work/hf" -n fetch
like 'by get-model' "get-model smollm2-135m $work/hf" out
rm -r hf
mkdir elsewhere
ok 'from another folder' sh -c 'cd elsewhere && make -s --no-print-directory \
    -f "$1/recipes/smollm2.mk" -o programs TEACHER="$2" UDHR=../udhr T=32 B=2 \
    BATCHES=6 WARMUP=1 SAVE=3 CALIB_ROWS=2 CANDIDATES=0 PARAMS=30K CONTEXT=32 \
    BUILD="$BUILD" PROMPTS="en:a" row RESULTS=rows' sh "$top" "$gguf"
like 'its row is that of the tree' 'make -f recipes/smollm2.mk ' \
    elsewhere/rows/smollm2.tsv
rm -r elsewhere

# --- a run that takes from another what is the same ---
mkdir -p p
mv udhr p/udhr
{ echo; awk 'BEGIN { print "<article data-number=\"31\">\n<p>" \
    "one two three four five six seven eight nine ten eleven twelve 1 2" \
    "</p>\n</article>" }'; } | tee -a p/udhr/deu_1996.html |
    sed 's/31/5/' >>p/udhr/eng.html
ok 'text that was fetched' recipe UDHR="$work/p/udhr" WORK="$work/p" prune
like 'of which some is judged on' 'one two three' p/full/shared.tsv
# keys RUN: those of what it has judged
keys() {
    awk -F '\t' '$1 == "document" { on = 1 } on { print $1, $2, $3 }' \
        "$1/full/eval.tsv" | sort
}
ok 'which is judged' recipe UDHR="$work/p/udhr" WORK="$work/p" report
ok 'another run' recipe UDHR="$work/q/udhr" WORK="$work/q" LIKE="$work/p" LR=1e-3 like
ok 'goes on' recipe UDHR="$work/q/udhr" WORK="$work/q" LR=1e-3 report
equal 'and has the same documents' "$(keys q)" "$(keys p)"
if [ -h q/udhr ] && [ -h q/full/text ] && [ -h q/full/pruned ]; then
    pass 'and has neither fetched nor cut'
else fail 'and has neither fetched nor cut'; fi
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
status 2 'HELD_OUT_TEXT alone' recipe HELD_OUT_TEXT="$work/other"
like 'says what else' 'HELD_OUT_TEXT.* goes with TEXT' err
alone() {
    recipe WORK="$work/alone" UDHR=none TEXT="$work/mine" "$@"
}
ok 'TEXT alone' alone JUDGED_SHARE=30 report
held=$(grep -c . alone/full/held-out.jsonl)
if [ "$held" -gt 0 ] && [ "$held" -lt 9 ]; then pass 'is held out in part'
else fail "is held out in part: $held of 10"; fi
like 'which is judged' '^distilled ' out
shard list -q alone/full/train >out
trained=$(awk 'on { n += $2 } /^source / { on = 1 } END { print n + 0 }' out)
if [ "$trained" -gt 0 ] && [ $((trained + held)) -le 10 ]; then
    pass 'and not trained on'
else fail "and not trained on: $trained and $held of 10"; fi
ok 'is as much when it is asked again' alone JUDGED_SHARE=30 report
status 2 'another share' alone JUDGED_SHARE=90 report
like 'is named' 'made with JUDGED_SHARE=30, not JUDGED_SHARE=90' err
status 2 'a share of no document' alone WORK="$work/none" JUDGED_SHARE=0.001 report
like 'is told, and what to type' 'HELD_OUT_TEXT.*JUDGED_SHARE' err
rm -rf alone none
status 2 'TEXT where UDHR was' recipe TEXT="$work/mine" HELD_OUT_TEXT="$work/other"
like 'is named' "was made with TEXT=, not TEXT=$work/mine$" err
own() {
    recipe WORK="$work/v" UDHR=none COMPUTE=avx512bf16 TEXT="$work/mine" \
        HELD_OUT_TEXT="$work/other" "$@"
}
ok 'own text' own
for run in err v/full/distilled/options.json; do
    like 'in bfloat16, as COMPUTE says' 'bfloat16 by avx512bf16|"compute": "avx' \
        "$run"
done
ok 'is read' shard check v/full/train
like 'a document a file, but for the one that is judged on' \
    '9 documents|documents.*9' out
like 'which is told' "^$work/mine/a.txt	0	a	$work/other/x.txt	0	13	" \
    v/full/shared.tsv
if [ -e v/full/text ]; then fail 'UDHR is not'; else pass 'UDHR is not'; fi
if [ -s v/full/report.html ]; then pass 'its page'; else fail 'its page'; fi
status 2 'without COMPUTE again' own COMPUTE=
like 'is named' 'distilled[*] was made with COMPUTE=avx512bf16, not COMPUTE=$' err
ok 'another prompt' own PROMPTS=en:xyzzy continue
like 'is gone on with' xyzzy out
like 'bits a byte of its one source' '^x  *[0-9.]+ ' v/full/bits.txt
equal '... are those of all' "$(sed -n 's/^all  *//p' v/full/bits.txt)" \
    "$(sed -n 's/^x  *//p' v/full/bits.txt)"
cp v/full/eval.tsv eval1
sed -n 13p "$top/corpus/en.jsonl" >other/y.txt
ok 'more to judge on' own report
if cmp -s eval1 v/full/eval.tsv; then fail 'is judged'; else pass 'is judged'; fi
status 0 'another text to judge on' own HELD_OUT_TEXT="$work/other/[y].t*"
cut -d ' ' -f 9-40 mine/5.txt >other/z.txt
status 2 'a text to judge on that was trained on' own report
like 'is refused: the text' "^$work/mine/5.txt	0	mine	$work/other/z.txt	0	13	" \
    err
like 'the remedy' '^these texts were trained on and share words with one' err
rm other/z.txt
status 2 'UDHR where TEXT was' recipe WORK="$work/v"
like 'is named' "was made with TEXT=$work/mine, not TEXT=$" err
like 'and what there was not' "was made with no UDHR, not UDHR=" err
status 2 'cloze items of one text' own WORK="$work/u" CLOZE=1 rival row
like 'are refused' '^make-cloze: x: [0-9]+ paragraphs' err
for f in pruned rival distilled; do
    if [ -e "u/full/$f" ]; then fail "before $f"; else pass "before $f"; fi
done
touch mine/3.txt
status 2 'a text changed behind it' own
like 'is named' "full was made before $work/mine/3.txt was changed" err
done_testing
