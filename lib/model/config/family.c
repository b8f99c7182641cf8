/* The tables of families and of a block's tensors; see family.h. */
#include "model/config/family.h"
#include "model/config/delta_config.h"
#include "model/config/mla_config.h"

#include <assert.h>
#include <string.h>

#define BIASES (W_BIT(W_BQ) | W_BIT(W_BK) | W_BIT(W_BV))
#define QK_NORMS (W_BIT(W_NQ) | W_BIT(W_NK))
#define MIXTURE                                                    \
    (W_BIT(W_ROUTER) | W_BIT(W_EXPERT_GATE) | W_BIT(W_EXPERT_UP) | \
        W_BIT(W_EXPERT_DOWN))
#define EXPERT_BIASES \
    (W_BIT(W_BIAS_GATE) | W_BIT(W_BIAS_UP) | W_BIT(W_BIAS_DOWN))
#define POST_NORMS (W_BIT(W_NORM_ATT) | W_BIT(W_NORM_MLP))

#define DELTA                                                      \
    (W_BIT(W_DELTA_MIX) | W_BIT(W_DELTA_Z) | W_BIT(W_DELTA_BETA) | \
        W_BIT(W_DELTA_RATE) | W_BIT(W_CONV) | W_BIT(W_DELTA_DT) |  \
        W_BIT(W_DELTA_LOG) | W_BIT(W_DELTA_NORM) | W_BIT(W_DELTA_OUT))
#define LATENT                                                                \
    (W_BIT(W_MLA_QA) | W_BIT(W_MLA_NQ) | W_BIT(W_MLA_QB) | W_BIT(W_MLA_KVA) | \
        W_BIT(W_MLA_NKV) | W_BIT(W_MLA_KVB))
#define XIELU                                                    \
    (W_BIT(W_XIELU_P) | W_BIT(W_XIELU_N) | W_BIT(W_XIELU_BETA) | \
        W_BIT(W_XIELU_EPS))
#define PRE_NORMS (W_BIT(W_NORM1) | W_BIT(W_NORM2))
#define NORM_BIASES (W_BIT(W_BNORM1) | W_BIT(W_BNORM2))
#define PLAIN_BIASES (W_BIT(W_BUP) | W_BIT(W_BDOWN))
#define SHORT (W_BIT(W_SHORT_IN) | W_BIT(W_CONV) | W_BIT(W_SHORT_OUT))

static const struct tensor_name gemma_names[] = {
    { W_NORM2, "pre_feedforward_layernorm.weight", NULL }, { -1, NULL, NULL }
};
static const struct tensor_name post_names[] = {
    { W_NORM2, NULL, "post_attention_norm.weight" }, { -1, NULL, NULL }
};
static const struct tensor_name apertus_names[] = {
    { W_NORM1, "attention_layernorm.weight", NULL },
    { W_NORM2, "feedforward_layernorm.weight", NULL }, { -1, NULL, NULL }
};
static const struct tensor_name lfm2_names[] = {
    { W_NORM1, "operator_norm.weight", NULL },
    { W_O, "self_attn.out_proj.weight", NULL },
    { W_NQ, "self_attn.q_layernorm.weight", NULL },
    { W_NK, "self_attn.k_layernorm.weight", NULL },
    { W_NORM2, "ffn_norm.weight", NULL },
    { W_GATE, "feed_forward.w1.weight", NULL },
    { W_UP, "feed_forward.w3.weight", NULL },
    { W_DOWN, "feed_forward.w2.weight", NULL },
    { W_CONV, "conv.conv.weight", "shortconv.conv.weight" },
    { W_N + OUTER_NORM, "model.embedding_norm.weight",
        "token_embd_norm.weight" },
    { -1, NULL, NULL }
};
static const struct tensor_name neox_names[] = {
    { W_O, "attention.dense.weight", NULL },
    { W_BO, "attention.dense.bias", NULL },
    { W_UP, "mlp.dense_h_to_4h.weight", NULL },
    { W_BUP, "mlp.dense_h_to_4h.bias", NULL },
    { W_DOWN, "mlp.dense_4h_to_h.weight", NULL },
    { W_BDOWN, "mlp.dense_4h_to_h.bias", NULL },
    { W_N + OUTER_EMBED, "gpt_neox.embed_in.weight", NULL },
    { W_N + OUTER_NORM, "gpt_neox.final_layer_norm.weight", NULL },
    { W_N + OUTER_NORM_BIAS, "gpt_neox.final_layer_norm.bias", NULL },
    { W_N + OUTER_HEAD, "embed_out.weight", NULL }, { -1, NULL, NULL }
};
static const struct tensor_name gpt2_names[] = {
    { W_NORM1, "ln_1.weight", NULL }, { W_BNORM1, "ln_1.bias", NULL },
    { W_O, "attn.c_proj.weight", NULL }, { W_BO, "attn.c_proj.bias", NULL },
    { W_NORM2, "ln_2.weight", NULL }, { W_BNORM2, "ln_2.bias", NULL },
    { W_UP, "mlp.c_fc.weight", NULL }, { W_BUP, "mlp.c_fc.bias", NULL },
    { W_DOWN, "mlp.c_proj.weight", NULL }, { W_BDOWN, "mlp.c_proj.bias", NULL },
    { W_N + OUTER_EMBED, "transformer.wte.weight", NULL },
    { W_N + OUTER_NORM, "transformer.ln_f.weight", NULL },
    { W_N + OUTER_NORM_BIAS, "transformer.ln_f.bias", NULL },
    { W_N + OUTER_POSITIONS, "transformer.wpe.weight", NULL },
    { -1, NULL, NULL }
};

