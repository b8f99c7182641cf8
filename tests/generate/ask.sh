#!/bin/sh
# generate run --ask and --harder: a model writes questions of users
. "${0%/*}/../lib/lib.sh"

# What the tiny model writes depends on the last bits of its weights.
if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then
    RETORT_KERNELS=avx2
    export RETORT_KERNELS
fi

# --- a model that knows two kinds of texts ---
mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
    '<|endoftext|>' >tok/tokenizer_config.json
# The awks differ in rand().
awk 'function draw(n) { x = x * 16807 % 2147483647; return int(x * n / 2147483647) }
BEGIN {
    x = 3
    for (i = 0; i < 400; i++) {
        for (k = 0; k < 16; k++) n[k] = draw(9)
        printf "{\"text\": \"User: add %d and %d\\nBot: sure, %d\"}\n", n[0], n[1],
            n[0] + n[1]
        printf "{\"text\": \""
        last = 10 + 2 * draw(4)
        for (k = 0; k < last; k += 2)
            printf "<question>\\nadd %d and %d\\n</question>\\n\\n", n[k], n[k + 1]
        print "\"}"
    }
}' >docs.jsonl
llama new.json vocab_size 1024 hidden_size 48 intermediate_size 96 \
    num_hidden_layers 2 num_attention_heads 4 num_key_value_heads 2 \
    head_dim 12 max_position_embeddings 2000 initializer_range 0.05
tokenize -q -t tok docs.jsonl -o docs.st && shard write -q -o data docs.st &&
    stream -q -B 4 -T 256 -s 1 --batches 150 -o b data &&
    student -q -m new.json -t tok -o base --lr 1e-2 --schedule constant b ||
    exit 1
cp -r base chat
# a template of text, without special tokens
cat >chat/chat_template.jinja <<'END'
{% for m in messages %}{{ {'user': 'User', 'system': 'Rules', 'assistant': 'Bot'}[m.role] }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}Bot:{% endif %}
END
ask() {
    generate run -q -m chat --ask -n 20 --temperature 1 --top-p 0.95 -s 1 "$@"
}

# --- questions by the template ---
ok 'a model asks five questions' ask --count 5
cp out five
line='^\{"messages": \[\{"role": "user", "content": "add [0-9] and [0-9]"\}\]'
equal 'each question is a line with a message of a user' \
    "$(grep -cE "$line, \"asked\": \{" five)" 5
like 'a line says how its question was made' \
    '"asked": \{"model": "[0-9a-f]{32}", "temperature": 1.0, "seed": 1, "index": 0\}\}$' five
for how in '--at-once 1' '--at-once 3 -j 1' '--at-once 100 -j 3' \
    '--draft base --guesses 2'; do
    # shellcheck disable=SC2086 # a list
    ok "questions are asked with $how" ask --count 5 $how
    same "$how changes no byte of questions" five out
done
ok 'nine questions are asked' ask --count 9
cp out nine
head -n 5 nine >got
same 'more questions begin with the same ones' five got
ok 'questions are asked with another seed' ask --count 5 -s 2
status 1 'another seed asks other questions' cmp -s five out
printf 'Add well.\n\n' >rules.txt
ok 'questions are asked after a message of a system' ask --count 2 \
    --system rules.txt
like 'the message of the system is in the line' \
    '^\{"messages": \[\{"role": "system", "content": "Add well\."\}, \{"role": "user"' out
printf 'Add otherwise.\n' >others.txt
ok 'questions are asked after another message' ask --count 2 --system others.txt
cat >tell.jinja <<'END'
{{ raise_exception('got ' ~ messages|map(attribute='role')|join(',') ~ ': ' ~ messages[-1].content) }}
END
status 3 'a template that refuses a system message is refused' \
    ask --count 2 --system rules.txt --template tell.jinja
like 'the refusal has the words of the template' \
    '^generate run: --system rules.txt: chat template: got system,user: ' err

ok 'questions are answered' generate run -q -m chat --prompts five -n 20
form='"asked": \{"model": .*"seed": 1, .*\}.*"text": " sure, [0-9]+"'
equal 'each answer is beside its question, which says how it was made' \
    "$(grep -cE "$form" out)" 5

