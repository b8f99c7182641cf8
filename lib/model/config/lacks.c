/* Types of published models that are not supported; see lacks.h. */
#include "model/config/lacks.h"

#include <string.h>

/* types: values of model_type in config.json, and of general.architecture in
 * GGUFs; there is a space on both sides of each.  have: what models of these
 * types have that lib/model lacks. */
static const struct {
    const char *types, *have;
} table[] = {
    { " mamba mamba2 falcon_mamba bamba jamba falcon_h1 falcon-h1 zamba zamba2 "
      "nemotron_h nemotron_h_moe plamo2 granitehybrid ",
        "blocks of Mamba" },
    { " rwkv rwkv5 rwkv6 rwkv7 rwkv6qwen2 arwkv7 ", "RWKV's recurrence" },
    { " recurrent_gemma ", "blocks with a linear recurrent unit" },
    { " xlstm ", "xLSTM's recurrence" },
    { " minimax ", "blocks with lightning attention" },
    { " kimi_linear kimi-linear ",
        "a delta rule with a gate for each channel" },
    { " gemma3n gemma3n_text ", "embeddings for each block, AltUp and LAuReL" },
    { " gemma4 gemma4_text gemma4_unified gemma4_unified_text ",
        "heads of two sizes, normed values and, some of them, embeddings for "
        "each block" },
    { " llama4 llama4_text ",
        "attention within chunks, and a router that scales the experts' "
        "input" },
    { " deepseek_v32 deepseek_v4 glm_moe_dsa glm-dsa ",
        "attention to tokens that an indexer chooses" },
    { " mllama mllama_text_model ", "attention to images, in some blocks" },
    { " whisper moonshine speech_to_text seamless_m4t seamless_m4t_v2 ",
        "an encoder of sound" },
    { " t5 mt5 umt5 longt5 switch_transformers t5gemma t5gemma2 bart mbart "
      "plbart pegasus pegasus_x marian m2m_100 nllb-moe blenderbot "
      "blenderbot-small prophetnet ",
        "an encoder and a decoder" },
    { " bert roberta xlm-roberta camembert distilbert albert electra deberta "
      "deberta-v2 modernbert modern-bert eurobert nomic_bert nomic-bert "
      "nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 t5encoder "
      "gemma-embedding llama-embed ",
        "an encoder and no decoder" },
    { " clip clip_text_model clip_vision_model siglip siglip_vision_model "
      "siglip2 vit dinov2 dinov3_vit ",
        "an encoder of images and no decoder" },
    { " qwen2_vl qwen2_vl_text qwen2vl qwen3vl qwen3_vl_moe qwen3_vl_moe_text "
      "qwen3vlmoe qwen2_5_omni qwen3_omni_moe phi3_v phi4_multimodal phi4mm "
      "llava multi_modality minimax_m3_vl fuyu chameleon ",
        "images or sound, beside which the part for text is not read" },
    { " ernie4_5_moe ernie4_5-moe glm4_moe glm4moe glm4v_moe dots1 minimax_m2 "
      "minimax-m2 lfm2_moe lfm2moe hunyuan_v1_moe hunyuan-moe granitemoe "
      "granitemoeshared dbrx phimoe jetmoe flex_olmo afmoe cohere2_moe "
      "exaone_moe exaone-moe solar_open bailing_moe bailingmoe bailingmoe2 "
      "mimo_v2_flash longcat_flash arctic grok step3p5 step3p7 step35 ",
        "experts of another kind than the mixtures in retort(7)" },
    { " llada llada-moe dream rnd1 diffusion_gemma diffusion_gemma_text ",
        "diffusion, which does not write from left to right" },
    { " bloom mpt ", "ALiBi in place of RoPE" },
    { " falcon gpt_bigcode ",
        "a fused matrix in which several query heads share keys, or ALiBi" },
    { " gptj codegen ", "RoPE by pairs behind LayerNorm with biases" },
    { " stablelm ", "a gated MLP behind LayerNorm with biases" },
    { " xglm ", "positions that are sines" },
    { " diffllama ", "differential attention" },
    { " opt ", "an MLP with ReLU, and positions that begin at 2" },
    { " nemotron arcee persimmon jais2 ", "an MLP with squared ReLU" },
    { " gpt_neo ", "scores that are not scaled" },
    { " olmo ", "norms without weights" },
    { " bitnet ", "weights of three values" },
    { " kimi_k2 chatglm internlm internlm2 xverse mimo baichuan qwen minicpm "
      "orion deepseek deepseek_ref aquila plamo codeshell refact ",
        "code of their own, which transformers lacks" },
};

/* Does the list, a string as in the table, have the type? */
static int
lists(const char *list, const char *type)
{
    const size_t n = strlen(type);

    if (n == 0 || strchr(type, ' ') != NULL)
        return 0;
    for (const char *at = list; (at = strstr(at, type)) != NULL; at++)
        if (at[-1] == ' ' && at[n] == ' ')
            return 1;
    return 0;
}

const char *
family_lacks(const char *type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (lists(table[i].types, type))
            return table[i].have;
    return NULL;
}

int
family_refuse(const char *key, const char *type, struct err *e)
{
    const char *have = family_lacks(type);

    return err_set(e, EX_INPUT, "%s: \"%.60s\" is not supported: %s%s", key,
        type, have != NULL ? "such models have " : "",
        have != NULL ? have
                     : "retort(7) and docs/families.md list the types that "
                       "are");
}
