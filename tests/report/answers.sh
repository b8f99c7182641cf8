#!/bin/sh
# report answers: lengths, shares and first words of questions and answers
. "${0%/*}/../lib/lib.sh"

golden=$top/tests/golden/report/answers
ok 'questions and answers are counted' \
    report answers -q --format tsv "$golden.jsonl"
same 'the counts are those of numpy and Python' out "$golden.tsv"
gzip -c "$golden.jsonl" >a.jsonl.gz
ok 'compressed lines are counted on standard input' sh -c \
    'report answers -q --format tsv <a.jsonl.gz'
same 'compressed lines have the same counts' out "$golden.tsv"
awk 'NR % 2' "$golden.jsonl" >odd.jsonl
awk 'NR % 2 == 0' "$golden.jsonl" >even.jsonl
ok 'two files are counted' report answers -q --format tsv odd.jsonl even.jsonl
same 'a question may stand in two files' out "$golden.tsv"

# By hand
cat >few.jsonl <<'END'
{"prompt": "2 + 2 =", "text": " 4", "finish_reason": "eos", "tokens": 1}
{"prompt": "2 + 2 =", "text": "4\n", "finish_reason": "length", "tokens": 64}
{"prompt": "Is it?", "text": "Yes", "finish_reason": "eos", "tokens": 39}
{"prompt": "Is it?", "text": "no", "finish_reason": "eos", "tokens": 40}
{"prompt": "Why is it so?", "text": "", "finish_reason": "eos", "tokens": 0}
{"prompt": "Why is it so?", "text": "", "finish_reason": "eos", "tokens": 0}
{"messages": [{"role": "user", "content": "Is it so and not so?"}]}
END
ok 'a few answers are counted' report answers -q few.jsonl
cat >want <<'END'
length           number mean least 25 % 50 %  75 % most
questions, words      4  4.0     2  3.5    4   4.5    6
answers, tokens       6 24.0     0 0.25   20 39.75   64

under 40 tokens         66.7 % of 6 answers
cut off                 16.7 % of 6 answers
answered alike, easy    33.3 % of 3 questions with several answers
never alike, hard       66.7 % of 3 questions with several answers
first words, questions  3: is 50 %, 2 25 %, why 25 %
first words, answers    4: - 33 %, 4 33 %, no 17 %, yes 17 %
END
same 'the table has lengths, shares and first words' out want
sed 's/, "tokens": 39//' few.jsonl >words.jsonl
ok 'answers without their number of tokens are counted' report answers -q words.jsonl
like 'lengths are in words then' '^answers, words +6 ' out
like 'short answers are short in words then' '^under 40 words +100.0 %' out
grep messages few.jsonl >asked.jsonl
ok 'questions alone are counted' report answers -q asked.jsonl
like 'answers that are not there have no lengths' '^answers, words +0 +- ' out
like 'nothing is a share of no answers' '^cut off +-$' out
ok 'counts are JSON' report answers -q --format json few.jsonl
like 'JSON has the shares' '"share": ?"alike", ?"of": ?3, ?"value": ?0.333333' out

# What is refused
status 3 'no question at all is refused' sh -c 'report answers </dev/null'
like 'the message says that there is no question' 'no question' err
wrong() { # WHAT WORDS RECORD
    { sed 1q few.jsonl; echo; echo "$3"; } >bad.jsonl
    status 3 "$1 is refused" report answers bad.jsonl
    like "the message on $1 has the line" "bad.jsonl: line 3: .*$2" err
}
wrong 'a record without a question' 'no messages and no prompt' '{"text": "a"}'
wrong 'a question that is a number' 'prompt is no list' '{"prompt": 1}'
wrong 'a line that is no JSON' '' '{"prompt": '
status 1 'a file of answers that is missing is refused' report answers none.jsonl
done_testing
