/* Opening a model in a .gguf file; see model.h. */
#include "model/open_gguf.h"
#include "model/open.h"

#include "base/mem.h"
#include "format/gguf.h"
#include "model/config_keys.h"
#include "model/delta_config.h"
#include "model/experts_config.h"
#include "model/gguf_keys.h"
#include "model/gguf_rope.h"
#include "model/mla_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEEPSEEK = FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3 };

/* Read the sizes of heads. */
static int
read_head_sizes(struct config *c, const struct gguf *g, struct err *e)
{
    size_t value;

    c->KV = c->H;
    c->D = c->d % c->H == 0 ? c->d / c->H : 0;
    if (family_of(c)->bit & DEEPSEEK)
        return mla_from_gguf(c, g, e);
    if (arch_size(c, g, "attention.head_count_kv", 1, 4096, &c->KV, e) < 0 ||
        arch_size(c, g, "attention.key_length", 1, 65536, &c->D, e) < 0)
        return -1;
    value = c->D;
    if (arch_size(c, g, "attention.value_length", 1, 65536, &value, e) < 0)
        return -1;
    return value == c->D
        ? 0
        : err_set(e, EX_INPUT, "%s: %zu is not the head size %zu",
              arch_key(c, "attention.value_length"), value, c->D);
}

static int
read_gguf_sizes(struct config *c, const struct gguf *g, struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(g, "token_embd.weight");
    size_t V;

    if (!t || t->ndim != 2)
        return err_set(e, EX_INPUT, "tensor token_embd.weight: %s",
            t ? "is no matrix" : "is missing");
    V = c->V = t->shape[0];
    if (arch_need(c, g, "embedding_length", 1 << 20, &c->d, e) < 0 ||
        arch_need(c, g, "feed_forward_length", 1 << 20, &c->mlp, e) < 0 ||
        arch_need(c, g, "block_count", CONFIG_LAYERS, &c->L, e) < 0 ||
        arch_need(c, g, "attention.head_count", 4096, &c->H, e) < 0 ||
        arch_need(c, g, "context_length", (size_t)1 << 31, &c->max_pos, e) <
            0 ||
        read_head_sizes(c, g, e) < 0 ||
        arch_size(c, g, "vocab_size", 1, SIZE_MAX / 2, &V, e) < 0)
        return -1;
    if (V != c->V)
        return err_set(e, EX_INPUT,
            "%s: %zu, but token_embd.weight has "
            "%zu rows",
            arch_key(c, "vocab_size"), V, c->V);
    return 0;
}

static int
read_gguf_id(const struct gguf *g, const char *key, size_t V, int64_t *id,
    struct err *e)
{
    size_t v;
    int r = gguf_size(g, key, 0, V - 1, &v, e);

    *id = r > 0 ? (int64_t)v : -1;
    return r < 0 ? -1 : 0;
}

enum {
    MIXTURES = FAMILY_MIXTRAL | FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE |
        FAMILY_OLMOE | FAMILY_GPT_OSS | DEEPSEEK
};

/* The keys of the architecture that a GGUF may have.  Keys that are not in the
 * table are refused by name. */
