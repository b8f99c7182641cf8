#!/bin/sh
# generate: run writes texts of prompts, bench measures models
. "${0%/*}/../lib/lib.sh"

m=$top/tests/golden/gguf/f32-hf
say() { generate run -q -m "$m" "$@"; }
measure() { generate bench -q -m "$m" "$@"; }
# bare FILE: its lines without what made their texts
bare() { sed 's/"temperature": [0-9.]*, "model": "[0-9a-f]*", //' "$1"; }
# member NAME FILE: that member of each line, as JSON
member() { sed "s/.*\"$1\": \(\"[^\"]*\"\|[0-9]*\).*/\1/" "$2"; }

# --- a file of prompts ---
cat >p.jsonl <<'END'
{"prompt": "The river", "id": "a", "more": [1, {"x": null}]}
{"prompt": "the", "id": "b"}

{"id": "c", "prompt": "A much longer prompt, which several tokens are made of: 1 2 3"}
{"prompt": "of and to", "id": "d"}
{"prompt": "\u00e9t\u00e9 \"x\"\n", "id": "e"}
END
ok 'generate takes a file of prompts' say --prompts p.jsonl -n 12
cp out greedy
equal 'each prompt has a line, in their order' "$(member id out | tr -d '\n')" \
    '"a""b""c""d""e"'
like 'a line keeps its members' '"more": \[1, \{"x": null\}\].*"text": ' out
equal "the index is the line's number" "$(member index out | tr '\n' ' ')" \
    '0 1 3 4 5 '
like 'a line has the temperature and the hash of the model' \
    '"seed": 0, "temperature": 0.0, "model": "[0-9a-f]{32}", "text"' greedy
like '-n ends a text after 12 tokens' '"finish_reason": "length", "tokens": 12}' out
ok 'generate takes a prompt operand' say 'The river' -n 12
sed 's/^The river//' out | LC_ALL=C tr -cd 'a-z ' >alone
sed -n '1{
    s/.*"text": "\(.*\)", "finish.*/\1/
    s/\\u[0-9a-f]*//gp
}' greedy | LC_ALL=C tr -cd 'a-z ' >first
ok 'the text of a prompt has words' grep -q them first
same 'a prompt has one text, alone and in a file' first alone
ok 'generate takes several prompt operands' say 'The river' the '' -n 12
cp out several
ok 'the first of them is continued alone' say 'The river' -n 12
cp out want
for q in the ''; do
    echo >>want
    ok "the prompt \"$q\" is continued alone" say "$q" -n 12
    cat out >>want
done
same 'several prompts have the texts that each has alone' several want
ok 'they are continued one at a time' say 'The river' the '' -n 12 --at-once 1
same 'their texts do not depend on how many are made at once' out want
ok 'two prompts are drawn' say a a -n 12 --temperature 1.5 -s 4
equal 'equal prompts have texts of their own' \
    "$(sort out | uniq -d | grep -c .)" 0

# --- a draft ---
convert -q --dtype q4_0 "$m" small.gguf
for how in "--draft $m" '--draft small.gguf --guesses 2' \
    '--draft small.gguf --at-once 1 -j 1'; do
    # shellcheck disable=SC2086 # a list
    ok "prompts are continued with $how" say --prompts p.jsonl -n 12 $how
    same "$how changes no byte" greedy out
done
ok 'a draft guesses for texts at a temperature' generate run -v -m "$m" \
    --draft "$m" --temperature 1 -s 3 -n 30 'The river'
like 'the closing line says how many guesses were right' \
    '[1-9][0-9]* of [1-9][0-9]* guesses' err
cp out drafted
say --temperature 1 -s 3 -n 30 'The river' >plain
same 'a draft changes no byte at a temperature' plain drafted
cp -R "$m" other
chmod -R u+w other
sed 's/"content": "<|endoftext|>"/"content": "<|other|>"/; s/<|endoftext|>/<|other|>/g' \
    "$m/tokenizer.json" >other/tokenizer.json
status 2 'a draft of another tokenizer is refused' say --draft other -n 3 the
like 'the refusal speaks of the tokenizer' 'tokenizer' err
status 2 'a draft with the gated delta rule is refused' say \
    --draft "$top/tests/golden/family/qwen3_5" -n 3 the
like 'the refusal names the gated delta rule' 'qwen3_5: .*delta' err

