/* Configurations: which are read, refused and written. */
#include "format/json.h"
#include "model/config/config.h"
#include "../lib/tap.h"
#include "model/files/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char base[] =
    "{\"model_type\":\"llama\",\"vocab_size\":100,"
    "\"hidden_size\":64,\"intermediate_size\":96,\"num_hidden_layers\":3,"
    "\"num_attention_heads\":4}";

/* The configuration `base` with the members of the object `more` put in; a
 * member that is null counts as absent. */
static json_t *
with(const char *more)
{
    json_t *j = json_loads(base, 0, NULL), *m = json_loads(more, 0, NULL), *v;
    const char *k;

    if (!m) {
        printf("Bail out! %s\n", more);
        exit(1);
    }
    json_object_foreach(m, k, v) json_object_set(j, k, v);
    json_decref(m);
    return j;
}

static int
read_config(struct config *c, const char *more, struct err *e)
{
    json_t *j = with(more);
    int r = config_from_json(c, j, e);

    json_decref(j);
    return r;
}

/* Read a configuration of the family mistral. */
static int
read_mistral(struct config *c, const char *more, struct err *e)
{
    json_t *j = with(more), *type = json_string("mistral");
    int r;

    json_object_set_new(j, "model_type", type);
    r = config_from_json(c, j, e);
    json_decref(j);
    return r;
}

static void
refuse(const char *more, const char *why)
{
    struct config c;
    struct err e = { 0 };

    if (!ok(read_config(&c, more, &e) < 0 && e.code == EX_INPUT &&
                strstr(e.msg, why),
            "%s is refused: %s", more, why))
        printf("# %s\n# %s\n", more, e.msg);
}

/* Both objects are read as the same configuration. */
static void
ignore(const char *more, const char *without)
{
    struct config c, want;
    struct err e = { 0 };

    ok(read_config(&want, without, &e) == 0 && read_config(&c, more, &e) == 0 &&
            memcmp(&c, &want, sizeof c) == 0,
        "%s is read as %s %s", more, without, e.msg);
}

static void
test_defaults(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, "{}", &e) == 0, "the least configuration %s", e.msg);
    ok(c.V == 100 && c.d == 64 && c.mlp == 96 && c.L == 3 && c.H == 4 &&
            c.KV == 4 && c.D == 16,
        "its sizes are read");
    ok(c.eps == 1e-6 && c.theta == 10000 && c.rope == ROPE_DEFAULT && !c.tied &&
            c.bos == 1 && c.neos == 1 && c.eos[0] == 2 && c.pad == -1 &&
            c.max_pos == 2048,
        "defaults are those of transformers");
    ok(read_config(&c, "{\"head_dim\":32,\"num_key_value_heads\":2}", &e) ==
                0 &&
            c.D == 32 && c.KV == 2,
        "head_dim is not hidden/heads");
    ok(read_config(&c, "{\"head_dim\":null,\"rope_scaling\":null}", &e) == 0 &&
            c.D == 16,
        "null is as if missing");
    ok(read_config(&c,
           "{\"model_type\":\"mistral\","
           "\"num_key_value_heads\":2,\"sliding_window\":null}",
           &e) == 0 &&
            strcmp(c.arch, "mistral") == 0,
        "a mistral is read");
    ok(read_config(&c, "{\"eos_token_id\":[7,8],\"bos_token_id\":1}", &e) ==
                0 &&
            c.neos == 2 && c.eos[0] == 7 && c.eos[1] == 8 && c.bos == 1 &&
            config_is_eos(&c, 8) && !config_is_eos(&c, 1),
        "all of a list of EOS");
    ok(read_config(&c, "{\"eos_token_id\":[]}", &e) == 0 && c.neos == 0,
        "which may be empty");
}

/* Windows as in transformers' Mistral: no key means 4096, null means none, and
 * use_sliding_window is ignored. */
static void
test_window(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, "{}", &e) == 0 && c.window == 0, "llama has none");
    ok(read_mistral(&c, "{\"num_key_value_heads\":2}", &e) == 0 &&
            c.window == 4096,
        "mistral's is 4096");
    ok(read_mistral(&c,
           "{\"num_key_value_heads\":2,"
           "\"sliding_window\":null}",
           &e) == 0 &&
            c.window == 0,
        "unless the key is null");
    ok(read_mistral(&c,
           "{\"num_key_value_heads\":2,\"sliding_window\":16,"
           "\"use_sliding_window\":false}",
           &e) == 0 &&
            c.window == 16,
        "use_sliding_window means nothing to it");
    ok(read_mistral(&c, "{\"num_key_value_heads\":null}", &e) == 0 &&
            c.KV == c.H,
        "null key-value heads are not taken for 8");
}

#define QWEN2 "\"model_type\":\"qwen2\",\"num_key_value_heads\":2"
#define SLIDE "\"use_sliding_window\":true,\"sliding_window\":8"

