#!/bin/sh
# recipes/qwen.mk and recipes/runs.sh with a tiny model and small texts
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/results.sh"
. "$top/tests/lib/recipe.sh"

# --- packages, as they would be unpacked ---
p=w/packages
mkdir -p $p/en $p/held-out-en $p/py $p/held-out-py
for l in en:1 held-out-en:10; do
    sed -n "${l#*:},+6p" "$top/corpus/en.jsonl" |
        awk -F '"text": "' '{ gsub(/\\n/, " ", $2); n = split($2, s, /[.] /)
            printf "<html><body>"
            for (i = 1; i <= n; i++) print "<p>" s[i] ", and so on and so forth.</p>"
            print "</body>" }' >$p/${l%:*}/page.html
done
for d in py held-out-py; do
    for i in 1 2 3 4 5 6 7; do
        awk -v d=$d -v i=$i 'BEGIN { print "# file " i " of " d
            for (k = 0; k < 60; k++) printf "def %s_%d_%d(x):\n    " \
                "return x * %d\n\n", (d == "py" ? "f" : "other"), i, k, k * i }' \
            >$p/$d/m$i.py
    done
    echo 'x = 1' >$p/$d/small.py
done
for d in en held-out-en py held-out-py; do
    touch $p/$d.done
done
qwen() {
    run_recipe qwen FILES=40 VOCAB=290 PARAMS=30K \
        T=32 B=2 BATCHES=4 WARMUP=1 SAVE=2 CALIB_ROWS=2 CANDIDATES=0 CONTEXT=64 \
        PIECES='--max-doc 300 --split-long' PROMPTS="'py:def'" "$@"
}
ok 'the recipe runs on code and English' qwen
o=w/full
equal 'files of code are trained on but for the smallest' "$(cat $o/text/train/py.files/py/*.txt |
    grep -c '^# file . of py$')" 7
equal 'a tenth as many files are judged on' "$(find $o/text/held-out/py.files -type f |
    wc -l | tr -d ' ')" 4
equal 'bits.txt has a line for each language' "$(awk '{ print $1 }' $o/bits.txt | tr '\n' ' ')" \
    'bits/byte en py all '
like 'moments are kept in bfloat16' '"moments": *"bf16"' $o/distilled/options.json
twice qwen

# --- settings: one of each kind ---
mkdir mine other
sed -n 1,9p "$top/corpus/en.jsonl" | sed 's/.*"text": "//; s/"}$//; s/\\n/\n/g' \
    >mine/en.txt
sed -n 10,14p "$top/corpus/en.jsonl" | sed 's/.*"text": "//; s/"}$//; s/\\n/\n/g' \
    >other/x.txt
settings() {
    MAKEFLAGS='-s -o programs' "$top/recipes/runs.sh" RUNS="$work/runs.tsv" \
        BUILD="$BUILD" WORK="$work/s" RESULTS="$work/r" TEACHER="$gguf" \
        TEXT="$work/mine" HELD_OUT_TEXT="$work/other" "$@"
}
# sized RUN ...: at a size that takes seconds
sized() {
    settings VOCAB=290 SAVE=2 T=32 WARMUP=1 CALIB_ROWS=2 CONTEXT=32 \
        JUDGED_BYTES=4000 KEEP=1 BLOCKS=1 BATCHES=3 "$@"
}
names='plain alone reverse t1 no-squarehead top64 sampled lr1e-3 batch2 greedy'
names="$names joined calibrated staged-q4_0 qat-q4_0 masked"
# The tiny model has 128 positions.
{ sed "s/BENCH=20/BENCH='4 --prompt-length 32 -n 32'/" "$top/recipes/runs.tsv"; printf 'curve\tblocks-1\t-\tblocks\tBLOCKS=1
curve\tblocks-1-2\t-\tblocks\tBLOCKS=1 BATCHES=2\n'; } >runs.tsv
# shellcheck disable=SC2086 # words
ok 'one run of each kind is made' sized $names plain-2 t1-2
equal 'each run has a row' "$(awk -F '\t' '$2 == "distilled" { print $1 }' \
    r/settings.tsv | tr '\n' ' ')" "$names plain-2 t1-2 "
equal 'no two runs have the same figures' "$(awk -F '\t' '$2 == "distilled" { print $9 }' \
    r/settings.tsv | sort | uniq -d)" ''
equal 'the teacher has the same figures in all runs' "$(awk -F '\t' '$2 == "teacher" {
    print $9 }' r/settings.tsv | sort -u | wc -l | tr -d ' ')" 1
