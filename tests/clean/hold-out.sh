#!/bin/sh
# clean --hold-out: a share of the documents that stays the same
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

mkdir in
awk 'BEGIN { for (i = 0; i < 6000; i++)
    printf "{\"text\":\"text %d, \\\"of\\\" \\u00e9\"}\n",
        i >("in/" i % 3 ".jsonl")
    }' </dev/null
# hold NAME PERCENT ARG ...: the rest in rest, the held in held, both sorted
hold() {
    hold_name=$1 hold_share=$2
    shift 2
    rm -f held s
    ok "$hold_name" clean -q -o s --hold-out "$hold_share:held" "$@"
    texts s | sort >rest
    texts held | sort >held.text
}
ok 'all documents are read' clean -q -o s in
texts s | sort >all
hold '1 % is held out' 1% in
sort rest held.text >both
same 'the rest and the held-out documents are all' both all
equal 'no document is both held out and kept' "$(comm -12 rest held.text)" ''
n=$(wc -l <held.text)
if [ "$n" -ge 30 ] && [ "$n" -le 90 ]; then pass "about 60 of 6000 are held out"
else fail "about 60 of 6000 are held out, not $n"; fi
like 'a held-out document says where it was' \
    '^{"input":"in/0.jsonl","record":[0-9]+,"source":"in","key":' held
head -n 1 held >first
like 'held-out documents have the first line of documents' '"documents"' first
ok 'held-out documents are tokenized' tokenize -q -t "$tok" -o s held
cp held held.1
cp held.text held.1.text
ok 'one thread holds documents out' clean -q -j 1 -o s --hold-out 1%:held in
same 'one thread holds the same documents out' held held.1
hold 'files are read in another order' 1% in/2.jsonl in/0.jsonl in/1.jsonl
same 'the choice does not depend on the order' held.text held.1.text
awk 'BEGIN { for (i = 0; i < 3000; i++)
    printf "{\"text\":\"more %d\"}\n", i }' </dev/null >in/3.jsonl
hold 'a file more is read' 1% in
grep -v more held.text >held.2.text
same 'the choice does not depend on other files' held.2.text held.1.text
rm in/3.jsonl
hold '5 % is held out' 5% --dedup exact --min-words 2 in
equal 'a larger share holds a smaller one' \
    "$(comm -23 held.1.text held.text)" ''
n=$(wc -l <held.text)
if [ "$n" -ge 230 ] && [ "$n" -le 370 ]; then pass 'about 300 of 6000 are 5 %'
else fail "about 300 of 6000 are 5 %, not $n"; fi

# What is dropped is neither held nor kept
hold 'dropped documents come before held-out ones' 50% --max-words 2 \
    --dropped d in
equal 'what is dropped is neither held out nor kept' \
    "$(cat held.text rest | wc -l) $(wc -l <d)" '0 6000'
ok 'holding out ends with a summary' clean -o s --hold-out 1%:held in
like 'the summary has the number and the file' \
    "^clean: held out $(documents held) documents, 0[.]001 MB: held" err
ok '--stats runs with --hold-out' clean -q --stats --lang x \
    --hold-out 50%:held in
equal '--stats counts the rest' "$(column documents x out)" \
    "$((6000 - $(documents held)))"
for bad in 1 1% 1:f %:f 0%:f 100%:f -1%:f nan%:f 1%: 1%f; do
    status 2 "--hold-out '$bad' is refused" clean --hold-out "$bad" in
done
like 'the message says how --hold-out is given' '"1%f".*PERCENT%:FILE' err
rm -f held
printf '{"text":1}\n' >bad.jsonl
status 3 'bad input ends clean with status 3' clean -q -o s \
    --hold-out 50%:held in bad.jsonl
if [ -e held ]; then fail 'bad input leaves no file of held-out documents'
else pass 'bad input leaves no file of held-out documents'; fi
done_testing