static const struct tensor_name starcoder2_names[] = {
    { W_UP, "mlp.c_fc.weight", NULL }, { W_BUP, "mlp.c_fc.bias", NULL },
    { W_DOWN, "mlp.c_proj.weight", NULL }, { W_BDOWN, "mlp.c_proj.bias", NULL },
    { -1, NULL, NULL }
};
static const struct tensor_name phi_names[] = { { W_O, "self_attn.dense.weight",
                                                    NULL },
    { W_BO, "self_attn.dense.bias", NULL }, { W_UP, "mlp.fc1.weight", NULL },
    { W_BUP, "mlp.fc1.bias", NULL }, { W_DOWN, "mlp.fc2.weight", NULL },
    { W_BDOWN, "mlp.fc2.bias", NULL },
    { W_N + OUTER_NORM, "model.final_layernorm.weight", NULL },
    { W_N + OUTER_NORM_BIAS, "model.final_layernorm.bias", NULL },
    { -1, NULL, NULL } };
static const struct tensor_name glm4_names[] = {
    { W_NORM_ATT, "post_self_attn_layernorm.weight", NULL },
    { W_NORM_MLP, "post_mlp_layernorm.weight", NULL }, { -1, NULL, NULL }
};

/* GLM's families fuse gate and up alone: phi3_fused + 1. */
static const struct stored_rows phi3_fused[] = {
    { "self_attn.qkv_proj.weight", "attn_qkv.weight", W_Q, 3 },
    { "mlp.gate_up_proj.weight", "ffn_up.weight", W_GATE, 2 },
    { NULL, NULL, 0, 0 }
};
static const struct stored_rows neox_fused[] = {
    { "attention.query_key_value.weight", "attn_qkv.weight", W_Q, 3 },
    { "attention.query_key_value.bias", "attn_qkv.bias", W_BQ, 3 },
    { NULL, NULL, 0, 0 }
};
static const struct stored_rows next_fused[] = {
    { "linear_attn.in_proj_qkvz.weight", NULL, W_DELTA_MIX, 2 },
    { "linear_attn.in_proj_ba.weight", "ssm_ba.weight", W_DELTA_BETA, 2 },
    { NULL, NULL, 0, 0 }
};
static const struct stored_rows gpt2_fused[] = {
    { "attn.c_attn.weight", "attn_qkv.weight", W_Q, 3 },
    { "attn.c_attn.bias", "attn_qkv.bias", W_BQ, 3 }, { NULL, NULL, 0, 0 }
};