for how in '--at-once 1' '--at-once 3 -j 1' '--at-once 2 -j 3'; do
    # shellcheck disable=SC2086 # a list
    ok "prompts are continued with $how" say --prompts p.jsonl -n 12 $how
    same "$how changes no byte" greedy out
    # shellcheck disable=SC2086
    ok "texts are drawn with $how" say --prompts p.jsonl -n 12 --temperature 2 \
        --top-p 0.9 -s 5 $how
    [ -e chance ] || cp out chance
    same "$how changes no byte of drawn texts" chance out
done
status 1 'a temperature makes other texts' cmp -s greedy chance
ok 'texts are drawn with another seed' say --prompts p.jsonl -n 12 --temperature 2 --top-p 0.9 -s 6
status 1 'another seed makes other texts' cmp -s out chance
sort -r chance | sed 's/, "seed".*/}/' >back.jsonl
ok 'prompts are continued in another order' say --prompts back.jsonl -n 12 --temperature 2 --top-p 0.9 -s 5 \
    --at-once 3
sort -r out >got
sort -r chance >want
same "a prompt's text depends on its index, not its place" got want
ok 'a tiny nucleus is drawn from' say --prompts p.jsonl -n 12 --temperature 1 --top-p 1e-6
bare greedy >want
bare out >got
same 'a tiny nucleus makes the most probable text' want got

# --- weights in bf16, and 2:4 without their zeros, read where they lie ---
ok 'weights become bf16' convert -q --dtype bf16 "$m" half
printf '%s\n' '{"text": "The river and the sea"}' >t.jsonl
tokenize -q -t "$m" t.jsonl -o t.docs && shard write -q -o t t.docs &&
    stream -q -B 1 -T 8 --batches 1 -o b t || exit 1
ok 'weights become 2:4 sparse' prune sparsify -q -m "$m" --method magnitude -o zeros b
ok 'sparse weights become bf16' convert -q --dtype bf16 zeros zeros-half
for z in zeros zeros-half; do
    ok "$z is stored without its zeros" convert -q --compressed $z packed-$z
done
for z in half zeros packed-zeros zeros-half packed-zeros-half; do
    for n in 1 3 5; do
        ok "$z continues prompts, $n at once" generate run -q -m $z --prompts p.jsonl -n 12 --at-once $n
        cp out $z.$n
        same "$z has the same texts, $n at once" $z.1 $z.$n
    done
done
for z in zeros zeros-half; do
    bare $z.1 >want
    bare packed-$z.1 >got
    same "$z has the same texts without its zeros" want got
done
cat >other.jsonl <<'END'
{"a": {"b": "The river"}}
{"a": {"b": "the"}}
END
status 0 'prompts come by another field from standard input' sh -c \
    'generate run -q -m "$1" --prompts - --field a.b -n 12 <other.jsonl' - "$m"
head -n 2 greedy >two
member text two >want
member text out >got
same 'another field has the same texts' want got

# --- kinds of prompts ---
printf 'The river\n\nof and to\r\n' >plain
ok 'lines of plain text are prompts' say --prompts plain -n 12
head -n 1 greedy | sed 's/.*"text"/"text"/' >want
sed -n '1s/.*"text"/"text"/p' out >got
same 'a plain line has the text of a JSON line' want got
like 'a plain line ends before its newline' '"prompt": "of and to", "index": 2' out
ok 'texts are made without a prompt' say --count 3 -n 5 --temperature 1
equal '... as many as --count' "$(member index out | tr '\n' ' ')" '0 1 2 '
equal '... which are other texts' "$(member text out | sort -u | wc -l | tr -d ' ')" 3
ok 'an empty prompt begins a text' say --prompts - -n 5 --temperature 1 <<'END'
{"prompt": ""}
END
member text out >got
ok 'one text is made without a prompt' say --count 1 -n 5 --temperature 1
member text out >want
same 'an empty prompt is no prompt' want got
ok '--count takes the first prompts of a file' say --prompts p.jsonl --count 2 -n 12
same '... and makes their texts' out two

# --- parameters of a line ---
cat >own.jsonl <<'END'
{"prompt": "The river", "max_tokens": 3}
{"prompt": "The river", "n": 3, "seed": 9, "temperature": 1.5}
{"prompt": "The river", "seed": 9, "temperature": 1.5}
{"prompt": "The river", "logprobs": 2, "max_tokens": 2}
END
ok 'lines have parameters of their own' say --prompts own.jsonl -n 12
cp out own
equal 'max_tokens is the length of a text' "$(member tokens own | head -n 1)" 3
equal 'n makes several texts' "$(sed -n 's/.*"choice": \([0-9]*\).*/\1/p' own |
    tr '\n' ' ')" '0 1 2 '
