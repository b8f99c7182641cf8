#!/bin/sh
# A model with the gated delta rule (Qwen 3.5) is trained, teaches a dense
# student, writes text, and is refused by name where a program cannot handle it
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

config delta.json 4 32 48
sed -i 's/"llama"/"qwen3_5_text"/; s/LlamaForCausalLM/Qwen3_5ForCausalLM/
    s/"hidden_act"/"linear_num_key_heads": 2, "linear_num_value_heads": 4,\
        "linear_key_head_dim": 10, "linear_value_head_dim": 10, &/
    s/"head_dim": 12/"head_dim": 32/' delta.json
batches >b
status 0 'a model with the delta rule is trained' student -q -m delta.json \
    -t tok -o delta --lr 3e-3 --warmup 0 -s 3 b
falls 'the loss of the model falls' delta
status 0 'the model is trained a row at a time, by one thread' student -q \
    -m delta.json -t tok -o one1 --lr 3e-3 --warmup 0 -s 3 --micro 1 \
    --recompute -j 1 b
same_model 'the weights do not depend on how rows are grouped' delta one1
status 0 'the model learns from a dense teacher' sh -c 'teacher -q -m teacher --final b |
    student -q -m delta -o taught --lr 1e-3'
status 0 'the model teaches a dense student' sh -c 'teacher -q -m delta --final b |
    student -q -m new.json -t tok -o s --lr 3e-3 --warmup 0'
falls 'the loss of the dense student falls' s

status 0 'the model is trained with rounded weights' student -q -m delta -o q8 \
    --qat q8_0 --lr 1e-3 b

# --- files ---
status 0 'the model becomes a GGUF' convert -q delta delta.gguf
status 0 'the GGUF becomes a folder' convert -q delta.gguf again
evalppl -q -m again --base delta --format tsv one >kl.tsv
equal 'the folder has the model that became the GGUF' "$(awk -F '\t' '
    $1 == "model" && !c { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
    $1 == "again" { printf "%.6f\n", $c; exit }' kl.tsv)" 0.000000
status 0 'the model becomes a GGUF of 8 bits' convert -q --dtype q8_0 delta q8.gguf

# --- text ---
prompt=$(head -c 400 "$top/README.md" | tr -cd 'a-z ')
printf '%s\n' "$prompt" "$prompt" "$prompt" >prompts
status 0 'the model writes three texts of a long prompt' generate run -q \
    -m delta -n 40 --logprobs 2 --prompts prompts
sed 's/"index": [0-9]*//' out >three
equal 'the texts of one prompt are the same' "$(sort -u three | wc -l)" 1
status 0 'the model writes one text' generate run -q -m delta -n 40 \
    --logprobs 2 --prompts prompts --count 1
equal 'a text alone is the same as beside others' \
    "$(sed 's/"index": [0-9]*//' out)" "$(sed 1q three)"
status 0 'the GGUF of 8 bits writes text' generate run -q -m q8.gguf -n 8 'The'

# --- what cannot handle it ---
status 3 'prune profile refuses the delta rule' prune profile -q -m delta -o p b
like 'prune says what the model has' 'delta: .*gated delta rule' err
status 3 'prune search refuses the delta rule' prune search -q -m delta --ratio 0.5 -o c b
like 'prune search says what the model has' 'gated delta rule.*teacher' err
status 2 'student refuses adapters of the delta rule' student -q -m delta --lora 4 -o x b
like 'student says that the family has no adapters' 'adapters.*qwen3_5_text' err

done_testing
