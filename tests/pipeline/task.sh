#!/bin/sh
# recipes/task.mk with tiny models, scripts/task, and the two tasks of
# recipes/tasks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/recipe.sh"

command -v python3 >/dev/null || {
    skip 'recipes/task.mk' 'no python3'
    done_testing
}
task() { "$top/scripts/task" "$@"; }
# lines FILE: their number
lines() { grep -c . "$1"; }

# --- the tasks that are shipped ---
tasks=$top/recipes/tasks
mkdir made
ok 'make-tasks writes the tasks' "$tasks/make-tasks" made
for f in dates dates-judged orders orders-judged; do
    same "$f.jsonl is as make-tasks writes it" "$tasks/$f.jsonl" made/$f.jsonl
done
# answered FILE [SHIFT]: the lines of FILE as a reward program reads them, each
# with its answer as completion, or with that of the line SHIFT after it; as
# member answer the right one, unless SHIFT is given
answered() {
    sed 's/^{"prompt": /{"question": /' "$1" | awk -v shift="${2:-}" '
        { at = index($0, ", \"completion\": ")
          question[NR] = substr($0, 1, at - 1)
          answer[NR] = substr($0, at + 16, length($0) - at - 16) }
        END { for (i = 1; i <= NR; i++)
            print question[i] ", \"completion\": " \
                answer[(i + shift - 1) % NR + 1] \
                (shift == "" ? ", \"answer\": " answer[i] : "") "}" }'
}
for t in dates orders; do
    for f in $t $t-judged; do
        answered "$tasks/$f.jsonl" >sent
        ok "$t-reward pays the answers of $f" "$tasks/$t-reward" <sent
        equal "all answers of $f are right" "$(sort -u out)" 1
        answered "$tasks/$f.jsonl" 0 >sent
        ok "$t-reward reads the questions of $f" "$tasks/$t-reward" <sent
        equal "$t-reward finds the answers of $f in the questions" \
            "$(sort -u out)" 1
        answered "$tasks/$f.jsonl" 1 >sent
        ok "$t-reward reads wrong answers of $f" "$tasks/$t-reward" <sent
        equal "$t-reward does not pay the answer of another question of $f" \
            "$(sort -u out)" 0
    done
    # Words in a row that both files have, at most.
    ok "a question of $t to judge by is none of those shown" clean -q \
        --field prompt --exclude "$tasks/$t-judged.jsonl" --exclude-words 8 \
        --stats --format json "$tasks/$t.jsonl"
    unlike "examples of $t share no words with those to judge by" exclude out
done
while IFS='|' read -r paid completion question; do
    printf '{"question": "%s", "completion": %s}\n' "$question" "$completion" |
        "$tasks/dates-reward" >>paid
    echo "$paid" >>wanted
done <<'END2'
1|"2021-05-03"|On May 3rd, 2021 it rained.
1|" 2021-05-03\n"|On May 3rd, 2021 it rained.
0|"2021-05-03."|On May 3rd, 2021 it rained.
0|"2021-03-05"|On May 3rd, 2021 it rained.
0|"2021-02-30"|30 February 2021
0|"2021-05-03"|On 3/5/2021 it rained.
1|"2021-05-21"|the twenty-first of May 2021
0|"2021-05-01"|the twenty-first of May 2021
0|"2021-05-20"|the twenty-first of May 2021
1|"2013-08-08"|Valid until 8-Aug-13
0|"2021-03-03"|They married on 3 May 2021.
0|""|On May 3rd, 2021 it rained.
END2
same 'dates-reward tells right dates from others' wanted paid
rm paid wanted
a='"name": "Jo Ray", "city": "Bonn"'
while IFS='|' read -r paid object; do
    printf '{"question": "%s", "completion": %s}\n' \
        'Bitte zwei Hüte, je 1,50 Euro, an Jo Ray in Bonn, Weg 7.' \
        "$(printf '%s' "$object" | sed 's/"/\\"/g; s/.*/"&"/')" |
        "$tasks/orders-reward" >>paid
    echo "$paid" >>wanted
