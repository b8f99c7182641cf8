#!/bin/sh
# retort distil with a tiny teacher: the plan, a whole run, a run that is
# stopped and goes on, what is refused, where it runs from
. "${0%/*}/../lib/lib.sh"
export RETORT_SHAREDIR="$top"
gguf=$top/tests/golden/gguf/f32.gguf
# Sizes that a tiny model takes, as variables of the recipe.
export T=32 B=2 WARMUP=1 SAVE=40 CALIB_ROWS=2 REPAIR_ROWS=4 CONTEXT=32 \
    JUDGED_SHARE=30

mkdir mine other empty
for i in 1 2 3 4 5 6 7 8 9; do
    sed -n "${i}s/.*\"text\": *\"\\([^\"\\\\]*\\).*/\\1/p" "$top/corpus/en.jsonl" \
        >mine/$i.txt
done
sed -n 10,12p "$top/corpus/en.jsonl" >other/x.jsonl

# distil ARGUMENT ...: with the tiny teacher
distil() { retort distil -m "$gguf" --params 30K "$@"; }
# steps FOLDER: those of its log
steps() { sed 1d "$1/full/distilled/metrics.tsv" | cut -f 1 | tr '\n' ' '; }
nothing() { # nothing WHAT: no folder of a run is there
    equal "no folder is left by $1" "$(find . -name '*distilled*' -o -name w)" ''
}

# --- wrong arguments ---
refused() { # refused WHAT PATTERN ARGUMENT ...: with status 2
    what=$1 pattern=$2
    shift 2
    status 2 "$what is refused" retort distil "$@"
    like "the message says why $what is refused" "$pattern" err
}
refused 'a run without a teacher' '-m names the teacher' mine
refused 'a run without text' 'name the text' -m "$gguf"
refused 'a student of two sizes' '--ratio, --params and --into' -m "$gguf" \
    --ratio 0.5 --params 30K mine
refused 'a run of two lengths' '--max-time and --tokens' -m "$gguf" \
    --max-time 1h --tokens 1K mine
refused 'a ratio above 0.95' 'ratio' -m "$gguf" --ratio 1.5 mine
refused 'a time of seconds' '10 seconds are too short.* 30m' -m "$gguf" \
    --max-time 10 mine
refused 'a count that is none' 'many. is not a number' -m "$gguf" --params many mine
mkdir 'a b'
refused 'a text with a space in its path' "a b: .* character ' '.* link" \
    -m "$gguf" 'a b'
refused 'a folder with a space in its path' "-o: w 1: .* link" \
    -m "$gguf" -o 'w 1' mine
refused 'a folder that holds other files' 'other: holds other files' \
    -m "$gguf" -o other mine
status 1 'a text that is not there is refused' distil mine none
like 'the message names the text that is not there' '^retort distil: none: ' err
status 1 'a teacher that is not there is refused' retort distil -m ./no/model mine
like 'the message says what a teacher may be' \
    '[.]/no/model: .*\.gguf.*hf:ORG/NAME.* names' err
status 1 'a text in the place of the teacher is refused' retort distil -m mine/1.txt mine
like 'the message says what the text is not' \
    'mine/1.txt: is neither a folder nor a .gguf file; .* names' err
status 1 'a teacher of another name is refused' retort distil -m smollm9 mine
like 'the message lists the names of scripts/get-model' 'get-model: .*smollm2-135m' err
status 3 'a folder without text is refused' distil mine empty
like 'the message names the folder without text' 'empty: holds no text' err
status 3 'a folder to judge on without text is refused' distil --held-out empty mine
status 1 'a student to distil into that is not there is refused' \
    retort distil -m "$gguf" --into none mine
status 1 'a run without make is refused' \
    env PATH="$PWD/empty" "$BUILD/bin/retort" distil -m "$gguf" mine
like 'the message says that make is missing' 'make is not installed' err
status 1 'a retort without recipes is refused' sh -c \
    'mkdir -p far/bin && cp "$1" far/bin/retort && unset RETORT_SHAREDIR &&
     far/bin/retort distil -m "$2" mine' sh "$BUILD/bin/retort" "$gguf"
like 'the message says where recipes are looked for' RETORT_SHAREDIR err
nothing 'what was refused'

# --- the plan ---
ok 'a dry run ends with status 0' distil --tokens 400 --dry-run mine
cp out plan
o=f32-distilled
like 'the plan says what is left of the teacher' \
    "^$o: 30 thousand of the teacher's 34.3 thousand parameters" plan