equal '... which are other texts' \
    "$(sed -n 2,4p own | sed 's/.*"text"//' | sort -u | wc -l | tr -d ' ')" 3
sed -n 's/"choice": 0, //; 2s/.*"text"//p' own >want
sed -n '5s/.*"text"//p' own >got
same 'a text with a seed does not depend on its line' want got
equal 'logprobs reports each token' \
    "$(tail -n 1 own | grep -o '"token_logprobs": \[[^]]*' | tr ',' '\n' | wc -l)" 2
like 'logprobs reports the most probable tokens' '"top_logprobs": \[\{".*": -' own
ok '--logprobs is a default for all lines' say --prompts own.jsonl -n 12 --logprobs 2
tail -n 1 own >want
tail -n 1 out >got
same '... as the member of a line' want got
printf '{"prompt": "a", "temperature": "hot"}\n' >bad
status 3 'a parameter of the wrong type is refused' say --prompts bad
like '... names line and member' 'line 1: temperature: ' err

# --- messages ---
cat >talk.jsonl <<'END'
{"messages": [{"role": "user", "content": "The river"}], "max_tokens": 5}
{"prompt": "<user>The river<answer>", "max_tokens": 5}
END
cp -r "$m" bare
sed '/"chat_template"/d' "$m/tokenizer_config.json" >bare/tokenizer_config.json
status 3 'messages for a model without a chat template are refused' \
    generate run -q -m bare --prompts talk.jsonl
like '... which names line and template' 'line 1: .*template' err
cp -r "$m" talks
echo '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}' |
    tr -d '\n' >talks/chat_template.jinja
echo '{% if add_generation_prompt %}<answer>{% endif %}' | tr -d '\n' \
    >>talks/chat_template.jinja
ok 'messages are continued with a template from a file' generate run -q -m bare \
    --prompts talk.jsonl --template talks/chat_template.jinja
cp out want
ok 'messages are continued' generate run -q -m talks --prompts talk.jsonl
sed 's/.*"text"//' want >want.text
sed 's/.*"text"//' out >got
same '... with the text that the file makes' want.text got
equal 'messages become the prompt that the template makes' \
    "$(sed 's/.*"prompt": //; s/, .*//' out | uniq | wc -l | tr -d ' ')" 1
equal '... and have its text' \
    "$(sed 's/.*"text": //' out | uniq | wc -l | tr -d ' ')" 1
echo '{{ messages[0].content }}{{ tools|tojson }}{{ kind }}' >told.jinja
cat >told.jsonl <<'END'
{"messages": [{"role": "user", "content": "of"}], "tools": [{"f": 1}], "chat_template_kwargs": {"kind": "b"}}
END
ok 'tools and chat_template_kwargs of a record are taken' generate run -q \
    -m talks --template told.jinja --prompts told.jsonl -n 2
like '... and given to the template' '"prompt": "of\[\{\\"f\\": 1\}\]b"' out
cat >image.jsonl <<'END'
{"prompt": "The river"}
{"messages": [{"role": "user", "content": [{"type": "image"}]}]}
END
echo '{% for c in messages[0].content %}{{ c.text }}{% endfor %}' >walk.jinja
status 3 'a part of a message that is no text is refused' generate run -q \
    -m talks --template walk.jinja --prompts image.jsonl
like '... by line and part' 'image.jsonl: line 2: .*content\[0\].*"image"' err

# --- the same bytes at any load ---
awk 'BEGIN { for (i = 0; i < 40; i++) {
    printf "{\"prompt\": \"The river"
    for (k = 0; k < i % 7; k++) printf " and the other river of them"
    printf " %d\", \"max_tokens\": %d}\n", i % 5, 5 + i } }' >load.jsonl
cp -r "$m" far
sed 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 1000/' \
    "$m/config.json" >far/config.json
drawn() { generate run -q -m far --prompts load.jsonl --temperature 1.5 --top-p 0.95 --logprobs 1 "$@"; }
ok 'prompts that begin alike are continued' drawn --at-once 1
cp out load
ok 'longer prompts come later' generate run -m far --prompts load.jsonl \
    --temperature 1.5 --top-p 0.95 --logprobs 1 --at-once 1