done <<END2
1|{$a, "count": 2, "price": 1.5}
1|{$a, "count":2,"price":1.50}
0|{$a, "count": 7, "price": 15}
0|{$a, "count": 3, "price": 1.5}
0|{$a, "count": "2", "price": 1.5}
0|{$a, "count": true, "price": 1.5}
0|{$a, "count": 2}
0|{"name": "Jo", "city": "Ray", "count": 2, "price": 5}
0|{"name": "Ray Jo", "city": "Bonn", "count": 2, "price": 1.5}
0|$a
END2
same 'orders-reward tells right objects from others' wanted paid

# --- scripts/task ---
# table NAME RIGHT OF: a table of judged texts, of which the first are right
table() {
    awk -v k="$2" -v n="$3" 'BEGIN { for (i = 0; i < n; i++)
        printf "%d\t%d\t\"x\"\n", i, (i < k) }' >"$1.tsv"
}
# From R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
for c in '81 263 25.5 to 36.6' '15 148 6.2 to 16.0' '0 20 0.0 to 16.1' \
    '1 29 0.6 to 17.2'; do
    # shellcheck disable=SC2086 # words
    set -- $c
    table a "$1" "$2"
    task table a=a.tsv b=a.tsv >out
    like "the interval of $1 of $2 is Wilson's" "^a  .* $3 to $5 " out
done
table a 60 100
awk -F '\t' -v OFS='\t' '{ $2 = ($1 < 45 || $1 >= 95) + 0; print }' a.tsv >b.tsv
task table a=a.tsv b=b.tsv >out
# 15 and 5 differ: d = -10/102, se = sqrt(21 - 100/102) / 102
like 'a difference is paired, with the interval of Agresti and Min' \
    '^b less a  * -10.0  * -18.4 to -1.2$' out
like 'the share of the right answers is that of the first' \
    '^b, of the right answers of the a: 83 %$' out
echo '{"prompt": "1 + 1 =", "completion": " 2"}' >line
for i in 1 2 3 4 5 6 7 8 9; do
    printf '{"prompt": "%s + 1 =", "completion": "%s", "n": %s}\n' $i $((i + 1)) $i
done >sums.jsonl
mkdir s
ok 'examples are split by seed' task split --share 34 --seed 5 sums.jsonl s
equal 'a third of nine examples judges' "$(lines s/judged.jsonl) $(lines s/shown.jsonl)" '3 6'
sort s/judged.jsonl s/shown.jsonl | sed 's/.*"question": "\([^"]*\)".*/\1/' |
    sort -u >got
sed 's/.*"prompt": "\([^"]*\)".*/\1/' sums.jsonl | sort >want
same 'each example is shown or judges' want got
like 'other members of an example are kept' '"n": [1-9]' s/judged.jsonl
# wrong WHY WORDS LINE: an example that is refused
: >empty
status 1 'no question is refused' task ask s empty
like 'the message says that no question is left' 'empty: no question is left' err
wrong() {
    { cat sums.jsonl; printf '%s\n' "$3"; } >bad.jsonl
    status 1 "$1 is refused" task split bad.jsonl s
    like "the message names the line: $1" "bad.jsonl: $2" err
}
wrong 'an example without a completion' 'line 10: an example is ' '{"prompt": "x"}'
wrong 'an example that is no JSON' 'line 10: not JSON' '{"prompt": "x"'
wrong 'an example that is no object' 'line 10: not an object' '[1]'
wrong 'an example with an empty completion' 'line 10: an empty' \
    '{"prompt": "x", "completion": " "}'
wrong 'a question that comes twice' 'lines 3 and 10 have the same question' \
    '{"prompt": "3  +  1 =", "completion": "4"}'
wrong 'a conversation of several turns' 'line 10: an example is ' \
    '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]}'
wrong 'another message of the system' 'line 10: another message of the system' \
    '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}'