static const struct family families[] = {
    { .type = "llama",
        .class = "LlamaForCausalLM",
        .gguf = "llama",
        .bit = FAMILY_LLAMA,
        .permuted = 1 },
    { .type = "mistral",
        .class = "MistralForCausalLM",
        .gguf = "llama",
        .bit = FAMILY_MISTRAL,
        .windows = WINDOW_ALL,
        .permuted = 1 },
    { .type = "qwen2",
        .class = "Qwen2ForCausalLM",
        .gguf = "qwen2",
        .bit = FAMILY_QWEN2,
        .more = BIASES,
        .windows = WINDOW_BY_LAYER },
    { .type = "qwen3",
        .class = "Qwen3ForCausalLM",
        .gguf = "qwen3",
        .bit = FAMILY_QWEN3,
        .more = QK_NORMS,
        .windows = WINDOW_BY_LAYER },
    { .type = "gemma3_text",
        .class = "Gemma3ForCausalLM",
        .gguf = "gemma3",
        .bit = FAMILY_GEMMA3,
        .more = QK_NORMS | POST_NORMS,
        .windows = WINDOW_EVERY,
        .every = 6,
        .gemma = 1,
        .local_rope = 1,
        .names = gemma_names },
    { .type = "gemma2",
        .class = "Gemma2ForCausalLM",
        .gguf = "gemma2",
        .bit = FAMILY_GEMMA2,
        .gguf_head = -1,
        .more = POST_NORMS,
        .windows = WINDOW_EVERY,
        .every = 2,
        .gemma = 1,
        .names = gemma_names },
    { .type = "gemma",
        .class = "GemmaForCausalLM",
        .gguf = "gemma",
        .bit = FAMILY_GEMMA,
        .gguf_head = -1,
        .gemma = 1 },
    { .type = "olmo2",
        .class = "Olmo2ForCausalLM",
        .gguf = "olmo2",
        .bit = FAMILY_OLMO2,
        .more = QK_NORMS | POST_NORMS,
        .less = PRE_NORMS,
        .whole_norms = 1 },
    { .type = "olmo3",
        .class = "Olmo3ForCausalLM",
        .gguf = "olmo2",
        .bit = FAMILY_OLMO3,
        .more = QK_NORMS | POST_NORMS,
        .less = PRE_NORMS,
        .windows = WINDOW_EVERY,
        .every = 4,
        .local_rope = 1,
        .whole_norms = 1 },
    { .type = "smollm3",
        .class = "SmolLM3ForCausalLM",
        .gguf = "smollm3",
        .bit = FAMILY_SMOLLM3,
        .permuted = 1 },
    { .type = "granite",
        .class = "GraniteForCausalLM",
        .gguf = "granite",
        .bit = FAMILY_GRANITE,
        .permuted = 1 },
    { .type = "phi3",
        .class = "Phi3ForCausalLM",
        .gguf = "phi3",
        .bit = FAMILY_PHI3,
        .windows = WINDOW_ALL,
        .fused = phi3_fused },
    { .type = "ministral3",
        .class = "Ministral3ForCausalLM",
        .gguf = "mistral3",
        .bit = FAMILY_MINISTRAL3,
        .windows = WINDOW_ALL,
        .permuted = 1 },
    { .type = "seed_oss",
        .class = "SeedOssForCausalLM",
        .gguf = "seed_oss",
        .bit = FAMILY_SEED_OSS,
        .more = BIASES,
        .names = post_names },
    { .type = "ministral",
        .class = "MinistralForCausalLM",
        .gguf = "llama",
        .bit = FAMILY_MINISTRAL,
        .windows = WINDOW_LISTED,
        .permuted = 1 },
    { .type = "mixtral",
        .class = "MixtralForCausalLM",
        .gguf = "llama",
        .bit = FAMILY_MIXTRAL,
        .more = MIXTURE,
        .windows = WINDOW_ALL,
        .permuted = 1 },
    { .type = "qwen2_moe",
        .class = "Qwen2MoeForCausalLM",
        .gguf = "qwen2moe",
        .bit = FAMILY_QWEN2_MOE,
        .more = BIASES | MIXTURE | W_BIT(W_SHARED_GATE) },
    { .type = "qwen3_moe",
        .class = "Qwen3MoeForCausalLM",
        .gguf = "qwen3moe",
        .bit = FAMILY_QWEN3_MOE,
        .more = QK_NORMS | MIXTURE },
    { .type = "olmoe",
        .class = "OlmoeForCausalLM",
        .gguf = "olmoe",
        .bit = FAMILY_OLMOE,
        .more = QK_NORMS | MIXTURE,
        .whole_norms = 1 },
    { .type = "qwen3_5_text",
        .class = "Qwen3_5ForCausalLM",
        .gguf = "qwen35",
        .bit = FAMILY_QWEN3_5,
        .more = QK_NORMS | DELTA,
        .minus_one = 1,
        .gated = 1,
        .names = post_names },
    { .type = "gpt_oss",
        .class = "GptOssForCausalLM",
        .gguf = "gpt-oss",
        .bit = FAMILY_GPT_OSS,
        .more = BIASES | MIXTURE | W_BIT(W_BO) | W_BIT(W_SINKS) |
            W_BIT(W_ROUTER_BIAS) | EXPERT_BIASES,
        .windows = WINDOW_EVERY,
        .every = 2,
        .joined = 1,
        .clamped_glu = 1,
        .names = post_names },
    { .type = "deepseek_v2",
        .class = "DeepseekV2ForCausalLM",
        .gguf = "deepseek2",
        .bit = FAMILY_DEEPSEEK_V2,
        .more = LATENT | MIXTURE,
        .less = W_BIT(W_K) | W_BIT(W_V) },
    { .type = "deepseek_v3",
        .class = "DeepseekV3ForCausalLM",
        .gguf = "deepseek2",
        .bit = FAMILY_DEEPSEEK_V3,
        .more = LATENT | MIXTURE | W_BIT(W_ROUTER_SHIFT),
        .less = W_BIT(W_K) | W_BIT(W_V) },
    { .type = "cohere",
        .class = "CohereForCausalLM",
        .gguf = "command-r",
        .bit = FAMILY_COHERE,
        .gguf_even = 1,
        .gguf_head = -1,
        .less = W_BIT(W_NORM2),
        .layer_norm = 1,
        .parallel = 1,
        .pairs = 1 },
    { .type = "cohere2",
        .class = "Cohere2ForCausalLM",
        .gguf = "cohere2",
        .bit = FAMILY_COHERE2,
        .gguf_even = 1,
        .gguf_head = -1,
        .less = W_BIT(W_NORM2),
        .windows = WINDOW_EVERY,
        .every = 4,
        .layer_norm = 1,
        .parallel = 1,
        .pairs = 1 },
    { .type = "lfm2",
        .class = "Lfm2ForCausalLM",
        .gguf = "lfm2",
        .bit = FAMILY_LFM2,
        .more = QK_NORMS | SHORT,
        .names = lfm2_names },
    { .type = "apertus",
        .class = "ApertusForCausalLM",
        .gguf = "apertus",
        .gguf_head = 1,
        .bit = FAMILY_APERTUS,
        .more = QK_NORMS | XIELU,
        .less = W_BIT(W_GATE),
        .names = apertus_names },
    { .type = "gpt_neox",
        .class = "GPTNeoXForCausalLM",
        .gguf = "gptneox",
        .gguf_head = 1,
        .bit = FAMILY_GPT_NEOX,
        .more = BIASES | W_BIT(W_BO) | NORM_BIASES | PLAIN_BIASES,
        .less = W_BIT(W_GATE),
        .fused = neox_fused,
        .by_head = 1,
        .blocks = "gpt_neox.layers.",
        .layer_norm = 1,
        .even_heads = 1,
        .may_bias = BIASES | W_BIT(W_BO),
        .names = neox_names },
    { .type = "gpt2",
        .class = "GPT2LMHeadModel",
        .gguf = "gpt2",
        .bit = FAMILY_GPT2,
        .more = BIASES | W_BIT(W_BO) | NORM_BIASES | PLAIN_BIASES,
        .less = W_BIT(W_GATE),
        .fused = gpt2_fused,
        .turned = 1,
        .learned = 1,
        .blocks = "transformer.h.",
        .layer_norm = 1,
        .even_heads = 1,
        .names = gpt2_names },
    { .type = "starcoder2",
        .class = "Starcoder2ForCausalLM",
        .gguf = "starcoder2",
        .bit = FAMILY_STARCODER2,
        .gguf_even = 1,
        .more = BIASES | W_BIT(W_BO) | NORM_BIASES | PLAIN_BIASES,
        .less = W_BIT(W_GATE),
        .windows = WINDOW_ALL,
        .layer_norm = 1,
        .may_bias = BIASES | W_BIT(W_BO) | PLAIN_BIASES,
        .names = starcoder2_names },
    { .type = "phi",
        .class = "PhiForCausalLM",
        .gguf = "phi2",
        .gguf_head = 1,
        .bit = FAMILY_PHI,
        .gguf_even = 1,
        .more = BIASES | W_BIT(W_BO) | W_BIT(W_BNORM1) | PLAIN_BIASES,
        .less = W_BIT(W_GATE) | W_BIT(W_NORM2),
        .layer_norm = 1,
        .parallel = 1,
        .head_bias = 1,
        .names = phi_names },
    { .type = "glm4",
        .class = "Glm4ForCausalLM",
        .gguf = "glm4",
        .bit = FAMILY_GLM4,
        .more = BIASES | POST_NORMS,
        .fused = phi3_fused + 1,
        .pairs = 1,
        .may_bias = BIASES,
        .names = glm4_names },
    { .type = "glm",
        .class = "GlmForCausalLM",
        .gguf = "chatglm",
        .bit = FAMILY_GLM,
        .more = BIASES,
        .fused = phi3_fused + 1,
        .pairs = 1,
        .may_bias = BIASES },
    { .type = "exaone4",
        .class = "Exaone4ForCausalLM",
        .gguf = "exaone4",
        .bit = FAMILY_EXAONE4,
        .gguf_even = 1,
        .more = QK_NORMS | POST_NORMS,
        .less = PRE_NORMS,
        .windows = WINDOW_EVERY,
        .every = 4 },
    { .type = "qwen3_next",
        .class = "Qwen3NextForCausalLM",
        .gguf = "qwen3next",
        .bit = FAMILY_QWEN3_NEXT,
        .more = QK_NORMS | DELTA | MIXTURE | W_BIT(W_SHARED_GATE),
        .fused = next_fused,
        .by_head = 1,
        .minus_one = 1,
        .gated = 1,
        .names = post_names },
    { .type = "qwen3_5_moe_text",
        .class = "Qwen3_5MoeForCausalLM",
        .gguf = "qwen35moe",
        .bit = FAMILY_QWEN3_5_MOE,
        .more = QK_NORMS | DELTA | MIXTURE | W_BIT(W_SHARED_GATE),
        .minus_one = 1,
        .gated = 1,
        .names = post_names },
};
enum { NFAMILY = sizeof families / sizeof *families };