enum {
    WINDOWED = FAMILY_GEMMA2 | FAMILY_GEMMA3 | FAMILY_OLMO3 | FAMILY_GPT_OSS
};
static const struct {
    const char *name;
    int only;          /* the one value that is implemented; -1: any value */
    unsigned families; /* 0: all */
} known[] = {
    { "context_length", -1, 0 },
    { "embedding_length", -1, 0 },
    { "block_count", -1, 0 },
    { "feed_forward_length", -1, 0 },
    { "attention.head_count", -1, 0 },
    { "attention.head_count_kv", -1, 0 },
    { "attention.key_length", -1, 0 },
    { "attention.value_length", -1, 0 },
    { "attention.layer_norm_rms_epsilon", -1, 0 },
    { "rope.dimension_count", -1, 0 },
    { "rope.freq_base", -1, 0 },
    { "rope.scale_linear", -1, 0 },
    { "rope.scaling.type", -1, 0 },
    { "rope.scaling.factor", -1, 0 },
    { "rope.scaling.finetuned", -1, 0 },
    { "rope.scaling.original_context_length", -1, 0 },
    { "vocab_size", -1, 0 },
    { "tensor_data_layout", -1, 0 },
    { "attention.causal", 1, 0 },
    { "rope.scaling.attn_factor", -1, 0 },
    { "rope.scaling.yarn_log_multiplier", -1, 0 },
    { "rope.scaling.yarn_beta_fast", -1, 0 },
    { "rope.scaling.yarn_beta_slow", -1, 0 },
    { "rope.scaling.yarn_ext_factor", 1, 0 },
    { "attention.temperature_scale", -1, FAMILY_MINISTRAL3 },
    { "attn_logit_softcapping", -1, FAMILY_GEMMA2 },
    { "final_logit_softcapping", -1, FAMILY_GEMMA2 },
    { "attention.scale", -1, FAMILY_GRANITE },
    { "embedding_scale", -1, FAMILY_GRANITE },
    { "residual_scale", -1, FAMILY_GRANITE },
    { "logit_scale", -1, FAMILY_GRANITE },
    { "expert_count", -1, MIXTURES },
    { "expert_used_count", -1, MIXTURES },
    { "expert_feed_forward_length", -1, MIXTURES },
    { "expert_shared_feed_forward_length", -1, FAMILY_QWEN2_MOE },
    { "expert_gating_func", 2, FAMILY_DEEPSEEK_V3 }, /* sigmoid */
    { "expert_gating_func", 1, MIXTURES },           /* softmax */
    { "expert_shared_count", -1, DEEPSEEK },
    { "expert_group_count", -1, DEEPSEEK },
    { "expert_group_used_count", -1, DEEPSEEK },
    { "expert_weights_scale", -1, DEEPSEEK },
    { "expert_weights_norm", -1, DEEPSEEK },
    { "leading_dense_block_count", -1, DEEPSEEK },
    { "attention.q_lora_rank", -1, DEEPSEEK },
    { "attention.kv_lora_rank", -1, DEEPSEEK },
    { "attention.key_length_mla", -1, DEEPSEEK },
    { "attention.value_length_mla", -1, DEEPSEEK },
    { "nextn_predict_layers", 0, DEEPSEEK },
    { "expert_count", 0, 0 },
    { "expert_used_count", 0, 0 },
    { "ssm.conv_kernel", -1, FAMILY_QWEN3_5 },
    { "ssm.state_size", -1, FAMILY_QWEN3_5 },
    { "ssm.group_count", -1, FAMILY_QWEN3_5 },
    { "ssm.time_step_rank", -1, FAMILY_QWEN3_5 },
    { "ssm.inner_size", -1, FAMILY_QWEN3_5 },
    { "full_attention_interval", -1, FAMILY_QWEN3_5 },
    { "attention.recurrent_layers", -1, FAMILY_QWEN3_5 },
    { "rope.dimension_sections", -1, FAMILY_QWEN3_5 }, /* as in config_keys.c */
    { "nextn_predict_layers", -1, FAMILY_QWEN3_5 },
    { "attention.sliding_window", -1, WINDOWED | FAMILY_PHI3 },
    { "attention.sliding_window_pattern", -1, WINDOWED },
    { "rope.freq_base_swa", -1, FAMILY_GEMMA3 | FAMILY_OLMO3 },
    { "attention.sliding_window", 0, ~(unsigned)(WINDOWED | FAMILY_PHI3) },
    { "use_parallel_residual", 0, 0 },
};

/* Keys that a GGUF must have, because the value that llama.cpp assumes for a
 * missing key is wrong for models of the family. */
