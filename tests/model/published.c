/* Published configurations of StarCoder2, Phi, GLM, EXAONE 4, Qwen3-Next and
 * Qwen 3.5's mixtures, with the numbers of parameters that transformers counts
 * (scripts/oracle/plan_params.py), and what is refused of them. */
#include "../lib/config_text.h"

#include <stdio.h>
#include <string.h>

#define STARCODER2 "\"model_type\":\"starcoder2\""

static const struct {
    const char *name, *keys;
    size_t d, mlp, L, H, KV, params;
} starcoder2s[] = { { "3B", "\"rope_theta\":999999.4420358813", 3072, 12288, 30,
                        24, 2, 3030371328 },
    { "7B", "\"rope_theta\":1000000", 4608, 18432, 32, 36, 4, 7173923840 },
    { "15B", "\"rope_theta\":100000,\"tie_word_embeddings\":false", 6144, 24576,
        40, 48, 4, 15957889024 } };

static void
test_starcoder2(size_t i)
{
    struct config c;
    struct err e = { 0 };
    char text[1000];

    snprintf(text, sizeof text,
        "{\"activation_function\":\"gelu\",\"architectures\":["
        "\"Starcoder2ForCausalLM\"],\"attention_dropout\":0.1,"
        "\"residual_dropout\":0.1,\"embedding_dropout\":0.1,"
        "\"bos_token_id\":0,\"eos_token_id\":0,"
        "\"hidden_act\":\"gelu_pytorch_tanh\",\"hidden_size\":%zu,"
        "\"initializer_range\":0.018042,\"intermediate_size\":%zu,"
        "\"max_position_embeddings\":16384,\"mlp_type\":\"default\"," STARCODER2
        ",\"norm_epsilon\":1e-05,\"layer_norm_epsilon\":1e-05,"
        "\"norm_type\":\"layer_norm\",\"num_attention_heads\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_key_value_heads\":%zu,%s,"
        "\"sliding_window\":4096,\"torch_dtype\":\"bfloat16\","
        "\"use_bias\":true,\"use_cache\":true,\"vocab_size\":49152}",
        starcoder2s[i].d, starcoder2s[i].mlp, starcoder2s[i].H,
        starcoder2s[i].L, starcoder2s[i].KV, starcoder2s[i].keys);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == starcoder2s[i].params &&
            c.tied == (i < 2) && c.attn_bias && !c.exact_gelu && c.D == 128 &&
            config_window(&c, c.L - 1) == 4096,
        "StarCoder2 %s has %zu parameters %s", starcoder2s[i].name,
        starcoder2s[i].params, e.msg);
}

#define PHI "\"model_type\":\"phi\""

static const struct {
    const char *name;
    size_t d, L, params, rotary;
    const char *part; /* partial_rotary_factor */
} phis[] = { { "1 and 1.5", 2048, 24, 1418270720, 32, "0.5" },
    { "2", 2560, 32, 2779683840, 32, "0.4" } };

static void
test_phi(size_t i)
{
    struct config c;
    struct err e = { 0 };
    char text[1000];

    snprintf(text, sizeof text,
        "{\"architectures\":[\"PhiForCausalLM\"],\"attention_dropout\":0.0,"
        "\"bos_token_id\":null,\"eos_token_id\":null,\"embd_pdrop\":0.0,"
        "\"hidden_act\":\"gelu_new\",\"hidden_size\":%zu,"
        "\"initializer_range\":0.02,\"intermediate_size\":%zu,"
        "\"layer_norm_eps\":1e-05,\"max_position_embeddings\":2048," PHI
        ",\"num_attention_heads\":32,\"num_hidden_layers\":%zu,"
        "\"num_key_value_heads\":null,\"partial_rotary_factor\":%s,"
        "\"qk_layernorm\":false,\"resid_pdrop\":0.0,\"rope_scaling\":null,"
        "\"rope_theta\":10000.0,\"tie_word_embeddings\":false,"
        "\"torch_dtype\":\"float16\",\"use_cache\":true,"
        "\"vocab_size\":51200}",
        phis[i].d, 4 * phis[i].d, phis[i].L, phis[i].part);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == phis[i].params && !c.tied &&
            !c.exact_gelu && c.rotary == phis[i].rotary,
        "Phi %s has %zu parameters %s", phis[i].name, phis[i].params, e.msg);
}

static const struct glm {
    const char *type, *name;
    size_t d, mlp, L, H;
    const char *bias;
    size_t params;
} glms[] = { { "glm4", "GLM-4-9B-0414", 4096, 13696, 40, 32, "true",
                 9400279040 },
    { "glm4", "GLM-4-32B-0414", 6144, 23040, 61, 48, "false", 32566081536 },
    { "glm", "GLM-4-9B", 4096, 13696, 40, 32, "true", 9399951360 } };

