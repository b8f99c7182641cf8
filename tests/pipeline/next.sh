#!/bin/sh
# A mixture of experts with the gated delta rule (Qwen3-Next) is trained, teaches
# a dense student, becomes files, writes text, and loses experts
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/new_mixer.sh"

config next.json 4 32 48
sed -i 's/"llama"/"qwen3_next"/; s/LlamaForCausalLM/Qwen3NextForCausalLM/
    s/"hidden_act"/"linear_num_key_heads": 2, "linear_num_value_heads": 4,\
        "linear_key_head_dim": 10, "linear_value_head_dim": 10,\
        "num_experts": 6, "num_experts_per_tok": 2,\
        "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, &/
    s/"head_dim": 12/"head_dim": 32/' next.json
learns next.json next

# --- files ---
becomes_files next
status 0 'the GGUF of 8 bits becomes a folder of fp32' convert -q q8.gguf wide
evalppl -q -m wide --base q8.gguf --format tsv one >kl.tsv
ok 'the folder has the model of the GGUF of 8 bits' awk -F '\t' '
    $1 == "model" { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
    c && $1 == "wide" { n++; bad += !($c < 1e-6 && -$c < 1e-6) }
    END { exit !(n > 0 && !bad) }' kl.tsv
mkdir wide-experts
for f in "$top"/tests/golden/experts/qwen3_5_moe-sees/*; do
    sed 's/"moe_intermediate_size": 8/"moe_intermediate_size": 9/' "$f" \
        >"wide-experts/${f##*/}"
done
status 3 'a tensor of all experts of another shape is refused' \
    convert -q wide-experts x
like 'the message has both shapes' \
    'experts.gate_up_proj has 1920 elements .* means \[5,18,24\]' err

# --- text ---
writes_texts next

# --- what is cut ---
status 0 'experts are removed' prune experts -q -m next --experts 4 -o fewer b
status 0 'the model with fewer experts is judged' evalppl -q -m fewer --base next b
status 3 'blocks of a mixture stay' prune search -q -m next --ratio 0.5 -o c b
like 'prune says what can be removed' 'next: is a mixture of experts' err
status 0 'adapters of attention are trained' student -q -m next --lora 4 -o x b

done_testing
