#!/bin/sh
# convert: there and back, the same values, ids and nats; nothing half written
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden
hf=$golden/gguf/f32-hf

# --- there and back in F32 ---
# back NAME DIR: a directory, GGUF, directory: the same bytes
back() {
    ok "$1: a directory" convert -q "$2" "$1.0"
    ok "$1: to GGUF" convert -q "$1.0" "$1.gguf"
    ok "$1: and back" convert -q "$1.gguf" "$1.1"
    same "$1: the same weights" "$1.0/model.safetensors" \
        "$1.1/model.safetensors"
    ok "$1: to GGUF again" convert -q "$1.1" "$1.again.gguf"
}
back tied "$golden/grad/tied-teacher"
back untied "$golden/grad/untied-teacher"
for f in mistral qwen2 qwen3 gemma3; do
    mkdir $f
    cp "$golden/family/$f"/* $f
    sed 's/"query_pre_attn_scalar": 11/"query_pre_attn_scalar": 8/' \
        "$golden/family/$f/config.json" >$f/config.json
    back $f $f
done
back small "$hf"
for f in tied untied qwen2 qwen3 gemma3; do
    same "$f: the same configuration" $f.0/config.json $f.1/config.json
    same "$f: the same GGUF" $f.gguf $f.again.gguf
done
same 'with a tokenizer it is written the same again' \
    small.gguf small.again.gguf
like 'Mistral becomes a llama' '"model_type": "llama"' mistral.1/config.json
cp small.gguf first.gguf
ok 'a file is replaced' convert -q small.gguf small.gguf
same 'a file is replaced by the same' first.gguf small.gguf

# --- ids, chat template, nats ---
for m in small.0 small.gguf small.1; do
    ok "$m: its tokenizer encodes" \
        tokenize -q -t $m --ids "$golden/smollm2/text.txt"
    cp out ids.$m
    ok "$m: its tokenizer makes documents" \
        tokenize -q -t $m -o docs "$golden/smollm2/text.txt"
    ok "$m: the model is judged" evalppl -q -m $m -c 64 --format tsv docs
    grep '(all)' out | cut -f 2-8 >nats.$m
done
for m in small.gguf small.1; do
    same "$m: the same ids" ids.small.0 ids.$m
    same "$m: the same nats" nats.small.0 nats.$m
done
like 'the chat template' '"chat_template": .*im_start' \
    small.1/tokenizer_config.json
like 'the special tokens' '"eos_token": "<.im_end.>"' \
    small.1/tokenizer_config.json
cp -r "$hf" jinja
echo 'from a file of its own' >jinja/chat_template.jinja
ok 'a template in a file' convert -q jinja jinja.gguf
ok 'the template in a file is taken' convert -q jinja.gguf jinja.1
like 'the template in a file comes along' \
    'from a file of its own' jinja.1/tokenizer_config.json
cp -r "$hf" ends
sed 's/"eos_token_id": *[0-9]*/"eos_token_id": 7/' "$hf/config.json" >ends/config.json
ok 'a model whose EOS is not its tokenizer'"'"'s becomes a GGUF' convert -q ends ends.gguf
ok 'the GGUF with another EOS encodes' \
    tokenize -q -t ends.gguf --ids "$golden/smollm2/text.txt"
same 'documents end with the tokenizer'"'"'s EOS' ids.small.0 out

# --- a GGUF in parts ---
for n in 1 2 3; do
    cp "$golden/gguf/split/bf16-0000$n-of-00003.gguf" .
