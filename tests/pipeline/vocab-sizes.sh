#!/bin/sh
# A tokenizer with more ids than the model, as Gemma 3's is published, and one
# with fewer: streams, prompts, tasks, prune, convert; teachers and students of
# other sizes; ends of texts
. "${0%/*}/../lib/lib.sh"

head -n 60 "$top/corpus/en.jsonl" >en.jsonl
bpe -q -o k --vocab 400 en.jsonl || exit 1

# more_tokens FROM TO NAME ...: a copy of a tokenizer with special tokens added,
# whose ids begin at 400
more_tokens() {
    cp -R "$1" "$2"
    more_to=$2 more_id=400 more_lines=
    shift 2
    for more_name; do
        more_lines="$more_lines, {\"id\": $more_id, "
        for more_flag in single_word lstrip rstrip normalized; do
            more_lines="$more_lines\"$more_flag\": false, "
        done
        more_lines="$more_lines\"special\": true, \"content\": \"$more_name\"}"
        more_id=$((more_id + 1))
    done
    # behind the first list of the file
    sed "1,/^  \],/s/^  \],/$more_lines],/" "$more_to/tokenizer.json" >more.tmp
    mv more.tmp "$more_to/tokenizer.json"
}
more_tokens k big '<image>' '<crop>'
equal 'the tokenizer has 402 ids' \
    "$(printf '<crop><image>' | tokenize -q --special --no-eos --ids -t big)" \
    '401 400'

# model DIR ROWS TOKENIZER: a model of that many rows, with that tokenizer
tokenize -q -t k -o docs.k en.jsonl
shard write -q -o data.k docs.k
stream -q -B 2 -T 32 --batches 2 -o batch.k data.k
tokenize -q -t big -o docs.big en.jsonl
shard write -q -o data.big docs.big
stream -q -B 2 -T 32 --batches 2 -o batch.big data.big
model() {
    llama "$1.json" vocab_size "$2" tie_word_embeddings false
    student -q -m "$1.json" -s "${4:-0}" -o "$1.run" --steps 1 batch.k
    cp -R "$1.run" "$1"
    rm -rf "$1/manifest.json"
    for model_file in tokenizer.json tokenizer_config.json; do
        cp "$3/$model_file" "$1/"
    done
}
model M 400 big
model plain 400 k

# --- the tokenizer has more ids ---
ok 'a student of fewer rows trains' student -q -m M -o run.M --steps 1 batch.big
ok 'a teacher of fewer rows speaks' teacher -q -m M --final -o said batch.big
ok 'a model of fewer rows is judged' evalppl -q -m M --format tsv docs.big
cp out big.tsv
ok 'a model is judged by a tokenizer of its size' evalppl -q -m plain --format tsv docs.k
equal 'both tokenizers give the same loss' "$(cut -f 2-9 big.tsv)" "$(cut -f 2-9 out)"
ok 'a model of fewer rows is profiled' prune profile -q -m M -o profile.M batch.big
ok 'a prompt with the name of a token past the rows is text' \
    generate run -q -m M 'a <image> b' -n 3
cp out said.M
ok 'a prompt is text to a tokenizer without that token' \
    generate run -q -m plain 'a <image> b' -n 3
same 'both tokenizers give the same answer' said.M out
printf '%s\n' '{"context": "the <image>", "choices": [" old", " new"],
    "answer": 0, "language": "en"}' | tr -d '\n' >task.jsonl
for m in M plain; do
    ok "$m: a task with such a name is scored" evaltask -q -m "of=$m" \
        --task "$top/recipes/tasks/cloze.form=task.jsonl" --items "$m.items"
done
same 'both tokenizers give the same scores' M.items plain.items

# --- ids past the rows in data ---
printf 'an <image> here' >image.txt
tokenize -q --special -t big -o docs.image image.txt
status 3 'documents with an id past the rows are refused' \
    evalppl -q -m M docs.image
like 'the refusal names the message and the id' 'message 1: .*400 ids: ids\[[0-9]+\] is 400' err
status 3 'an id past the rows is refused by prune vocab' \
    prune vocab -q -m M -o x docs.image
like 'prune vocab names the id past the rows' 'id 400' err
status 3 'an id past the rows in held-out documents is refused' \
    prune vocab -q -m M -o held --held-out docs.image docs.big
like 'prune vocab names the message and the id of held-out text' \
    'docs.image: message 1: .*400 ids: ids\[[0-9]+\] is 400' err