: >bad.jsonl
status 1 'a file without examples is refused' task split bad.jsonl s
like 'the message says that there are no examples' 'bad.jsonl: no examples' err
status 1 'too few examples are refused' task split --least 8 sums.jsonl s
like 'the message says how many examples there are' '6 examples to show and 3 to judge by: 8 and 1 are needed' err
head -n 2 sums.jsonl >same.jsonl
status 1 'an example to judge by that is shown too is refused' task split --judged same.jsonl sums.jsonl s
like 'the message has that example' 'this question is in sums.jsonl too: "1 [+] 1 ="' err
task split --share 34 --seed 5 sums.jsonl s 2>err
task ask --shots 2 s s/judged.jsonl >out
equal 'a plain prompt has the examples before the question' "$(head -n 1 out |
    sed 's/.*"prompt": "\(.*\)"}$/\1/; s/[0-9][0-9]*/N/g')" \
    'N + N =\nN\n\nN + N =\nN\n\nN + N =\n'
echo '{"prompt": "20 + 1 ="}' >asked
task ask --chat s asked >out
like 'a question is asked' '"messages": .{"role": "user", "content": "20 . 1 ="}.}$' out
printf '{"id": 0, "question": "q", "answer": "a  b", "text": "a b\\n"}\n{"id": 1, "question": "r", "answer": "c", "text": "d"}\n' >texts
ok 'texts are judged by their answers' task judge texts
equal 'white space does not count' "$(cut -f 1,2 out | tr '\t\n' ' ,')" '0 1,1 0,'
for w in "exit 3|failed with status 3" "echo 1|wrote 1 lines for 2 texts" \
    "echo 1; echo x|wrote something else than a number or null" \
    "echo 1; echo nan|wrote something else than a number" \
    "echo 1; echo null|wrote null for a judged example: \"r\""; do
    status 1 "a reward program is refused: ${w%|*}" task judge --by "${w%|*}" texts
    like "the message names the reward program: ${w%|*}" "reward program \"${w%|*}\" ${w#*|}" err
done
status 2 'scripts/task without a command is refused' task
status 2 'scripts/task with another command is refused' task help

# --- tiny models ---
# The teacher says <question>, four numbers and </question> to everything: this
# is how generate run --ask wants a question, and the answer that REWARD wants.
convert -q "$top/tests/golden/gguf/chat.gguf" tok
rm tok/model.safetensors tok/config.json
cat >tok/chat_template.jinja <<'EOF'
{% for m in messages %}<|im_start|>{{ m['role'] }}
{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}
EOF
sed -i '/"chat_template"/,/^  \]/d; s/"model_max_length": 128,/"model_max_length": 2048/' \
    tok/tokenizer_config.json
llama config.json vocab_size 300 hidden_size 32 intermediate_size 64 \
    num_attention_heads 4 num_key_value_heads 2 initializer_range 0.05 \
    bos_token_id 1 eos_token_id 2
# The awks differ in rand().
awk 'function draw(n) { x = x * 16807 % 2147483647; return int(x * n / 2147483647) }
    BEGIN { x = 1
    letters = "3456789 abcdefghij 3456789 klmnopqrs 3456789 .</>"
    for (i = 0; i < 400; i++) {
        chat = ""
        for (k = 1 + draw(3); k > 0; k--) {
            user = says = ""
            for (j = draw(40); j > 0; j--)
                user = user substr(letters, 1 + draw(46), 1)
            for (j = 0; j < 4; j++) says = says " " 3 + draw(7)
            says = "<question>\\n" says "\\n</question>"
            chat = chat (chat == "" ? "" : ",") \
                "{\"role\": \"user\", \"content\": \"" user "\"}," \
                "{\"role\": \"assistant\", \"content\": \"" says "\"}"
        }
        print "{\"messages\": [" chat "]}"
    } }' >say.jsonl
tokenize -q -t tok --chat say.jsonl | shard write -q -o say
ok 'a tiny teacher is trained' sh -c 'stream -q -B 8 -T 256 --batches 120 say |
    student -q -m config.json -t tok -o able --lr 1e-2'
ok 'a tiny student is made' sh -c 'stream -q -B 8 -T 256 --batches 1 say |
    student -q -m config.json -t tok -o small -s 3'