done
ok 'a GGUF that is not split' convert -q "$golden/gguf/bf16.gguf" whole
for n in 1 2 3; do
    part=bf16-0000$n-of-00003.gguf
    ok "split, named by part $n" convert -q $part parts.$n
    for f in whole/*; do
        [ "$f" = whole/README.md ] && continue  # it names the parent
        same "part $n: ${f#*/} is as not split" "$f" "parts.$n/${f#*/}"
    done
    ok "part $n: it is written as GGUF" convert -q $part parts.$n.gguf
    status 1 "part $n: the GGUF is not split" grep -q split.count parts.$n.gguf
done
same 'a GGUF of parts: every tensor of them' parts.1.gguf parts.2.gguf
ok 'the last part encodes' tokenize -q -t bf16-00003-of-00003.gguf --ids \
    "$golden/smollm2/text.txt"
cp out ids.parts
tokenize -q -t "$golden/gguf/bf16.gguf" --ids "$golden/smollm2/text.txt" >ids.one
same 'the last part has the whole tokenizer' ids.one ids.parts
# no_part FILE WORD ...: refused, and WORDs of the message
no_part() {
    file=$1
    shift
    status 3 "parts $* are refused" convert -q "$file" none
    for word; do
        like "parts $*: the message says $word" "$word" err
    done
    [ ! -e none ] && pass "parts $*: no file is written" ||
        fail "parts $*: no file is written"
}
mv bf16-00003-of-00003.gguf third
no_part bf16-00001-of-00003.gguf bf16-00003-of-00003.gguf 'part 3 of 3' missing
cp bf16-00002-of-00003.gguf bf16-00003-of-00003.gguf
no_part bf16-00001-of-00003.gguf bf16-00003-of-00003.gguf 'is part 2 of 3'
cp whole/config.json bf16-00003-of-00003.gguf
no_part bf16-00001-of-00003.gguf bf16-00003-of-00003.gguf 'no GGUF'
cp "$golden/gguf/f32.gguf" bf16-00003-of-00003.gguf
no_part bf16-00001-of-00003.gguf bf16-00003-of-00003.gguf 'not part 3 of 3'
sed 's/output.weight/output.wright/' third >bf16-00003-of-00003.gguf
no_part bf16-00001-of-00003.gguf output.wright
sed 's/split\.no\(\x02\x00\x00\x00\)\x01/split.no\1\x02/' \
    bf16-00002-of-00003.gguf >bf16-00003-of-00003.gguf
no_part bf16-00001-of-00003.gguf 'in two parts'
mv third renamed.gguf
no_part renamed.gguf 'part 3 of 3' '-00003-of-00003.gguf' merge

# --- types ---
for t in f16 bf16 q8_0 q4_0; do
    ok "--dtype $t writes a GGUF" convert -q --dtype $t small.0 $t.gguf
    ok "$t again, from GGUF" convert -q --dtype $t $t.gguf $t.2.gguf
    ok "$t, by way of F32" convert -q $t.gguf $t.f32.gguf
    ok "$t comes back from F32" convert -q --dtype $t $t.f32.gguf $t.3.gguf
    same "$t: nothing more is lost" $t.gguf $t.2.gguf
    same "$t: F32 loses nothing" $t.gguf $t.3.gguf
done
for t in q6_k q5_k_m q5_k_s q5_k q5_1 q5_0 q4_k_m q4_k_s q4_k q4_1; do
    ok "--dtype $t writes a GGUF" convert -q -j 1 --dtype $t small.0 $t.gguf
    ok "$t is written by three threads" \
        convert -q -j 3 --dtype $t small.0 threads.gguf
    same "$t has the same bytes by three threads" $t.gguf threads.gguf
    ok "$t is judged" evalppl -q -m $t.gguf -c 64 --format tsv docs
done
ok 'importance of llama-imatrix is taken' convert -q --dtype q4_1 \
    --imatrix "$golden/gguf/imatrix.gguf" "$golden/gguf/f32.gguf" im.gguf
ok 'the file rounded with importance is judged' \
    evalppl -q -m im.gguf -c 64 --format tsv docs
status 1 'importance changes the file' cmp -s im.gguf q4_1.gguf
status 3 'importance of another model is refused' convert -q --dtype q4_1 \
    --imatrix "$golden/gguf/imatrix.gguf" tied.0 none.gguf
like 'the matrix that does not fit is named' \
    'imatrix.gguf: blk.0.attn_q.*another model' err
status 3 'a model in place of importance is refused' convert -q --dtype q4_1 \
    --imatrix q8_0.gguf small.0 none.gguf
status 1 'importance that is not there is an error' convert -q --dtype q4_1 \
    --imatrix nowhere small.0 none.gguf
ok 'a directory in f16' convert -q --dtype f16 small.0 f16
like 'a directory says its type' '"torch_dtype": "float16"' f16/config.json
ok 'quantised weights' convert -q "$golden/gguf/q4_1.gguf" q4
ok 'quantised weights as a directory open' plan -m q4

# --- files of limited size, the model card ---
ok '--shard-size cuts the weights' convert -q --shard-size 40000 "$hf" shards
equal '--shard-size makes four files' "$(cd shards && echo model-*)" \
    "model-00001-of-00004.safetensors model-00002-of-00004.safetensors \
model-00003-of-00004.safetensors model-00004-of-00004.safetensors"
ok 'a model in shards is read' convert -q shards joined
same 'a model in shards has the same weights' small.0/model.safetensors \
    joined/model.safetensors
status 2 '--shard-size is refused for a GGUF' convert --shard-size 1M "$hf" x.gguf
like 'the message names --shard-size' 'x.gguf: .*--shard-size' err
like 'the card lists the option' '^- `--shard-size 40000`$' shards/README.md
like 'the card names the parent' '^- parent: `f32-hf`, XXH3-128' shards/README.md
printf '%s\n' --- 'license: apache-2.0' --- >shards/README.md
ok 'a licensed model becomes a GGUF' convert -q shards licensed.gguf
ok 'the licensed GGUF becomes a directory' convert -q licensed.gguf licensed
like 'the licence goes through a GGUF' '^license: "apache-2.0"$' licensed/README.md

# --- 2:4 without its zeros ---
packed=$golden/compressed/packed
ok 'what compressed-tensors wrote' convert -q "$packed" dense
ok '--compressed writes 2:4 matrices' convert -q --compressed dense packed
like '--compressed is said in the configuration' \
    '"format": "sparse-24-bitmask"' \
    packed/config.json
ok 'compressed weights come back' convert -q packed dense.1
same 'the same bytes' dense/model.safetensors dense.1/model.safetensors
same 'the same configuration comes back' dense/config.json dense.1/config.json
status 2 '--compressed to a GGUF is refused' convert --compressed dense x.gguf
like 'the GGUF is named' 'x.gguf: --compressed .*director' err
status 2 '--compressed of a dense model is refused' \
    convert --compressed small.0 x
like 'the dense model is named' 'small.0: --compressed: .*2:4' err
cp -r tied.0 full
own='"retort": {"sparse": {"pattern": "2:4", "tensors": ['
own=$own'"model.layers.1.mlp.up_proj.weight"]}}'
sed "s/\"tie_word/$own, &/" tied.0/config.json >full/config.json
status 3 'a matrix that is not 2:4' convert -q --compressed full x
like 'the matrix is named' 'layers.1.mlp.up_proj.weight .*2:4: row 0 ' err

# --- tokenizers that are not there, or that are not written to a GGUF ---
ok 'a model without a tokenizer is converted' convert qwen2.0 none.gguf
like 'the missing tokenizer is told' \
    '^convert: qwen2.0: .*no tokenizer.* none.gguf' err
mkdir tekken
cp "$hf/config.json" "$hf/model.safetensors" tekken
cp "$golden/tok/family/tekken-v7/tekken.json" tekken
status 3 'tekken.json to GGUF' convert -q tekken x.gguf
like 'the message says what would do' 'tekken.json: .*tokenizer.json' err
ok 'tekken.json goes to a directory' convert -q tekken tekken.1
same 'tekken.json is copied' tekken/tekken.json tekken.1/tekken.json
cp -r "$hf" other
sed 's/"individual_digits": true/"individual_digits": false/' \
    "$hf/tokenizer.json" >other/tokenizer.json
status 3 'an unknown pre-tokenizer' convert -q other x.gguf
like 'the pre-tokenizer is named' \
    '^convert: other/tokenizer.json: pre_tokenizer' err
cp -r "$hf" unnamed
sed 's/"eos_token": "<|im_end|>"/"eos_token": "<end>"/' \
    "$hf/tokenizer_config.json" >unnamed/tokenizer_config.json
status 3 'a tokenizer that tokenize refuses' tokenize -q -t unnamed err
status 3 'that tokenizer is not put into a GGUF' convert -q unnamed x.gguf
like 'the token without an id is named' 'eos_token "<end>" is not in' err
ok 'the files of that tokenizer are copied' convert unnamed unnamed.1
like 'a tokenizer that is only copied is warned of' 'only copied' err

# --- misuse and damage ---
status 2 'no arguments are refused' convert
status 2 'no output is refused' convert small.0
status 2 'two outputs are refused' convert small.0 a b
status 2 'an unknown type is refused' convert --dtype q3_k small.0 x.gguf
status 2 '--imatrix with q8_0 is refused' \
    convert --dtype q8_0 --imatrix x small.0 x.gguf
like 'the message says which types use --imatrix' '--dtype .*q4_k_m' err
for t in q8_0 q4_0 q4_k_m; do
    status 2 "$t in a directory is refused" convert --dtype $t small.0 x
    like "$t: the directory is named" "x: $t is for GGUF files" err
done
status 2 'a directory that exists' convert small.gguf small.0
mkdir d.gguf
status 2 'a directory of that name' convert small.0 d.gguf
status 1 'no such model' convert nowhere x.gguf
like 'the missing model is named' 'nowhere' err
status 1 'nowhere to write' convert small.0 nowhere/x.gguf
size=$(wc -c <small.gguf)
for n in 0 3 100 3000 $((size / 2)) $((size - 40)); do
    head -c "$n" small.gguf >part.gguf
    status 3 "the first $n bytes are refused" convert -q part.gguf x.gguf
    status 3 "the first $n bytes to a directory are refused" \
        convert -q part.gguf x
done
cp -r "$hf" cut
head -c 5000 "$hf/model.safetensors" >cut/model.safetensors
status 3 'half a directory' convert -q cut x.gguf
cp -r "$hf" nan
{ head -c -4 "$hf/model.safetensors"; printf '\000\000\300\177'; } \
    >nan/model.safetensors
status 4 'NaN in a GGUF is refused' convert -q nan x.gguf
status 4 'NaN in a directory is refused' convert -q nan x
(
    ulimit -f 32            # 16 KB
    status 1 'no room for a GGUF is an error' convert -q small.0 first.gguf
    like 'the GGUF without room is named' \
        '^convert: [^ ]*first.gguf[^ ]*: File too large$' err
    status 1 'no room for a directory is an error' convert -q small.gguf x
    like 'the file without room is named' \
        '^convert: [^ ]*x.tmp/[^ ]*: File too large$' err
    echo "$tap_count $tap_failed" >counts
)
read -r tap_count tap_failed <counts
same 'what was there is whole' first.gguf small.gguf

# Stopped in the middle: 400 MB of zeros, a file with holes.
mkdir big
head='{"model.embed_tokens.weight":{"dtype":"F32","shape":[400000,256],
"data_offsets":[0,409600000]},"model.norm.weight":{"dtype":"F32","shape":[256],
"data_offsets":[409600000,409601024]}'
at=409601024
tensor() {
    end=$((at + $4))
    head="$head,\"model.layers.0.$1.weight\":{\"dtype\":\"F32\",\"shape\":[$2$3],
\"data_offsets\":[$at,$end]}"
    at=$end
}
for n in input_layernorm post_attention_layernorm; do tensor $n 256 '' 1024; done
for n in self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj \
    mlp.gate_proj mlp.up_proj mlp.down_proj; do
    tensor $n 256 ,256 262144
