#!/bin/sh
# scripts/mbpp and scripts/ifeval as judges of texts and as reward programs, and
# recipes/judge.mk
. "${0%/*}/../lib/lib.sh"

for p in python3 prlimit; do
    command -v $p >/dev/null && continue
    skip 'scripts/mbpp and ifeval judge texts' "no $p"
    done_testing
done
mbpp() { "$top/scripts/mbpp" "$@"; }
ifeval() { "$top/scripts/ifeval" "$@"; }
sandbox=''
if ! unshare -rn true 2>/dev/null && ! unshare -n true 2>/dev/null; then
    sandbox=--no-sandbox
fi

# --- MBPP ---
# problem ID SPLIT SETUP: a line of MBPP, as published
problem() {
    printf '{"task_id": %s, "text": "Double %s.", "code": "def f(x):\\r\\n    return 2 * x", "test_list": ["assert f(2) == 4", "assert f(x) == 6"], "test_setup_code": "%s", "split": "%s"}\n' \
        "$1" "$1" "$3" "$2"
}
{
    problem 2 prompt 'x = 3'
    problem 5 prompt 'x = 3'
    for i in 11 12 13 14 15 16; do problem $i test 'x = f(1) + 1'; done
} >mbpp.jsonl
ok 'MBPP is written as prompts' mbpp --prompts mbpp.jsonl
mv out prompts.jsonl
equal 'examples are no problems' "$(grep -c . prompts.jsonl)" 6
ask='You are an expert Python programmer, and here is your task: Double'
tests='Your code should pass these tests:\n\nassert f(2) == 4\nassert f(x) == 6\n[BEGIN]\n'
equal "prompts have the form of MBPP's paper, with task 2 as an example" \
    "$(sed -n '1s/.*"prompt": "\(.*\)"}$/\1/p' prompts.jsonl)" \
    "$ask 2. ${tests}def f(x):\\n    return 2 * x\\n[DONE]\\n\\n$ask 11. $tests"