same '... and change no byte' load out
ok '... but take more memory, which is said' \
    [ "$(grep -c ' MB of keys and values' err)" -ge 2 ]
for how in '--at-once 40' '--at-once 7 -j 1 --slice 5' \
    '--at-once 16 --cache 128K' '--at-once 40 --slice 1000 -j 3'; do
    # shellcheck disable=SC2086 # a list
    ok "they are continued with $how" drawn $how
    same "$how changes no byte of texts and log probabilities" load out
done

ok 'texts are made with factors in bf16' drawn --at-once 1 --compute bf16
cp out half.load
status 1 '... and are other texts' cmp -s load half.load
ok 'they are made in slices, with few pages' drawn --at-once 16 --cache 128K \
    --slice 9 --compute bf16
same '... with the same bytes' half.load out

# --- a run that goes on ---
for cut in 1 300 4000 $(($(wc -c <load) - 1)); do
    head -c "$cut" load >part
    ok "a file of $cut bytes is resumed" drawn --resume part
    same "... to the bytes of a whole run, from $cut" load part
    equal '... without standard output' "$(wc -c <out | tr -d ' ')" 0
done
{ head -n 39 load; head -c 99999 load | tr -d '\n'; } >part
ok 'a file that ends in a long line is resumed' drawn --resume part
same '... without the rest of the line' load part
: >killed
generate run -q -m far --prompts load.jsonl --temperature 1.5 --top-p 0.95 \
    --logprobs 1 --resume killed --at-once 1 &
pid=$!
tries=0
while [ "$(wc -l <killed)" -lt 3 ] && [ "$tries" -lt 1000 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
ok 'a run that was killed is resumed' drawn --resume killed
same '... to the bytes of a whole run, after the kill' load killed
ok 'a whole file is resumed' drawn --resume part
same '... and stays as it is' load part
ok 'a file that is not there is begun' drawn --resume fresh
same '... with the bytes of a whole run' load fresh
head -n 3 load >part
status 2 'a file of other prompts is refused' say --prompts p.jsonl --resume part
like '... names file and line' 'part: line 1: .*another prompt' err
status 2 'a file of another seed is refused' drawn --resume part -s 3
head -n 3 load | cmp -s - part
equal 'a refused file stays as it is' $? 0
status 2 'a file with more texts than prompts is refused' say --prompts load.jsonl \
    --count 2 --resume part
like '... names the line' 'part: line 3: ' err
status 2 'a prompt operand cannot be resumed' say a --resume part
like '... names --prompts' '--prompts' err
mkfifo pipe
status 2 'a fifo is not resumed' timeout 10 generate run -q -m "$m" \
    --prompts p.jsonl --resume pipe
like '... which names the file' 'pipe: .*regular file' err
generate run -q -m "$m" --prompts pipe -n 3 --at-once 1 >fifo &
exec 3>pipe
yes '{"prompt": "the"}' | head -n 30 >&3
tries=0
while [ "$(wc -l <fifo)" -lt 5 ] && [ "$tries" -lt 100 ]; do
    sleep 0.2
    tries=$((tries + 1))
done
ok 'texts are written before all prompts are read' [ "$(wc -l <fifo)" -ge 5 ]
exec 3>&-
wait
equal 'a pipe of prompts is read to its end' "$(wc -l <fifo | tr -d ' ')" 30

# --- where it ends ---
ok 'a text of 40 tokens is made' say 'The river' -n 40
cp out all
stop=$(tail -c 12 all | head -c 7)
ok "a text is made with --stop" say 'The river' -n 40 --stop "$stop" \
    --stop 'not there at all'
rest=$(sed '1s/^The river//' all)
printf 'The river%s\n' "${rest%%"$stop"*}" >want
same '--stop ends a text where it begins' want out
printf '{"prompt": "The river"}\n' >one.jsonl
ok 'a prompt in a file is made with --stop' say --prompts one.jsonl -n 40 --stop "$stop"
like 'a line says that --stop ended it' '"finish_reason": "stop"' out
ok 'a text is made with a --stop that never comes' say 'The river' -n 40 --stop 'not\n\tthere'
same 'a --stop that never comes changes no byte' all out

cp -r "$m" eos
ok 'a text is made of a copy' generate run -q -m eos 'The river' -n 12
like '... goes on after " the"' ' them' out
id=$(printf ' the' | tokenize -q -t eos --no-eos --ids)
sed "s/\"eos_token_id\": 2/\"eos_token_id\": [2, $id]/" "$m/config.json" \
    >eos/config.json
ok 'a list of EOS ends a text' generate run -q -m eos 'The river' -n 12
cp out ended
status 1 '... at every token of it' grep -q ' the' out
ok 'a directory whose config.json lists two EOS' convert -q eos eos.gguf
ok '... becomes a GGUF' generate run -q -m eos.gguf 'The river' -n 12
same '... whose texts end at both' ended out
cp "$m/config.json" eos/
echo "{\"eos_token_id\": [2, $id]}" >eos/generation_config.json
ok 'a list in generation_config.json' convert -q eos list.gguf
ok '... is in the GGUF' generate run -q -m list.gguf 'The river' -n 12
same '... whose texts end where those of the directory end' ended out
ok 'the GGUF becomes a directory' convert -q list.gguf list
equal '... with both EOS' "$(tr -d ' \n' <list/generation_config.json |
    sed 's/.*"eos_token_id":\[\([^]]*\)\].*/\1/')" "2,$id"

