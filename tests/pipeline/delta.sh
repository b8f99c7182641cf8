#!/bin/sh
# A model with the gated delta rule (Qwen 3.5) is trained, teaches a dense
# student, writes text, and is refused by name where a program cannot handle it
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/new_mixer.sh"

config delta.json 4 32 48
sed -i 's/"llama"/"qwen3_5_text"/; s/LlamaForCausalLM/Qwen3_5ForCausalLM/
    s/"hidden_act"/"linear_num_key_heads": 2, "linear_num_value_heads": 4,\
        "linear_key_head_dim": 10, "linear_value_head_dim": 10, &/
    s/"head_dim": 12/"head_dim": 32/' delta.json
learns delta.json delta

status 0 'the model is trained with rounded weights' student -q -m delta -o q8 \
    --qat q8_0 --lr 1e-3 b

# --- files ---
becomes_files delta

# --- text ---
writes_texts delta

# --- what cannot handle it ---
status 3 'prune profile refuses the delta rule' prune profile -q -m delta -o p b
like 'prune says what the model has' 'delta: .*gated delta rule' err
status 3 'prune search refuses the delta rule' prune search -q -m delta --ratio 0.5 -o c b
like 'prune search says what the model has' 'gated delta rule.*teacher' err
ok 'student trains adapters beside the delta rule' student -q -m delta --lora 4 -o x b

done_testing