if has_terminal; then
    # many questions one by one, so that a line of progress is drawn
    NO_COLOR=1 TERM=xterm RETORT_KERNELS=ref terminal 'generate run -m chat \
        --ask -n 20 --temperature 1 -s 1 --count 100 --at-once 1 >many'
    tr '\r' '\n' <screen | sed "s/$(printf '\033')\\[K//" >lines
    like 'progress of questions counts tokens, and has time left' \
        'generating [0-9.]+ (k )?of [0-9.]+ (k )?tokens \([0-9]+ %\), [0-9:]+ left' \
        lines
fi

# --- texts that are no questions ---
status 3 'a model whose texts do not end is refused' ask --count 5 -n 2
like 'the refusal counts the texts that do not end' \
    'only 0 of 64 texts are questions \(dropped: 64 unfinished\): give ' err
printf '%s' '{{ messages[-1].content }}' >bare.jinja
# a template whose user's words come where a role stands
cat >role.jinja <<'END'
{% if messages|length > 1 %}Bot:
{% endif %}User: add 1 and 2
{{ messages[-1].content }}
END
status 3 'a model that writes its role is refused' ask --count 5 \
    --template role.jinja
like 'the refusal counts the texts with roles' 'dropped: .*[0-9]+ marked' err
# a template whose user's words come where the model answers
echo 'User: add 1 and 2
Bot: {{ messages[-1].content }}' >help.jinja
status 3 'a model that only answers is refused' ask --count 5 \
    --template help.jinja
like 'the refusal counts the texts that answer' \
    'dropped: ([0-9]+ [a-z]+, )*[4-6][0-9] answering' err
cp err told
status 3 'a model that answers long texts is refused' ask --count 5 \
    --template help.jinja --at-once 3 -n 1000
same 'answers are counted alike whatever their length is' told err
# a model that ends a user's words with a special token that is no EOS
cp -r chat other-end
sed 's/<|endoftext|>/~/' tok/tokenizer_config.json >other-end/tokenizer_config.json
rm -f other-end/generation_config.json
sed '/eos_token_id/d' chat/config.json >other-end/config.json
echo 'User: add 1 and 2
Bot: sure,{{ messages[-1].content }}' >sure.jinja
ok 'a special token ends a question' generate run -q -m other-end --ask -n 9 \
    --temperature 1 -s 1 --count 5 --template sure.jinja
equal 'the special token is no part of the question' \
    "$(grep -cE '"content": "[0-9]+"' out)" 5
echo '{{ messages[-1].content }}{{ nonesuch() }}' >bad.jinja
status 3 'a template that cannot be rendered is refused' ask --count 5 \
    --template bad.jinja
status 2 'a model without a template is refused' generate run -q -m base \
    --ask --count 5 --temperature 1
like 'the refusal says what to give instead' \
    'no chat template.*--like.*--template' err
ok 'hot texts are sifted' generate run -m chat --ask --count 20 -n 20 \
    --temperature 2 -s 1
cp out hot
like 'a note counts texts by reason' \
    '20 of [0-9]+ texts are questions \(dropped: [1-9][0-9]* [a-z]+, ' err
for bad in '--count 5' '--temperature 1' '--count 5 --temperature 1 the' \
    '--count 5 --temperature 1 --prompts five' \
    '--count 5 --temperature 1 --stop x' '--count 5 --temperature 1 --harder' \
    '--count 5 --temperature 1 --logprobs 1'; do
    # shellcheck disable=SC2086 # a list
    status 2 "--ask with only $bad is refused" generate run -q -m chat --ask $bad
done
for bad in '--system rules.txt' '--like five' '--harder'; do
    # shellcheck disable=SC2086 # a list
    status 2 "$bad without its option is refused" generate run -q -m chat \
        --count 3 $bad
done
: >empty
status 3 'an empty system message is refused' ask --count 2 --system empty
status 1 'a system message that is missing is refused' ask --count 2 \
    --system nothing.txt

# --- interrupted, and taken up again ---
cut_short() {
    head -n 3 nine >texts
    tail -n 1 nine | head -c 50 >>texts
}
cut_short
ok 'questions go on after a file without a record' ask --count 9 --resume texts
same 'its last line is made again, and the file has the bytes of one run' \
    nine texts
cut_short
ok 'questions go on after a line that was cut' ask --count 9 --resume texts \
    --at-once 2