# --- what is said, and refused ---
ok 'prompts in a file are continued' generate run -m "$m" --prompts p.jsonl -n 12
like 'a note names texts, tokens and memory' '^generate run: 5 texts at a time, of [0-9]* tokens at most: [0-9.]* MB of keys and values, [0-9.]* MB in all' err
status 1 'more memory than there is is refused' say --prompts p.jsonl --cache 100T
like '... names what takes less' '--at-once.*-n' err
printf '{"prompt": "the", "max_tokens": 80}\n' >long
status 3 'a text that does not fit in --cache is refused' say --prompts long \
    --cache 1K
like '... names line and memory' 'line 1: .*memory' err
cp -r "$m" short
sed 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 20/' \
    "$m/config.json" >short/config.json
ok 'a prompt and -n within the positions' generate run -q -m short the -n 16
printf '{"prompt": "the"}\n{"prompt": "the of the of the of the of the"}\n' >long
status 3 'a prompt and -n beyond the positions' generate run -q -m short \
    --prompts long -n 16
like 'the error names line, positions and -n' 'long: line 2: .* 20 positions.* -n' err
equal '... before any text' "$(wc -c <out | tr -d ' ')" 0
status 3 'a prompt operand and -n beyond them' generate run -q -m short \
    'the of the of the of the of the' -n 16
like '... says so' ' 20 positions.* -n' err
echo '{"prompt": 3}' >bad
status 3 'a prompt that is a number' say --prompts bad
like 'the error names the line without a prompt' 'bad: line 1: prompt: ' err
printf '{"prompt": "a"}\n{"text": "a"}\n' >bad
status 3 'a line without a prompt is refused' say --prompts bad
like 'the error names the line and the member' 'bad: line 2: .*member prompt' err
echo '{"prompt": "a"' >bad
status 3 'half a line is refused' say --prompts bad
: >bad
status 3 'a file without prompts is refused' say --prompts bad
status 2 'neither a prompt nor a file of prompts is refused' say
like '... says what to give' 'give a prompt.*--prompts' err
status 2 'both a prompt and a file of prompts are refused' say a --prompts p.jsonl
like '... names both' 'prompts or --prompts' err
status 2 'no model is refused' generate run -q a
like '... names the option' '-m' err
status 2 'an empty stop' say a --stop ''
status 2 'a temperature between 0 and 0.01 is refused' say a --temperature 2.9e-39
like '... names the range' 'temperature.*0\.01.* 0 ' err
ok 'the lowest temperature makes a text' say a -n 4 --temperature 0.01
ok 'a prompt may begin with hyphens behind --' say -n 3 -- --the
like '... and is text' '^--the' out
status 2 'generate without a command is refused' generate
like '... says how to find one' 'run.*-h' err
status 2 'an unknown command is refused' generate runs
like '... names it' 'command.*runs' err

# --- speed ---
# column NAME FILE: that column of all rows of the list that has it
column() {
    awk -F '\t' -v name="$1" '
        /^#/ || NF == 0 { c = 0; next }
        !c { for (i = 1; i <= NF; i++) if ($i == name) c = i
             if (!c) c = -1; next }
        c > 0 { print $c }' "$2"
}
ok 'bench of one turn' measure -m half --count 3 --at-once 3 -n 4 --prompt-length 9 \
    --format tsv
