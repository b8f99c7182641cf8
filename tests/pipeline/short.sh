#!/bin/sh
# A model with the short convolution (LFM2) is trained, teaches a dense student,
# takes an adapter, writes text with and without a draft, and is pruned
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

config lfm.json 4 36 48
sed -i 's/"llama"/"lfm2"/; s/LlamaForCausalLM/Lfm2ForCausalLM/
    s/"hidden_act"/"full_attn_idxs": [1, 2], "conv_L_cache": 4,\
        "block_auto_adjust_ff_dim": false, &/
    s/"num_attention_heads": [0-9]*/"num_attention_heads": 6/
    s/"num_key_value_heads": [0-9]*/"num_key_value_heads": 3/
    s/"head_dim": 12/"head_dim": 6/' lfm.json
batches >b
status 0 'a model with the short convolution is trained' student -q -m lfm.json \
    -t tok -o lfm --lr 3e-3 --warmup 0 -s 3 b
falls 'the loss of the model falls' lfm
status 0 'the model is trained a row at a time, by one thread' student -q \
    -m lfm.json -t tok -o one1 --lr 3e-3 --warmup 0 -s 3 --micro 1 \
    --recompute -j 1 b
same_model 'the weights do not depend on how rows are grouped' lfm one1
status 0 'the model learns from a dense teacher' sh -c 'teacher -q -m teacher --final b |
    student -q -m lfm -o taught --lr 1e-3'
status 0 'the model teaches a dense student' sh -c 'teacher -q -m lfm --final b |
    student -q -m new.json -t tok -o s --lr 3e-3 --warmup 0'
falls 'the loss of the dense student falls' s
status 0 'an adapter of all matrices is trained' student -q -m lfm --lora 4 \
    -o low --lr 1e-2 --warmup 0 b
status 2 'an adapter of another matrix is refused' student -q -m lfm --lora 4 \
    --lora-targets o_proj -o no b
like 'the refusal lists the matrices of the model' \
    'q_proj,k_proj,v_proj,out_proj,w1,w3,w2,in_proj' err

# --- files ---
status 0 'the model becomes a GGUF' convert -q lfm lfm.gguf
status 0 'the GGUF becomes a folder' convert -q lfm.gguf again
evalppl -q -m again --base lfm --format tsv one >kl.tsv
equal 'the folder has the model that became the GGUF' "$(awk -F '\t' '
    $1 == "model" && !c { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
    $1 == "again" { printf "%.6f\n", $c; exit }' kl.tsv)" 0.000000
status 0 'the model becomes a GGUF of 8 bits' convert -q --dtype q8_0 lfm q8.gguf

# --- text ---
prompt=$(head -c 400 "$top/README.md" | tr -cd 'a-z ')
printf '%s\n' "$prompt" "$prompt" "$prompt" >prompts
status 0 'the model writes three texts of a long prompt' generate run -q \
    -m lfm -n 40 --logprobs 2 --prompts prompts
cp out all
sed 's/"index": [0-9]*//' out >three
equal 'the texts of one prompt are the same' "$(sort -u three | wc -l)" 1
status 0 'the model writes one text' generate run -q -m lfm -n 40 \
    --logprobs 2 --prompts prompts --count 1
equal 'a text alone is the same as beside others' \
    "$(sed 's/"index": [0-9]*//' out)" "$(sed 1q three)"
for how in '--draft again' '--draft q8.gguf --guesses 7' '--draft taught --guesses 64'; do
    # shellcheck disable=SC2086 # a list
    status 0 "the model writes texts with $how" generate run -q -m lfm -n 40 \
        --logprobs 2 --prompts prompts $how
    same "$how changes no byte" all out
done
status 0 'the GGUF of 8 bits writes text' generate run -q -m q8.gguf -n 8 'The'

# --- less of it ---
status 0 'the inputs of layers are measured' prune profile -q -m lfm -o p b
status 0 'blocks and channels to drop are found' prune search -q -m lfm -p p \
    --ratio 0.2 --multiple 8 -o c b
status 0 'groups, channels, attention and MLPs to drop are found' prune search -q \
    -m lfm -p p --units groups,channels,attention,mlp --multiple 8 \
    --method greedy --candidates 4 --ratio 0.2 -o c2 b
for c in c c2; do
    status 0 "the choice $c is cut out" prune cut -q -m lfm --choice $c -o cut-$c b
    status 0 "what is left by $c is trained" student -q -m cut-$c -o healed-$c \
        --lr 1e-3 --warmup 0 b
done
status 2 'the time of a convolution is no goal' prune search -q -m lfm \
    --latency 1 -o c3 b
like 'the refusal says what the model has' 'lfm: .*short convolution' err

done_testing