# --- what is left out is named ---
ok 'prune vocab leaves tokens past the rows out' prune vocab -m M -o cut docs.big
like 'prune vocab names the tokens that it leaves out' '<image> \(400\), <crop> \(401\)' err
unlike 'the cut tokenizer has not the token' '<image>' cut/tokenizer.json
ok 'a GGUF leaves them out' convert M M.gguf
like 'convert names the tokens that it leaves out' 'left out: <image> \(400\), <crop> \(401\)' err
equal 'text has the same ids there' \
    "$(tokenize -q --ids -t M.gguf image.txt)" \
    "$(tokenize -q --ids -t k image.txt)"

# --- ids in lists of lists ---
cat >M/generation_config.json <<'END'
{"eos_token_id": 0, "bad_words_ids": [[399, 398], [400]],
 "sequence_bias": [[[399], -7], [[401, 3], 1.5]],
 "force_words_ids": [[397], [[396], [395, 394]]],
 "forced_decoder_ids": [[1, 399]], "begin_suppress_tokens": [399, 401]}
END
printf '%s\n' 0 >few
ok 'prune vocab renumbers lists of ids' \
    prune vocab -q -m M -o lists --keep-ids few --report lists.tsv
to() { awk -F '\t' -v id="$1" '$1 == id { print $2 }' lists.tsv; }
tr -d ' \n' <lists/generation_config.json >lists.gen
for want in "\"bad_words_ids\":[[$(to 399),$(to 398)]]" \
    "\"sequence_bias\":[[[$(to 399)],-7]]" \
    "\"force_words_ids\":[[$(to 397)],[[$(to 396)],[$(to 395),$(to 394)]]]" \
    "\"forced_decoder_ids\":[[1,$(to 399)]]" \
    "\"begin_suppress_tokens\":[$(to 399)]"; do
    ok "lists of ids are renumbered as $want" grep -Fq -e "$want" lists.gen
done
rm M/generation_config.json

# --- the id of padding ---
# padded DIR ID: a copy of M whose tokenizer.json pads with that id
padded() {
    cp -R M "$1"
    sed "s/\"padding\": *null/\"padding\": {\"strategy\": \"BatchLongest\", \
\"direction\": \"Right\", \"pad_to_multiple_of\": null, \"pad_id\": $2, \
\"pad_type_id\": 0, \"pad_token\": \"x\"}/" M/tokenizer.json \
        >"$1/tokenizer.json"
}
padded pads 399
ok 'prune vocab keeps the token of padding' \
    prune vocab -q -m pads -o pads.cut --keep-ids few --report pads.tsv
like 'padding has its new number' \
    "\"pad_id\": $(awk -F '\t' '$1 == 399 { print $2 }' pads.tsv)," \
    pads.cut/tokenizer.json
padded over 401
ok 'prune vocab cuts a model whose padding is past the rows' \
    prune vocab -q -m over -o over.cut --keep-ids few
unlike 'the cut tokenizer has no padding' pad_id over.cut/tokenizer.json

# --- BOS, EOS and PAD must be rows ---
for name in bos eos pad; do
    rm -rf bad
    cp -R M bad
    case $name in
    eos) sed 's/<|endoftext|>/<crop>/' M/tokenizer_config.json ;;
    *) sed "s/^{/{ \"${name}_token\": \"<crop>\",/" M/tokenizer_config.json ;;
    esac >bad/tokenizer_config.json
    what=$(echo $name | tr '[:lower:]' '[:upper:]')
    status 3 "a $what past the rows is refused for prompts" \
        generate run -q -m bad x -n 1
    like "the message for $what names its id" "$what is token 401.*400" err
    status 3 "a $what past the rows is refused by convert" convert bad bad.gguf
    status 3 "a $what past the rows is refused by prune vocab" \
        prune vocab -q -m bad -o "x$name" docs.big
done
sed 's/<|endoftext|>/<crop>/' k/tokenizer_config.json >eos.json
more_tokens k end '<image>' '<crop>'
cp eos.json end/tokenizer_config.json
tokenize -q -t end -o docs.end en.jsonl
status 3 'a stream whose EOS lies past the rows is refused at its start' \
    evalppl -q -m plain docs.end
like 'the message names the id of EOS' 'id 401.*400' err

# --- teachers and students of other sizes ---
model wide 448 big 3
for how in --final '--top 448' '--sample 60000'; do
    name=${how%% *}
    # shellcheck disable=SC2086 # a list
    ok "a padded teacher speaks by $how" teacher -q -m wide $how --dtype f32 \
        -o said.wide batch.big
    ok "a student of fewer rows learns by $how" student -m M \
        -o "run$name" --ce 0 --steps 1 said.wide
    like "$how: over the ids that both have" \
        "400 ids.* vocabulary is 448, the student's 400" err
    sed 1d "run$name/metrics.tsv" | cut -f 5,6,9 >"kl$name"