enum dim {
    ONE,
    HIDDEN,
    THRICE, /* three times HIDDEN */
    QUERIES,
    KEYS,
    HEAD,
    MLP,
    EXPERTS,        /* rows of the router */
    EXPERT_MLP,     /* channels of an expert */
    EXPERT_ROWS,    /* rows of all experts' gates */
    EXPERT_OUTPUTS, /* rows of all experts' downs */
    SINGLE,         /* the one row of a matrix */
    DELTA_MIX,      /* numbers that the convolution mixes */
    DELTA_VALUES,   /* numbers of all value heads */
    DELTA_HEADS,    /* value heads */
    DELTA_HEAD,     /* numbers of a value head */
    TAPS,           /* taps of the convolution */
    HEADS,          /* query heads */
    VALUES,         /* numbers of all heads' outputs */
    MLA_Q,          /* width of the latent of queries */
    MLA_KV,         /* width of the latent of keys and values */
    MLA_KV_ROPE,    /* MLA_KV plus the numbers of a key that RoPE turns */
    MLA_HEADS       /* numbers of all heads' values, and of keys without RoPE */
};

static const struct tensor {
    const char *hf, *gguf;
    enum dim rows, cols;
    enum { EVERY, SOME } of; /* which families have it */
} tensors[W_N] = {
    [W_NORM1] = { "input_layernorm.weight", "attn_norm.weight", ONE, HIDDEN,
        EVERY },
    [W_Q] = { "self_attn.q_proj.weight", "attn_q.weight", QUERIES, HIDDEN,
        EVERY },
    [W_K] = { "self_attn.k_proj.weight", "attn_k.weight", KEYS, HIDDEN, EVERY },
    [W_V] = { "self_attn.v_proj.weight", "attn_v.weight", KEYS, HIDDEN, EVERY },
    [W_O] = { "self_attn.o_proj.weight", "attn_output.weight", HIDDEN, VALUES,
        EVERY },
    [W_NORM2] = { "post_attention_layernorm.weight", "ffn_norm.weight", ONE,
        HIDDEN, EVERY },
    [W_GATE] = { "mlp.gate_proj.weight", "ffn_gate.weight", MLP, HIDDEN,
        EVERY },
    [W_UP] = { "mlp.up_proj.weight", "ffn_up.weight", MLP, HIDDEN, EVERY },
    [W_DOWN] = { "mlp.down_proj.weight", "ffn_down.weight", HIDDEN, MLP,
        EVERY },
    [W_BQ] = { "self_attn.q_proj.bias", "attn_q.bias", ONE, QUERIES, SOME },
    [W_BK] = { "self_attn.k_proj.bias", "attn_k.bias", ONE, KEYS, SOME },
    [W_BV] = { "self_attn.v_proj.bias", "attn_v.bias", ONE, KEYS, SOME },
    [W_NQ] = { "self_attn.q_norm.weight", "attn_q_norm.weight", ONE, HEAD,
        SOME },
    [W_NK] = { "self_attn.k_norm.weight", "attn_k_norm.weight", ONE, HEAD,
        SOME },
    [W_NORM_ATT] = { "post_attention_layernorm.weight",
        "post_attention_norm.weight", ONE, HIDDEN, SOME },
    [W_NORM_MLP] = { "post_feedforward_layernorm.weight",
        "post_ffw_norm.weight", ONE, HIDDEN, SOME },
    [W_ROUTER] = { "mlp.gate.weight", "ffn_gate_inp.weight", EXPERTS, HIDDEN,
        SOME },
    [W_EXPERT_GATE] = { "mlp.experts.N.gate_proj.weight",
        "ffn_gate_exps.weight", EXPERT_ROWS, HIDDEN, SOME },
    [W_EXPERT_UP] = { "mlp.experts.N.up_proj.weight", "ffn_up_exps.weight",
        EXPERT_ROWS, HIDDEN, SOME },
    [W_EXPERT_DOWN] = { "mlp.experts.N.down_proj.weight",
        "ffn_down_exps.weight", EXPERT_OUTPUTS, EXPERT_MLP, SOME },
    [W_SHARED_GATE] = { "mlp.shared_expert_gate.weight",
        "ffn_gate_inp_shexp.weight", SINGLE, HIDDEN, SOME },
    [W_DELTA_MIX] = { "linear_attn.in_proj_qkv.weight", "attn_qkv.weight",
        DELTA_MIX, HIDDEN, SOME },
    [W_DELTA_Z] = { "linear_attn.in_proj_z.weight", "attn_gate.weight",
        DELTA_VALUES, HIDDEN, SOME },
    [W_DELTA_BETA] = { "linear_attn.in_proj_b.weight", "ssm_beta.weight",
        DELTA_HEADS, HIDDEN, SOME },
    [W_DELTA_RATE] = { "linear_attn.in_proj_a.weight", "ssm_alpha.weight",
        DELTA_HEADS, HIDDEN, SOME },
    [W_CONV] = { "linear_attn.conv1d.weight", "ssm_conv1d.weight", ONE, TAPS,
        SOME },
    [W_DELTA_DT] = { "linear_attn.dt_bias", "ssm_dt.bias", ONE, DELTA_HEADS,
        SOME },
    [W_DELTA_LOG] = { "linear_attn.A_log", "ssm_a", ONE, DELTA_HEADS, SOME },
    [W_DELTA_NORM] = { "linear_attn.norm.weight", "ssm_norm.weight", ONE,
        DELTA_HEAD, SOME },
    [W_DELTA_OUT] = { "linear_attn.out_proj.weight", "ssm_out.weight", HIDDEN,
        DELTA_VALUES, SOME },
    [W_BO] = { "self_attn.o_proj.bias", "attn_output.bias", ONE, HIDDEN, SOME },
    [W_SINKS] = { "self_attn.sinks", "attn_sinks.weight", ONE, HEADS, SOME },
    [W_ROUTER_BIAS] = { "mlp.router.bias", "ffn_gate_inp.bias", ONE, EXPERTS,
        SOME },
    [W_BIAS_GATE] = { "mlp.experts.gate_proj.bias", "ffn_gate_exps.bias",
        EXPERTS, EXPERT_MLP, SOME },
    [W_BIAS_UP] = { "mlp.experts.up_proj.bias", "ffn_up_exps.bias", EXPERTS,
        EXPERT_MLP, SOME },
    [W_BIAS_DOWN] = { "mlp.experts.down_proj.bias", "ffn_down_exps.bias",
        EXPERTS, HIDDEN, SOME },
    [W_ROUTER_SHIFT] = { "mlp.gate.e_score_correction_bias", "exp_probs_b.bias",
        ONE, EXPERTS, SOME },
    [W_MLA_QA] = { "self_attn.q_a_proj.weight", "attn_q_a.weight", MLA_Q,
        HIDDEN, SOME },
    [W_MLA_NQ] = { "self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight",
        ONE, MLA_Q, SOME },
    [W_MLA_QB] = { "self_attn.q_b_proj.weight", "attn_q_b.weight", QUERIES,
        MLA_Q, SOME },
    [W_MLA_KVA] = { "self_attn.kv_a_proj_with_mqa.weight",
        "attn_kv_a_mqa.weight", MLA_KV_ROPE, HIDDEN, SOME },
    [W_MLA_NKV] = { "self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight",
        ONE, MLA_KV, SOME },
    [W_MLA_KVB] = { "self_attn.kv_b_proj.weight", "attn_kv_b.weight", MLA_HEADS,
        MLA_KV, SOME },
    [W_SHORT_IN] = { "conv.in_proj.weight", "shortconv.in_proj.weight", THRICE,
        HIDDEN, SOME },
    [W_SHORT_OUT] = { "conv.out_proj.weight", "shortconv.out_proj.weight",
        HIDDEN, HIDDEN, SOME },
    [W_XIELU_P] = { "mlp.act_fn.alpha_p", "xielu.alpha_p", ONE, ONE, SOME },
    [W_XIELU_N] = { "mlp.act_fn.alpha_n", "xielu.alpha_n", ONE, ONE, SOME },
    [W_XIELU_BETA] = { "mlp.act_fn.beta", "xielu.beta", ONE, ONE, SOME },
    [W_XIELU_EPS] = { "mlp.act_fn.eps", "xielu.eps", ONE, ONE, SOME },
    [W_BNORM1] = { "input_layernorm.bias", "attn_norm.bias", ONE, HIDDEN,
        SOME },
    [W_BNORM2] = { "post_attention_layernorm.bias", "ffn_norm.bias", ONE,
        HIDDEN, SOME },
    [W_BUP] = { "mlp.up_proj.bias", "ffn_up.bias", ONE, MLP, SOME },
    [W_BDOWN] = { "mlp.down_proj.bias", "ffn_down.bias", ONE, HIDDEN, SOME },
};

