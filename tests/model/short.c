/* Configurations of LFM2, whose blocks have attention or the short
 * convolution. */
#include "base/mem.h"
#include "../lib/config_text.h"

#include <stdlib.h>
#include <string.h>

/* The sizes of published configurations, by older keys and newer ones. */
static void
published(void)
{
#define OF16 "\"full_attn_idxs\":[2,5,8,10,12,14],\"num_hidden_layers\":16"
#define ADJUST "\"block_auto_adjust_ff_dim\":true,\"block_multiple_of\":256,"
    static const struct {
        const char *name, *keys;
        size_t mlp, params, attention;
    } of[] = {
        { "350M",
            ADJUST OF16 ",\"hidden_size\":1024,\"num_attention_heads\":16,"
                        "\"block_ff_dim\":6656,\"intermediate_size\":6656,"
                        "\"tie_embedding\":true",
            4608, 354483968, 6 },
        { "700M",
            ADJUST OF16 ",\"hidden_size\":1536,\"num_attention_heads\":24,"
                        "\"block_ff_dim\":10240,\"theta\":1000000.0",
            6912, 742489344, 6 },
        /* some copies have the adjusted size in intermediate_size */
        { "1.2B",
            ADJUST OF16 ",\"hidden_size\":2048,\"num_heads\":32,"
                        "\"block_ff_dim\":12288,\"intermediate_size\":8192,"
                        "\"use_pos_enc\":true",
            8192, 1170340608, 6 },
        { "2.6B",
            "\"block_auto_adjust_ff_dim\":false,\"hidden_size\":2048,"
            "\"intermediate_size\":10752,\"num_hidden_layers\":30,"
            "\"rope_parameters\":{\"rope_theta\":1000000.0,"
            "\"rope_type\":\"default\"},"
            "\"full_attn_idxs\":[2,5,9,13,17,21,24,27]",
            10752, 2569272320, 8 },
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char *text = xasprintf("{\"model_type\":\"lfm2\",%s}", of[i].keys);
        struct config c = { 0 };
        struct err e = { 0 };
        size_t n = 0;
        const int r = config_of_text(&c, text, &e);

        for (size_t k = 0; k < c.L; k++)
            n += config_whole_block(&c, k).groups == 8;
        ok(r == 0 && c.mlp == of[i].mlp && c.tied && c.conv == 3 &&
                c.theta == 1e6 && c.D == 64 && n == of[i].attention &&
                config_params(&c, NULL) == of[i].params,
            "LFM2 %s has %zu parameters %s", of[i].name, of[i].params, e.msg);
        free(text);
    }
}

int
main(void)
{
    published();
    config_refused("{\"model_type\":\"lfm2\",\"layer_types\":[\"linear_"
                   "attention\"],"
                   "\"num_hidden_layers\":1}",
        "\"linear_attention\" is not supported (full_attention, conv)");
    config_refused("{\"model_type\":\"lfm2\",\"conv_bias\":true}",
        "conv_bias: true is not supported");
    config_refused("{\"model_type\":\"lfm2\",\"conv_L_cache\":65}",
        "conv_L_cache");
    config_refused("{\"model_type\":\"lfm2\",\"intermediate_size\":1}",
        "block_auto_adjust_ff_dim: makes no MLP");
    config_refused("{\"model_type\":\"lfm2_moe\"}",
        "\"lfm2_moe\" is not supported");
    return done_testing();
}