like 'the plan says how many tokens and steps' '^  tokens   448, in 7 steps' plan
like 'the plan says how much of the text is trained on' \
    '^  text     (is trained on [0-9.]+ times|[0-9.]+ % of it is)' plan
like 'the plan has the time of each stage' \
    '^  time  .* text [0-9]+ s, prune .*, distil .*, judge .*, write ' plan
like 'the plan says what memory is needed and available' \
    '^  memory   [0-9.]+ MB, of [0-9.]+ [MG]B that are available' plan
like 'the plan says what disk is needed and free' \
    '^  disk     [0-9.]+ [kM]B, of [0-9.]+ [MG]B that are free' plan
equal 'the plan ends with the word that it fits' "$(tail -n 1 plan)" '  fits'
if [ -e $o/full/train.done ]; then fail 'a dry run makes no tokens'
else pass 'a dry run makes no tokens'; fi

# --- a run ---
ok 'the same command without --dry-run makes the run' distil --tokens 400 mine
head -n 2 out >got
head -n 2 plan >want
same 'the run begins with the same plan' got want
like 'a table compares the student with the teacher' '^distilled  ' out
like 'the table has what training won back' '^model .* won back' out
like 'a table compares the student with the cut model' '^distilled +pruned +loss ' out
like 'the end says how long the run took' '^time:   [0-9.]+ min' out
like 'the end has the sizes of student and teacher' \
    'student[.]gguf \(Q8_0, 0[.0-9]+ MB; teacher: 0[.0-9]+ MB\)' out
unlike 'a student whose file is smaller is not made smaller' '^smaller:' out
same 'the student that is judged is the file' $o/student.gguf $o/full/distilled.gguf
equal 'teacher and student continue text that is held out' \
    "$(sed -n '/^Held-out text/,/^page/p' out | grep -c '^  teacher  \|^  distilled  ')" \
    "$(($(grep -c '' $o/full/prompts.txt) * 2))"
sed 's/^[0-9]*://; s/"/\\"/g' $o/full/prompts.txt >beginnings
equal 'what they continue is in the held-out documents' \
    "$(while IFS= read -r p; do grep -cF -- "$p" $o/full/held-out.jsonl
    done <beginnings | sort -u)" 1
like 'the end says how to make the student write' \
    "^write:  retort generate run -m ./$o/student.gguf '..*'" out
for f in report.html student/config.json student.gguf; do
    if [ -s $o/$f ]; then pass "the run has made $f"
    else fail "the run has made $f"; fi
done
ok 'the student is a model' plan run -q -m $o/student -B 1 -T 32
ok 'the student is a .gguf file too' generate run -q -m $o/student.gguf -n 3 x
unlike 'no line of make or its programs is printed' 'make|clean|student 0' err
like 'what programs said is in the log' '^student 0' $o/log
cp $o/student/metrics.tsv before
ok 'the command again ends with status 0' distil --tokens 400 mine
same 'the command again trains nothing' before $o/student/metrics.tsv
find $o/full -type f -exec cksum {} + | sort >before

# --- other settings ---
other() { # other WHAT PATTERN ARGUMENT ...: refused, and changes nothing
    what=$1 pattern=$2
    shift 2
    status 2 "$what in the same folder is refused" retort distil -m "$gguf" "$@"
    like "the message says what it was before $what" "$pattern" err
    like "the message says what to do about $what" \
        "$o was made by other arguments: .* by -o" err
    find $o/full -type f -exec cksum {} + | sort >after
    same "nothing is changed by $what" before after
}
other 'another size' 'made with --params 30000, not --params 29000' --params 29K \
    --tokens 400 mine
other 'another text' 'made with text mine, not text mine other' --params 30K \
    --tokens 400 mine other
other 'another type of products' \
    'made with --compute (f32|amx|avx512bf16), not --compute bfmmla' \
    --params 30K --tokens 400 --compute bfmmla mine
other 'fewer tokens' 'has 448 tokens, more than --tokens 300' --params 30K \
    --tokens 300 mine
ok 'without a length the finished run stays as it is' distil mine
equal 'the run without a length has its steps' "$(steps $o)" '1 2 3 4 5 6 7 '
ok 'more tokens make the run longer' distil --tokens 512 mine
equal 'the longer run goes on from its last step' "$(steps $o)" '1 2 3 4 5 6 7 8 '