static const struct tensor_name outer_names[OUTER_N] = {
    [OUTER_EMBED] = { W_N + OUTER_EMBED, "model.embed_tokens.weight",
        "token_embd.weight" },
    [OUTER_NORM] = { W_N + OUTER_NORM, "model.norm.weight",
        "output_norm.weight" },
    [OUTER_HEAD] = { W_N + OUTER_HEAD, "lm_head.weight", "output.weight" },
    [OUTER_NORM_BIAS] = { W_N + OUTER_NORM_BIAS, "model.norm.bias",
        "output_norm.bias" },
    [OUTER_POSITIONS] = { W_N + OUTER_POSITIONS, "model.embed_positions.weight",
        "position_embd.weight" },
    [OUTER_HEAD_BIAS] = { W_N + OUTER_HEAD_BIAS, "lm_head.bias",
        "output.bias" },
};

const struct family *
family_named(const char *type)
{
    for (size_t i = 0; i < NFAMILY; i++)
        if (strcmp(families[i].type, type) == 0)
            return &families[i];
    return NULL;
}

const struct family *
family_of_gguf(const char *architecture)
{
    for (size_t i = 0; i < NFAMILY; i++)
        if (strcmp(families[i].gguf, architecture) == 0)
            return &families[i];
    return NULL;
}

