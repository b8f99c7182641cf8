#!/bin/sh
# tokenize --chat: conversations to documents with a loss mask
. "${0%/*}/../lib/lib.sh"

mkdir m
cp "$top/tests/golden/tok/family/qwen.json" m/tokenizer.json
cat >m/tokenizer_config.json <<'END'
{"eos_token": "<|im_end|>"}
END
cat >m/chat_template.jinja <<'END'
{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}

{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}
END
cat >c.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
{"prompt": [{"role": "user", "content": "2 + 2?"}], "completion": [{"role": "assistant", "content": "4"}]}
{"prompt": "The cat ", "completion": "sat."}
END
ok 'conversations become a stream' tokenize -q -t m --chat c.jsonl -o s
ok 'the stream is a sound one' shard dump -q s
like 'documents have a loss mask' 'loss_mask' out
cp out dump
ok 'its text is that of the template' tokenize -q -t m --decode s
printf '%s\n' '<|im_start|>user' 'Hi<|im_end|>' '<|im_start|>assistant' \
    'Hello.<|im_end|>' '<|im_start|>user' '2 + 2?<|im_end|>' \
    '<|im_start|>assistant' '4<|im_end|>' 'The cat sat.<|im_end|>' >want
{ sed '/^$/d' out; echo; } >got
same 'no BOS and no EOS is added to a conversation' got want
for j in 1 3; do
    ok "conversations are encoded by $j threads" \
        tokenize -q -t m --chat -j $j c.jsonl -o s$j
    same "$j threads write the same bytes" s s$j
done
cat c.jsonl c.jsonl c.jsonl >more.jsonl
ok 'conversations are stored' sh -c \
    'tokenize -q -t m --chat more.jsonl -o - | shard write -q -o d'
ok 'rows are made of conversations' stream -q d -B 2 -T 64 --no-shuffle -o rows
ok 'the rows have a loss mask' shard dump rows
like 'a batch has a loss mask' 'loss_mask' out
ok 'ids of conversations are printed' tokenize -q -t m --chat --ids c.jsonl
cp out ids
equal 'each conversation has a line of ids' "$(wc -l <ids)" 3

# --- lines of generate run ---
# Each line of `run` says the same as that of `told`.
cat >run.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}], "asked": {"seed": 1}, "prompt": "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "index": 0, "seed": 0, "text": "Hello.", "finish_reason": "eos", "tokens": 2}
{"prompt": "The cat ", "index": 1, "seed": 0, "text": "sat.", "finish_reason": "stop", "tokens": 2}
{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "text": "another text"}
{"prompt": "The cat ", "completion": "sat.", "text": "another text"}
END
cat >told.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
{"prompt": "The cat ", "completion": "sat."}
{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
{"prompt": "The cat ", "completion": "sat."}
END
dumped() { # FILE: the ids and masks of its documents
    tokenize -q -t m --chat --lang x "$1" -o s &&
        shard write -q -f -o "$1.d" s &&
        stream -q "$1.d" -B 1 -T 32 --no-shuffle -o rows &&
        shard dump --values 99 rows | grep -Ev 'key|cursor|chain' >"$1.dump"
}
ok 'texts of generate run are conversations' dumped run.jsonl
ok 'the same conversations are told' dumped told.jsonl
same 'a text of generate run is the answer to its prompt' run.jsonl.dump told.jsonl.dump
sed 's/"eos"/"length"/' run.jsonl >cut.jsonl
ok 'an answer that was cut off is taken' tokenize -t m --chat cut.jsonl -o s
like 'a warning counts the answers that were cut off' \
    '^tokenize: 1 of 4 answers were cut off' err
ok 'whole answers are taken' tokenize -t m --chat run.jsonl -o s
unlike 'whole answers have no warning' 'cut off' err
sed 1q run.jsonl >one.jsonl
echo '{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}' >nomarks.jinja
echo '{"prompt": [{"role": "user", "content": "Hi"}], "completion": [{"role": "assistant", "content": "Hello."}]}' >two.jsonl
for f in one two; do
    ok "a template without marks takes a completion: $f" \
        tokenize -q -t m --lang x --chat --template nomarks.jinja $f.jsonl -o $f.s
    shard dump --values 99 $f.s | grep -Ev 'key|cursor|chain' >$f.dump
done
same 'the answer is the completion for a template without marks' one.dump two.dump

# --- what is refused ---
wrong() { # WHAT STATUS WORDS RECORD
    printf '%s\n%s\n' "$(sed 1q c.jsonl)" "$4" >bad.jsonl
    status "$2" "$1" tokenize -q -t m --chat bad.jsonl -o bad
    like "the message about it says where: $1" "bad.jsonl: line [0-9]+, offset [0-9]*: .*$3" err
}
wrong 'a record without messages is refused' 3 'no messages' '{"text": "a"}'
wrong 'a conversation without an answer is refused' 3 'nothing to learn' \
    '{"messages": [{"role": "user", "content": "a"}]}'
wrong 'a record that is no JSON is refused' 3 '' '{"messages": [}'
wrong 'a message without a role is refused' 3 'messages\[0\].*role' \
    '{"messages": [{"content": "a"}]}'
wrong 'a prompt that is no text is refused' 3 'neither' \
    '{"prompt": 1, "completion": "a"}'
status 3 'a conversation without --chat is refused' tokenize -q -t m c.jsonl -o t
like 'the message on a conversation names --chat' \
    'c.jsonl: line 1, offset 0: .*conversation, .*tokenize --chat' err
status 2 '--chat excludes --no-eos' tokenize -q -t m --chat --no-eos c.jsonl -o t
status 2 '--template needs --chat' tokenize -q -t m --template x c.jsonl -o t
like 'the message names --chat' '--chat' err
mv m/chat_template.jinja own.jinja
status 2 'a tokenizer without a template is refused' \
    tokenize -q -t m --chat c.jsonl -o t
like 'the message names --template' 'no chat template.*--template' err
ok 'a template is given' tokenize -q -t m --chat --template own.jinja --ids c.jsonl
same 'a given template has the same ids' ids out
echo '{{ messages[0].content }}' >plain.jinja
status 2 'a template that marks nothing is refused' \
    tokenize -q -t m --chat --template plain.jinja c.jsonl -o t
like 'the message says what a template needs' 'generation' err

# --- going on ---
awk 'BEGIN {
    for (i = 0; i < 20000; i++)
        printf "{\"messages\": [{\"role\": \"user\", \"content\": \"%d times %d" \
            " and %d are\"}, {\"role\": \"assistant\", \"content\": \"%d\"}]}\n", \
            i, i, i, i * i + i
}' >many.jsonl
goes_on() {
    tokenize -q -t m --chat --template own.jinja --resume half "$@" many.jsonl
}
tokenize -q -t m --chat --template own.jinja --date 2026-01-31 many.jsonl -o s
head -c $(($(wc -c <s) * 2 / 3)) s >cut
status 3 'a stream that is cut off ends a folder early' \
    shard write -q --frame 2K --shard-size 1K -o half cut
status 2 'a stream of another date is not resumed' goes_on --date 2026-02-01
cp own.jinja kept.jinja
echo >>own.jinja
status 2 'a stream of another template in the same file is not resumed' \
    goes_on --date 2026-01-31
like 'the message says what differs' 'half: was begun with other options' err
mv kept.jinja own.jinja
ok 'a stream of the same date and template is resumed' goes_on --date 2026-01-31
done_testing