same 'the file has the bytes of one run' nine texts
ok 'more questions are added' ask --count 5 --resume few
ok 'the file gets four more' ask --count 9 --resume few
same 'the longer file has the bytes of one run' nine few
ok 'a whole file is left as it is' ask --count 9 --resume few
same 'a whole file is not changed' nine few
status 2 'a file of more questions is refused' ask --count 8 --resume few
like 'the refusal names the line too many' '^generate run: few: line 9: ' err
reweigh chat other 4
cp chat/chat_template.jinja other
head -n 3 nine >texts
for with in '-m other' '--temperature 0.8' '-n 9' '--system rules.txt' '-s 2' \
    '--top-p 0.9' '--template bare.jinja'; do
    # shellcheck disable=SC2086 # a list
    status 2 "questions are not continued with $with" ask --count 9 \
        --resume texts $with
done
status 2 'questions are not made harder in their own file' generate run -q \
    -m chat --harder --prompts five -n 20 --temperature 1 --top-p 0.95 -s 1 \
    --resume texts
head -n 3 nine >got
same 'a refused file of questions stays as it is' got texts
ok 'hot questions are written to a file' generate run -q -m chat --ask \
    --count 12 -n 20 --temperature 2 -s 1 --resume hot.file
ok 'hot questions go on' generate run -q -m chat --ask --count 20 -n 20 \
    --temperature 2 -s 1 --resume hot.file
same 'dropped texts change no byte of a resumed file' hot hot.file

# --- questions like examples ---
awk 'BEGIN { for (a = 0; a < 8; a++) for (b = 0; b < 9; b++)
    printf "{\"prompt\": \"add %d and %d\", \"completion\": \"%d\"}\n", a, b,
        a + b }' >like.jsonl
like_base() {
    generate run -m base --ask --like like.jsonl -n 20 --temperature 1 \
        --top-p 0.95 -s 1 --at-once 4 "$@"
}
head -n 3 like.jsonl >three
ok 'a base model asks questions like examples' generate run -q -m base --ask \
    --like three -n 20 --temperature 1 --count 5 -s 1
form='^\{"prompt": "add [0-9] and [0-9]", "asked": '
equal 'questions like prompts are prompts' "$(grep -cE "$form" out)" 5
ok 'questions like most of those there are' like_base --count 3
cp out rest
like 'copies of examples are dropped' \
    'dropped: ([0-9]+ [a-z]+, )*[1-9][0-9]* copied\)' err
equal 'no question is an example' "$(grep -c 'add [0-7] and' rest)" 0
ok 'questions like examples are asked at once' like_base -q --count 3 --at-once 50
same 'questions like examples do not depend on --at-once' rest out
sed 's/"prompt": \("[^"]*"\).*/"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": \1}, {"role": "assistant", "content": "7"}]}/' \
    three >talks
ok 'a template that is given the examples asks' generate run -q -m chat --ask \
    --like talks -n 20 --temperature 1 --count 3 -s 1 --template bare.jinja
form='^\{"messages": \[\{"role": "system", "content": "Be brief\."\}, '
form=$form'\{"role": "user", "content": "[^"]*"\}\], "asked"'
equal 'questions like messages are messages' "$(grep -cE "$form" out)" 3
status 3 'a template is told to write another' generate run -q -m chat --ask \
    --like three -n 20 --count 3 --template tell.jinja
sed 's/\\x0a/ /g' err >told
like 'all three examples are in the words for the template' \
    'got user: Here are examples .*(add 0 and [012].*){3}Write another' told
head -n 1 three >one
ok 'one example is enough' generate run -q -m base --ask --like one \
    -n 20 --temperature 1 --count 2 -s 1
like_base -q --count 2 --resume liked >/dev/null
tail -n 71 like.jsonl >less.jsonl
status 2 'questions are not continued with other examples' generate run -q \
    -m base --ask --like less.jsonl -n 20 --temperature 1 --top-p 0.95 -s 1 \
    --count 3 --resume liked
like 'the refusal names the option of the examples' '--like is ' err
refuse() {
    status 3 "examples are refused: $1" generate run -q -m base --ask \
        --like "$2" -n 20 --count 2
    like "the refusal speaks of $1" "^generate run: $2: $3" err
}
refuse 'no lines' empty 'holds no examples'
printf '{"prompt": "a"}\n{"text": "a"}\n' >bad1
refuse 'a line without a question' bad1 'line 2: has neither messages nor a'
echo '{"messages": [{"role": "assistant", "content": "a"}]}' >bad2
refuse 'messages without a user' bad2 'line 1: messages do not begin'
echo '{"prompt": "a </question>"}' >bad3
refuse 'the mark of an end' bad3 'line 1: holds </question>'
echo 'add 1 and 2' >bad4
refuse 'plain text' bad4 'line 1: '
sed 's/"max_position_embeddings": 2000/"max_position_embeddings": 40/' \
    base/config.json >small.json