done
near 'all tokens as --top give the loss and gradient of final states' 1e-4 \
    kl--final kl--top
near 'many draws give nearly those' 0.05 kl--final kl--sample
ok 'a padded base is compared' evalppl -q -m M --base wide --format tsv docs.big
awk -F '\t' '$1 == "model" { for (i = 1; i <= NF; i++) f[$i] = i; next }
    "nll" in f { print $1, $f["nll"], $f["kl"] }' out >pair
ok 'the model is judged alone' evalppl -q -m M --format tsv docs.big
equal 'the loss is that of the model alone' "$(awk '$1 == "M" { print $2 }' pair)" \
    "$(awk -F '\t' '$1 == "model" { for (i = 1; i <= NF; i++) f[$i] = i; next }
        "nll" in f { print $f["nll"]; exit }' out)"
ok 'the recorded states of a padded teacher are read' sh -c '
    teacher -q -m wide --final -o said.wide batch.big &&
    evalppl -q -m M --recorded said.wide --format tsv >a &&
    evalppl -q -m M --base wide --format tsv batch.big >b'

# --- ends of texts ---
rm -f M/generation_config.json
printf '{"prompt": "a"}\n' >prompt.jsonl
ok 'a text goes on' generate run -q -m M --prompts prompt.jsonl -n 3
unlike 'a text goes on beyond its first token' '"tokens": 0' out
printf '{"eos_token_id": [0, %s]}' "$(seq -s ', ' 1 399)" \
    >M/generation_config.json
ok 'every token ends a text' generate run -q -m M --prompts prompt.jsonl -n 3
like 'a token of generation_config.json ends the text' \
    '"finish_reason": "eos", "tokens": 0' out
rm M/generation_config.json
sed 's/"eos_token": "[^"]*"/"eos_token": "<|nonesuch|>"/' \
    k/tokenizer_config.json >none.json
cp -R k none
cp none.json none/tokenizer_config.json
status 3 'an eos_token that is no token is refused' \
    tokenize -q --ids -t none image.txt
like 'the message names the eos_token' 'eos_token.*nonesuch' err
for name in bos pad; do
    sed "s/^{/{ \"${name}_token\": \"<|nonesuch|>\",/" \
        k/tokenizer_config.json >none/tokenizer_config.json
    status 3 "a ${name}_token that is no token is refused" \
        tokenize -q --ids -t none image.txt
    like "the message names the ${name}_token" "${name}_token.*nonesuch" err
done
mkdir noid
cp k/tokenizer.json noid/
for id in null '[]'; do
    printf '{"eos_token_id": %s}' "$id" >noid/generation_config.json
    printf '{"eos_token_id": 7}' >noid/config.json
    equal "eos_token_id $id names none: that of the next file ends a document" \
        "$(printf a | tokenize -q --ids -t noid | sed 's/.* //')" 7
done
for id in -1 '"0"' '[0, -1]'; do
    printf '{"eos_token_id": %s}' "$id" >noid/generation_config.json
    status 3 "eos_token_id $id is refused" tokenize -q --ids -t noid image.txt
    like "the message for eos_token_id $id names its file" 'generation_config.json: eos_token_id.*no id' err
done
cp -R k past
rm past/tokenizer_config.json
printf '{"eos_token_id": 999999}' >past/config.json
status 3 'an eos_token_id past the tokenizer is refused' \
    tokenize -q --ids -t past image.txt
like 'the message names the number of the eos_token' 'eos_token_id 999999' err
sed 's/<|endoftext|>/<eos>/' k/tokenizer.json >plain.tok
sed '1,/^  \],/s|^  \],|, {"id": 400, "content": "</s>", "special": false, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],|' plain.tok >html.json
mkdir html
mv html.json html/tokenizer.json
equal 'a document ends with the special <eos>, not the tag </s>' \
    "$(printf a | tokenize -q --ids -t html/tokenizer.json | sed 's/.* //')" 0

# --- a file of a base and another tokenizer ---
head -n 60 "$top/corpus/de.jsonl" >de.jsonl
bpe -q -o other --vocab 400 de.jsonl
ok 'a file of logits is written' evalppl -q -m plain --protocol llama.cpp \
    -c 64 --write-base base docs.k
ok 'it is read by a model of its tokenizer' evalppl -q -m plain \
    --protocol llama.cpp --read-base base
rm -rf alien
cp -R plain alien
cp other/* alien/
status 3 'a model of another tokenizer with as many ids is refused' \
    evalppl -q -m alien --protocol llama.cpp --read-base base
like 'the message says that tokens differ' 'alien.*tokens' err
status 3 'a second model of another tokenizer is refused too' \
    evalppl -q -m plain -m alien --protocol llama.cpp --read-base base
done_testing