static const struct {
    const char *name;
    unsigned families; /* 0: all */
} needed[] = {
    { "attention.layer_norm_rms_epsilon", 0 },
    { "rope.freq_base",
        FAMILY_GEMMA3 | FAMILY_OLMO3 | FAMILY_SMOLLM3 | FAMILY_MINISTRAL3 |
            FAMILY_MIXTRAL | FAMILY_GPT_OSS },
    { "rope.dimension_count", FAMILY_PHI3 | FAMILY_QWEN3_5 },
    { "attention.sliding_window", FAMILY_GPT_OSS },
    { "attention.temperature_scale", FAMILY_MINISTRAL3 },
    { "attention.scale", FAMILY_GRANITE },
    { "embedding_scale", FAMILY_GRANITE },
    { "residual_scale", FAMILY_GRANITE },
    { "logit_scale", FAMILY_GRANITE },
    { "expert_weights_scale", FAMILY_DEEPSEEK_V3 },
    { "expert_weights_norm", FAMILY_DEEPSEEK_V3 },
    { "expert_group_count", FAMILY_DEEPSEEK_V3 },
    { "expert_group_used_count", FAMILY_DEEPSEEK_V3 },
};

/* Is v, a number or bool, equal to `want`? */
static int
is_value(const struct gguf *g, const struct gguf_kv *v, int want)
{
    struct err e;
    double x;
    size_t n;
    int b;

    if (gguf_bool(g, v->key, &b, &e) > 0)
        return b == want;
    if (gguf_size(g, v->key, 0, SIZE_MAX / 2, &n, &e) > 0)
        return n == (size_t)want;
    return gguf_real(g, v->key, 0, 1e9, &x, &e) > 0 && x == want;
}

