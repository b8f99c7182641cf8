#!/bin/sh
# A mixture of experts is trained, teaches a dense student, and is refused by
# name where a program cannot handle it
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

config moe.json 2 32 48
sed -i 's/"llama"/"qwen3_moe"/; s/LlamaForCausalLM/Qwen3MoeForCausalLM/
    s/"hidden_act"/"num_experts": 6, "num_experts_per_tok": 2,\
        "moe_intermediate_size": 32, "norm_topk_prob": true, &/' moe.json
batches >b
status 0 'a mixture of experts is trained' student -q -m moe.json -t tok \
    -o moe --lr 3e-3 --warmup 0 -s 3 b
falls 'the loss of the mixture falls' moe
status 0 'a mixture is trained with one row at a time' student -q -m moe.json \
    -t tok -o moe1 --lr 3e-3 --warmup 0 -s 3 --micro 1 --recompute -j 1 b
same_model 'the weights do not depend on how rows are grouped' moe moe1

status 0 'a mixture is trained to balance its experts' student -m moe.json \
    -t tok -o even --lr 3e-3 --warmup 0 -s 3 --balance 0.1 b
like 'the loss that is printed has the balance' 'loss = 1 CE [+] 0.1 balance' err
falls 'the loss with the balance falls' even
status 2 'a dense student refuses --balance' student -q -m new.json -t tok \
    -o x --balance 0.1 b
like 'student says what has no experts' 'new.json has no experts' err

# --- ranks ---
. "$top/tests/lib/ranks.sh"
# over RUN [option ...]: train $moe with 2 ranks
moe=moe.json
over() {
    run=$1
    shift
    mpirun -n 2 student -q -m "$moe" -t tok -o "$run" --lr 3e-3 --warmup 0 \
        -s 3 -j 1 "$@" b
}
if has_ranks 'two ranks train a mixture'; then
    ok 'one process trains a mixture by --deterministic' student -q -m moe.json \
        -t tok -o d1 --lr 3e-3 --warmup 0 -s 3 --deterministic b
    ok 'two ranks train a mixture that they share' over d2 --deterministic \
        --shard-level 3
    same_model 'ranks that share a mixture give the bits of one process' d1 d2
    ok 'two ranks train a mixture in stages' over d3 --stages 1
    same_model 'stages of a mixture give the bits of one process' moe d3
fi

# --- it teaches ---
status 0 'a mixture teaches a dense student' sh -c 'teacher -q -m moe --final b |
    student -q -m new.json -t tok -o s --lr 3e-3 --warmup 0'
falls 'the loss of the dense student falls' s
status 0 'a mixture becomes a GGUF' convert -q --dtype q8_0 moe moe.gguf
status 0 'the student is compared with the GGUF' evalppl -q -m s --base moe.gguf \
    one
