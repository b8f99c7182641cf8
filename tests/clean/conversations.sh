#!/bin/sh
# clean of conversations: judged by what they say, written as they are
. "${0%/*}/../lib/lib.sh"

sys='{"role": "system", "content": "You are an expert Python programmer who writes functions with a clear docstring."}'
ask() { # QUESTION [MEMBERS]
    printf '{"messages": [%s, {"role": "user", "content": "%s"}]%s}\n' \
        "$sys" "$1" "${2:-}"
}
{
    ask 'Write a function that turns a list of words into one line of text, with a comma between two words.' \
        ', "asked":  {"temperature": 1.0, "seed": 12345678901234567890, "index": 0}'
    ask 'Write a function that turns a LIST of words into one line of text - with a comma between two words!'
    ask 'What is the largest prime below n? \u00e9\/ \ud83d\ude00'
    ask 'Café au lait'
    echo
    echo '{"prompt": "How many are 3 and 4?", "completion": " 7", "id": [1, {"a": null}]}'
    echo '{"messages": [{"role": "user", "content": [{"type": "text", "text": "First part"}, {"type": "text", "text": "and second"}]}], "text": "Yes.", "finish_reason": "eos", "tokens": 2}'
} >q.jsonl
grep . q.jsonl | sed 2d >want
ok 'questions without near duplicates are kept' clean --dedup minhash q.jsonl
cp err said
same 'records of questions are the bytes that were read' out want
like 'a system message does not make questions alike' \
    'dropped 1 documents, 0.000 MB: dup-near 1$' said
cat q.jsonl >questions
ok 'a file is recognised by its first record' clean -q --dedup minhash questions
same 'a file of any name has the same questions' out want
ok 'standard input is recognised by its first record' \
    sh -c 'clean -q --dedup minhash <q.jsonl'
same 'standard input has the same questions' out want
gzip -c q.jsonl >q.jsonl.gz
for j in 1 3; do
    clean -q -j $j --dedup minhash q.jsonl.gz >out
    same "$j threads write the same records" out want
done
ok '-o names the file of questions' clean -q -o kept --dedup minhash q.jsonl
same 'the file named has the questions' kept want
ok 'clean questions are cleaned again' clean -q --dedup minhash kept
same 'clean questions stay as they are' out want
ok 'rules judge what is said' clean -q --min-chars 22 --max-words 18 --dropped d q.jsonl
cat >want <<'END'
0 max-words "Write a function that turns a list of words into one line of text, with a comma between two words."
1 max-words "Write a function that turns a LIST of words into one line of text - with a comma between two words!"
3 min-chars "Café au lait"
END
sed 's/.*"record":\([0-9]*\).*"reason":"\([^"]*\)".*"text":\(.*\)}/\1 \2 \3/' d >got
same 'rules count questions and answers, but no system message' got want
ok 'some questions are held out' clean -q --hold-out 50%:held q.jsonl
grep . q.jsonl | sort >all
sort out held >both
same 'each record is written or held out' both all
ok 'questions are counted' clean -q --stats q.jsonl
equal 'the table has the documents and words of what is said' \
    "$(sed -n 2p out | cut -f 2,5)" "$(printf '6\t65')"
printf '{"messages": [{"role": "system", "content": "Be brief."}]}\n' >none.jsonl
ok 'a conversation of a system message alone is empty' clean none.jsonl
equal 'an empty conversation is left out' "$(cat out)" ''

# Members besides messages
ask 'A question' ', "text": "An answer"' >t.jsonl
ok 'an answer is part of what is said' clean -q --dropped d --min-words 9 t.jsonl
like 'an answer is said after its question' '"text":"A question\\n\\nAn answer"' d
ok '--field names a text instead' clean -q --field text t.jsonl
like 'the text that --field names is a document' '"text":"An answer"' out
if clean --lang auto -q none.jsonl >out 2>err; then
    {
        ask 'Write a function that turns a list of words into one line of text.'
        ask 'Schreibe bitte eine Funktion, die eine Liste von Wörtern in eine Zeile schreibt.'
    } >l.jsonl
    ok 'languages of questions are found' clean -q --lang auto l.jsonl
    equal 'the language is the last member' \
        "$(sed 's/.*\], //' out | tr '\n' ' ')" '"source": "en"} "source": "de"} '
    sed 's/}$/, "source": "x"}/' l.jsonl >s.jsonl
    status 3 'a record that has a source already is refused' clean --lang auto s.jsonl
    like 'the message on a source says where' 's.jsonl: line 1, offset 0: .*source' err
else
    skip 'languages of questions are found' 'built without CLD2 (libcld2-dev)'
fi