/* Families in which some of the blocks have a window. */
static void
test_layers(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, "{" QWEN2 ",\"sliding_window\":8}", &e) == 0 &&
            c.window == 0 && config_window(&c, 2) == 0,
        "the window is off by default");
    ok(read_config(&c, "{" QWEN2 "," SLIDE "}", &e) == 0 && c.window == 8 &&
            config_window(&c, 0) == 0 && config_window(&c, 2) == 0,
        "the window begins at block 28 by default");
    ok(read_config(&c, "{" QWEN2 "," SLIDE ",\"max_window_layers\":1}", &e) ==
                0 &&
            config_window(&c, 0) == 0 && config_window(&c, 1) == 8 &&
            config_window(&c, 2) == 8,
        "the window begins at max_window_layers");
    ok(read_config(&c,
           "{" QWEN2 "," SLIDE ",\"layer_types\":["
           "\"sliding_attention\",\"full_attention\",\"sliding_attention\"]}",
           &e) == 0 &&
            config_window(&c, 0) == 8 && config_window(&c, 1) == 0 &&
            config_window(&c, 2) == 8,
        "layer_types says where the window is");
    refuse("{" QWEN2 "," SLIDE ",\"layer_types\":[\"full_attention\"]}",
        "layer_types: is no list of 3");
    refuse("{" QWEN2 "," SLIDE ",\"layer_types\":[\"full_attention\",1,2]}",
        "layer_types: \"\" is not supported");
    refuse("{" QWEN2 ",\"layer_types\":[\"full_attention\","
           "\"full_attention\",\"sliding_attention\"]}",
        "layer_types: number 2 is sliding_attention, but there is no");
    refuse("{" QWEN2 ",\"layer_types\":[\"full_attention\","
           "\"full_attention\",\"linear_attention\"]}",
        "layer_types: \"linear_attention\" is not supported");
    refuse("{\"model_type\":\"qwen3\",\"attention_bias\":true}",
        "attention_bias: true is not supported");
    ok(read_config(&c,
           "{\"model_type\":\"qwen3\","
           "\"num_key_value_heads\":2}",
           &e) == 0 &&
            c.D == 128,
        "qwen3's heads have 128 where nothing is said");
}

#define GEMMA3 "\"model_type\":\"gemma3_text\",\"num_key_value_heads\":2"

static void
test_gemma(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, "{" GEMMA3 "}", &e) == 0 && c.tied && c.D == 256 &&
            c.attn_scalar == 256 && c.theta == 1e6 && c.theta_local == 1e4 &&
            c.window == 4096 && config_window(&c, 2) == 4096,
        "gemma3 has its defaults %s", e.msg);
    ok(read_config(&c, "{" GEMMA3 ",\"sliding_window_pattern\":3}", &e) == 0 &&
            config_window(&c, 1) == 4096 && config_window(&c, 2) == 0,
        "every third block sees all");
    ok(read_config(&c,
           "{" GEMMA3 ",\"rope_theta\":2e6,"
           "\"rope_local_base_freq\":3e4,\"rope_scaling\":{\"rope_type\":"
           "\"linear\",\"factor\":8}}",
           &e) == 0 &&
            c.theta == 2e6 && c.theta_local == 3e4 && c.rope == ROPE_LINEAR,
        "rope of transformers 4 is read");
    ok(read_config(&c,
           "{" GEMMA3 ",\"rope_parameters\":{"
           "\"full_attention\":{\"rope_type\":\"linear\",\"factor\":8,"
           "\"rope_theta\":2e6},\"sliding_attention\":{\"rope_type\":"
           "\"default\",\"rope_theta\":3e4}}}",
           &e) == 0 &&
            c.theta == 2e6 && c.theta_local == 3e4 && c.rope_factor == 8,
        "rope of transformers 5 is read %s", e.msg);
    refuse("{" GEMMA3 ",\"rope_parameters\":{\"sliding_attention\":{"
           "\"rope_type\":\"linear\",\"factor\":8}}}",
        "sliding_attention.rope_type: only default");
    ignore("{" GEMMA3 ",\"rope_parameters\":{\"full_attention\":{"
           "\"mrope\":1}}}",
        "{" GEMMA3 ",\"rope_parameters\":{\"full_attention\":{}}}");
    refuse("{" GEMMA3 ",\"final_logit_softcapping\":30}",
        "final_logit_softcapping: 30 is not supported (null)");
    ignore("{" GEMMA3 ",\"sliding_window_size\":4096}", "{" GEMMA3 "}");
    refuse("{" GEMMA3 ",\"sliding_window_size\":512}",
        "sliding_window_size: 512, but sliding_window is 4096");
    refuse("{" GEMMA3 ",\"hidden_activation\":\"gelu\"}",
        "hidden_activation: \"gelu\" is not supported");
    refuse("{" GEMMA3 ",\"use_bidirectional_attention\":true}",
        "use_bidirectional_attention: true");
}

/* Values of keys that config.json leaves out are those of transformers'
 * classes. */
#define APERTUS                                                                \
    "\"model_type\":\"apertus\",\"hidden_act\":\"xielu\",\"hidden_dropout\":"  \
    "0.0,"                                                                     \
    "\"hidden_size\":4096,\"intermediate_size\":21504,\"mlp_bias\":false,"     \
    "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"post_norm\":false," \
    "\"num_key_value_heads\":8,\"rms_norm_eps\":1e-05,\"vocab_size\":131072"