# --- stopped, and going on ---
# The run is so long that it is stopped each time.
set -- distil -m "$gguf" --params 30K --tokens 30M -o long mine
metrics=long/full/distilled/metrics.tsv
# trained STEP: the long run has that many steps
trained() { [ "$(tail -n 1 "$metrics" | cut -f 1)" -ge "$1" ]; }
retort "$@" >out1 2>err1 &
pid=$!
ok 'a long run begins to train' await sh -c 'ls -d long/full/distilled/step-*'
status 1 'another run in the folder at work is refused' retort "$@"
like 'the message says that the folder is in use' 'long: another run' err
kill -INT $pid
rc=0
wait $pid || rc=$?
equal 'a run that is stopped ends with status 5' $rc 5
like 'the stopped run says how to go on' 'stopped; the same command goes on' err1
if [ -e long/full/distilled/config.json ]; then
    fail 'the stopped run is not at its end'
else pass 'the stopped run is not at its end'; fi
last=$(tail -n 1 $metrics | cut -f 1)
retort "$@" >out1 2>err1 &
pid=$!
ok 'the same command goes on' await trained $((last + 1))
kill -INT $pid
wait $pid
equal 'the run that went on has each step once' \
    "$(sed 1d $metrics | cut -f 1)" "$(seq "$(sed 1d $metrics | wc -l)")"
like 'the stopped run went on from a checkpoint' 'going on from|step-|after step' long/log
if has_terminal; then
    terminal "stty cols 120; echo \$\$ >pid; exec retort distil -m '$gguf' --params 30K \
        --tokens 30M -o long mine" &
    pid=$!
    ok 'a line of progress names the stage and the time left' await grep -E \
        'stage 3/5, distil.* of 469 k steps .*[0-9]:[0-9]+ left' screen
    kill -INT "$(cat pid)"
    wait $pid
else
    skip 'a line of progress names the stage' 'no terminal'
fi
rm -r long

# --- a time instead of tokens ---
timed() { distil -o timed --max-time "$@"; }
ok 'a run of some time is planned' timed 1h --dry-run mine
# Steps as slow as those of a large model
awk '$1 == "time.blocks" { $2 = 2 } $1 == "time.teacher" { $2 = 0.1 }
    $1 == "time.step" { $2 = 2.2 } $1 == "time.waited" { $2 = 0 } { print }' timed/full/measured >slow
sleep 1
cp slow timed/full/measured
ok 'a run of some time is planned by slow steps' timed 10m --dry-run mine
n=$(sed -n 's/^  tokens .* in \([0-9]*\) steps.*/\1/p' out)
# 570 s, without what is not training; a step is of two rows
if [ "$n" -gt 100 ] && [ "$n" -lt 190 ]; then
    pass 'as many steps are planned as the time has'
else fail "as many steps are planned as the time has: $n"; fi
like 'the number of steps is kept' "^BATCHES=$n$" timed/full/length
ok 'a longer time is planned' timed 20m --dry-run mine
more=$(sed -n 's/^BATCHES=//p' timed/full/length)
if [ "$more" -gt $((n * 19 / 10)) ]; then pass 'a longer time has more steps'
else fail "a longer time has more steps: $n, $more"; fi
status 1 'a time that is too short is refused' timed 1m --dry-run mine
like 'the message says how long the time should be' \
    'too short: .* --max-time [0-9]+m or longer' err
if [ -e timed/full/measured ]; then
    fail 'steps are measured again after a refusal'
else pass 'steps are measured again after a refusal'; fi
sleep 1
cp slow timed/full/measured
ok 'the time of before is taken again' timed 10m --dry-run mine
equal 'the same time has the same steps' \
    "$(sed -n 's/^BATCHES=//p' timed/full/length)" "$n"
ok 'a run of some time ends' timed 10m mine
equal 'the run of some time has its steps' \
    "$(tail -n 1 timed/full/distilled/metrics.tsv | cut -f 1)" "$n"
status 1 'a shorter time for the finished run is refused' timed 5m mine
like 'the message says how many steps the run has' "has $n steps" err
status 1 'a time that is too short for the finished run is refused' \
    timed 1m --dry-run mine
same 'a run that has begun keeps its times after a refusal' slow \
    timed/full/measured
ok 'the finished run is planned without a time' distil -o timed --dry-run mine
ok 'the command of the finished run is still taken' timed 10m mine
equal 'the finished run has the steps of before' \
    "$(tail -n 1 timed/full/distilled/metrics.tsv | cut -f 1)" "$n"
rm -r timed

# --- other programs at work ---
busy() { # busy SHARE: steps were measured beside other programs
    awk -v share="$1" '$1 == "time.waited" { $2 = share } { print }' slow >now
    rm -rf busy/full/train.done
    cp now busy/full/measured
    ok "a run is planned with $1 % for other programs" distil -o busy \
        --tokens 400 --dry-run mine
}
ok 'a run is planned that is measured again' distil -o busy --tokens 400 --dry-run mine
busy 14
unlike 'few other programs are not named' '^  busy ' out
same 'steps beside few other programs are not measured again' now busy/full/measured
busy 50
if cmp -s now busy/full/measured; then
    fail 'steps beside many other programs are measured again'