status 0 'the GGUF becomes a folder of fp32' convert -q moe.gguf wide
evalppl -q -m wide --base moe.gguf --format tsv one >kl.tsv
equal 'quantised experts give the bits of widened ones' "$(awk -F '\t' '
    $1 == "model" && !c { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
    $1 == "wide" { print $c; exit }' kl.tsv)" 0.00000000

# --- its attention is adapted ---
adapt() { # adapt MODEL RUN [option ...]
    m=$1 run=$2
    shift 2
    student -q -m "$m" -o "$run" --lora 4 --lr 1e-2 --warmup 0 -s 3 "$@" b
}
ok 'an adapter of quantised experts is trained' adapt moe.gguf low
ok 'an adapter of the widened experts is trained' adapt wide low1 --micro 1 \
    --recompute -j 1
same 'the adapter of quantised experts has the bits of that of widened ones' \
    low/adapter_model.safetensors low1/adapter_model.safetensors
ok 'the adapter is used' evalppl -q -m moe.gguf --adapter low one
status 0 'a mixture writes text' generate run -q -m moe -n 8 'The'

# --- experts are removed ---
status 0 'prune experts removes two of six experts' prune experts -q -m moe \
    -o four --experts 4 --report report.tsv b
equal 'config.json has the number of experts' \
    "$(grep -o '"num_experts": [0-9]*' four/config.json)" '"num_experts": 4'
status 0 'four experts are planned for one process' plan run -q -m four \
    --format tsv
grep '^parameters	' out >counted
status 0 'four experts are planned for many ranks' plan cluster -q -m four \
    --machine h100 batch=8 --format tsv
equal 'plan cluster counts of four experts what plan run counts' \
    "$(grep '^parameters	' out)" "$(cat counted)"
equal 'the report says of each expert whether it is kept' \
    "$(awk 'NR > 1 { n[$6]++ } END { print n[0], n[1] }' report.tsv)" '4 8'
status 0 'a mixture with fewer experts learns from the whole one' sh -c \
    'teacher -q -m moe --final b | student -q -m four -o taught --lr 1e-3'
status 2 'prune experts refuses fewer experts than a token uses' prune experts \
    -q -m moe -o x --experts 1 b
like 'prune experts says which numbers it takes' 'outside 2 to 5' err
status 2 'prune experts asks for a number' prune experts -q -m moe -o x b
status 3 'prune experts refuses a dense model' prune experts -q -m teacher -o x \
    --experts 2 b
like 'prune experts says that there are no experts' 'teacher: has no experts' err

# --- gpt-oss ---
config oss.json 2 32 48
sed -i 's/"llama"/"gpt_oss"/; s/LlamaForCausalLM/GptOssForCausalLM/
    s/"hidden_act"/"num_local_experts": 4, "num_experts_per_tok": 2,\
        "sliding_window": 8, &/' oss.json
status 0 'a gpt-oss is trained' student -q -m oss.json -t tok -o oss --lr 3e-3 \
    --warmup 0 -s 3 b
falls 'the loss of the gpt-oss falls' oss
status 0 'a gpt-oss is trained with one row at a time' student -q -m oss.json \
    -t tok -o oss1 --lr 3e-3 --warmup 0 -s 3 --micro 1 --recompute -j 1 b
same_model 'the weights of a gpt-oss do not depend on how rows are grouped' oss \
    oss1
status 0 'a gpt-oss becomes a GGUF' convert -q oss oss.gguf --dtype f32
status 0 'a gpt-oss teaches a dense student' sh -c \
    'teacher -q -m oss.gguf --final b | student -q -m taught -o two --lr 1e-3'
evalppl -q -m oss --base oss.gguf --format tsv one >oss.tsv
equal 'the GGUF of a gpt-oss gives the bits of the folder' "$(awk -F '\t' '
    $1 == "model" && !c { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
    $1 == "oss" { print $c; exit }' oss.tsv)" 0.00000000
status 3 'prune experts refuses a gpt-oss' prune experts -q -m oss -o x \
    --experts 3 b
like 'prune experts names the family that it refuses' 'oss: .*gpt_oss' err

oss=$top/tests/golden/experts/gpt_oss-mxfp4
mkdir less
cp "$oss/config.json" less
sed 's/down_proj_scales/down_proj_scaleX/' "$oss/model.safetensors" \
    >less/model.safetensors
status 3 'scales of MXFP4 that are missing are refused' convert -q less x
like 'convert names the tensor whose scales are missing' \
    'layers.0.mlp.experts.down_proj is missing.*_scales' err
sed 's/down_proj_bias/down_proj_bia1/' "$oss/model.safetensors" \
    >less/model.safetensors
status 3 'a bias of experts that is missing is refused' convert -q less x
like 'convert names the bias that is missing' 'down_proj_bias is missing' err
sed 's/"swiglu_limit": 7.0/"swiglu_limit": 6.0/' "$oss/config.json" \
    >less/config.json
status 3 'another limit of the unit of experts is refused' convert -q less x
like 'convert names the key of the limit' 'swiglu_limit' err

# --- DeepSeek ---
deep=$top/tests/golden/experts/deepseek_v3
config deep.json 2 32 48
sed -i 's/"llama"/"deepseek_v3"/; s/LlamaForCausalLM/DeepseekV3ForCausalLM/
    s/"num_key_value_heads": [0-9]*/"num_key_value_heads": 4/
    s/"head_dim": [0-9]*,//
    s/"hidden_act"/"q_lora_rank": 16, "kv_lora_rank": 12, "qk_nope_head_dim": 6,\
        "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 8,\
        "num_experts_per_tok": 2, "n_group": 4, "topk_group": 2,\
        "n_shared_experts": 1, "moe_intermediate_size": 16,\
        "first_k_dense_replace": 1, &/' deep.json
status 0 'a DeepSeek-V3 is trained' student -q -m deep.json -t tok -o ds --lr 3e-3 \
    --warmup 0 -s 3 --balance 0.1 b
falls 'the loss of the DeepSeek-V3 falls' ds
status 0 'a DeepSeek-V3 is trained with one row at a time' student -q \
    -m deep.json -t tok -o ds1 --lr 3e-3 --warmup 0 -s 3 --balance 0.1 --micro 1 \
    --recompute -j 1 b
same_model 'the weights of a DeepSeek-V3 do not depend on how rows are grouped' \
    ds ds1
status 0 'a DeepSeek-V3 teaches another one' sh -c \
    'teacher -q -m ds --final b | student -q -m deep.json -t tok -o ds2 --lr 1e-3'
status 0 'plan run takes a DeepSeek-V3' plan run -m "$deep" --teacher "$deep" -B 2 \
    -T 16
if has_ranks 'two ranks train a DeepSeek-V3'; then
    moe=deep.json
    ok 'one process trains a DeepSeek-V3 by --deterministic' student -q \
        -m deep.json -t tok -o e1 --lr 3e-3 --warmup 0 -s 3 --deterministic b
    ok 'two ranks train a DeepSeek-V3 that they share' over e2 --deterministic \
        --shard-level 3
    same_model 'ranks that share a DeepSeek-V3 give the bits of one process' e1 e2
fi
status 3 'prune experts refuses groups of experts' prune experts -q \
    -m "$deep" -o x --experts 4 b
like 'prune experts says how many groups there are' 'form 4 groups' err
status 3 'convert writes no GGUF of a DeepSeek-V3 with two mscales' convert -q "$deep" x.gguf
like 'convert names the value for which a GGUF has no key' 'mscale_all_dim: .*no key' err
mkdir deep
cp "$deep/model.safetensors" deep
# refused WHAT PATTERN SED: convert refuses the config.json that SED changes
refused() {
    sed "$3" "$deep/config.json" >deep/config.json
    status 3 "convert refuses $1" convert -q deep x
    like "convert names the key of $1" "$2" err
}
refused 'groups that do not cut the experts' 'n_group: 3' \
    's/"n_group": 4/"n_group": 3/'
refused 'groups with too few experts' 'topk_group: 1' \
    's/"topk_group": 2/"topk_group": 1/'
refused 'values wider than keys' 'v_head_dim: 11' \
    's/"v_head_dim": 7/"v_head_dim": 11/'
refused 'fewer heads of keys' 'num_key_value_heads: 1' \
    's/"num_key_value_heads": 3/"num_key_value_heads": 1/'
refused 'softmax as the score of a V3' 'scoring_func' \
    's/"hidden_act"/"scoring_func": "softmax", &/'
refused 'biases of attention' 'attention_bias' \
    's/"attention_bias": false/"attention_bias": true/'

# --- what cannot handle it ---
status 3 'prune profile refuses a mixture' prune profile -q -m moe -o p b
like 'prune says what the model is' 'mixture of experts.*teacher' err
status 3 'prune search refuses a mixture' prune search -q -m moe --ratio 0.5 -o c b
like 'prune search names the mixture' 'moe: .*mixture of experts' err
status 3 'prune sparsify refuses a mixture' prune sparsify -q -m moe -o p b
like 'prune sparsify names the mixture' 'moe: .*mixture of experts' err
status 2 'student refuses a mask for a mixture' student -q -m moe --mask 2:4 \
    -o x b
like 'student says that --mask is for other models' 'mixture of experts.*--mask' err
status 2 'student refuses rounded weights for a mixture' student -q -m moe \
    --qat q8_0 -o x b
like 'student says that --qat is for other models' 'mixture of experts.*--qat' err

done_testing