static void
test_families(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c,
           "{\"model_type\":\"gemma\",\"hidden_act\":\"gelu\","
           "\"hidden_activation\":null,\"num_key_value_heads\":2}",
           &e) == 0 &&
            c.tied && c.D == 256 && c.attn_scalar == 0,
        "gemma's gelu is the approximation %s", e.msg);
    refuse("{\"model_type\":\"gemma\",\"hidden_act\":\"silu\"}", "hidden_act");
    ok(read_config(&c, "{\"model_type\":\"cohere\"}", &e) == 0 && c.tied &&
            c.logit_factor == 0.0625 && c.eps == 1e-5,
        "a cohere has the factor of its logits %s", e.msg);
    refuse("{\"model_type\":\"cohere\",\"use_qk_norm\":true}", "use_qk_norm");
    refuse("{\"model_type\":\"cohere\",\"attention_bias\":true}",
        "attention_bias");
    refuse("{\"model_type\":\"cohere\",\"layer_norm_eps\":0}",
        "layer_norm_eps");
    ok(read_config(&c,
           "{\"model_type\":\"cohere2\",\"num_hidden_layers\":4,"
           "\"layer_types\":[\"full_attention\",\"sliding_attention\","
           "\"full_attention\",\"sliding_attention\"]}",
           &e) == 0 &&
            !config_rope(&c, 0) && config_rope(&c, 1) &&
            config_window(&c, 0) == 0 && config_window(&c, 1) == 4096,
        "a cohere2 turns the heads of blocks with a window %s", e.msg);
    /* that of Apertus 8B, as transformers 4.56 wrote it */
    ok(read_config(&c,
           "{" APERTUS ",\"rope_scaling\":{\"factor\":8.0,"
           "\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,"
           "\"original_max_position_embeddings\":8192,"
           "\"rope_type\":\"llama3\",\"type\":\"llama3\"},"
           "\"rope_theta\":12000000}",
           &e) == 0 &&
            c.rope == ROPE_LLAMA3 && c.rope_factor == 8 && c.theta == 12e6 &&
            c.D == 128 && !c.tied && config_params(&c, NULL) == 8053338240,
        "the configuration of Apertus 8B %s", e.msg);
    refuse("{" APERTUS ",\"rope_scaling\":null,\"rope_theta\":500000}",
        "rope_theta");
    refuse("{" APERTUS ",\"qk_norm\":false}", "qk_norm");
    ok(read_config(&c, "{\"model_type\":\"gemma2\"}", &e) == 0 && c.tied &&
            c.D == 256 && c.KV == 4 && c.attn_cap == 50 && c.final_cap == 30 &&
            config_window(&c, 0) == 4096 && config_window(&c, 1) == 0 &&
            c.theta == 1e4 && c.attn_scalar == 256,
        "gemma2 has its defaults %s", e.msg);
    ok(read_config(&c,
           "{\"model_type\":\"gemma2\",\"attn_logit_softcapping\":null,"
           "\"hidden_act\":\"gelu_pytorch_tanh\"}",
           &e) == 0 &&
            c.attn_cap == 0 && c.final_cap == 30,
        "a cap of null is no cap");
    ok(read_config(&c, "{\"model_type\":\"olmo2\"}", &e) == 0 &&
            c.eps == 1e-5 && c.KV == 4 && !c.tied,
        "olmo2 has its defaults %s", e.msg);
    ok(config_positions(&c) == 2048, "a model has its positions");
    ok(read_config(&c,
           "{\"model_type\":\"olmo2\",\"max_position_embeddings\":1000,"
           "\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2.5}}",
           &e) == 0 &&
            config_positions(&c) == 2500,
        "dynamic RoPE multiplies a model's positions %s", e.msg);
    ok(read_config(&c,
           "{\"model_type\":\"olmo3\",\"rope_theta\":1e6,\"rope_scaling\":{"
           "\"rope_type\":\"yarn\",\"factor\":8,"
           "\"original_max_position_embeddings\":256}}",
           &e) == 0 &&
            c.theta == 1e6 && c.theta_local == 5e5 && c.rope == ROPE_YARN &&
            c.rope_orig == 256 && config_window(&c, 2) == 4096,
        "olmo3 scales RoPE in blocks without a window alone %s", e.msg);
    ok(read_config(&c, "{\"model_type\":\"smollm3\",\"num_hidden_layers\":5}",
           &e) == 0 &&
            c.tied && c.theta == 2e6 && c.KV == 4 && config_rope(&c, 2) &&
            !config_rope(&c, 3) && config_rope(&c, 4),
        "every fourth block of a smollm3 has no RoPE %s", e.msg);
    ok(read_config(&c,
           "{\"model_type\":\"smollm3\",\"no_rope_layers\":[0,1,1]}",
           &e) == 0 &&
            !config_rope(&c, 0) && config_rope(&c, 1),
        "no_rope_layers lists blocks that have RoPE %s", e.msg);
    ok(read_config(&c, "{\"model_type\":\"granite\"}", &e) == 0 &&
            c.attn_scale == 1 && c.residual_scale == 1,
        "the scores of a granite are multiplied by 1 %s", e.msg);
    ok(read_config(&c,
           "{\"model_type\":\"phi3\",\"rope_scaling\":{\"type\":\"su\","
           "\"short_factor\":[1,1,1,1,1,1],\"long_factor\":[2,2,2,2,2,2]},"
           "\"partial_rotary_factor\":0.75,\"max_position_embeddings\":131072,"
           "\"auto_map\":{\"AutoConfig\":\"m.C\"}}",
           &e) == 0 &&
            c.rope == ROPE_LONGROPE && c.rotary == 12 && c.rope_orig == 4096 &&
            fabs(c.rope_scale - 1.1902381) <= 1e-6 && c.window == 0,
        "phi3 has longrope in its old manner %s", e.msg);
    ok(read_config(&c,
           "{\"model_type\":\"ministral3\",\"num_attention_heads\":8}",
           &e) == 0 &&
            c.rope == ROPE_YARN && c.theta == 1e6 && c.rope_factor == 16 &&
            c.rope_orig == 16384 && c.rope_query == 0.1 && c.rope_scale == 1,
        "ministral3 has its defaults %s", e.msg);
    refuse("{\"model_type\":\"phi3\",\"rope_scaling\":{\"type\":\"longrope\","
           "\"short_factor\":[1,1],\"long_factor\":[2,2]}}",
        "rope_scaling.short_factor: is no list of 8 numbers");
    refuse("{\"model_type\":\"phi3\",\"rope_scaling\":{\"type\":\"linear\","
           "\"factor\":2}}",
        "\"linear\" is not supported (default, longrope)");
    refuse("{\"model_type\":\"phi3\",\"partial_rotary_factor\":0.2}",
        "partial_rotary_factor: 0.2 of heads of 16 is no even number");
    refuse("{\"model_type\":\"smollm3\",\"use_sliding_window\":true}",
        "use_sliding_window: true");
    refuse("{\"model_type\":\"smollm3\",\"no_rope_layers\":[1]}",
        "no_rope_layers: is no list of 3");
    refuse("{\"model_type\":\"olmo3\",\"rope_scaling\":{\"type\":\"yarn\","
           "\"factor\":2,\"truncate\":false}}",
        "rope_scaling.truncate: false");
    ignore("{\"model_type\":\"granite\",\"query_pre_attn_scalar\":9}",
        "{\"model_type\":\"granite\"}");
}