static void
test_glm(const struct glm *g)
{
    struct config c;
    struct err e = { 0 };
    char text[1000];

    snprintf(text, sizeof text,
        "{\"attention_bias\":%s,\"attention_dropout\":0.0,"
        "\"eos_token_id\":[151329,151336,151338],\"head_dim\":128,"
        "\"hidden_act\":\"silu\",\"hidden_size\":%zu,"
        "\"initializer_range\":0.02,\"intermediate_size\":%zu,"
        "\"max_position_embeddings\":32768,\"model_type\":\"%s\","
        "\"num_attention_heads\":%zu,\"num_hidden_layers\":%zu,"
        "\"num_key_value_heads\":2,\"pad_token_id\":151329,"
        "\"partial_rotary_factor\":0.5,\"rms_norm_eps\":1e-05,"
        "\"rope_theta\":10000.0,\"tie_word_embeddings\":false,"
        "\"torch_dtype\":\"bfloat16\",\"use_cache\":true,"
        "\"vocab_size\":151552}",
        g->bias, g->d, g->mlp, g->type, g->H, g->L);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == g->params &&
            c.attn_bias == (g->L == 40) && c.rotary == 64 && c.neos == 3,
        "%s has %zu parameters %s", g->name, g->params, e.msg);
}

#define EXAONE4 "\"model_type\":\"exaone4\""

static void
test_exaone4(void)
{
    static const char rope[] =
        "\"rope_scaling\":{\"factor\":16.0,\"high_freq_factor\":4.0,"
        "\"low_freq_factor\":1.0,\"original_max_position_embeddings\":8192,"
        "\"rope_type\":\"llama3\"},\"rope_theta\":1000000,\"vocab_size\":"
        "102400,\"rms_norm_eps\":1e-05,\"max_position_embeddings\":65536,"
        "\"bos_token_id\":1,\"eos_token_id\":361,\"pad_token_id\":0,"
        "\"num_key_value_heads\":8," EXAONE4;
    struct config c;
    struct err e = { 0 };
    char text[2000];
    int same = 1;

    snprintf(text, sizeof text,
        "{%s,\"hidden_size\":2048,\"intermediate_size\":4096,"
        "\"num_hidden_layers\":30,\"num_attention_heads\":32,\"head_dim\":64,"
        "\"sliding_window\":null,\"sliding_window_pattern\":null,"
        "\"tie_word_embeddings\":true}",
        rope);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == 1279391488 && c.window == 0 &&
            config_rope(&c, 3) && c.rope == ROPE_LLAMA3,
        "EXAONE 4.0 1.2B has 1279391488 parameters %s", e.msg);
    snprintf(text, sizeof text,
        "{%s,\"hidden_size\":5120,\"intermediate_size\":27392,"
        "\"num_hidden_layers\":64,\"num_attention_heads\":40,"
        "\"head_dim\":128,\"sliding_window\":4096,"
        "\"sliding_window_pattern\":4,\"tie_word_embeddings\":false}",
        rope);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == 32003216384,
        "EXAONE 4.0 32B has 32003216384 parameters %s", e.msg);
    for (size_t i = 0; i < c.L; i++)
        same &= config_rope(&c, i) == ((i + 1) % 4 != 0) &&
            config_window(&c, i) == ((i + 1) % 4 != 0 ? 4096 : 0);
    ok(same, "3 of 4 blocks have a window and RoPE");
    ok(config_of_text(&c,
           "{" EXAONE4 ",\"num_hidden_layers\":2,\"layer_types\":["
           "\"sliding_attention\",\"full_attention\"],"
           "\"sliding_window_pattern\":\"LLLG\"}",
           &e) == 0 &&
            config_rope(&c, 0) && !config_rope(&c, 1),
        "letters of a pattern beside layer_types %s", e.msg);
    config_refused("{" EXAONE4 ",\"sliding_window_pattern\":\"LLLG\"}",
        "sliding_window_pattern");
    config_refused("{" EXAONE4
                   ",\"num_hidden_layers\":1,\"sliding_window\":null,"
                   "\"layer_types\":[\"sliding_attention\"]}",
        "there is no sliding_window");
}

#define DELTA                                                                 \
    "\"attention_bias\":false,\"attention_dropout\":0.0,"                     \
    "\"full_attention_interval\":4,\"head_dim\":256,\"hidden_act\":\"silu\"," \
    "\"initializer_range\":0.02,\"linear_conv_kernel_dim\":4,"                \
    "\"linear_key_head_dim\":128,\"linear_num_key_heads\":16,"                \
    "\"linear_value_head_dim\":128,\"max_position_embeddings\":262144,"       \
    "\"mlp_only_layers\":[],\"num_key_value_heads\":2,"                       \
    "\"output_router_logits\":false,\"rms_norm_eps\":1e-06,"                  \
    "\"router_aux_loss_coef\":0.001,\"tie_word_embeddings\":false,"           \
    "\"use_cache\":true"

/* Is every fourth block of c one with attention, and has each all experts? */
static int
is_delta_mixture(const struct config *c, size_t experts, size_t used)
{
    int same = c->router.n == experts && c->router.k == used &&
        c->router.renorm && c->rotary == 64 && c->mlp > 0;

    for (size_t i = 0; i < c->L; i++)
        same &= config_linear(c, i) == ((i + 1) % 4 != 0) &&
            config_whole_block(c, i).experts == experts;
    return same;
}