const struct family *
family_of(const struct config *c)
{
    const struct family *f = family_named(c->arch);

    assert(f != NULL);
    return f;
}

static int
family_has(const struct config *c, int t)
{
    const struct family *f = family_of(c);
    const uint64_t has = tensors[t].of == EVERY ? ~f->less : f->more;
    const uint64_t bare = c->attn_bias ? 0 : f->may_bias;

    return (has & ~bare & W_BIT(t)) != 0;
}

int
block_is_vector(int t)
{
    return tensors[t].rows == ONE;
}

int
block_is_bias(int t)
{
    return t == W_BQ || t == W_BK || t == W_BV || t == W_BO ||
        (t >= W_ROUTER_BIAS && t <= W_ROUTER_SHIFT) ||
        (t >= W_BNORM1 && t <= W_BDOWN);
}

int
block_is_attention(int t)
{
    return t <= W_O || (t >= W_BQ && t <= W_NORM_ATT) || t == W_BO ||
        t == W_SINKS || t == W_BNORM1 || block_is_delta(t) ||
        block_is_latent(t) || block_is_short(t);
}

int
block_is_latent(int t)
{
    return t >= W_MLA_QA && t <= W_MLA_KVB;
}

int
block_is_delta(int t)
{
    return t >= W_DELTA_MIX && t <= W_DELTA_OUT;
}

