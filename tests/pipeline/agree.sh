#!/bin/sh
# scripts/agree: a reward program that pays for agreement with other texts of
# the prompt
. "${0%/*}/../lib/lib.sh"

agree() { "$top/scripts/agree" "$@"; }
golden=$top/tests/golden/agree
# text PROMPT COMPLETION: a line
text() { printf '{"prompt":"%s","completion":"%s"}\n' "$1" "$2"; }
# pays WHAT WANT [OPTION]: the texts in the file lines have these rewards
pays() {
    what=$1 want=$2
    shift 2
    status 0 "$what: is judged" agree "$@" <lines
    equal "$what" "$(tr '\n' ' ' <out)" "$want "
}

status 0 'texts of known answers are judged' agree <"$golden/same.jsonl"
same 'texts have the rewards of their answers' "$golden/same.txt" out
status 0 'texts of known numbers are judged' agree --last-number \
    <"$golden/last.jsonl"
same 'texts have the rewards of their last numbers' "$golden/last.txt" out
{
    text a 'Yes, it\n is'
    text b 'yes,  it is'
    text a ' yes, it IS '
    text a no
    text a yes
} >lines
pays 'an answer is alike apart from case and white space' '0.5 0 0.5 0 0'
{
    text a '{\"x\": 1.50, \"y\": [1, \"A\"]}'
    text a '{\"y\":[1e0,\"\\u0041\"],\"x\":15E-1}'
    text a '{\"y\":[1e0,\"a\"],\"x\":15E-1}'
    text a '{\"y\":[1,\"A\"],\"x\":1.5'
    text a '{\"y\":[1,\"a\"],\"x\":1.5'
} >lines
pays 'JSON is alike if its values are; what is no JSON is text' '0.4 0.4 0 0.4 0.4'
{
    text a 'So 2 and 3 are 1,250.'
    text a '1250.0'
    text a '$-1,250 dollars'
    text a 'none'
    text a 'None'
    text a '1,2,50 or 12.5e2'
} >lines
pays 'a last number is compared by its value' '0.5 0.5 0 0 0 0.5' --last-number
awk 'BEGIN { for (i = 0; i < 2000; i++) s = s "["
    for (i = 0; i < 2; i++) print "{\"completion\":\"" s "\"}" }' >lines
pays 'deep brackets are text' '1 1'
text a 1 >lines
pays 'a text alone agrees with no other' 0
: >lines
status 0 'no text is judged' agree <lines
for bad in '{"prompt": "a"}' '{"completion": 3}' '{"completion": "a"' '[1]'; do
    { text a b; echo "$bad"; } >lines
    status 1 "$bad is refused" agree <lines
    equal "the message on $bad names the line" "$(cat err)" 'agree: line 2: is no JSON object with a text as member completion'
    equal "nothing is paid for $bad" "$(grep -c . out)" 0
done
status 2 'an unknown option is refused' agree --first-number </dev/null

# --- programs that call it ---
m=$top/tests/golden/gguf/f32-hf
for i in 0 1 2 3 4 5; do printf '{"prompt": "the river %s"}\n' $i; done >p.jsonl
# A text of at most one token at a low temperature agrees often.
ok 'generate run keeps answers on which texts agree' generate run -q -m "$m" \
    --prompts p.jsonl -n 2 --stop e --stop a --stop ' ' --temperature 0.5 \
    --best-of 6 --reward "$top/scripts/agree"
like 'the share of texts that agree is the reward' '"reward": (0\.[3-8]|1\.0)' out
ok 'student grpo is paid for agreement' student grpo -q -o grpo -m "$m" \
    --reward "$top/scripts/agree --last-number" -B 4 --group 4 -n 4 --steps 1 \
    p.jsonl
done_testing
