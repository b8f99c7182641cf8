#!/bin/sh
# A model with the short convolution (LFM2) is trained, teaches a dense student,
# takes an adapter, writes text with and without a draft, and is pruned
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/new_mixer.sh"

config lfm.json 4 36 48
sed -i 's/"llama"/"lfm2"/; s/LlamaForCausalLM/Lfm2ForCausalLM/
    s/"hidden_act"/"full_attn_idxs": [1, 2], "conv_L_cache": 4,\
        "block_auto_adjust_ff_dim": false, &/
    s/"num_attention_heads": [0-9]*/"num_attention_heads": 6/
    s/"num_key_value_heads": [0-9]*/"num_key_value_heads": 3/
    s/"head_dim": 12/"head_dim": 6/' lfm.json
learns lfm.json lfm
status 0 'an adapter of all matrices is trained' student -q -m lfm --lora 4 \
    -o low --lr 1e-2 --warmup 0 b
status 2 'an adapter of another matrix is refused' student -q -m lfm --lora 4 \
    --lora-targets o_proj -o no b
like 'the refusal lists the matrices of the model' \
    'q_proj,k_proj,v_proj,out_proj,w1,w3,w2,in_proj' err

# --- files ---
becomes_files lfm

# --- text ---
writes_texts lfm
for how in '--draft again' '--draft q8.gguf --guesses 7' '--draft taught --guesses 64'; do
    # shellcheck disable=SC2086 # a list
    status 0 "the model writes texts with $how" generate run -q -m lfm -n 40 \
        --logprobs 2 --prompts prompts $how
    same "$how changes no byte" all out
done

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