for i in 1 2 3 4 5 6 7 8 9; do
    printf '{"prompt": "%s", "completion": "<question>\\n 3 4 5 6\\n</question>"}\n' \
        "$i and $i and more of it $i $i"
done >examples.jsonl

echo '{ print /"completion": ?"<question>/ ? 1 : 0 }' >judge.awk

# recipe [VARIABLE=value ...] [target]
recipe() {
    make -s --no-print-directory -C "$top" -f recipes/task.mk -o programs \
        BUILD="$BUILD" WORK="$work/w" TEACHER="$work/able" \
        STUDENT="$work/small" EXAMPLES="$work/examples.jsonl" SMOKE=1 NEW=40 \
        REWARD="awk -f $work/judge.awk" SAVE=1 EPOCHS=2 "$@"
}
ok 'the recipe makes all its steps' recipe
o=w/smoke
like 'the teacher is judged at the end' '^teacher, after 2 examples  *100.0 %' out
like 'the student is judged at the end' '^student  ' out
like 'the copy is judged at the end' '^student by the examples alone  ' out
like 'the line that serves the student is printed' "^serve it:  .*serve -m $work/w/smoke/student.gguf$" out
equal 'a third of nine examples judges the models' "$(lines $o/judged.jsonl)" 3
equal 'the teacher writes eight questions' "$(lines $o/questions.jsonl)" 8
n=$(lines $o/answers.jsonl)
equal 'the student learns the examples and the answers' "$(lines $o/learn.jsonl)" $((6 + n))
sed 's/.*"question": \("[^"]*"\).*/\1/' $o/judged.jsonl >judged
for f in questions asked answers learn alone; do
    if grep -qFf judged $o/$f.jsonl; then fail "no judged question is in $f.jsonl"
    else pass "no judged question is in $f.jsonl"; fi
done
own='"content": ?"[3-9]( [3-9])+"'
like 'the card of the student names the teacher' '^- taught by: able' $o/student/README.md
unlike 'the card of the copy names no teacher' 'taught' $o/alone/README.md
unlike 'the copy does not learn questions of the teacher' "$own" $o/alone.jsonl
like 'the student learns questions of the teacher' "$own" $o/learn.jsonl
shard list -q $o/targets.tokens >listed
like 'the student is distilled by the probabilities of the teacher' 'teacher' listed
twice recipe

ok 'models without a chat template are given plain text' recipe \
    WORK="$work/p" CHAT= REWARD="awk '{ print 1 }'"
like 'the teacher sees plain text' '"prompt": ?"[^"]*and more of it[^"]*</question>.n.n[^"]*.n"' p/smoke/judged-teacher.jsonl
like 'the student learns plain text' '^."prompt": "[3-9]( [3-9])+.n", "completion": "' p/smoke/learn.jsonl

# --- what is asked is not what judges ---
question=$(sed -n '1s/.*"content": \?"\([^"]*\)"}\].*/\1/p' $o/questions.jsonl)
printf '{"prompt": "%s", "completion": "<question>"}\n' "$question" >hidden.jsonl
ok 'a question to judge by may be asked by the teacher' recipe \
    WORK="$work/h" JUDGED="$work/hidden.jsonl" learn
like 'the teacher asks that question' "\"$question\"" h/smoke/questions.jsonl
unlike 'the teacher does not answer that question' "\"$question\"" h/smoke/answers.jsonl
unlike 'the student does not learn that question' "\"$question\"" h/smoke/learn.jsonl

# --- a run that is killed, and what is refused ---
for t in 0.5 1 1.5 2 3; do
    timeout -s KILL $t make -s --no-print-directory -C "$top" \
        -f recipes/task.mk -o programs BUILD="$BUILD" WORK="$work/k" \
        TEACHER="$work/able" STUDENT="$work/small" \
        EXAMPLES="$work/examples.jsonl" SMOKE=1 NEW=40 \
        REWARD="awk -f $work/judge.awk" SAVE=1 EPOCHS=2 >out 2>err