like 'a run by another seed has its seed in the row' '^plain-2	distilled	2	' r/settings.tsv
like 'a setting by another seed has both in the row' "^t1-2	distilled	2	.*TEMPERATURE='1' " r/settings.tsv
like 'a row names the setting of its run' "^t1	.*TEMPERATURE='1' " r/settings.tsv
for f in t1/full/pruned t1/full/vocab.gguf t1/full/train t1/full/train.done \
    lr1e-3/full/pruned; do
    if [ -L s/$f ]; then pass "s/$f is taken from plain"; else fail "s/$f is taken from plain"; fi
done
if [ -L s/greedy/full/vocab.gguf ] && [ ! -L s/greedy/full/pruned ]; then
    pass 'a run with another cut makes its own'
else fail 'a run with another cut makes its own'; fi
status 2 'a run that is not in the table is refused with status 2' sized t5
like 'the message names the run and how to list all' ' t5: .*runs.sh list' err
ok 'runs of the other recipe are made' sized WORK="$work/z" RESULTS="$work/z" \
    settings-reference/plain lr1e-4
equal 'runs of the other recipe have rows' "$(awk -F '\t' '$2 == "distilled" { print $1, $3 }' z/settings-reference.tsv |
    tr '\n' ',')" 'plain 1,lr1e-4 1,'
like 'rows name the other recipe' '	make -f recipes/reference.mk .*' z/settings-reference.tsv
cp r/settings.tsv before
# shellcheck disable=SC2086 # words
ok 'runs that have rows are not made again' sized $names
same 'no row is written again' before r/settings.tsv

# --- of docs/results.md's tables: a student that is ready, SmolLM2 by size ---
printf '# retort choice 1\nblock\tgroups\tchannels\n1\tall\t0-15\n' >choice
prune cut -q -m "$gguf" --choice choice --no-repair -o small &&
    convert -q small s/qwen2.5-coder-0.5b.gguf || exit 1
few() {
    settings VOCAB=290 B=2 T=32 WARMUP=1 SAVE=2 BATCHES=3 "$@"
}
printf '{"task_id": "a", "prompt": "def f():\\n", "entry_point": "f", "test": "x"}\n' \
    >problems.jsonl
solves=- problems='' missing=''
for p in python3 prlimit; do
    command -v $p >/dev/null || missing=$p
done
if [ -n "$missing" ]; then
    skip 'models solve problems' "no $missing"
else
    solves=0.000000 problems="HUMANEVAL=$work/problems.jsonl NEW=4"
    unshare -rn true 2>/dev/null || unshare -n true 2>/dev/null ||
        problems="$problems SANDBOX=--no-sandbox"
fi
# shellcheck disable=SC2086 # words
ok 'a ready student is distilled' few ready $problems
# Peaks of a run that ends, speed, solved problems.
awk -F '\t' -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $1 == "ready" { print $2, ($at["memory"] > 5), ($at["rate"] > 0),
        ($at["first_by"] > 0), $at["humaneval"] }' r/qwen.tsv | tr '\t\n' ' ,' >got
equal 'the row has memory, speed and problems solved' "$(cat got)" \
    "teacher 1 1 0 $solves,pruned 0 0 0 $solves,distilled 1 1 1 $solves,"
again r qwen >wrong
equal 'the row of a ready student is what lies beside it' "$(cat wrong)" ''
unlike 'the row of a ready student has no path of this machine' "$work" r/qwen.tsv
equal 'a ready student has rows of three models' "$(awk -F '\t' '$1 == "ready" { print $2, $4 }' r/qwen.tsv |
    tr '\n' ',')" 'teacher -,pruned -,distilled 192,'
o=s/ready/full
equal 'a ready student keeps its blocks' "$(tr -d ' \n' <$o/pruned/config.json |
    grep -o '"num_hidden_layers":[0-9]*')" '"num_hidden_layers":1'
convert -q $o/vocab.gguf ids
same "a ready student has the teacher's ids" $o/pruned/tokenizer.json ids/tokenizer.json
like 'the card of a ready student names the teacher' '^- taught by: f32.gguf, apache-2.0' \
    $o/distilled/README.md
like 'a ready student has fewer ids' '"vocab_size": *290' $o/pruned/config.json
like 'the row names READY without folders' " READY='qwen2.5-coder-0.5b.gguf' " r/qwen.tsv
ok 'runs by size and by tokens are made' settings T=256 B=1 WARMUP=1 CALIB_ROWS=2 BATCHES=3 \
    VOCAB= blocks-1 blocks-1-2
equal 'runs by size and by tokens have rows' "$(awk -F '\t' '$2 == "distilled" { print $1, $4 }' r/curve.tsv |
    tr '\n' ',')" 'blocks-1 768,blocks-1-2 512,'
gunzip -c r/curve/blocks-1.items.tsv.gz >items
like 'runs by size have scores of tasks' '^cloze	0	distilled	4	' items
status 1 'a curve of two runs ends with status 1' settings RESULTS="$work/r" curve
like 'the text says how many rows there are' 'rows 2, numbers 2' out
done_testing