int
block_is_short(int t)
{
    return t == W_SHORT_IN || t == W_SHORT_OUT || t == W_CONV;
}

int
block_is_xielu(int t)
{
    return t >= W_XIELU_P && t <= W_XIELU_EPS;
}

int
block_is_of_experts(int t)
{
    return (t >= W_ROUTER && t <= W_SHARED_GATE) ||
        (t >= W_ROUTER_BIAS && t <= W_ROUTER_SHIFT);
}

const char *
family_blocks(const struct config *c)
{
    const char *own = family_of(c)->blocks;

    return own != NULL ? own : "model.layers.";
}

/* The names in f of tensor t of blocks, or of outer tensor t - W_N. */
static struct tensor_name
names_of(const struct family *f, int t)
{
    const struct tensor_name *own = f->names;
    struct tensor_name n = t < W_N
        ? (struct tensor_name){ t, tensors[t].hf, tensors[t].gguf }
        : outer_names[t - W_N];

    while (own != NULL && own->t >= 0 && own->t != t)
        own++;
    if (own != NULL && own->t == t) {
        n.hf = own->hf != NULL ? own->hf : n.hf;
        n.gguf = own->gguf != NULL ? own->gguf : n.gguf;
    }
    return n;
}

const char *
block_tensor_name(const struct config *c, int t)
{
    return family_has(c, t) ? names_of(family_of(c), t).hf : NULL;
}