/* Qwen 3.5: which blocks have the gated delta rule, and its sizes. */
static void
test_delta(void)
{
    static const char qwen[] = "{\"model_type\":\"qwen3_5_text\",";
    char text[200];
    struct config c;
    struct err e = { 0 };

    snprintf(text, sizeof text, "%s\"num_hidden_layers\":5}", qwen);
    ok(read_config(&c, text, &e) == 0 && config_linear(&c, 0) &&
            config_linear(&c, 2) && !config_linear(&c, 3) &&
            config_linear(&c, 4) && config_whole_block(&c, 0).groups == 0,
        "all blocks of a qwen3_5_text but every fourth have the delta rule %s",
        e.msg);
    ok(c.delta.keys == 16 && c.delta.values == 32 && c.delta.dk == 128 &&
            c.delta.dv == 128 && c.conv == 4 && c.D == 256 && c.rotary == 64,
        "a qwen3_5_text has transformers' sizes if keys are missing");
    snprintf(text, sizeof text,
        "%s\"full_attention_interval\":2,\"partial_rotary_factor\":1}", qwen);
    ok(read_config(&c, text, &e) == 0 && !config_linear(&c, 1) &&
            config_linear(&c, 2) && c.rotary == 0,
        "full_attention_interval counts blocks %s", e.msg);
    refuse("{\"model_type\":\"qwen3_5_text\",\"layer_types\":"
           "[\"full_attention\",\"linear_attention\",\"sliding_attention\"]}",
        "\"sliding_attention\" is not supported (full_attention, linear");
    refuse("{\"model_type\":\"qwen3_5_text\",\"layer_types\":[]}",
        "layer_types: is no list of 3");
    refuse("{\"model_type\":\"qwen3_5_text\",\"linear_num_key_heads\":5}",
        "linear_num_value_heads: 32 is no multiple of 5 key heads");
    refuse("{\"model_type\":\"qwen3_5_text\",\"attn_output_gate\":false}",
        "attn_output_gate: false");
    ignore("{\"model_type\":\"qwen3_5_text\",\"mlp_only_layers\":[1]}",
        "{\"model_type\":\"qwen3_5_text\"}");
    ignore("{\"model_type\":\"qwen2_moe\",\"num_key_value_heads\":4,"
           "\"linear_num_key_heads\":4}",
        "{\"model_type\":\"qwen2_moe\",\"num_key_value_heads\":4}");
    ignore("{\"model_type\":\"qwen3_5_moe_text\",\"mlp_only_layers\":[0],"
           "\"norm_topk_prob\":false,\"intermediate_size\":7}",
        "{\"model_type\":\"qwen3_5_moe_text\"}");
}