ok 'MBPP is written as messages' mbpp --chat mbpp.jsonl
like 'messages have the task and the tests' '"messages": \[{"role": "user", "content": "Double 11. Your code should pass these tests:.n.nassert f.2. == 4.nassert f.x. == 6.n"}' out
echo '{"text": "Double."}' >bad
status 1 'a problem without tests is refused' mbpp --prompts bad
like 'the message names the member' "mbpp: bad: KeyError.'test_list'.$" err
cat >texts <<'END'
def f(x):\n    return 2 * x\n[DONE]\nfoo(
So:\n```python\ndef f(x):\n    return x + x\n```\nand ```that``` is all
```\ndef f(x):\n    return x + x
def f(x):\n    return x
I do not know.
import os\nos._exit(0)
END
# answers MEMBER: the problems, each with the text of a model as this member
answers() {
    sed 's/, "prompt": .*//' prompts.jsonl | paste - texts |
        awk -F '\t' -v m="$1" '{ print $1 ", \"" m "\": \"" $2 "\"}" }'
}
answers text >answers.jsonl
ok 'texts of MBPP are judged' mbpp $sandbox answers.jsonl
equal 'code passes bare, in a block and in a block without an end' \
    "$(cut -f 1,2 out | grep -v '#' | tr '\t\n' ' ,')" '11 1,12 1,13 1,14 0,15 0,16 0,'
like 'why not: a wrong result' '14	0	AssertionError' out
like 'why not: no code' '15	0	SyntaxError' out
like 'why not: it leaves' '16	0	ended before its tests' out
# sqrt(1/2 * 1/2 / 5)
like 'MBPP has a share and its standard error' '^# pass@1 0.5000, standard error 0.2236: 3 of 6$' out
answers completion >rewards.jsonl
status 0 'MBPP gives rewards' mbpp $sandbox --reward <rewards.jsonl
equal 'a reward is 1 if all tests pass' "$(tr '\n' ' ' <out)" '1 1 1 0 0 0 '
status 1 'a text that is missing is refused' mbpp $sandbox rewards.jsonl
like 'the message names the judge and the member' "mbpp: rewards.jsonl: item 1: no member 'text'" err
status 2 'an option without its value is refused' mbpp --seconds

# --- IFEval ---
golden=$top/tests/golden/ifeval.jsonl
ok "texts of IFEval's and M-IFEval's kinds are judged" ifeval "$golden"
grep -v '^#' out | cut -f 3 | sed 's/^passed$//; s/^fails: //' >got
sed 's/.*"fails": \[\(.*\)\]}$/\1/; s/[",]//g' "$golden" >want
same "verdicts are those of the authors' checks" want got
# item KEY NAMES KWARGS TEXT
item() {
    printf '{"key": %s, "prompt": "Do %s.", "instruction_id_list": [%s], "kwargs": [%s], "%s": "%s"}\n' \
        "$1" "$1" "$2" "$3" "$member" "$4"
}
items() {
    member=$1
    comma='"punctuation:no_comma"' quote='"en:startend:quotation"'
    item 1 "$comma, $quote" '{}, {"keywords": null}' '\"no\"'
    item 2 "$comma, $quote" '{}, {}' 'none'
    item 3 "$comma" '{}' 'a, b'
    item 4 "$comma, \"language:response_language\"" '{}, {"language": "de"}' 'nein'
    item 5 "\"en:new:kind\", $comma" '{}, {}' ','
    item 6 '"en:keywords:existence"' '{"keywords": ["a(b", "C++"]}' 'A(B in C++'
    item 7 '"en:keywords:existence"' '{}' 'no argument'
    item 8 "$comma" '{}' ''
}
items text >follow.jsonl
ok 'other instructions are left out' ifeval follow.jsonl
equal 'a prompt counts if all of its instructions are judged' \
    "$(cut -f 1,2 out | grep -v '#' | tr '\t\n' ' ,')" '1 1,2 0,3 0,4 -,5 -,6 1,7 -,8 0,'
like 'the reason names what a text fails' '^2	0	fails: en:startend:quotation$' out
# 2 of 5: sqrt(2/5 * 3/5 / 4)
like 'strict accuracy by prompt has its standard error' '^# prompts 0.4000, standard error 0.2449: 2 of 5$' out
# done of asked: 2/2 1/2 0/1 1/1 0/1 1/1 0/1; m = 5/9, d = done - m asked,
# sqrt(sum of d^2 * 7/6) / 9
like 'strict accuracy by instruction has one over prompts' '^# instructions 0.5556, standard error 0.1749: 5 of 9$' out
like 'instructions left out are named and counted' '^# left out: en:keywords:existence 1, en:new:kind 1, language:response_language 1$' out
items completion >rewards.jsonl
status 0 'IFEval gives rewards' ifeval --reward <rewards.jsonl
equal 'a reward is the share of instructions, null if one is left out' \
    "$(tr '\n' ' ' <out)" '1.0 0.5 0.0 null null 1.0 null 0.0 '
ok 'IFEval is written as messages' ifeval --chat follow.jsonl
like 'messages have the prompt' '"messages": \[{"role": "user", "content": "Do 1."' out
status 1 'a file of IFEval without texts is refused' ifeval rewards.jsonl
like 'the message says which member is missing' "ifeval: rewards.jsonl: item 1: no member 'text'" err
status 1 'a line that is no JSON is refused' ifeval texts
status 2 'IFEval without a file is refused' ifeval

# --- a model ---
ok 'student grpo is paid by IFEval' student grpo -q -o grpo -m \
    "$top/tests/golden/gguf/f32-hf" --reward "$top/scripts/ifeval --reward" \
    -B 4 --group 4 -n 4 --steps 1 follow.jsonl
printf '{"task_id": "a", "prompt": "def f(x):\\n", "entry_point": "f", "test": "def check(f):\\n    assert f(2) == 4\\n"}\n' >humaneval.jsonl
for i in 1 2 3; do
    printf '{"task_id": %s, "text": "Go.", "test_list": ["assert f"]}\n' $i
done >mbpp.jsonl
# judged [VARIABLE=VALUE ...]: the recipe with three sets
judged() {
    make -s --no-print-directory -C "$top" -f recipes/judge.mk \
        MODEL="$top/tests/golden/gguf/f32-hf" HUMANEVAL="$PWD/humaneval.jsonl" \
        MBPP="$PWD/mbpp.jsonl" IFEVAL="$PWD/follow.jsonl" NEW=8 CHAT= \
        OUT="$PWD/made" BIN="$BUILD/bin" SANDBOX="$sandbox" "$@"
}
ok 'the recipe judges three sets' judged
equal 'the recipe prints each share' "$(sed -n 's/ 0\..*\(: 0 of .*\)/\1/p' out |
    tr '\n' ',')" 'humaneval: pass@1: 0 of 1,mbpp: pass@1: 0 of 3,'
like 'it prints the accuracy of IFEval' '^ifeval: prompts [01]\.[0-9]*, standard error [0-9.]*: [0-9] of 5$' out
ok 'the recipe judges the first problems' judged LIMIT=2
like 'fewer problems of MBPP are judged' '^mbpp: .*: 0 of 2$' out
done_testing