const char *
family_outer_name(const struct config *c, enum outer_tensor k, int gguf)
{
    const struct tensor_name n = names_of(family_of(c), W_N + (int)k);

    return gguf ? n.gguf : n.hf;
}

int
family_has_outer(const struct config *c, enum outer_tensor k)
{
    return k == OUTER_HEAD     ? !c->tied
        : k == OUTER_NORM_BIAS ? (family_of(c)->more & W_BIT(W_BNORM1)) != 0
        : k == OUTER_POSITIONS ? family_of(c)->learned
        : k == OUTER_HEAD_BIAS ? family_of(c)->head_bias
                               : 1;
}

float
family_norm_add(const struct config *c, int t)
{
    return (family_of(c)->gemma || family_of(c)->minus_one) &&
            (t < 0 ||
                (block_is_vector(t) && !block_is_bias(t) && !block_is_delta(t)))
        ? 1.0f
        : 0.0f;
}

struct stored_rows
block_stored(const struct config *c, int t, int gguf)
{
    const struct family *f = family_of(c);

    for (const struct stored_rows *s = f->fused; s != NULL && s->n > 0; s++)
        if (t >= s->first && t < s->first + s->n && (!gguf || s->gguf != NULL))
            return *s;
    return (struct stored_rows){ block_tensor_name(c, t), names_of(f, t).gguf,
        t, 1 };
}

size_t
block_stored_row(const struct config *c, int t, size_t before, size_t r)
{
    const struct stored_rows s = block_stored(c, t, 0);
    const size_t head = r / c->D, part = (size_t)(t - s.first);

    if (block_is_delta(t) && s.n > 1)
        return delta_fused_row(c, t, r);
    return family_of(c)->by_head && s.n > 1
        ? (head * (size_t)s.n + part) * c->D + r % c->D
        : before + r;
}

void
block_stored_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols)
{
    block_dims(c, t, b, rows, cols);
    if (block_is_vector(t)) {
        *rows = *cols;
        *cols = 1;
    }
}

void
block_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols)
{
    const struct block_shape is = b ? *b : config_whole_block(c, 0);
    const size_t groups = is.groups, mlp = is.mlp, E = is.experts;
    const int one_norm =
        config_parallel(c) && block_tensor_name(c, W_NORM2) == NULL;
    const int there = family_has(c, t) &&
        (t == W_NORM1 || t == W_BNORM1
                ? groups + is.linear + (one_norm ? mlp : 0)
                : block_is_delta(t) || block_is_short(t) ? is.linear
                : t == W_Q && c->mla.q_rank > 0          ? 0
                : t >= W_MLA_QA && t <= W_MLA_QB  ? groups * c->mla.q_rank
                : block_is_attention(t)           ? groups
                : block_is_of_experts(t)          ? E
                : t == W_NORM2 || t == W_NORM_MLP ? mlp + E
                                                  : mlp) > 0;
    const int whole = family_of(c)->whole_norms;
    const struct delta_shape *s = &c->delta;
    const size_t values = s->values * s->dv;
    const size_t mix = conv_channels(c);
    const size_t dim[] = { [ONE] = 1,
        [HIDDEN] = c->d,
        [THRICE] = 3 * c->d,
        [QUERIES] = groups * (c->H / c->KV) * c->D,
        [KEYS] = groups * c->D,
        [HEAD] = c->D,
        [MLP] = mlp,
        [EXPERTS] = E,
        [EXPERT_MLP] = c->expert_mlp,
        [EXPERT_ROWS] = E * c->expert_mlp,
        [EXPERT_OUTPUTS] = E * c->d,
        [SINGLE] = 1,
        [DELTA_MIX] = mix,
        [DELTA_VALUES] = values,
        [DELTA_HEADS] = s->values,
        [DELTA_HEAD] = s->dv,
        [TAPS] = mix * c->conv,
        [HEADS] = groups * (c->H / c->KV),
        [VALUES] = groups * (c->H / c->KV) * mla_value(c),
        [MLA_Q] = c->mla.q_rank,
        [MLA_KV] = c->mla.kv_rank,
        [MLA_KV_ROPE] = c->mla.kv_rank + c->mla.rope,
        [MLA_HEADS] = groups * (c->mla.nope + c->mla.v) };

    *rows = there ? dim[tensors[t].rows] : 0;
    if (t == W_Q && family_of(c)->gated)
        *rows *= 2;
    *cols = !there           ? 0
        : whole && t == W_NQ ? dim[QUERIES]
        : whole && t == W_NK ? dim[KEYS]
                             : dim[tensors[t].cols];
}
