#!/bin/sh
# --resume of student compares the contents that options and operands name: a
# run goes on with the same contents under other names, and not with others
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
cp -r s0 same
reweigh s0 other 4
cp -r tok tok2
cp -r tok tok3
sed 's/^"A":35,/"A":36,/; s/^"B":36,/"B":35,/' tok/tokenizer.json \
    >tok3/tokenizer.json
echo '{% for m in messages %}{{ m.content }}{% endfor %}' >a.jinja
cp a.jinja same.jinja
echo '{% for m in messages %}-{{ m.content }}{% endfor %}' >other.jinja
for i in 1 2 3 4 5; do
    say='"role": "user", "content": "the '$i'"'
    printf '{"messages": [{%s}], "completion": " of"}\n' "$say"
done >p.jsonl
cp p.jsonl same.jsonl
sed 's/the/and/' p.jsonl >other.jsonl
for i in 1 2 3 4 5; do
    printf '{"prompt": "the %s", "chosen": " and", "rejected": " of"}\n' $i
done >pairs.jsonl
student -q -m s0 -o ad --lora 2 --steps 1 --schedule constant one &&
    cp -r ad ad.same &&
    student -q -m s0 -o ad.other --lora 2 --steps 1 -s 3 --schedule constant one &&
    batches 8 >b && teacher -q -m teacher -o kd b || exit 1

# begin COMMAND INPUT OPTION ...: `run` gets a run of 2 steps
begin() {
    command=$1 input=$2
    shift 2
    how="-q --save 2 --schedule constant --lr 1e-3 $*"
    rm -rf run
    # shellcheck disable=SC2086 # a list
    ok "$command begins a run" student "$command" -o run --steps 2 $how "$input"
}
# An option that is given twice has the second value.
goes_on() {
    # shellcheck disable=SC2086
    ok "$command goes on with $*" student "$command" --steps 2 $how "$@" \
        --resume -o run -- "$input"
}
# refused NAME [OPTION ...]
refused() {
    name=$1
    shift
    # shellcheck disable=SC2086
    status 2 "$command is not resumed with $*" student "$command" --steps 4 \
        $how "$@" --resume -o run -- "$input"
    like "$command with $* names $name and both values" \
        " $name is ([^ ]+), not ([^ ]+);" err
}

# --- plain training ---
begin train b -m s0
stream -q --resume run data -o rest
input=rest
refused model -m other
refused lora --lora 2
refused ema --ema 0.9
refused qat --qat q8_0
refused mask --mask 2:4
begin train kd -m s0 --adapter ad --eval kd
stream -q --resume run data | teacher -q -m teacher -o rest
input=rest
goes_on --adapter ad.same
goes_on -m same
refused adapter --adapter ad.other
refused eval --eval rest

# --- pairs ---
begin dpo pairs.jsonl -m s0 -T 64 -B 2 --epochs 4 --template a.jinja -t tok \
    --reference s0
goes_on --template same.jinja --reference same -t tok2
refused template --template other.jinja
refused tokenizer -t tok3
refused reference --reference other
# options.json of an earlier version has the reference's hash as "teacher"
sed 's/"reference": \("[0-9a-f]\{32\}"\)/"teacher": \1/' run/options.json >old
mv old run/options.json
refused reference --reference ./other
sed 's/the/and/' pairs.jsonl >more.jsonl
input=more.jsonl
refused stream

# --- texts of the student ---
printf '#!/bin/sh\nexec awk "{ print length }"\n' >judge
chmod +x judge
begin grpo p.jsonl -m s0 -B 4 --group 2 -n 4 --reward ./judge \
    --template a.jinja -t tok --beta 0.1
input=same.jsonl
goes_on --template same.jinja --reference same -t tok2
refused template --template other.jinja
refused tokenizer -t tok3
refused reference --reference other
input=other.jsonl
refused stream
begin on-policy p.jsonl -m s0 -B 4 -n 4 --score-with s0 --template a.jinja -t tok
goes_on --template same.jinja --score-with same -t tok2
refused template --template other.jinja
refused score-with --score-with other
input=other.jsonl
refused stream

# --- a teacher that a server has ---
# serves MODEL [OPTION ...]: set url to the address of a server of the model
serves() {
    : >serving
    serve -m "$@" --port 0 --targets 64 2>serving &
    server=$!
    await grep -q listening serving
    url=$(sed -n 's/.*listening at \([^,]*\),.*/\1/p' serving)
}
if [ -x "$BUILD/bin/serve" ]; then
    serves s0
    begin on-policy p.jsonl -m s0 -B 4 -n 4 --score-with "$url" -t tok \
        --template a.jinja
    kill $server
    wait $server
    serves same
    goes_on --score-with "$url"
    kill $server
    wait $server
    for with in other 's0 --adapter ad' 's0 --compute bf16'; do
        # shellcheck disable=SC2086
        serves $with
        refused score-with --score-with "$url"
        kill $server
        wait $server
    done
else
    skip 'another model behind an address' 'built without libmicrohttpd'
fi

# --- log probabilities of a reference that a file has ---
# stored [OPTION ...]
stored() {
    student dpo -q -m s0 -o stored -B 2 --steps 1 -T 64 -t tok --template a.jinja \
        "$@"
    tap_got=$?
    rm -rf stored
    return "$tap_got"
}
ok 'log probabilities of the reference are stored' stored \
    --store-reference with.jsonl pairs.jsonl
like 'each pair says how they were made' \
    '"ref_made_with": \{"length": 64, .*"reference": "[0-9a-f]+"' with.jsonl
ok 'they are taken' stored -- with.jsonl
ok 'they are taken for the same contents' stored -m same -t tok2 \
    --template same.jinja with.jsonl
ok 'their reference need not be there' stored --reference gone with.jsonl
for with in 'reference other' 'length 32' 'tokenizer tok3' 'template other.jinja'
do
    # shellcheck disable=SC2086
    status 2 "they are refused with another --$with" stored --$with with.jsonl
    like "the message names --${with% *} and both values" \
        "with.jsonl: line 1: .*--${with% *} .+, not .+; repeat" err
done
status 2 'they are refused for another model, which is the reference' \
    stored -m other with.jsonl
ok 'they are taken for another model with their reference' \
    stored -m other --reference s0 with.jsonl
done_testing
