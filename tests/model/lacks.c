/* Model types that are published but not supported: the message names what such
 * models have that lib/model lacks, or where the types are listed that are
 * supported. */
#include "../lib/config_text.h"
#include "model/config/family.h"
#include "model/config/lacks.h"

static const struct {
    const char *type, *why;
} some[] = { { "mamba", "blocks of Mamba" }, { "mamba2", "blocks of Mamba" },
    { "nemotron_h", "blocks of Mamba" }, { "bamba", "blocks of Mamba" },
    { "zamba2", "blocks of Mamba" }, { "falcon_h1", "blocks of Mamba" },
    { "jamba", "blocks of Mamba" }, { "rwkv", "RWKV's recurrence" },
    { "recurrent_gemma", "linear recurrent unit" }, { "xlstm", "xLSTM" },
    { "minimax", "lightning attention" },
    { "kimi_linear", "gate for each channel" },
    { "gemma3n_text", "embeddings for each block, AltUp and LAuReL" },
    { "gemma4_text", "heads of two sizes" },
    { "llama4_text", "attention within chunks" },
    { "deepseek_v32", "an indexer" }, { "mllama_text_model", "images" },
    { "whisper", "sound" }, { "t5", "an encoder and a decoder" },
    { "bart", "an encoder and a decoder" }, { "bert", "no decoder" },
    { "xlm-roberta", "no decoder" }, { "siglip", "encoder of images" },
    { "llada", "diffusion" }, { "bloom", "ALiBi" }, { "mpt", "ALiBi" },
    { "falcon", "several query heads" }, { "gpt_bigcode", "several query" },
    { "opt", "ReLU" }, { "nemotron", "squared ReLU" },
    { "gpt_neo", "scores that are not scaled" },
    { "olmo", "norms without weights" }, { "bitnet", "three values" },
    { "stablelm", "a gated MLP behind LayerNorm" }, { "gptj", "RoPE by pairs" },
    { "xglm", "sines" }, { "diffllama", "differential attention" },
    { "qwen2_vl", "the part for text is not read" },
    { "llava", "the part for text is not read" },
    { "glm4_moe", "experts of another kind" },
    { "internlm2", "code of their own" } };

static void
test_named(const char *type, const char *why)
{
    char text[100];

    snprintf(text, sizeof text, "{\"model_type\":\"%s\"}", type);
    config_refused(text, why);
    ok(family_named(type) == NULL, "%s is no family", type);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        test_named(some[i].type, some[i].why);

    config_refused("{\"model_type\":\"mamba2\"}",
        "model_type: \"mamba2\" is not supported: such models have blocks of "
        "Mamba");
    config_refused("{\"model_type\":\"qwen9\"}",
        "model_type: \"qwen9\" is not supported: retort(7) and "
        "docs/families.md list the types that are");
    config_refused("{\"model_type\":\"mamb\"}", "retort(7)");
    config_refused("{\"model_type\":\"mamba mamba2\"}", "retort(7)");
    config_refused("{\"model_type\":\"\"}", "retort(7)");

    /* the part about text has no type, or one that only the whole explains */
    config_refused("{\"model_type\":\"gemma3n\",\"text_config\":{}}",
        "\"gemma3n\" is not supported: such models have embeddings");
    config_refused("{\"model_type\":\"clip\",\"text_config\":"
                   "{\"model_type\":\"clip_text_model\"}}",
        "\"clip\" is not supported: such models have an encoder of images");
    config_refused("{\"model_type\":\"other\",\"text_config\":{}}",
        "model_type: is missing");
    ok(family_lacks("falcon-h1") != NULL && family_lacks("clip") != NULL &&
            family_lacks("llama") == NULL && family_lacks("") == NULL,
        "architectures of a GGUF are known, too");
    return done_testing();
}