done
head="$head}"
n=${#head}
# shellcheck disable=SC2059 # eight bytes of a length below 65536
{
    printf "\\$(printf %03o $((n % 256)))\\$(printf %03o $((n / 256)))"
    printf '\000\000\000\000\000\000%s' "$head"
} >big/model.safetensors
truncate -s $((8 + n + at)) big/model.safetensors
printf '{"model_type":"llama","vocab_size":400000,"hidden_size":256,
"intermediate_size":256,"num_hidden_layers":1,"num_attention_heads":2,
"tie_word_embeddings":true}' >big/config.json
for out in big.gguf big.1; do
    rm -rf "$out"*
    convert -q --dtype bf16 big $out 2>err &
    pid=$!
    until [ -n "$(find . -name "*.tmp.*" -size +100)" ]; do
        kill -0 $pid 2>/dev/null || break
    done
    kill -USR1 $pid
    until grep -q 'written' err; do kill -0 $pid 2>/dev/null || break; done
    kill -TERM $pid
    wait $pid
    equal "$out: a signal ends it" $? 143
    like "$out: another signal asks how far it is" \
        '^convert: written [0-9]+ of 102859520 parameters, running' err
    equal "$out: nothing is left" "$(find . -path "./$out*")" ''
done
equal 'nothing is left of all that failed' \
    "$(find . -name 'x' -o -name 'x.*' -o -name '*.tmp*')" ''
done_testing
