#!/bin/sh
# generate run --resume: a file is not continued with another model, another
# adapter, tokenizer or template, or other options that change texts
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

cp -r teacher same
reweigh teacher other 4
cp -r tok tok2
cp -r tok tok3
sed 's/^"A":35,/"A":36,/; s/^"B":36,/"B":35,/' tok/tokenizer.json \
    >tok3/tokenizer.json
echo '{% for m in messages %}{{ m.content }}{% endfor %}' >a.jinja
echo '{% for m in messages %}-{{ m.content }}{% endfor %}' >b.jinja
for s in 1 2; do
    student -q -m teacher -o ad$s --lora 2 -s $s --lr 1e-2 --steps 1 \
        --schedule constant one || exit 1
done
for i in 1 2 3 4; do echo "{\"prompt\": \"the $i\"}"; done >prompts
# write [OPTION ...]: continue the prompts, to the file texts
write() {
    generate run -q -m teacher -t tok --template a.jinja --prompts prompts -n 8 \
        --temperature 0.7 --adapter ad1 --resume texts "$@"
}
ok 'texts are written' write
cp texts whole
head -n 2 whole >half
unlike 'a line has no template if the prompt is a text' '"template"' whole
for of in model adapter; do
    equal "a line has the hash of the $of" \
        "$(sed "s/.*\"$of\": \"\([0-9a-f]*\)\".*/\1/" whole | sort -u)" \
        "$(sed -n "s/.*\"$of\": \"\([0-9a-f]*\)\".*/\1/p" texts.options.json)"
done
echo '{"messages": [{"role": "user", "content": "the"}], "adapter": "x"}' >talk
ok 'a message is answered' generate run -q -m teacher -t tok --prompts talk \
    --template a.jinja -n 3 --temperature 0.7 --resume talked
of=$(sed -n 's/.*"template": "\([0-9a-f]*\)".*/\1/p' talked.options.json)
like 'a line has the hash of the template if the prompt is messages' \
    "\"temperature\": 0.7, \"model\": \"[0-9a-f]+\", \"template\": \"$of\", " talked
like 'a member of the prompt that no part of the run has stays' '"adapter": "x"' talked
ok 'the same contents and a faster way go on' sh -c 'cp half texts &&
    generate run -q -m same -t tok2 --template a.jinja --prompts prompts -n 8 \
        --temperature 0.7 --adapter ad1 --resume texts --at-once 1 -j 1'
same 'the file has the bytes of one run' whole texts
cp half texts
for with in '-m other' '-t tok3' '--template b.jinja' '--adapter ad2' \
    '--temperature 0.8' '-n 9' '--top-p 0.9' '--stop x' '--logprobs 2' \
    '--compute bf16' --exact; do
    # shellcheck disable=SC2086 # a list
    status 2 "a file is not continued with $with" write $with
    like "the refusal of $with names both values" \
        '^generate run: texts: was begun otherwise: --[a-z-]+ is .+, not .+;' err
done
same 'a refused file stays as it is' half texts
cp whole texts
status 2 'a whole file is refused too' write -m other
: >texts
ok 'an empty file is begun by any model' write -m other
rm texts.options.json
cp half texts
for with in '-m other' '--temperature 5' '-n 9'; do
    # shellcheck disable=SC2086 # a list
    status 2 "a file without a record of its options is refused with $with" \
        write $with
    like "the message names the line that $with would not make" \
        'texts: line 2: was made with another' err
done
ok 'a file without a record goes on with its options' write
same 'it has the bytes of one run too' whole texts
ok 'then there is a record' test -s texts.options.json
done_testing