static void
test_next(void)
{
    static const char text[] =
        "{\"architectures\":[\"Qwen3NextForCausalLM\"]," DELTA
        ",\"bos_token_id\":151643,\"decoder_sparse_step\":1,"
        "\"eos_token_id\":151645,\"hidden_size\":2048,"
        "\"intermediate_size\":5120,\"linear_num_value_heads\":32,"
        "\"model_type\":\"qwen3_next\",\"moe_intermediate_size\":512,"
        "\"norm_topk_prob\":true,\"num_attention_heads\":16,"
        "\"num_experts\":512,\"num_experts_per_tok\":10,"
        "\"num_hidden_layers\":48,\"partial_rotary_factor\":0.25,"
        "\"rope_scaling\":null,\"rope_theta\":10000000,"
        "\"shared_expert_intermediate_size\":512,"
        "\"torch_dtype\":\"bfloat16\",\"use_sliding_window\":false,"
        "\"vocab_size\":151936}";
    struct config c;
    struct err e = { 0 };

    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == 79674391296 &&
            is_delta_mixture(&c, 512, 10),
        "Qwen3-Next 80B-A3B has 79674391296 parameters %s", e.msg);
    config_refused("{\"model_type\":\"qwen3_next\",\"layer_types\":["
                   "\"sliding_attention\"],\"num_hidden_layers\":1}",
        "\"sliding_attention\" is not supported");
    config_refused("{\"model_type\":\"qwen3_next\",\"attention_bias\":true}",
        "attention_bias: true is not supported");
}

static const struct {
    const char *name;
    size_t d, mlp, L, H, values, experts, used, params;
} qwens[] = { { "35B-A3B", 2048, 512, 40, 16, 32, 256, 8, 34660610688 },
    { "122B-A10B", 3072, 1024, 48, 32, 64, 256, 8, 122111526912 },
    { "397B-A17B", 4096, 1024, 60, 32, 64, 512, 10, 396346350336 } };

/* The part about text of a model that sees images and predicts further
 * tokens. */
static void
test_qwen(size_t i)
{
    struct config c;
    struct err e = { 0 };
    char text[2000];

    snprintf(text, sizeof text,
        "{\"architectures\":[\"Qwen3_5MoeForConditionalGeneration\"],"
        "\"image_token_id\":248056,\"model_type\":\"qwen3_5_moe\","
        "\"text_config\":{" DELTA
        ",\"attn_output_gate\":true,\"dtype\":\"bfloat16\","
        "\"eos_token_id\":248044,\"hidden_size\":%zu,"
        "\"linear_num_value_heads\":%zu,\"mamba_ssm_dtype\":\"float32\","
        "\"model_type\":\"qwen3_5_moe_text\",\"moe_intermediate_size\":%zu,"
        "\"mtp_num_hidden_layers\":1,\"mtp_use_dedicated_embeddings\":false,"
        "\"num_attention_heads\":%zu,\"num_experts\":%zu,"
        "\"num_experts_per_tok\":%zu,\"num_hidden_layers\":%zu,"
        "\"rope_parameters\":{\"mrope_interleaved\":true,"
        "\"mrope_section\":[11,11,10],\"partial_rotary_factor\":0.25,"
        "\"rope_theta\":10000000,\"rope_type\":\"default\"},"
        "\"shared_expert_intermediate_size\":%zu,\"vocab_size\":248320},"
        "\"tie_word_embeddings\":false,\"transformers_version\":\"4.57.0\","
        "\"vision_config\":{\"depth\":27,\"model_type\":\"qwen3_5_moe\"}}",
        qwens[i].d, qwens[i].values, qwens[i].mlp, qwens[i].H, qwens[i].experts,
        qwens[i].used, qwens[i].L, qwens[i].mlp);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == qwens[i].params &&
            is_delta_mixture(&c, qwens[i].experts, qwens[i].used),
        "Qwen3.5 %s has %zu parameters %s", qwens[i].name, qwens[i].params,
        e.msg);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof starcoder2s / sizeof *starcoder2s; i++)
        test_starcoder2(i);
    config_refused("{" STARCODER2 ",\"hidden_act\":\"silu\"}",
        "hidden_act: \"silu\" is not supported");
    config_refused("{" STARCODER2 ",\"num_attention_heads\":7}",
        "no multiple of 7");
    for (size_t i = 0; i < sizeof phis / sizeof *phis; i++)
        test_phi(i);
    config_refused("{" PHI ",\"qk_layernorm\":true}",
        "qk_layernorm: true is not supported");
    for (size_t i = 0; i < sizeof glms / sizeof *glms; i++)
        test_glm(&glms[i]);
    config_refused("{\"model_type\":\"glm4\",\"hidden_act\":\"gelu\"}",
        "hidden_act: \"gelu\" is not supported");
    test_exaone4();
    test_next();
    for (size_t i = 0; i < sizeof qwens / sizeof *qwens; i++)
        test_qwen(i);
    return done_testing();
}
