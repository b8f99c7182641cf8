#!/bin/sh
# generate run --best-of: which texts are kept, reward programs, and what a run
# that goes on writes
. "${0%/*}/../lib/lib.sh"

m=$top/tests/golden/gguf/f32-hf
# hash FILE: the hash of the model in FILE.options.json
hash() { sed -n 's/.*"model": "\(.*\)".*/\1/p' "$1.options.json"; }
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
    printf '{"prompt": "The river %s", "id": %s}\n' "$((i % 6))" "$i"
done >p.jsonl
sed 's/}$/, "n": 4}/' p.jsonl >four.jsonl
# A text's reward is the length of its JSON string modulo 4, less 1; null for
# some.  The program keeps what it reads, a file for each start.
cat >rewards.awk <<'END'
{
    x = $0
    sub(/.*"(completion|text)": ?"/, "", x)
    sub(/"(,.*|})$/, "", x)
    n = length(x)
    print n % 9 == 0 ? "null" : n % 4 - 1
}
END
cat >judge <<'END'
#!/bin/sh
n=$(ls seen | wc -l)
[ ! -e stop ] || [ "$n" -lt "$(cat stop)" ] || exit 7
cat >"seen/$n"
awk -f rewards.awk "seen/$n"
END
chmod +x judge
mkdir seen
# starts: how often the program was started
starts() {
    set -- seen/*
    [ -e "$1" ] || set --
    echo $#
}
# draw [OPTION ...]: texts, some of which end at an e
draw() {
    generate run -m "$m" -n 8 --temperature 1.2 -s 3 --stop e "$@"
}
best() { draw --prompts p.jsonl --best-of 4 --reward ./judge "$@"; }

# --- what is kept ---
ok 'four texts of each prompt are written' draw -q --prompts four.jsonl
mv out all
ok 'one text of each prompt is kept at most' best
mv out kept
mv err closing
awk -f rewards.awk all | paste - all | awk -F '\t' '
{
    match($2, /"id": [0-9]+/)
    id = substr($2, RSTART, RLENGTH)
    if (!(id in kept)) { ids[n++] = id; kept[id] = 0 }
    if ($2 !~ /"finish_reason": "length"/ && $1 != "null" && $1 > kept[id]) {
        kept[id] = $1
        line[id] = substr($2, 1, length($2) - 1) ", \"reward\": " $1 ".0}"
    }
}
END { for (i = 0; i < n; i++) if (kept[ids[i]] > 0) print line[ids[i]] }' |
    sed 's/"n": 4, //' >want
same 'the text that is kept has the highest reward, and ended by itself' want kept
lines=$(grep -c . kept)
ok 'prompts are kept and dropped in this test' [ "$lines" -gt 2 ]
ok 'a text other than the first is kept in this test' grep -q '"choice": [123]' kept
like 'the closing line counts prompts that are kept and dropped' \
    "prompts: $lines kept, $((14 - lines)) dropped, " closing
equal 'a program is started for a prompt and reads all of its texts' \
    "$(for f in seen/*; do sed 's/,"completion".*//' "$f" | sort | uniq -c; done |
        awk '{ print $1 }' | sort -u | tr '\n' ' ')$(grep -h -c . seen/* |
        sort -u)" '4 4'
equal 'a program is started once for a prompt' "$(cat seen/* |
    sed 's/.*"id":\([0-9]*\).*/\1/' | uniq -d | sort -u | grep -c .)" \
    "$(starts)"
for how in '--at-once 1' '--at-once 3 -j 1' '--at-once 100 --slice 2'; do
    # shellcheck disable=SC2086 # a list
    ok "texts are chosen with $how" best -q $how
    same "$how changes no byte of what is kept" kept out
done
ok 'texts are chosen without a program' draw --prompts p.jsonl --best-of 4
awk '{ match($0, /"id": [0-9]+/); id = substr($0, RSTART, RLENGTH) }
    !/"finish_reason": "length"/ && !(id in seen) { seen[id]; print }' all |
    sed 's/"n": 4, //; s/}$/, "reward": 1.0}/' >want
same 'without a program the first whole text is kept' want out
cut=$((14 - $(grep -c . want)))
like 'a note counts prompts whose texts were all cut off' \
    "^generate run: prompts dropped .* none .* ended within -n tokens: $cut$" err
ok 'some prompts have no whole text in this test' [ "$cut" -gt 0 ]
ok 'one text is drawn of each prompt' draw -q --prompts p.jsonl
grep -v '"finish_reason": "length"' out >want
ok 'one text is drawn, and kept if it is whole' draw -q --prompts p.jsonl --best-of 1
sed 's/, "reward": 1.0}/}/' out >got
same '--best-of 1 drops the texts that were cut off' want got
rm -f seen/*
ok 'no text of a prompt ends' draw -q --prompts p.jsonl -n 1 --stop xyz \
    --best-of 3 --reward ./judge
equal 'a program is not started for texts that are all cut off' \
    "$(starts) $(grep -c . out)" '0 0'
ok 'more texts of a prompt are drawn than are pending at a time' draw -q \
    --prompts p.jsonl --count 1 --at-once 1 --best-of 40
ok 'empty prompts have a best text too' draw -q --count 3 --best-of 4 \
    --reward "awk '{ print 2.5 }'"
like 'a reward is a member of the line' '"reward": 2.5}' out

# --- a run that goes on ---
best -q --resume whole
same 'a file has the lines of standard output' kept whole
equal 'a line has the hash of the model' \
    "$(sed 's/.*"model": "\([0-9a-f]*\)".*/\1/' whole | sort -u)" "$(hash whole)"
: >empty
for n in $(seq 0 "$lines"); do
    { head -n "$n" whole; sed -n "$((n + 1))p" whole | head -c 30; } >part
    cp whole.options.json part.options.json
    ok "a file of $n lines and a half is continued" best --resume part
    same "a file of $n lines gets the bytes of one run" whole part
done
like 'a whole file is counted as it was made' \
    "prompts: $lines kept, $((14 - lines)) dropped, " err
rm -f seen/* part part.options.json
echo 5 >stop
status 1 'a program that fails ends the run' best -q --resume part
like 'the message names prompt, program and status' \
    '^generate run: p.jsonl: line [0-9]+: reward program .\./judge.: ended with status 7' err
rm stop
n=$(grep -c . part)
head -n "$n" whole >want
same 'lines of earlier prompts are kept' want part
ok 'a run goes on when its program works again' best -q --resume part
same 'it gets the bytes of one run too' whole part
ok 'nothing was lost in this test' [ "$n" -gt 0 ]
head -n 2 whole >part
for with in '-s 4' '--best-of 3' '--reward true' '-n 9'; do
    # shellcheck disable=SC2086 # a list
    status 2 "a file is not continued with $with" best -q --resume part $with
done
head -n 2 whole >want
same 'a file that is refused stays as it is' want part
status 2 'lines of another seed are refused' best -q --resume whole -s 4
like 'the refusal names the line' 'whole: line 1: belongs to none of the prompts' err
tail -n 2 whole >part
status 2 'a file that lacks prompts and has other options is refused' \
    best -q --resume part -n 9
rm part.options.json
head -n 2 whole >part
status 2 'a file without its options is refused with others' best -q --resume part --temperature 0.3
like 'the refusal names the last line' 'part: line 2: was made with another' err
ok 'a file without its options goes on with the same' best --resume part
same 'a file without its options gets the bytes of one run' whole part
like 'the text that is made again is not counted' \
    "prompts: $lines kept, $((14 - lines)) dropped, " err

# --- lines that are read again ---
ok 'lines that were kept are prompts again' generate run -q -m "$m" -n 8 -s 9 \
    --stop e --prompts whole --best-of 4 --reward ./judge
# members FILE: the parts of its lines in one order, as a line that is read again
# has some of its members in another
members() { awk '{ gsub(/[{},] */, "\n"); print }' "$1" | sort; }
members out >got
members whole >want
same 'seed and temperature of a line make its choice again' want got
draw -q --prompts p.jsonl >out
grep -v '\\u0000' out >one # NUL is refused in a prompt
ok 'lines of texts are prompts again' generate run -q -m "$m" -n 8 --stop e \
    --prompts one
same 'a line makes its text again' one out
ok 'lines that were kept are prompts of one text' generate run -q -m "$m" -n 8 \
    --prompts whole --resume again
unlike 'a line keeps no reward of another text' 'reward|choice' again
head -n 2 again >part
mv again.options.json part.options.json
ok 'a file made of lines is continued' generate run -q -m "$m" -n 8 \
    --prompts whole --resume part
same 'a file made of lines gets the bytes of one run' again part

# --- what is refused ---
status 2 'a program without --best-of is refused' draw -q --prompts p.jsonl \
    --reward true
like 'the refusal names --best-of' '[-]-best-of' err
status 2 'an operand has no best text' draw -q --best-of 2 the
status 3 'a line that asks for texts itself is refused' draw -q \
    --prompts four.jsonl --best-of 3
like 'the refusal names the line, n and --best-of' \
    'four.jsonl: line 1: n: the line asks for 4 texts, and --best-of for 3' err
ok 'a line that asks for as many texts is taken' draw -q --prompts four.jsonl \
    --best-of 4
status 3 'a program that writes no number ends the run' draw -q \
    --prompts p.jsonl --best-of 4 --reward 'sed s/.*/good/'
like 'the message names what it writes' "reward program .*line 1: 'good'" err
status 1 'a program that hangs ends the run' draw -q --prompts p.jsonl \
    --best-of 4 --reward 'sleep 60' --reward-time 0.3
like 'the message names --reward-time' '[-]-reward-time' err
ok 'a greedy run of several texts is made' generate run -q -m "$m" -n 4 \
    --prompts p.jsonl --best-of 2
like 'a greedy run of several texts is warned of' 'temperature 0' err
done_testing