equal 'a bench of one turn has no interval' \
    "$(column difference_low out | sort -u) $(column ratio_high out | sort -u)" \
    '- -'
ok 'bench of several turns prints TSV' measure -m half --count 25 --at-once 3 \
    -n 4 --prompt-length 9 --format tsv
cp out tsv
equal 'each model has a row' "$(column model_id tsv | head -n 2 | tr '\n' ' ')" \
    "$m half "
equal 'all requests are completed' "$(column completed tsv | tr '\n' ' ')" '25 25 '
equal 'tokens in and out are counted' "$(column total_input_tokens tsv |
    tr '\n' ' ')$(column total_output_tokens tsv | tr '\n' ' ')" \
    '225 225 100 100 '
equal 'each measure is compared' "$(column measure tsv | tr '\n' ' ')" \
    'ttft_ms tpot_ms itl_ms e2el_ms request_throughput output_throughput '
ok 'rates and times agree, medians lie below the worst' awk -F '\t' '
    NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    NF == 0 { exit }
    NR > 2 {
        t = $at["output_throughput"] / $at["request_throughput"] - 4
        d = $at["mean_e2el_ms"] - $at["mean_ttft_ms"] - 3 * $at["mean_tpot_ms"]
        if (!(t < 1e-4 && t > -1e-4 && d < 1e-4 && d > -1e-4)) exit 1
        if (!($at["mean_ttft_ms"] > 0 && $at["peak_memory_mb"] > 1)) exit 1
        if (!($at["p99_itl_ms"] >= $at["median_itl_ms"])) exit 1
    }' tsv
ok 'ratios and differences lie in their intervals' awk -F '\t' '
    $2 == "base_model_id" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    "ratio" in at {
        n++
        if (!($at["ratio_low"] <= $at["ratio"] &&
            $at["ratio"] <= $at["ratio_high"])) exit 1
        if (!($at["difference_low"] <= $at["difference"] &&
            $at["difference"] <= $at["difference_high"])) exit 1
    }
    END { exit n != 6 }' tsv
ok 'two numbers of texts at a time are measured' measure --at-once 1 --at-once 4 \
    --count 4 -n 3 --prompt-length 9 --format tsv
equal 'each number of texts at a time has a row' \
    "$(column max_concurrency out | tr '\n' ' ')" '1 4 '
ok 'lengths are drawn' measure --count 30 -n 10 --prompt-length 20 --vary 0.5 \
    --prefix-length 33 --format tsv
n=$(column total_input_tokens out) k=$(column total_output_tokens out)
ok 'drawn lengths are near those asked for' test \
    $((n > 30 * 48 && n < 30 * 58 && k > 30 * 8 && k < 30 * 12)) = 1
ok 'lengths are drawn again' measure --count 30 -n 10 --prompt-length 20 \
    --vary 0.5 --prefix-length 33 --format tsv
equal 'a seed draws the same lengths' \
    "$(column total_input_tokens out) $(column total_output_tokens out)" "$n $k"
ok 'another seed is drawn by' measure --count 30 -n 10 --prompt-length 20 \
    --vary 0.5 --prefix-length 33 --format tsv -s 1
unlike 'another seed draws other lengths' "	$n	$k	" out
ok 'bench prints text' measure -m half --count 3 -n 3 --prompt-length 5
like 'the text names the threads that were used' 'new, [1-9][0-9]* threads$' out
like 'the text names requests, their tokens and new ones' \
    '^3 requests of 5 tokens, 3 new' out
like 'the text names measure and unit' 'time to first token, ms ' out
like 'the text names the peak of memory' 'requests/s, peak [0-9.]* MB' out
like 'the text names what is compared' "^half against $m, 1 at a time, 3 req" out
status 2 'bench without a model is refused' generate bench -q
like 'bench without a model names the options' '-m.*--url' err
status 2 'an address without its bracket is refused' generate bench -q -n 2 \
    --url 'http://[::1' --url 'http://[::1'
like 'bench names the address without its bracket' '//\[::1: ' err
status 2 'bench of one token is refused' measure -n 1 --prompt-length 9
status 2 'bench of more tokens than positions is refused' measure -n 100
like 'the refusal says how many positions there are' 'has 128 positions' err
status 2 'no text at a time is refused' measure --at-once 0
like 'the refusal says what --at-once takes' 'at-once.*from 1 to 4096' err
ok 'JSON has one object' generate bench -q -m half -m zeros --count 1 -n 2 \
    --prompt-length 3 -j 1 --format json