# Held-out items, as they are published
cat >judged.jsonl <<'END'
{"task_id": 11, "text": "Write a function to swap two numbers.", "code": "def swap_numbers(a, b):\r\n  return (b, a)", "test_list": ["assert swap_numbers(10,20)==(20,10)"]}
{"task_id": "HumanEval/0", "prompt": "from typing import List\n\ndef has_close(numbers: List[float], threshold: float) -> bool:\n    \"\"\" Check if in given list of numbers, are any two numbers closer to each other than\n    given threshold.\n    \"\"\"\n", "canonical_solution": "    for i, x in enumerate(numbers):\n        for j, y in enumerate(numbers):\n            if i != j and abs(x - y) < threshold:\n                return True\n    return False\n"}
{"question": "Ann has 3 apples and Bob has twice as many. How many have they?", "answer": "#### 9"}
{"key": 1, "prompt": "Thank you", "kwargs": [{}]}
END
{
    ask 'Write a function to swap two numbers'
    ask 'Write a function to swap two numbers. It must pass assert f(1, 2) == (2, 1).'
    ask 'Use Python to check if in given list of numbers any two are close, and are any two numbers closer to each other than a threshold.'
    ask 'Ann has 3 apples and Bob has twice as many: so how many have they?'
    ask 'thank you!'
    ask 'Thank you for the answer.'
    ask 'Write a function to swap two strings.'
    ask 'Is there a list in which two numbers are closer to each other than any others?'
    ask 'How do I swap?' ', "text": "Write a function to swap two numbers."'
    ask 'Find pairs.' ', "text": "for i, x in enumerate(numbers): for j, y in enumerate(numbers): if i != j and"'
    ask 'Find pairs!' ', "text": "for i, x in enumerate(numbers): for j, y in enumerate(words): if i"'
} >h.jsonl
ok 'questions of judged items are excluded' \
    clean --dedup exact --exclude judged.jsonl --exclude-report r h.jsonl
cp err said
sed -n '6,9p; 11p' h.jsonl >want
same 'questions that share few words are kept' out want
like 'the summary says how many words are shared' \
    'share 13 words, in a question 8, with held-out text: h 6$' said
equal 'the table names the judged item' "$(cut -f 2,5,6 r | tr '\t\n' ':,')" \
    'record:item:words,0:0:7,1:0:7,2:1:8,3:2:8,4:3:2,9:1:13,'
like 'short texts are said to be for questions' \
    'of fewer than 8 words are looked for in questions alone' said
ok 'a number of words is for questions too' \
    clean -q --exclude-words 13 --exclude judged.jsonl --exclude-report r h.jsonl
equal 'a question that shares fewer words is kept' "$(cut -f 2 r | tr '\n' ',')" \
    'record,0,1,4,9,'
ok 'a large number of words finds whole texts' \
    clean -q --exclude-words 40 --exclude judged.jsonl --exclude-report r h.jsonl
equal 'whole texts are found in questions' "$(cut -f 2 r | tr '\n' ',')" \
    'record,0,1,4,9,'
{
    echo '{"prompt": "Sort these five old words"}'
    echo '{"prompt": "Count these four"}'
} >brief.jsonl
{
    ask 'Please sort these five old words, then stop.'
    ask 'Please count these four, then stop.'
    ask 'Count these four!'
} >k.jsonl
ok 'short texts are looked for' clean -q --exclude brief.jsonl k.jsonl
sed -n 2p k.jsonl >want
same 'a question must not contain five held-out words nor equal three' out want
echo '{"text": "to swap two numbers, and sort nine of these old words of mine"}' >long.jsonl
for role in system developer; do
    printf '{"messages": [{"role": "%s", "content": "Write a function to swap two numbers, and sort nine of these old words of mine"}, {"role": "user", "content": "Hello"}]}\n' \
        $role >with.jsonl
    ok "a conversation with a $role message is read" clean -q --exclude long.jsonl with.jsonl
    same "what $role messages say is not looked at" out with.jsonl
done

# What is refused
refused() { # STATUS WHAT WORDS OPTIONS
    # shellcheck disable=SC2086 # words
    status "$1" "$2 is refused" clean $4
    like "the message on $2 says what to do" "$3" err
}
for o in --nfc --strip-controls '--boilerplate 3' '--resume x' \
    '--lang en --lang-field a'; do
    refused 2 "$o of conversations" 'q.jsonl: holds conversations, .*leave out' \
        "$o q.jsonl"
done
echo 'A text.' >text.txt
refused 3 'text beside conversations' 'text.txt: .*clean it apart' \
    'q.jsonl text.txt'
{ echo '{"text": "a"}'; sed 1q q.jsonl; } >late.jsonl
refused 3 'a conversation behind a text' 'late.jsonl: line 2, offset 14: .*conversation' \
    late.jsonl
wrong() { # WHAT WORDS RECORD
    { sed 1q q.jsonl; echo "$3"; } >bad.jsonl
    status 3 "$1 is refused" clean -o never bad.jsonl
    like "the message on $1 says where" "bad.jsonl: line 2, offset [0-9]+: .*$2" err
    [ ! -e never ] || fail "$1 left a file"
}
wrong 'a record without messages' 'no messages and no prompt' '{"text": "a"}'
wrong 'a message without a role' 'messages\[0\]' '{"messages": [{"content": "a"}]}'
wrong 'a content that is a number' 'messages\[0\]' \
    '{"messages": [{"role": "user", "content": 1}]}'
wrong 'a text for messages' 'messages is no list' '{"messages": "a"}'
wrong 'a conversation that is no JSON' '' '{"messages": [}'
done_testing
