#!/bin/sh
# tokenize --hold-out: a share of the documents that stays the same
. "${0%/*}/../lib/lib.sh"
tok=$top/tests/golden/tok/digits.json

mkdir in
awk 'BEGIN { for (i = 0; i < 6000; i++)
    printf "{\"text\":\"text %d, \\\"of\\\" \\u00e9\"}\n",
        i >("in/" i % 3 ".jsonl")
    }' </dev/null
# hold PERCENT ARG ...: the rest in rest, the held in held, both sorted
hold() {
    hold_share=$1
    shift
    rm -f held s
    ok "$hold_share of $*" tokenize -q -t "$tok" -o s \
        --hold-out "$hold_share:held" "$@"
    tokenize -q -t "$tok" --split line --decode s | sort >rest
    tokenize -q -t "$tok" --jsonl -o t held
    tokenize -q -t "$tok" --split line --decode t | sort >held.text
}
tokenize -q -t "$tok" -o s in
tokenize -q -t "$tok" --split line --decode s | sort >all
hold 1% in
sort rest held.text >both
same 'together they are all' both all
equal 'and nothing is in both' "$(comm -12 rest held.text)" ''
n=$(wc -l <held.text)
if [ "$n" -ge 30 ] && [ "$n" -le 90 ]; then pass "$n of 6000 are held"
else fail "$n of 6000 are held, not near 60"; fi
like 'with where they were' \
    '^{"input":"in/0.jsonl","record":[0-9]+,"source":"in","text":"text ' held
cp held held.1
cp held.text held.1.text
ok 'one thread' tokenize -q -t "$tok" -j 1 -o s --hold-out 1%:held in
same 'holds the same' held held.1
hold 1% in/2.jsonl in/0.jsonl in/1.jsonl
same 'so does another order' held.text held.1.text
awk 'BEGIN { for (i = 0; i < 3000; i++)
    printf "{\"text\":\"more %d\"}\n", i }' </dev/null >in/3.jsonl
hold 1% in
grep -v more held.text >held.2.text
same 'and with a file more' held.2.text held.1.text
rm in/3.jsonl
hold 5% --dedup exact --min-words 2 in
equal 'a larger share holds the smaller' "$(comm -23 held.1.text held.text)" ''
n=$(wc -l <held.text)
if [ "$n" -ge 230 ] && [ "$n" -le 370 ]; then pass "$n are 5 %"
else fail "$n of 6000 are held, not near 300"; fi

# What is dropped is neither held nor kept
hold 50% --max-words 2 --dropped d in
equal 'all are dropped' "$(cat held rest | wc -l) $(wc -l <d)" '0 6000'
ok 'how many is said' tokenize -t "$tok" -o s --hold-out 1%:held in
like 'by name' "^tokenize: held out $(wc -l <held.1) documents: held" err
ok '--stats' tokenize -q -t "$tok" --stats --lang x --hold-out 50%:held in
equal 'counts the rest' "$(awk '$1 == "x" { print $2 }' out)" \
    "$((6000 - $(wc -l <held)))"
for bad in 1 1% 1:f %:f 0%:f 100%:f -1%:f nan%:f 1%: 1%f; do
    status 2 "--hold-out '$bad'" tokenize -t "$tok" --ids --hold-out "$bad" in
done
like 'says how' '"1%f" is not PERCENT%:FILE' err
rm -f held
printf '{"text":1}\n' >bad.jsonl
status 3 'bad input' tokenize -q -t "$tok" -o s --hold-out 50%:held in bad.jsonl
if [ -e held ]; then fail 'left a file'; else pass 'leaves no file'; fi
done_testing
