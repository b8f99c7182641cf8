/* Published configurations of GPT-NeoX's family and GPT-2's, with the numbers
 * of parameters that their authors give, and what is refused of them. */
#include "format/json.h"
#include "model/config/family.h"
#include "../lib/tap.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int
read_config(struct config *c, const char *text, struct err *e)
{
    json_t *j = json_loads(text, 0, NULL);
    const int r = j != NULL ? config_from_json(c, j, e)
                            : err_set(e, EX_INPUT, "no JSON: %s", text);

    json_decref(j);
    return r;
}

static void
refuse(const char *text, const char *why)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, text, &e) < 0 && strstr(e.msg, why) != NULL,
        "refused: %s", e.msg);
}

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
    ok(read_config(&c, text, &e) == 0 && config_params(&c, NULL) == p->params &&
            c.parallel && c.exact_gelu && c.attn_bias && c.rotary == c.D / 4 &&
            !c.tied,
        "Pythia %s has %zu parameters %s", p->name, p->params, e.msg);
}

static void
test_neox(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c,
           "{" NEOX ",\"rotary_pct\":1,\"classifier_dropout\":0.3,"
           "\"hidden_dropout\":0.1,\"attention_dropout\":0.1,"
           "\"use_parallel_residual\":false,\"attention_bias\":false,"
           "\"hidden_act\":\"gelu_fast\"}",
           &e) == 0 &&
            c.rotary == 0 && !c.parallel && !c.attn_bias && !c.exact_gelu,
        "a gpt_neox with other arithmetic, and with dropout %s", e.msg);
    refuse("{" NEOX ",\"hidden_act\":\"relu\"}", "hidden_act: \"relu\"");
    refuse("{" NEOX ",\"hidden_size\":100,\"num_attention_heads\":3}",
        "no multiple of 3 heads");
    refuse("{" NEOX ",\"rotary_pct\":0.5,\"hidden_size\":32,"
           "\"num_attention_heads\":4,\"head_dim\":12}",
        "hidden_size: 32 is not 4 heads of 12 numbers");
    refuse("{" NEOX ",\"rotary_pct\":0.4,\"hidden_size\":32,"
           "\"num_attention_heads\":4}",
        "no even number");
    refuse("{" NEOX ",\"rotary_emb_base\":500,\"rope_parameters\":{"
           "\"rope_theta\":10000}}",
        "rotary_emb_base: 500, but");
}

int
main(void)
{
    for (size_t i = 0; i < sizeof pythias / sizeof *pythias; i++)
        test_pythia(&pythias[i]);
    test_neox();
    return done_testing();
}