/* The configuration of the text part of a model that also sees images. */
static void
test_vision(void)
{
    json_t *j = json_loads("{\"model_type\":\"mistral3\","
                           "\"tie_word_embeddings\":true,\"vision_config\":{},"
                           "\"text_config\":{\"model_type\":\"ministral3\","
                           "\"vocab_size\":100,\"hidden_size\":64,"
                           "\"intermediate_size\":96,\"num_hidden_layers\":3,"
                           "\"num_attention_heads\":8}}",
        0, NULL);
    struct config c;
    struct err e = { 0 };

    ok(config_from_json(&c, j, &e) == 0 && strcmp(c.arch, "ministral3") == 0 &&
            c.H == 8 && c.tied,
        "text_config is read, tie_word_embeddings from outside %s", e.msg);
    json_object_set_new(j, "quantization_config",
        json_pack("{s:s}", "quant_method", "awq"));
    ok(config_from_json(&c, j, &e) < 0 && strstr(e.msg, "\"awq\""),
        "a quantisation beside text_config that is not implemented is refused");
    json_object_set_new(j, "quantization_config",
        json_pack("{s:s}", "quant_method", "fp8"));
    ok(config_from_json(&c, j, &e) == 0, "FP8 beside text_config is read %s",
        e.msg);
    json_decref(j);
    /* Gemma 3 4B as published; transformers 5.24 counts its parameters so */
    j = json_loads("{\"model_type\":\"gemma3\",\"eos_token_id\":[1,106],"
                   "\"text_config\":{\"hidden_size\":2560,"
                   "\"intermediate_size\":10240,\"num_hidden_layers\":34,"
                   "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},"
                   "\"sliding_window\":1024}}",
        0, NULL);
    ok(config_from_json(&c, j, &e) == 0 && c.V == 262208 && c.H == 8 &&
            c.KV == 4 && c.D == 256 && c.tied &&
            config_params(&c, NULL) == 3880263168 && c.theta_local == 1e4,
        "a gemma3 with some sizes has transformers' others %s", e.msg);
    ok(c.neos == 2 && c.eos[1] == 106,
        "its text ends as eos_token_id outside text_config says");
    json_decref(j);
}

/* Keys that transformers ignores are ignored; of those that it reads, only
 * values that are implemented are taken. */
static void
test_keys(void)
{
    struct config c;
    struct err e = { 0 };

    ignore("{\"attn_logit_softcapping\":50,\"residual_multiplier\":2,"
           "\"layer_types\":[\"full_attention\"],\"sliding_window\":16,"
           "\"auto_map\":{\"AutoModel\":\"m.M\"},\"loss_type\":\"x\","
           "\"neftune_noise_alpha\":5,\"attention_chunk_size\":8,"
           "\"max_position_embeddings\":2048,\"use_mrope\":false}",
        "{}");
    ignore("{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
           "\"original_max_position_embeddings\":64},"
           "\"original_max_position_embeddings\":32}",
        "{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
        "\"original_max_position_embeddings\":32}}");
    refuse("{\"rope_scaling\":\"yarn\"}", "rope_scaling: is no object");
    ignore("{\"model_type\":\"gpt_oss\",\"num_key_value_heads\":4,"
           "\"rope_scaling\":{}}",
        "{\"model_type\":\"gpt_oss\",\"num_key_value_heads\":4}");
    ignore("{\"model_type\":\"gpt_oss\",\"num_key_value_heads\":4,"
           "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}",
        "{\"model_type\":\"gpt_oss\",\"num_key_value_heads\":4,"
        "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":2}}");
    refuse("{\"use_mrope\":true}", "use_mrope: true is not supported (false)");
    refuse("{\"per_layer_config\":{\"0\":{}}}", "per_layer_config: {");
    refuse("{\"tie_encoder_decoder\":true}", "tie_encoder_decoder: true");
    ignore("{\"model_type\":\"qwen2\",\"num_key_value_heads\":4,"
           "\"attention_bias\":true}",
        "{\"model_type\":\"qwen2\",\"num_key_value_heads\":4}");
    ignore("{\"model_type\":\"mistral\",\"num_key_value_heads\":2,"
           "\"sliding_window\":8,\"layer_types\":[\"sliding_attention\","
           "\"sliding_attention\",\"sliding_attention\"]}",
        "{\"model_type\":\"mistral\",\"num_key_value_heads\":2,"
        "\"sliding_window\":8}");
    refuse("{\"model_type\":\"mistral\",\"num_key_value_heads\":2,"
           "\"sliding_window\":8,\"layer_types\":[\"sliding_attention\","
           "\"full_attention\",\"sliding_attention\"]}",
        "layer_types: number 1 is full_attention");
    refuse("{\"model_type\":\"olmoe\",\"clip_qkv\":8}",
        "clip_qkv: 8 is not supported (null)");
    ignore("{\"model_type\":\"mixtral\",\"num_key_value_heads\":2,"
           "\"num_experts\":6}",
        "{\"model_type\":\"mixtral\",\"num_key_value_heads\":2,"
        "\"num_local_experts\":6}");
    refuse("{\"model_type\":\"mixtral\",\"num_experts\":6,"
           "\"num_local_experts\":8}",
        "num_experts: differs from num_local_experts");
    refuse("{\"quantization_config\":{\"activation_scheme\":\"dynamic\","
           "\"quant_method\":\"gptq\"}}",
        "quantization_config.quant_method: \"gptq\"");
    refuse("{\"is_causal\":false}", "is_causal: false is not supported (true)");
    ignore("{\"rope_parameters\":{\"rope_type\":\"default\","
           "\"mrope_section\":[1],\"llama_4_scaling_beta\":1}}",
        "{\"rope_parameters\":{\"rope_type\":\"default\"}}");
    /* DeepSeek-R1-0528-Qwen3-8B has it, for vLLM */
    ignore("{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
           "\"attn_factor\":0.878}}",
        "{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4}}");
    refuse("{\"rope_parameters\":{\"partial_rotary_factor\":0.5}}",
        "rope_parameters.partial_rotary_factor: 0.5 is not supported (1)");
    ok(read_config(&c,
           "{\"is_causal\":true,\"pretraining_tp\":2,"
           "\"torch_dtype\":\"bfloat16\",\"top_p\":0.9,\"pruned_heads\":{},"
           "\"partial_rotary_factor\":1.0,\"final_logit_softcapping\":null,"
           "\"transformers.js_config\":{\"dtype\":\"q8\"}}",
           &e) == 0,
        "what changes nothing is taken %s", e.msg);
}