static int
check_keys(const struct config *c, const struct gguf *g, struct err *e)
{
    const struct family *f = family_of(c);
    const size_t len = strlen(f->gguf);

    for (size_t i = 0; i < g->nkv; i++) {
        const char *name = g->kv[i].key;
        size_t k = 0;

        if (strncmp(name, f->gguf, len) != 0 || name[len] != '.')
            continue;
        while (k < sizeof known / sizeof *known &&
            (strcmp(known[k].name, name + len + 1) != 0 ||
                (known[k].families && !(known[k].families & f->bit))))
            k++;
        if (k == sizeof known / sizeof *known)
            return err_set(e, EX_INPUT,
                "%.80s: is not known and may change "
                "what the model computes",
                name);
        if (known[k].only >= 0 && !is_value(g, &g->kv[i], known[k].only))
            return err_set(e, EX_INPUT,
                "%s: a value other than %d is not "
                "supported",
                name, known[k].only);
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if ((!needed[i].families || needed[i].families & f->bit) &&
            arch_must(c, g, needed[i].name, e) < 0)
            return -1;
    return 0;
}

/* Read which blocks have a window.  The value of the key is a list with a bool
 * or a number for each block (0: no window), or a number n, which means that
 * every n-th block has no window. */
static int
read_pattern(struct config *c, const struct gguf *g, struct err *e)
{
    const char *name = arch_key(c, "attention.sliding_window_pattern");
    const struct gguf_kv *v = gguf_kv(g, name);
    const int list = v && v->type == GGUF_ARRAY;
    size_t every = family_of(c)->every;

    if (list && (v->n != c->L || gguf_type_size(v->elem) == 0))
        return err_set(e, EX_INPUT, "%s: is no list of %zu", name, c->L);
    if (!list && gguf_size(g, name, 1, CONFIG_LAYERS, &every, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++)
        config_set_local(c, i,
            list ? gguf_int(v, i) != 0 : (i + 1) % every != 0);
    return 0;
}

/* Read the window and the blocks that have it.  If the key is missing,
 * llama.cpp assumes 4096 for a Gemma 2, as transformers does, and no window for
 * other families. */
static int
read_gguf_windows(struct config *c, const struct gguf *g, struct err *e)
{
    const struct family *f = family_of(c);
    const size_t least =
        f->bit == FAMILY_GEMMA2 || f->bit == FAMILY_GPT_OSS ? 1 : 0;

    config_gguf_fixed(c);
    if (f->local_rope) {
        c->theta_local = f->gemma ? 10000 : c->theta;
        if (arch_real(c, g, "rope.freq_base_swa", 1, 1e12, &c->theta_local, e) <
            0)
            return -1;
    }
    if (f->windows != WINDOW_EVERY && f->bit != FAMILY_PHI3)
        return 0;
    c->window = f->bit == FAMILY_GEMMA2
        ? (size_t)config_missing("sliding_window", f->bit)
        : 0;
    if (arch_size(c, g, "attention.sliding_window", least, (size_t)1 << 31,
            &c->window, e) < 0)
        return -1;
    if (f->windows == WINDOW_EVERY && c->window > 0)
        return read_pattern(c, g, e);
    for (size_t i = 0; i < c->L; i++)
        config_set_local(c, i, c->window > 0);
    return 0;
}

/* Read the numbers by which some families multiply or cap activations. */
static int
read_gguf_scales(struct config *c, const struct gguf *g, struct err *e)
{
    const struct {
        const char *name;
        double *v;
    } keys[] = { { "attn_logit_softcapping", &c->attn_cap },
        { "final_logit_softcapping", &c->final_cap },
        { "attention.scale", &c->attn_scale },
        { "embedding_scale", &c->embed_scale },
        { "residual_scale", &c->residual_scale },
        { "logit_scale", &c->logit_scale } };

    if (family_of(c)->bit == FAMILY_GEMMA2) {
        c->attn_cap = 50;
        c->final_cap = 30;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (arch_real(c, g, keys[i].name, 1e-9, 1e9, keys[i].v, e) < 0)
            return -1;
    return arch_real(c, g, "attention.layer_norm_rms_epsilon", 0, 1, &c->eps,
        e);
}

static void
set_family(struct config *c, const struct family *f)
{
    snprintf(c->arch, sizeof c->arch, "%s", f->type);
}

static int
read_family(struct config *c, const struct gguf *g, struct err *e)
{
    const struct family *f;
    const char *s = NULL;
    char name[80];
    size_t n = 0, experts = 0, gating = 0;

    if (gguf_str(g, "general.architecture", &s, &n, e) < 0)
        return -1;
    snprintf(name, sizeof name, "%.*s", n < 60 ? (int)n : 60, s ? s : "");
    if ((f = family_of_gguf(name)) == NULL)
        return err_set(e, EX_INPUT,
            "general.architecture: \"%s\" is not "
            "supported (%s)",
            name, family_names(1));
    set_family(c, f);
    /* families with one architecture in a GGUF: DeepSeek-V2 and V3; OLMo 2 and
     * 3, of which 3 has windows; Llama and Mixtral */
    if ((f->bit == FAMILY_DEEPSEEK_V2 &&
            arch_size(c, g, "expert_gating_func", 0, 9, &gating, e) < 0) ||
        (f->bit == FAMILY_LLAMA &&
            arch_size(c, g, "expert_count", 0, ROUTER_EXPERTS, &experts, e) <
                0))
        return -1;
    if (gating == 2)
        set_family(c, family_named("deepseek_v3"));
    if (f->bit == FAMILY_OLMO2 &&
        gguf_kv(g, arch_key(c, "attention.sliding_window")))
        set_family(c, family_named("olmo3"));
    if (experts > 0)
        set_family(c, family_named("mixtral"));
    return 0;
}

static int
read_gguf_config(struct config *c, const struct gguf *g, struct err *e)
{
    memset(c, 0, sizeof *c);
    c->init_range = 0.02;
    if (read_family(c, g, e) < 0 || read_gguf_sizes(c, g, e) < 0 ||
        check_keys(c, g, e) < 0 || experts_from_gguf(c, g, e) < 0 ||
        delta_from_gguf(c, g, e) < 0 || rope_from_gguf(c, g, e) < 0 ||
        read_gguf_windows(c, g, e) < 0 || read_gguf_scales(c, g, e) < 0 ||
        read_gguf_id(g, "tokenizer.ggml.bos_token_id", c->V, &c->bos, e) < 0 ||
        read_gguf_id(g, "tokenizer.ggml.eos_token_id", c->V, &c->eos[0], e) <
            0 ||
        read_gguf_id(g, "tokenizer.ggml.padding_token_id", c->V, &c->pad, e) <
            0)
        return -1;
    c->neos = c->eos[0] >= 0;
    c->tied = gguf_tensor(g, "output.weight") == NULL;
    return config_check(c, e);
}

static int
take_gguf_tensor(struct model_source *s, const char *name, size_t rows,
    size_t cols, struct weight *w, struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(&s->gguf.g, name);

    if (!t)
        return err_set(e, EX_INPUT, "tensor %s: is missing", name);
    if (t->shape[t->ndim - 1] != cols || t->n != rows * cols || t->ndim > 3)
        return err_set(e, EX_INPUT,
            "tensor %s: has %zu elements in rows of "
            "%zu, but the metadata mean [%zu,%zu]",
            name, t->n, t->shape[t->ndim - 1], rows, cols);
    s->gguf_used[t - s->gguf.g.t] = 1;
    return weight_set(w, t->data, t->dtype, rows, cols);
}

/* Memory of n numbers that lives as long as s. */
static float *
made(struct model_source *s, size_t n)
{
    float *x = xreallocarray(NULL, n, sizeof *x);

    s->made = xgrow_pow2(s->made, s->nmade, sizeof *s->made);
    s->made[s->nmade++] = x;
    return x;
}

/* Replace the numbers of w, which are -exp(A_log), by A_log. */
static int
take_log(struct model_source *s, struct weight *w, const char *name,
    struct err *e)
{
    float *x = made(s, w->cols);

    weight_rows(w, 0, 1, x);
    for (size_t i = 0; i < w->cols; i++) {
        if (!(x[i] < 0.0f))
            return err_set(e, EX_INPUT, "tensor %s: number %zu is not below 0",
                name, i);
        x[i] = logf(-x[i]);
    }
    return weight_set(w, x, DT_F32, 1, w->cols);
}

/* Set w to W_MLA_KVB of block i from the tensors that newer files have in its
 * place: attn_k_b, for each head [kv_rank,nope], and attn_v_b, for each head
 * [v,kv_rank]. */
static int
take_latent(struct model_source *s, const struct config *c, size_t i,
    struct weight *w, struct err *e)
{
    const size_t nope = c->mla.nope, v = c->mla.v, rank = c->mla.kv_rank;
    const size_t head = (nope + v) * rank;
    struct weight k_b, v_b;
    float *x, *row;
    char name[2][40];

    snprintf(name[0], sizeof name[0], "blk.%zu.attn_k_b.weight", i);
    snprintf(name[1], sizeof name[1], "blk.%zu.attn_v_b.weight", i);
    if (take_gguf_tensor(s, name[0], c->H * rank, nope, &k_b, e) < 0 ||
        take_gguf_tensor(s, name[1], c->H * v, rank, &v_b, e) < 0)
        return -1;
    x = made(s, c->H * head);
    row = xreallocarray(NULL, nope, sizeof *row);
    for (size_t h = 0; h < c->H; h++) {
        for (size_t j = 0; j < rank; j++) {
            weight_rows(&k_b, h * rank + j, 1, row);
            for (size_t k = 0; k < nope; k++)
                x[h * head + k * rank + j] = row[k];
        }
        weight_rows(&v_b, h * v, v, x + h * head + nope * rank);
    }
    free(row);
    return weight_set(w, x, DT_F32, c->H * (nope + v), rank);
}

/* Does the tensor belong to a layer that predicts further tokens, which is left
 * out? */
static int
is_further(const struct config *c, const char *name)
{
    size_t i;

    return config_has_delta(c) && sscanf(name, "blk.%5zu.", &i) == 1 &&
        i >= c->L;
}

/* Take the tensors of block i.  A stored tensor that holds several is cut into
 * them. */
static int
take_block(struct model *m, struct model_source *s, size_t i, struct err *e)
{
    const struct config *c = &m->c;
    struct block *b = &m->block[i];
    struct stored_rows from;
    struct weight whole;
    const struct block_shape shape = block_shape(b);
    size_t rows[W_N], cols, all;
    char name[80];

    for (int t = 0; t < W_N; t += from.n) {
        const int at = snprintf(name, sizeof name, "blk.%zu.", i);

        from = block_stored(c, t);
        all = 0;
        for (int k = t; k < t + from.n; k++, all += rows[k - 1])
            block_dims(c, k, &shape, &rows[k], &cols);
        experts_name_gguf(c, &shape, t, name + at, sizeof name - (size_t)at);
        if (all == 0)
            continue;
        block_dims(c, t, &shape, &rows[t], &cols);
        if (t == W_MLA_KVB && !gguf_tensor(&s->gguf.g, name)) {
            if (take_latent(s, c, i, &b->w[t], e) < 0)
                return -1;
            continue;
        }
        if (take_gguf_tensor(s, name,
                t == W_DELTA_CONV ? cols / c->delta.conv : all,
                t == W_DELTA_CONV ? c->delta.conv : cols, &whole, e) < 0)
            return -1;
        if (t == W_DELTA_CONV)
            weight_flatten(&whole);
        if (t == W_DELTA_LOG && take_log(s, &whole, name, e) < 0)
            return -1;
        for (int k = t; k < t + from.n; k++) {
            b->w[k] = whole;
            b->w[k].rows = rows[k];
            whole.data += rows[k] * whole.stride;
        }
    }
    if (family_of(c)->permuted) {
        b->w[W_Q].perm = c->H;
        b->w[W_K].perm = c->KV;
    }
    return 0;
}

/* Refuse tensors that are not used.  Divisors of RoPE are never marked as used,
 * because rope_from_gguf has read them. */
static int
check_gguf_used(const struct model *m, const struct model_source *s,
    struct err *e)
{
    const struct gguf *g = &s->gguf.g;

    for (size_t i = 0; i < g->nt; i++) {
        const char *name = g->t[i].name;

        if (!s->gguf_used[i] && !is_further(&m->c, name) &&
            !rope_is_divisors(&m->c, name))
            return err_set(e, EX_INPUT,
                "tensor %s: is no part of a %s "
                "model",
                name, m->c.arch);
    }
    return 0;
}

static int
take_all(struct model *m, struct model_source *s, struct err *e)
{
    const struct config *c = &m->c;

    if (take_gguf_tensor(s, "token_embd.weight", c->V, c->d, &m->embed, e) <
            0 ||
        take_gguf_tensor(s, "output_norm.weight", 1, c->d, &m->norm, e) < 0)
        return -1;
    m->head = m->embed;
    if (!c->tied &&
        take_gguf_tensor(s, "output.weight", c->V, c->d, &m->head, e) < 0)
        return -1;
    m->block = xcalloc(c->L, sizeof *m->block);
    for (size_t i = 0; i < c->L; i++) {
        struct block *b = &m->block[i];
        const struct block_shape all = config_whole_block(c, i);

        b->groups = all.groups;
        b->mlp = all.mlp;
        b->experts = all.experts;
        b->linear = all.linear;
        b->source = i;
        if (take_block(m, s, i, e) < 0)
            return -1;
    }
    return check_gguf_used(m, s, e);
}

int
open_gguf(struct model *m, struct model_source *s, struct err *e)
{
    if (gguf_open(&s->gguf, m->path, e) < 0)
        return -1;
    s->gguf_used = xcalloc(s->gguf.g.nt + 1, 1);
    if (read_gguf_config(&m->c, &s->gguf.g, e) < 0 || take_all(m, s, e) < 0)
        return err_prefix(e, "%s", m->path);
    return 0;
}