else pass 'steps beside many other programs are measured again'; fi
touch busy/full/train.done
cp now busy/full/measured
ok 'a run that has begun is planned' distil -o busy --tokens 400 --dry-run mine
like 'other programs are named' '^  busy .* 50 % of the processors' out
same 'a run that has begun keeps what was measured' now busy/full/measured
rm -r busy

# --- what does not fit ---
awk '$1 == "memory" { $2 = 9000; $3 = "TB" } { print }' $o/full/measured >large
sleep 1
cp large $o/full/measured
status 1 'a run that does not fit in memory is refused' distil --tokens 512 mine
like 'the plan says what to change' '^  does not fit in memory: .* smaller' out
unlike 'the plan does not say that it fits' '^  fits' out
rm -r $o

# --- other texts, teachers, students and places ---
sed -n 's/.*"text": *"\([^"\\]*\).*/\1/p' "$top"/corpus/??.jsonl |
    head -n 60 >book.txt
ok 'a run of a single file holds a part of it out' distil -o book \
    --tokens 200 book.txt
held=$(grep -c '"key":' book/full/held-out.jsonl)
if [ "$held" -gt 0 ] && [ "$held" -lt 20 ]; then
    pass 'some pieces of the single file are held out'
else fail "some pieces of the single file are held out: $held"; fi
status 2 'a student as large as its teacher is refused' retort distil \
    -m "$gguf" --params 1M -o whole mine
like 'the message says how large both are' \
    'params 1 M: the teacher has 0[.]03434 M' err
equal 'such a student is refused before steps are measured' \
    "$(ls whole/full/measured 2>/dev/null)" ''
ok 'a teacher of 4 bits a weight is distilled' retort distil \
    -m "$top/tests/golden/gguf/q4_0.gguf" --params 33K -o few --tokens 200 mine
equal 'the weights of its student have 5 to 6 bits' \
    "$(grep -x 'ROUND=.*' few/full/judged)" ROUND=q5_k_m
equal 'those of a student of a teacher in fp32 have 8' \
    "$(grep -x 'ROUND=.*' book/full/judged)" ROUND=q8_0
like 'the end says how a larger file becomes smaller' \
    '^smaller: retort convert --dtype q4_k_m few/student few/small.gguf' out
ok 'text that is held out is named' distil --tokens 200 --held-out other mine
if [ -e $o/full/held-out.jsonl ]; then
    fail 'no share of the text is held out then'
else pass 'no share of the text is held out then'; fi
ok 'a model is distilled into another' retort distil -m "$gguf" -o into \
    --into $o/student --tokens 200 mine
like 'the plan has no time for cutting' 'text [0-9]+ s, copy ' out
mkdir -p hub/models--org--tiny/snapshots/0123 hub/models--org--tiny/refs
cp "$top"/tests/golden/gguf/f32-hf/* hub/models--org--tiny/snapshots/0123
printf 0123 >hub/models--org--tiny/refs/main
ok 'a teacher of the Hugging Face cache is planned' env HF_HUB_CACHE=hub \
    retort distil -m hf:org/tiny --params 30K --tokens 200 --dry-run mine
if [ -d tiny-distilled ]; then
    pass 'the folder of that run has the name of the teacher'
else fail 'the folder of that run has the name of the teacher'; fi
status 1 'a teacher that cannot be fetched ends the run' env PIP=false \
    retort distil -m smollm2-135m -o fetched mine
like 'the message says where the teacher comes from' 'smollm2-135m: .*licence' err
# --- installed, with a prefix ---
if [ "$BUILD" = "$top/build" ]; then
    unset RETORT_SHAREDIR
    mkdir away
    ok 'a run of the source tree goes from another folder' sh -c 'cd away &&
        retort distil -m "$1" --params 30K --tokens 200 ../mine' sh "$gguf"
    make -s -C "$top" install PREFIX="$PWD/usr" PROGPREFIX=r- || exit 1
    ok 'an installed retort distils' env -u BUILD PATH=/usr/bin:/bin \
        usr/bin/r-retort distil -m "$gguf" --params 30K --tokens 200 \
        -o installed mine
    like 'the installed retort names itself' \
        '^write:  usr/bin/r-retort generate run -m installed/student.gguf' out
else
    skip 'an installed retort distils' 'tested for the plain build only'
fi
done_testing