/* RoPE's base, if only the key of one version of transformers gives it, must
 * not be taken for the default 10000. */
static void
test_rope(void)
{
    struct config c;
    struct err e = { 0 };

    ok(read_config(&c, "{\"rope_theta\":5e5}", &e) == 0 && c.theta == 5e5,
        "rope_theta alone (transformers 4)");
    ok(read_config(&c,
           "{\"rope_parameters\":{\"rope_theta\":500000,"
           "\"rope_type\":\"default\"}}",
           &e) == 0 &&
            c.theta == 5e5,
        "rope_parameters alone (transformers 5)");
    ok(read_config(&c,
           "{\"rope_theta\":5e5,\"rope_parameters\":{"
           "\"rope_theta\":500000,\"rope_type\":\"default\"}}",
           &e) == 0 &&
            c.theta == 5e5,
        "rope_theta and rope_parameters are read together");
    refuse("{\"rope_theta\":1e4,\"rope_parameters\":{\"rope_theta\":5e5}}",
        "rope_theta: 10000, but rope_parameters.rope_theta is 500000");
    ok(read_config(&c,
           "{\"rope_scaling\":{\"type\":\"linear\","
           "\"factor\":2}}",
           &e) == 0 &&
            c.rope == ROPE_LINEAR && c.rope_factor == 2,
        "linear in the old manner");
    ok(read_config(&c,
           "{\"rope_theta\":5e5,\"rope_scaling\":{"
           "\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
           "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":"
           "8192}}",
           &e) == 0 &&
            c.rope == ROPE_LLAMA3 && c.rope_factor == 8 && c.rope_low == 1 &&
            c.rope_high == 4 && c.rope_orig == 8192,
        "a rope of llama3 is read");
    refuse("{\"rope_scaling\":{\"type\":\"proportional\",\"factor\":2}}",
        "rope_scaling.rope_type: \"proportional\" is not supported");
    refuse("{\"rope_scaling\":{\"type\":\"linear\"}}",
        "rope_scaling.factor: is missing");
    refuse("{\"rope_parameters\":{\"rope_type\":\"llama3\",\"factor\":8}}",
        "rope_parameters.low_freq_factor: is missing");
    refuse("{\"rope_parameters\":{\"rope_type\":\"default\"},"
           "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}",
        "differs from rope_parameters");
    refuse("{\"partial_rotary_factor\":0.5}", "partial_rotary_factor");
    refuse("{\"rope_theta\":0}", "rope_theta");
    refuse("{\"rope_theta\":\"10000\"}", "rope_theta: is a string");
}

static void
test_bad(void)
{
    refuse("{\"model_type\":\"qwen9\"}", "\"qwen9\" is not supported");
    refuse("{\"model_type\":null}", "model_type: is missing");
    refuse("{\"model_type\":7}", "model_type: is a whole number");
    refuse("{\"hidden_act\":\"gelu\"}", "hidden_act");
    refuse("{\"attention_bias\":true}", "attention_bias");
    refuse("{\"mlp_bias\":true}", "mlp_bias");
    refuse("{\"mlp_bias\":1}", "mlp_bias: 1 is not supported (false)");
    refuse("{\"quantization_config\":{\"bits\":4}}", "quantization_config");
    ignore("{\"vocab_size\":null}", "{\"vocab_size\":32000}");
    refuse("{\"vocab_size\":0}", "vocab_size: 0 is outside");
    refuse("{\"vocab_size\":-1}", "vocab_size: -1 is outside");
    refuse("{\"vocab_size\":100.0}", "vocab_size: is a real number");
    refuse("{\"vocab_size\":9223372036854775807}", "vocab_size");
    refuse("{\"hidden_size\":1048577}", "hidden_size");
    refuse("{\"hidden_size\":63}", "head_dim: is missing");
    refuse("{\"head_dim\":15}", "head_dim: 15 is odd");
    refuse("{\"num_attention_heads\":4096,\"head_dim\":65536}",
        "head_dim: 4096 heads");
    refuse("{\"num_key_value_heads\":3}", "num_key_value_heads: 3");
    refuse("{\"num_key_value_heads\":0}", "num_key_value_heads: 0");
    refuse("{\"num_hidden_layers\":1000000000}", "num_hidden_layers");
    refuse("{\"rms_norm_eps\":0}", "rms_norm_eps");
    refuse("{\"rms_norm_eps\":\"1e-5\"}", "rms_norm_eps: is a string");
    refuse("{\"eos_token_id\":[3,100]}", "eos_token_id: 100 is outside");
    refuse("{\"eos_token_id\":[3,\"4\"]}", "eos_token_id: is no token id");
    refuse("{\"eos_token_id\":[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,"
           "6,7,8,9,1,2,3,4,5,6]}",
        "eos_token_id: a list of 33");
    refuse("{\"eos_token_id\":100}", "eos_token_id: 100 is outside");
    refuse("{\"bos_token_id\":-2}", "bos_token_id: -2");
    refuse("{\"pad_token_id\":\"0\"}", "pad_token_id: is no token id");
    refuse("{\"tie_word_embeddings\":\"yes\"}", "tie_word_embeddings");
}