done
ok 'a run that was killed five times goes on' recipe WORK="$work/k"
for f in questions.jsonl answers.jsonl learn.jsonl teacher.tsv student.tsv \
    alone.tsv student.gguf alone.gguf; do
    same "a run that was killed has the $f of an undisturbed one" $o/$f k/smoke/$f
done

# A kill between the last shard and the stamp.
said=k/smoke/targets
rm $said.done
find $said.tokens -type f -exec cksum {} + | sort >before
touch mark
ok 'targets without their stamp get it' recipe WORK="$work/k" "$work/$said.done"
equal 'targets without their stamp are not written again' \
    "$(find $said.tokens -newer mark)" ''
rm $said.done
touch k/smoke/learn.done mark
ok 'targets older than their tokens are made anew' recipe WORK="$work/k" \
    "$work/$said.done"
find $said.tokens -newer mark >out
like 'targets older than their tokens are written again' manifest.json out
find $said.tokens -type f -exec cksum {} + | sort >after
same 'targets made anew are the same' before after
find w -type f -exec cksum {} + | sort >before
for v in COUNT=9 LR=1e-3 "TEACHER=$work/small" SHOTS=3; do
    status 2 "another ${v%%=*} is refused with status 2" recipe "$v"
    like "the message says what ${v%%=*} was" "was made with ${v%%=*}=.*, not $v$" err
done
find w -type f -exec cksum {} + | sort >after
same 'no file is changed by what is refused' before after
ok 'another JUDGE is no error' recipe JUDGE="awk '{ print 0 }'" report
like 'models are judged by another JUDGE' '^teacher, after 2 examples  *0.0 %' out
status 2 'a teacher that cannot do the task is refused with status 2' recipe \
    WORK="$work/c" TEACHER="$work/small" LEAST=50
like 'the message says how many answers are right' \
    'the teacher answers 0 of 3 judged examples right .0.0 %, .* less than LEAST=50 %: it cannot teach the task' err
if [ -e c/smoke/questions.jsonl ]; then fail 'a teacher that cannot do the task is asked nothing'
else pass 'a teacher that cannot do the task is asked nothing'; fi
status 2 'a reward program that fails is refused with status 2' recipe \
    WORK="$work/f" REWARD="sh -c 'exit 3'"
like 'the message names the reward program that fails' \
    'reward program "sh -c .exit 3." failed with status 3' err
status 2 'a reward program that fails later is refused with status 2' recipe \
    WORK="$work/f2" JUDGE="awk '{ print 1 }'" REWARD="sh -c 'exit 3'"
like 'the message names the reward program that fails later' \
    "reward program.*exit 3" err
status 2 'a program that keeps no answer is refused with status 2' recipe \
    WORK="$work/f3" JUDGE="awk '{ print 1 }'" REWARD="awk '{ print 0 }'"
like 'the message says that no answer is kept' 'none of the answers of the teacher is kept' err
cp examples.jsonl good.jsonl
echo '{"prompt": "x"}' >>examples.jsonl
status 2 'EXAMPLES that have changed are refused with status 2' recipe
like 'the message names the EXAMPLES' "w/smoke was made before $work/examples.jsonl was changed" err
status 2 'a bad line of EXAMPLES is refused with status 2' recipe WORK="$work/b"
like 'the message names the line of EXAMPLES' 'examples.jsonl: line 10: an example is ' err
mv good.jsonl examples.jsonl
status 2 'EXAMPLES that are not there are refused with status 2' recipe EXAMPLES=none
like 'the message names the EXAMPLES that are not there' 'EXAMPLES=none: there is no such file' err
status 2 'a STUDENT that is not there is refused with status 2' recipe \
    WORK="$work/n" STUDENT=none/x.gguf
like 'the message names the STUDENT that is not there' 'none/x.gguf: there is no such model' err
status 2 'a variable of another recipe is refused with status 2' recipe BATCHES=3
like 'the message names the variable of another recipe' 'BATCHES=3: no such variable' err
ok 'the target help ends with status 0' recipe help
like 'help shows the values of variables' '^  COUNT +8 +questions' out
done_testing
