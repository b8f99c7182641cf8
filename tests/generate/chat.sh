#!/bin/sh
# generate chat: lines are questions that a model answers
. "${0%/*}/../lib/lib.sh"

XDG_STATE_HOME=$PWD/state # of the history
export XDG_STATE_HOME
m=$top/tests/golden/gguf/f32-hf
talk() { generate chat -q -m "$m" --temperature 0 "$@"; }

# --- what the model reads and writes ---
echo '{{ messages[-1].content }}' >last.jinja
printf 'The river\n' >q
ok 'chat answers a line' talk --template last.jinja -n 12 <q
cp out answer
generate run -q -m "$m" 'The river' -n 12 | sed 's/^The river//' >want
same 'an answer is the text that continues the rendered messages' answer want
printf 'The river\n\n  \nThe river' >q2
ok 'chat answers two lines' talk --template last.jinja -n 12 <q2
cat answer answer >want
same 'each line has an answer, blank ones have none' out want
ok 'chat draws an answer' talk --template last.jinja -n 12 --temperature 2 -s 7 <q2
cp out drawn
ok 'chat draws it again' talk --template last.jinja -n 12 --temperature 2 -s 7 -j 3 <q2
same 'a seed has the same answers' out drawn
status 1 'a temperature makes other answers' cmp -s drawn want

# --- how answers are drawn where no option says it ---
# says FILE JSON: a model whose generation_config.json says JSON besides ids
says() {
    cp -r "$m" "$1"
    printf '{"bos_token_id": 1, "eos_token_id": 2, %s}' "$2" \
        >"$1/generation_config.json"
}
usual() { generate chat -q --template last.jinja -n 12 "$@" <q2; }
cat answer answer >want
says still '"do_sample": false, "temperature": 0.6'
says hot '"do_sample": true, "temperature": 2.0'
ok 'a chat asks a model that is greedy' usual -m still
same 'do_sample false takes the most probable tokens' out want
ok 'a chat draws at 2 from all tokens' usual -m "$m" -s 7 --temperature 2 --top-p 1
cp out wide
ok 'a chat asks a model that says a temperature' usual -m hot -s 7
same "the model's temperature is that of the option" out wide
ok 'a chat asks a model that says nothing' usual -m "$m" -s 7
cp out mild
ok 'a chat is told what is usual' usual -m "$m" -s 7 --temperature 0.7 \
    --top-p 0.95
same 'a chat has 0.7 and 0.95 where the model says nothing' mild out
ok 'a greedy model becomes a GGUF' convert -q still still.gguf
ok 'and a chat asks that' usual -m still.gguf
same 'a GGUF is greedy as its model is' out want
ok 'a GGUF becomes a directory' convert -q still.gguf stiller
like 'a directory keeps do_sample' '"do_sample": *false' \
    stiller/generation_config.json
ok 'a GGUF of sampled texts is written' convert -q hot hot.gguf
ok 'and read' convert -q hot.gguf hotter
like 'a directory keeps the temperature' '"temperature": *2' \
    hotter/generation_config.json
says bad '"top_p": "wide"'
status 3 'a wrong value of a model is refused' usual -m bad
like 'the message names file and member' 'bad: generation_config.json: top_p' err

# --- the conversation ---
# a template that refuses tells what it got
cat >tell.jinja <<'END'
{% set ns = namespace(all='') %}
{% for m in messages %}{% set ns.all = ns.all ~ m.role[0] ~ m.content|length ~ ' ' %}{% endfor %}
{% if messages|length > 2 %}{{ raise_exception('got ' ~ ns.all) }}{% endif %}{{ messages[-1].content }}
END
printf 'ab\nabc\n' >q3
status 3 'a template refuses messages' talk --template tell.jinja -n 4 <q3
like 'earlier turns come before a question' 'got u2 a[0-9]* u3' err
status 3 'a template refuses messages of a system' \
    talk --template tell.jinja --system 'four' -n 4 <q3