/* A factor of a configuration, in which 0 means 1. */
static double
factor(double x)
{
    return x > 0 ? x : 1;
}

static int
same_scales(const struct config *a, const struct config *b)
{
    const size_t list = sizeof a->rope_near;

    return a->rope_scale == b->rope_scale && a->rope_query == b->rope_query &&
        a->rope_split == b->rope_split && a->rotary == b->rotary &&
        memcmp(a->rope_near, b->rope_near, list) == 0 &&
        memcmp(a->rope_far, b->rope_far, list) == 0 &&
        memcmp(a->no_rope, b->no_rope, sizeof a->no_rope) == 0 &&
        a->attn_cap == b->attn_cap && a->final_cap == b->final_cap &&
        a->attn_scale == b->attn_scale && a->conv == b->conv &&
        memcmp(&a->delta, &b->delta, offsetof(struct delta_shape, tiled)) ==
        0 &&
        memcmp(a->linear, b->linear, sizeof a->linear) == 0 &&
        factor(a->embed_scale) == factor(b->embed_scale) &&
        factor(a->residual_scale) == factor(b->residual_scale) &&
        factor(a->logit_scale) == factor(b->logit_scale) &&
        factor(a->logit_factor) == factor(b->logit_factor);
}

static int
same(const struct config *a, const struct config *b)
{
    return strcmp(a->arch, b->arch) == 0 && a->V == b->V && a->d == b->d &&
        a->L == b->L && a->H == b->H && a->KV == b->KV && a->D == b->D &&
        a->mlp == b->mlp && a->max_pos == b->max_pos && a->eps == b->eps &&
        a->theta == b->theta && a->rope == b->rope &&
        a->rope_factor == b->rope_factor && a->rope_low == b->rope_low &&
        a->rope_high == b->rope_high && a->rope_orig == b->rope_orig &&
        a->tied == b->tied && a->bos == b->bos && a->neos == b->neos &&
        memcmp(a->eos, b->eos, sizeof a->eos) == 0 && a->window == b->window &&
        memcmp(a->local, b->local, sizeof a->local) == 0 &&
        a->theta_local == b->theta_local && a->attn_scalar == b->attn_scalar &&
        a->pad == b->pad && a->init_range == b->init_range && same_scales(a, b);
}

static void
test_round_trip(void)
{
    static const char *const more[] = {
        "{\"head_dim\":32,\"num_key_value_heads\":2,\"rms_norm_eps\":1e-5,"
        "\"tie_word_embeddings\":true,\"eos_token_id\":3}",
        "{\"model_type\":\"mistral\",\"num_key_value_heads\":2,"
        "\"rope_theta\":1e6,\"bos_token_id\":0,"
        "\"eos_token_id\":[2,9,4]}",
        "{\"model_type\":\"mistral\",\"num_key_value_heads\":2,"
        "\"sliding_window\":null,\"eos_token_id\":[5]}",
        "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5}}",
        "{" QWEN2 "," SLIDE ",\"max_window_layers\":2}",
        "{\"model_type\":\"qwen3\",\"num_key_value_heads\":4}",
        "{\"model_type\":\"cohere\",\"logit_scale\":0.3}",
        "{\"model_type\":\"cohere2\",\"sliding_window\":9,"
        "\"sliding_window_pattern\":2}",
        "{" GEMMA3 ",\"rope_local_base_freq\":5e3,\"rope_scaling\":{"
        "\"rope_type\":\"linear\",\"factor\":8},\"sliding_window\":9,"
        "\"sliding_window_pattern\":3,\"query_pre_attn_scalar\":168}",
        "{\"rope_theta\":5e5,\"rope_scaling\":{\"rope_type\":\"llama3\","
        "\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4,"
        "\"original_max_position_embeddings\":8192}}",
        "{\"model_type\":\"gemma2\",\"attn_logit_softcapping\":null,"
        "\"sliding_window\":9}",
        "{\"model_type\":\"olmo2\",\"rope_scaling\":{\"type\":\"dynamic\","
        "\"factor\":2}}",
        "{\"model_type\":\"olmo3\",\"rope_theta\":1e6,\"rope_scaling\":{"
        "\"type\":\"yarn\",\"factor\":8,\"beta_fast\":9,"
        "\"original_max_position_embeddings\":256}}",
        "{\"model_type\":\"smollm3\",\"no_rope_layers\":[0,1,1],"
        "\"rope_scaling\":{\"type\":\"yarn\",\"truncate\":false,\"factor\":4,"
        "\"mscale\":1,\"mscale_all_dim\":0.5}}",
        "{\"model_type\":\"granite\",\"attention_multiplier\":0.5,"
        "\"logits_scaling\":8,\"residual_multiplier\":0.2}",
        "{\"model_type\":\"phi3\",\"rope_scaling\":{\"type\":\"longrope\","
        "\"short_factor\":[1,1,1,1,1,1.5],\"long_factor\":[2,2,2,2,2,9]},"
        "\"partial_rotary_factor\":0.75,\"max_position_embeddings\":131072}",
        "{\"model_type\":\"phi3\",\"sliding_window\":7}",
        "{\"model_type\":\"ministral3\",\"num_attention_heads\":8}",
        "{\"model_type\":\"qwen3_5_text\",\"layer_types\":[\"full_attention\","
        "\"linear_attention\",\"full_attention\"],\"linear_key_head_dim\":9,"
        "\"linear_num_value_heads\":48,\"linear_conv_kernel_dim\":3}",
        "{\"model_type\":\"qwen3_5_text\",\"partial_rotary_factor\":1}",
    };

    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct config a, b;
        struct err e = { 0 };
        json_t *j;

        if (!ok(read_config(&a, more[i], &e) == 0, "configuration %zu is read",
                i))
            continue;
        j = config_to_json(&a, NULL);
        ok(js_save(j, "config.json", &e) == 0, "configuration %zu is saved", i);
        json_decref(j);
        j = js_load("config.json", 1 << 20, &e);
        ok(j && config_from_json(&b, j, &e) == 0 && same(&a, &b),
            "configuration %zu is written and read back the same", i);
        ok(js_get(j, "rope_theta") &&
                (js_get(j, "rope_parameters.rope_theta") ||
                    js_get(j, "rope_parameters.full_attention.rope_theta")) &&
                !js_get(j, "retort"),
            "configuration %zu has rope_theta and rope_parameters", i);
        json_decref(j);
    }
    remove("config.json");
}