cp -r base short
cp small.json short/config.json
refuse_short() { generate run -q -m short --ask --like three -n 20 --count 2; }
status 3 'examples that exceed the positions are refused' refuse_short
like 'the refusal says how many positions there are' "model's 40 positions" err

# --- harder questions ---
# a prompt that the small model continues, whatever it is told
echo '<question>
add 1 and 1
</question>
' >fixed.jinja
harder() {
    generate run -q -m chat --template fixed.jinja --harder --prompts q.jsonl \
        -n 20 --temperature 1 -s 1 "$@"
}
awk 'BEGIN { for (i = 0; i < 12; i++) {
    if (i % 2) printf "{\"prompt\": \"ask %d\"}\n", i
    else printf "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"ask %d\"}], \"asked\": {\"seed\": 3}}\n", i } }' >q.jsonl
ok 'questions are made harder' harder
cp out hard
equal 'each question is rewritten' "$(grep -c '' hard)" 12
like 'a harder line of messages has them' \
    '^\{"messages": \[\{"role": "system", "content": "S"\}, \{"role": "user", "content": "add [0-9] and [0-9]"\}\], "asked": \{"model": "[0-9a-f]*", "temperature": 1.0, "seed": 1, "index": 4, "way": "[a-z]+", "from": "ask 4"\}\}$' hard
like 'a harder line of a prompt has one' \
    '^\{"prompt": "add [0-9] and [0-9]", "asked": .*"index": 5, .*"from": "ask 5"\}\}$' hard
equal 'questions are made harder in three ways' "$(sed \
    's/.*"way": "\([a-z]*\)".*/\1/' hard | sort -u | tr '\n' ' ')" \
    'condition depth steps '
ok 'harder questions are written one by one' harder --at-once 1
same 'harder questions do not depend on --at-once' hard out
head -n 4 hard >part
ok 'harder questions go on' harder --resume part --count 7
head -n 7 hard >want
same 'the first seven have the bytes of one run' want part
ok 'harder questions go on to the end' harder --resume part
same 'harder questions have the bytes of one run' hard part
sed 's/ask 2/ask 20/' q.jsonl >changed.jsonl
head -n 4 hard >part
status 2 'harder questions of other questions are not continued' generate run \
    -q -m chat --template fixed.jinja --harder --prompts changed.jsonl -n 20 \
    --temperature 1 -s 1 --resume part
like 'the refusal names the line of the other question' 'part: line 3: ' err
status 3 'the teacher is told how to make a question harder' generate run -q \
    -m chat --template tell.jinja --harder --prompts q.jsonl
sed 's/\\x0a/ /g' err >told
like 'the question and the way are in the words for the template' \
    'got user: Rewrite .*<question> ask 0 </question>.*To make it harder, ' told
ok 'harder questions are drawn at temperature 0' generate run -q -m chat \
    --template fixed.jinja --harder --prompts q.jsonl -n 20
sed -n '1s/.*"content": "\(add[^"]*\)".*/{"prompt": "\1"}\n{"prompt": "x"}/p' \
    out >again.jsonl
ok 'a question that stays as it is is dropped' generate run -m chat \
    --template fixed.jinja --harder --prompts again.jsonl -n 20
equal 'the other question is kept' "$(sed 's/.*"from": //' out)" '"x"}}'
like 'the copy is counted' '1 of 2 texts are questions \(dropped: 1 copied\)' err
status 3 'questions none of which is rewritten are no result' generate run -q \
    -m chat --template fixed.jinja --harder --prompts again.jsonl -n 2
like 'the refusal counts them by reason' \
    'none of 2 texts is a question \(dropped: 2 unfinished\)' err
status 2 '--harder without --prompts is refused' generate run -q -m chat \
    --harder
status 2 '--harder with a model without a template is refused' generate run -q \
    -m base --harder --prompts q.jsonl
status 3 'a file without questions is refused' generate run -q -m chat \
    --harder --prompts empty
like 'the refusal names the file without questions' 'empty: holds no' err
done_testing