number='[0-9][0-9.e+-]*'
figures() { for s in mean median std p99; do printf '"%s_%s_ms": N, ' $s "$1"; done; }
result() {
    printf '{"model_id": "%s", "max_concurrency": N, "completed": N, ' "$1"
    printf '"failed": N, "duration": N, "total_input_tokens": N, '
    printf '"total_output_tokens": N, "request_throughput": N, '
    printf '"output_throughput": N, "total_token_throughput": N, '
    printf '"peak_memory_mb": N, %s}' "$(figures ttft; figures tpot; figures itl
        figures e2el)" | sed 's/, }/}/; s/,  *}/}/'
}
{
    printf '%s\n' '{' '"num_prompts": 1,' '"prompt_length": 3,' \
        '"new_tokens": 2,' '"prefix_length": 0,' '"threads": 1,' '"results": ['
    printf '%s,\n%s\n],\n"differences": [\n' "$(result half)" "$(result zeros)"
    for q in ttft_ms tpot_ms itl_ms e2el_ms request_throughput output_throughput; do
        printf '{"model_id": "zeros", "base_model_id": "half", "max_concurrency": N, '
        printf '"measure": "%s", "requests": N, "difference": D, ' $q
        printf '"difference_low": null, "difference_high": null, "ratio": N, '
        printf '"ratio_low": null, "ratio_high": null}'
        [ $q = output_throughput ] || printf ','
        echo
    done
    printf '%s\n' ']' '}'
} >want
sed "s/^ *//; s/\"difference\": -*$number/\"difference\": D/
    /^{/s/: $number/: N/g" out >got
same 'JSON has vLLM'"'"'s names, and null where there is no number' want got
if [ -x "$BUILD/bin/serve" ]; then
    serve -m "$m" --port 0 --name small 2>serving &
    pid=$!
    await grep -q listening serving
    url=$(sed -n 's/.*listening at \([^,]*\),.*/\1/p' serving)
    ok 'a server is measured beside a model' measure --url "$url" --count 20 \
        --at-once 4 -n 20 --prompt-length 9 --vary 0.5 --format tsv
    equal 'the server completes all requests' \
        "$(column completed out | tr '\n' ' ')" '20 20 '
    equal 'the server gets the tokens that the model gets' \
        "$(column total_output_tokens out | uniq | grep -c .)" 1
    equal 'the memory of a server is not known' \
        "$(column peak_memory_mb out | tail -n 1)" -
    status 3 'requests that a server refuses are no result' \
        generate bench -q --url "$url" --count 2 -n 200
    like 'the reason of the server is told' 'maximum context length' err
    status 3 'a path that the server does not have is refused' \
        generate bench -q --url "$url/none"
    like 'the refusal asks what the server is' 'server of OpenAI' err
    kill $pid
    wait $pid
    equal 'the server ends in order after a bench' $? 0
    status 1 'a server that is gone is refused' generate bench -q --url "$url"
    like 'the refusal says that it cannot connect' 'cannot connect' err
else
    skip 'a server is measured' 'built without libmicrohttpd (libmicrohttpd-dev)'
fi
status 2 'https is refused' generate bench -q --url https://127.0.0.1:1
like 'the refusal says which address to give' 'http://127' err

# Products in integers, of a quantised model
q=$top/tests/golden/gguf/q4_1.gguf
ok 'a quantised model generates' generate run -v -m "$q" -n 8 'abc 12'
like 'weights are packed for integers' 'packed.*8-bit integers' err
like 'the KL to exact products is told with -v' 'KL.exact .. integer. 0[.]' err
ok 'a quantised model generates with --exact' \
    generate run -v --exact -m "$q" -n 8 'abc 12'
unlike '--exact uses no integers' 'integer' err
ok 'a model in fp32 generates' \
    generate run -v -m "$top/tests/golden/gguf/f32.gguf" -n 8 'abc 12'
unlike 'a model in fp32 uses no integers' 'integer' err
ok 'generate bench takes --exact' generate bench --exact -m "$q" \
    --count 1 --prompt-length 3 -n 2
unlike 'generate bench --exact uses no integers' 'integer' err
done_testing