like "the system's message comes first" 'got s4 u2 a[0-9]* u3' err
printf 'ab\n/new\nabc\n/new\nab\n' >q4
ok 'a line /new begins a new conversation' talk --template tell.jinja -n 4 <q4
equal 'a line /new has no answer' "$(generate chat -m "$m" --template tell.jinja \
    --temperature 0 -n 4 <q4 2>&1 >/dev/null | grep -c '3 questions\|[3] questions')" 1
status 3 'a conversation that is too long is refused' \
    talk --template last.jinja <<END
$(seq -s ' ' 1 400)
END
like 'the message says how to go on' '/new' err
ok 'an answer that fills the positions ends there' generate chat -m "$m" \
    --temperature 0 --template last.jinja -n 1000 <q
like 'a note says that the positions are filled' \
    'no room.* 128 positions.*/new' err
ok 'an answer that -n ends has no such note' generate chat -m "$m" \
    --temperature 0 --template last.jinja -n 12 <q
unlike 'the note is about positions alone' 'positions' err
# --- two models ---
ok 'two models answer' talk --template last.jinja --against "$m" -n 12 <q
sed 's/^\[[^]]*f32-hf\] //' out >got
cat answer answer >want
equal 'each answer has a label' "$(grep -c '^\[.*f32-hf\] ' out)" 2
same 'each model answers in turn' got want

# --- templates ---
ok 'a model has its own template' talk -n 4 <q
cp -r "$m" bare
sed -i '/chat_template/d; s/,$/,/' bare/tokenizer_config.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast"}' >bare/tokenizer_config.json
status 2 'a model without a template is refused' \
    generate chat -q -m bare <q
like 'the message says what to type' 'no chat template.*--template' err
printf 'a\n{%% nonesuch %%}' >bad.jinja
status 3 'a template that is not known is refused' talk --template bad.jinja <q
like 'the message names statement and line' 'line 2.*nonesuch' err
status 2 'chat needs a model' generate chat -q <q
like 'the message names the option' '-m' err

# --- long conversations and Ctrl-C ---
cp -r "$m" endless
sed -i 's/"max_position_embeddings": 128/"max_position_embeddings": 4000000/' \
    endless/config.json
echo '{{ messages|map(attribute="content")|join(" ") }}' >all.jinja
{ seq -s ' ' 1 200; echo and; echo so; } >q5
ok 'a conversation of three turns is answered' generate chat -v -m endless --temperature 0 \
    --template all.jinja -n 4 <q5
equal 'earlier turns come from the cache' "$(sed -n \
    's/.* \([0-9]*\) of [0-9]* tokens of prompts .*/\1/p' err |
    awk '{ print ($1 > 0) }')" 1
mkfifo in
generate chat -q -m endless --temperature 0 --template last.jinja -n 1000000 \
    --cache 200M <in >said 2>told &
pid=$!
exec 3>in
echo 'The river' >&3
await test -s said
kill -INT $pid
await grep -q '' said
lines=$(wc -l <said)
ended() { [ "$(wc -l <said)" -gt "$lines" ]; }
if [ "$lines" -eq 0 ]; then await ended; fi
echo '/new' >&3
bytes=$(wc -c <said)
echo 'The river' >&3
grown() { [ "$(wc -c <said)" -gt "$((bytes + 20))" ]; }
await grown
ok 'an answer that Ctrl-C ended is followed by another' grown
kill -INT $pid
exec 3>&-
got=0
wait $pid || got=$?
equal 'a chat goes on after Ctrl-C, and ends with its input' $got 0
if has_terminal; then
    printf 'The river\n' |
        terminal "NO_COLOR=1 generate chat -q -m '$m' --template last.jinja \
            -n 12"
    like 'a terminal shows where to type' '> ' screen
else
    skip 'a chat on a terminal' 'no terminal: script(1) or /dev/pts is missing'
fi
done_testing
