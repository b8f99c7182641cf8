/* Published configurations of GPT-NeoX's family and GPT-2's, with the numbers
 * of parameters that their authors give, and what is refused of them. */
#include "model/config/family.h"
#include "../lib/config_text.h"

#include <stdio.h>
#include <string.h>

/* EleutherAI/pythia's table of sizes. */
static const struct pythia {
    const char *name;
    size_t V, d, L, H, params;
} pythias[] = { { "14m", 50304, 128, 6, 4, 14067712 },
    { "31m", 50304, 256, 6, 8, 30494720 },
    { "70m", 50304, 512, 6, 8, 70426624 },
    { "160m", 50304, 768, 12, 12, 162322944 },
    { "410m", 50304, 1024, 24, 16, 405334016 },
    { "1b", 50304, 2048, 16, 8, 1011781632 },
    { "1.4b", 50304, 2048, 24, 16, 1414647808 },
    { "2.8b", 50304, 2560, 32, 32, 2775208960 },
    { "6.9b", 50432, 4096, 32, 32, 6857302016 },
    { "12b", 50688, 5120, 36, 40, 11846072320 } };

#define NEOX "\"model_type\":\"gpt_neox\""

static void
test_pythia(const struct pythia *p)
{
    struct config c;
    struct err e = { 0 };
    char text[800];

    snprintf(text, sizeof text,
        "{\"architectures\":[\"GPTNeoXForCausalLM\"],\"bos_token_id\":0,"
        "\"eos_token_id\":0,\"hidden_act\":\"gelu\",\"hidden_size\":%zu,"
        "\"initializer_range\":0.02,\"intermediate_size\":%zu,"
        "\"layer_norm_eps\":1e-05,\"max_position_embeddings\":2048," NEOX
        ",\"num_attention_heads\":%zu,\"num_hidden_layers\":%zu,"
        "\"rotary_emb_base\":10000,\"rotary_pct\":0.25,"
        "\"tie_word_embeddings\":false,\"torch_dtype\":\"float16\","
        "\"transformers_version\":\"4.24.0\",\"use_cache\":true,"
        "\"use_parallel_residual\":true,\"vocab_size\":%zu}",
        p->d, 4 * p->d, p->H, p->L, p->V);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == p->params && c.parallel &&
            c.exact_gelu && c.attn_bias && c.rotary == c.D / 4 && !c.tied,
        "Pythia %s has %zu parameters %s", p->name, p->params, e.msg);
}

static void
test_neox(void)
{
    struct config c;
    struct err e = { 0 };

    ok(config_of_text(&c,
           "{" NEOX ",\"rotary_pct\":1,\"classifier_dropout\":0.3,"
           "\"hidden_dropout\":0.1,\"attention_dropout\":0.1,"
           "\"use_parallel_residual\":false,\"attention_bias\":false,"
           "\"hidden_act\":\"gelu_fast\"}",
           &e) == 0 &&
            c.rotary == 0 && !c.parallel && !c.attn_bias && !c.exact_gelu,
        "a gpt_neox with other arithmetic, and with dropout %s", e.msg);
    config_refused("{" NEOX ",\"hidden_act\":\"relu\"}",
        "hidden_act: \"relu\"");
    config_refused("{" NEOX ",\"hidden_size\":100,\"num_attention_heads\":3}",
        "no multiple of 3 heads");
    config_refused("{" NEOX ",\"rotary_pct\":0.5,\"hidden_size\":32,"
                   "\"num_attention_heads\":4,\"head_dim\":12}",
        "hidden_size: 32 is not 4 heads of 12 numbers");
    config_refused("{" NEOX ",\"rotary_pct\":0.4,\"hidden_size\":32,"
                   "\"num_attention_heads\":4}",
        "no even number");
    config_refused("{" NEOX ",\"rotary_emb_base\":500,\"rope_parameters\":{"
                   "\"rope_theta\":10000}}",
        "rotary_emb_base: 500, but");
}

/* Numbers of parameters as the paper and transformers have them. */
static const struct {
    const char *name;
    size_t d, L, H, params;
} gpt2s[] = { { "gpt2", 768, 12, 12, 124439808 },
    { "gpt2-medium", 1024, 24, 16, 354823168 },
    { "gpt2-large", 1280, 36, 20, 774030080 },
    { "gpt2-xl", 1600, 48, 25, 1557611200 },
    { "distilgpt2", 768, 6, 12, 81912576 } };