static void
test_blocks(void)
{
    struct config c;
    struct err e = { 0 };
    struct block_shape b[3] = { { 4, 96, 0, 0, 0 }, { 3, 40, 2, 0, 0 },
        { 0, 0, 5, 0, 0 } };
    struct block_shape got[3];
    static const struct {
        const char *j, *why;
    } bad[] = {
        { "{\"retort\":{\"mlp\":[96,96]}}", "retort.mlp: is no list of 3" },
        { "{\"retort\":{\"mlp\":[96,97,96]}}", "retort.mlp: number 1" },
        { "{\"retort\":{\"mlp\":[96,-1,96]}}", "retort.mlp: number 1" },
        { "{\"retort\":{\"mlp\":[96,40.0,96]}}", "retort.mlp: number 1" },
        { "{\"retort\":{\"groups\":[4,4]}}", "retort.groups: is no list of 3" },
        { "{\"retort\":{\"groups\":[4,4,5]}}", "retort.groups: number 2" },
        { "{\"retort\":{\"groups\":[-1,4,4]}}", "retort.groups: number 0" },
        { "{\"retort\":{\"groups\":[4,true,4]}}", "retort.groups: number 1" },
        { "{\"retort\":{\"kept\":[0,2,2]}}", "retort.kept: number 2" },
        { "{\"retort\":{\"kept\":[0,-1,2]}}", "retort.kept: number 1" },
        { "{\"retort\":{\"kept\":{}}}", "retort.kept: is no list" },
    };
    json_t *j;

    read_config(&c, "{}", &e);
    ok(config_params(&c, NULL) ==
            100 * 64 * 2 + 64 + 3 * (2 * 64 + 4 * 64 * 64 + 3 * 64 * 96),
        "its parameters are counted");
    ok(config_params(&c, NULL) - config_params(&c, b) ==
            64 * 16 * 4 + 3 * 64 * 56 + 2 * 64 + 4 * 64 * 64 + 3 * 64 * 96,
        "one head and 56 channels less; neither attention nor MLP");
    j = config_to_json(&c, b);
    ok(config_blocks(&c, j, got, &e) == 0 && memcmp(b, got, sizeof b) == 0,
        "shapes and sources come back");
    json_decref(j);
    for (size_t i = 0; i < 3; i++)
        b[i] = (struct block_shape){ 4, 96, i, 0, 0 };
    j = config_to_json(&c, b);
    ok(!js_get(j, "retort") && config_blocks(&c, j, got, &e) == 0 &&
            memcmp(b, got, sizeof b) == 0,
        "a model that was not cut needs no such key");
    json_decref(j);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        j = with(bad[i].j);
        if (!ok(config_blocks(&c, j, got, &e) < 0 && strstr(e.msg, bad[i].why),
                "refused: %s", bad[i].why))
            printf("# %s\n", e.msg);
        json_decref(j);
    }
}

int
main(void)
{
    test_defaults();
    test_window();
    test_keys();
    test_layers();
    test_gemma();
    test_families();
    test_delta();
    test_vision();
    test_rope();
    test_bad();
    test_round_trip();
    test_blocks();
    return done_testing();
}
