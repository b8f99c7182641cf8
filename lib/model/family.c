/* The tables of families and of a block's tensors; see family.h. */
#include "model/family.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BIASES (1u << W_BQ | 1u << W_BK | 1u << W_BV)
#define QK_NORMS (1u << W_NQ | 1u << W_NK)
#define POST_NORMS (1u << W_NORM_ATT | 1u << W_NORM_MLP)

static const struct family families[] = {
    { "llama", "LlamaForCausalLM", "llama", FAMILY_LLAMA, 0, 0, 0, 2048, 0,
        WINDOW_NEVER, 1, 0, NULL },
    { "mistral", "MistralForCausalLM", "llama", FAMILY_MISTRAL, 0, 8, 0, 131072,
        4096, WINDOW_ALL, 1, 0, NULL },
    { "qwen2", "Qwen2ForCausalLM", "qwen2", FAMILY_QWEN2, BIASES, 32, 0, 32768,
        4096, WINDOW_BY_LAYER, 0, 0, NULL },
    { "qwen3", "Qwen3ForCausalLM", "qwen3", FAMILY_QWEN3, QK_NORMS, 32, 128,
        32768, 4096, WINDOW_BY_LAYER, 0, 0, NULL },
    { "gemma3_text", "Gemma3ForCausalLM", "gemma3", FAMILY_GEMMA3,
        QK_NORMS | POST_NORMS, 4, 256, 131072, 4096, WINDOW_BUT_SIXTH, 0, 1,
        "pre_feedforward_layernorm.weight" },
};
enum { NFAMILY = sizeof families / sizeof *families };

enum dim { ONE, HIDDEN, QUERIES, KEYS, HEAD, MLP };

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
    [W_O] = { "self_attn.o_proj.weight", "attn_output.weight", HIDDEN, QUERIES,
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

const char *
family_names(int gguf)
{
    static char text[2][200];
    char *s = text[gguf != 0];
    size_t n = 0;

    for (size_t i = 0; i < NFAMILY && n < sizeof text[0]; i++) {
        const char *name = gguf ? families[i].gguf : families[i].type;

        if (!gguf || family_of_gguf(name) == &families[i])
            n += (size_t)snprintf(s + n, sizeof text[0] - n, "%s%s",
                n ? ", " : "", name);
    }
    return s;
}

static int
family_has(const struct config *c, int t)
{
    return tensors[t].of == EVERY || (family_of(c)->more >> t & 1);
}

int
block_is_vector(int t)
{
    return tensors[t].rows == ONE;
}

int
block_is_bias(int t)
{
    return t == W_BQ || t == W_BK || t == W_BV;
}

int
block_is_attention(int t)
{
    return t <= W_O || (t >= W_BQ && t <= W_NORM_ATT);
}

const char *
block_tensor_name(const struct config *c, int t)
{
    const char *norm2 = family_of(c)->norm2;

    return !family_has(c, t)    ? NULL
        : t == W_NORM2 && norm2 ? norm2
                                : tensors[t].hf;
}

float
family_norm_add(const struct config *c, int t)
{
    return family_of(c)->gemma &&
            (t < 0 || (block_is_vector(t) && !block_is_bias(t)))
        ? 1.0f
        : 0.0f;
}

const char *
block_gguf_name(int t)
{
    return tensors[t].gguf;
}

void
block_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols)
{
    const size_t groups = b ? b->groups : c->KV, mlp = b ? b->mlp : c->mlp;
    const int there =
        family_has(c, t) && (block_is_attention(t) ? groups : mlp) > 0;
    const size_t dim[] = { [ONE] = 1,
        [HIDDEN] = c->d,
        [QUERIES] = groups * (c->H / c->KV) * c->D,
        [KEYS] = groups * c->D,
        [HEAD] = c->D,
        [MLP] = mlp };

    *rows = there ? dim[tensors[t].rows] : 0;
    *cols = there ? dim[tensors[t].cols] : 0;
}