#define GPT2 "\"model_type\":\"gpt2\""

/* The configurations that OpenAI's models are published with. */
static void
test_published_gpt2(size_t i)
{
    struct config c;
    struct err e = { 0 };
    char text[1000];

    snprintf(text, sizeof text,
        "{\"activation_function\":\"gelu_new\",\"architectures\":["
        "\"GPT2LMHeadModel\"],\"attn_pdrop\":0.1,\"bos_token_id\":50256,"
        "\"embd_pdrop\":0.1,\"eos_token_id\":50256,\"initializer_range\":"
        "0.02,\"layer_norm_epsilon\":1e-05," GPT2 ",\"n_ctx\":1024,"
        "\"n_embd\":%zu,\"n_head\":%zu,\"n_layer\":%zu,\"n_positions\":"
        "1024,\"resid_pdrop\":0.1,\"summary_activation\":null,"
        "\"summary_first_dropout\":0.1,\"summary_proj_to_labels\":true,"
        "\"summary_type\":\"cls_index\",\"summary_use_proj\":true,"
        "\"task_specific_params\":{\"text-generation\":{\"do_sample\":true,"
        "\"max_length\":50}},\"vocab_size\":50257}",
        gpt2s[i].d, gpt2s[i].H, gpt2s[i].L);
    ok(config_of_text(&c, text, &e) == 0 &&
            config_params(&c, NULL) == gpt2s[i].params && c.tied &&
            !c.exact_gelu && c.D == 64 && !config_rope(&c, 0),
        "%s has %zu parameters %s", gpt2s[i].name, gpt2s[i].params, e.msg);
}

static void
test_gpt2(void)
{
    struct config c;
    struct err e = { 0 };

    ok(config_of_text(&c,
           "{" GPT2 ",\"n_inner\":100,\"activation_function\":\"gelu\","
           "\"tie_word_embeddings\":false}",
           &e) == 0 &&
            c.mlp == 100 && c.exact_gelu && !c.tied && c.max_pos == 1024,
        "a gpt2 with other sizes %s", e.msg);
    ok(config_of_text(&c,
           "{" GPT2 ",\"hidden_size\":96,\"num_hidden_layers\":3,"
           "\"num_attention_heads\":4}",
           &e) == 0 &&
            c.d == 96 && c.L == 3 && c.H == 4 && c.mlp == 384,
        "other names of its keys %s", e.msg);
    config_refused("{" GPT2 ",\"activation_function\":\"relu\"}",
        "activation_function: \"relu\" is not supported");
    config_refused("{" GPT2 ",\"scale_attn_by_inverse_layer_idx\":true}",
        "scale_attn_by_inverse_layer_idx: true is not supported");
    config_refused("{" GPT2 ",\"reorder_and_upcast_attn\":true}",
        "reorder_and_upcast_attn: true is not supported");
    config_refused("{" GPT2 ",\"scale_attn_weights\":false}",
        "scale_attn_weights: false is not supported");
    config_refused("{" GPT2 ",\"add_cross_attention\":true}",
        "add_cross_attention");
    config_refused("{" GPT2 ",\"n_head\":7}", "no multiple of 7 heads");
}

/* Rows that are longer than learned positions are refused, those of RoPE only
 * noted. */
static void
test_positions(void)
{
    struct config c;
    struct err e = { 0 };

    ok(config_of_text(&c, "{" GPT2 "}", &e) == 0 &&
            config_check_positions(&c, 1024, "it", &e) == 0 &&
            config_check_positions(&c, 1025, "it", &e) < 0 &&
            strstr(e.msg,
                "it: rows of 1025 tokens, but it has learned 1024 positions") !=
                NULL,
        "a gpt2 takes rows of as many tokens as it has positions: %s", e.msg);
    ok(config_of_text(&c, "{" NEOX "}", &e) == 0 &&
            config_check_positions(&c, 4096, "it", &e) == 0,
        "a gpt_neox takes longer ones");
}

int
main(void)
{
    for (size_t i = 0; i < sizeof pythias / sizeof *pythias; i++)
        test_pythia(&pythias[i]);
    test_neox();
    for (size_t i = 0; i < sizeof gpt2s / sizeof *gpt2s; i++)
        test_published_gpt2(i);
    test_gpt2();
    test_positions();
    return done_testing();
}
