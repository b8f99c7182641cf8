/* Opening a model in a .gguf file; see model.h. */
#include "model/files/open_gguf.h"
#include "model/files/open.h"

#include "base/mem.h"
#include "format/gguf.h"
#include "model/config/config_fields.h"
#include "model/config/config_keys.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/config/gguf_rope.h"
#include "model/config/lacks.h"
#include "model/config/mla_config.h"
#include "model/config/short_config.h"
#include "model/files/arranged.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Set and check the sizes that follow from those of the file. */
static int
set_gguf_sizes(struct config_file *f, size_t V, struct err *e)
{
    struct config *c = &f->c;

    if (c->V != V)
        return err_set(e, EX_INPUT,
            "%s: %zu, but token_embd.weight has %zu rows",
            arch_key(c, "vocab_size"), c->V, V);
    if (mla_from_gguf(f, e) < 0)
        return -1;
    fields_heads(c);
    if (!config_has_mla(c) && f->value > 0 && f->value != c->D)
        return err_set(e, EX_INPUT, "%s: %zu is not the head size %zu",
            arch_key(c, "attention.value_length"), f->value, c->D);
    return 0;
}

/* Read which blocks have a window.  The value of the key is a list with a bool
 * or a number for each block (0: no window), or a number n, which means that
 * every n-th block has no window. */
static int
read_pattern(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    const char *name = arch_key(c, "attention.sliding_window_pattern");
    const struct gguf_kv *v = gguf_kv(g, name);
    const int list = v && v->type == GGUF_ARRAY;

    if (list && (v->n != c->L || gguf_type_size(v->elem) == 0))
        return err_set(e, EX_INPUT, "%s: is no list of %zu", name, c->L);
    if (!list && gguf_size(g, name, 1, CONFIG_LAYERS, &f->every, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++)
        config_set_local(c, i,
            list ? gguf_int(v, i) != 0 : (i + 1) % f->every != 0);
    return 0;
}

/* Set which blocks have the window. */
static int
set_gguf_windows(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    const struct family *family = family_of(c);

    config_gguf_fixed(c);
    if (family->local_rope && c->theta_local == 0)
        c->theta_local = family->gemma ? 10000 : c->theta;
    if (family->windows != WINDOW_EVERY && family->bit != FAMILY_PHI3)
        return 0;
    c->window = f->window;
    if (family->windows == WINDOW_EVERY && c->window > 0)
        return read_pattern(f, g, e);
    for (size_t i = 0; i < c->L; i++)
        config_set_local(c, i, c->window > 0);
    return 0;
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
        return family_refuse("general.architecture", name, e);
    set_family(c, f);
    /* families with one architecture in a GGUF: DeepSeek-V2 and V3; OLMo 2 and
     * 3, of which 3 has windows; Llama and Mixtral */
    if ((f->bit == FAMILY_DEEPSEEK_V2 &&
            gguf_size(g, arch_key(c, "expert_gating_func"), 0, 9, &gating, e) <
                0) ||
        (f->bit == FAMILY_LLAMA &&
            gguf_size(g, arch_key(c, "expert_count"), 0, ROUTER_EXPERTS,
                &experts, e) < 0))
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

/* Has block 0 the bias of Q? */
static int
has_biases(const struct config *c, const struct gguf *g)
{
    char name[80];

    snprintf(name, sizeof name, "blk.0.%s", block_stored(c, W_BQ, 1).gguf);
    return gguf_tensor(g, name) != NULL;
}

static int
read_gguf_config(struct config *c, const struct gguf *g, struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(g, "token_embd.weight");
    struct config_file f;

    memset(c, 0, sizeof *c);
    if (read_family(c, g, e) < 0)
        return -1;
    if (!t || t->ndim != 2)
        return err_set(e, EX_INPUT, "tensor token_embd.weight: %s",
            t ? "is no matrix" : "is missing");
    config_file_init(&f, c);
    experts_init(&f.c);
    f.c.V = t->shape[0];
    f.c.theta = 10000;
    f.c.init_range = 0.02;
    if (family_of(c)->bit == FAMILY_GEMMA2) /* as in llama.cpp */
        f.window = (size_t)config_missing("sliding_window", FAMILY_GEMMA2);
    if (fields_from_gguf(&f, g, e) < 0 ||
        set_gguf_sizes(&f, t->shape[0], e) < 0 ||
        experts_from_gguf(&f, e) < 0 || delta_from_gguf(&f, g, e) < 0 ||
        short_from_gguf(&f, g, e) < 0 || rope_from_gguf(&f, g, e) < 0 ||
        set_gguf_windows(&f, g, e) < 0)
        return -1;
    *c = f.c;
    if (family_of(c)->may_bias != 0)
        c->attn_bias = has_biases(c, g);
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

    source_keep(s, x);
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

/* Set w to block i's number in the list that the metadata has under `key`; some
 * files have one number there for all blocks. */
static int
take_listed(struct model_source *s, const struct config *c, const char *key,
    size_t i, struct weight *w, struct err *e)
{
    const struct gguf_kv *v = gguf_kv(&s->gguf.g, key);
    const int list = v != NULL && v->type == GGUF_ARRAY;
    float *x;

    if (v == NULL || v->elem != GGUF_F32 || (list && v->n != c->L))
        return err_set(e, EX_INPUT,
            "%s: is %s: it has a 32-bit number for each block", key,
            v == NULL ? "missing" : "of another type or length");
    x = made(s, 1);
    *x = gguf_f32(v, list ? i : 0);
    return weight_set(w, x, DT_F32, 1, 1);
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

/* Set w[t] to w[t+n-1] to their rows, of which each has rows[.], of a stored
 * tensor; to their elements if it is a vector. */
static void
split_stored(int t, int n, const size_t *rows, const struct weight *stored,
    struct weight *w)
{
    const int vector = block_is_vector(t);
    const unsigned char *at = stored->data;

    for (int k = t; k < t + n; k++) {
        w[k] = *stored;
        w[k].data = at;
        w[k].rows = vector ? 1 : rows[k];
        w[k].cols = vector ? rows[k] : stored->cols;
        if (vector)
            w[k].stride = stored->stride / stored->cols * rows[k];
        at += w[k].rows * w[k].stride;
    }
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

        from = block_stored(c, t, 1);
        all = 0;
        for (int k = t; k < t + from.n; k++, all += rows[k - 1])
            block_stored_dims(c, k, &shape, &rows[k], &cols);
        experts_name_gguf(c, &shape, t, name + at, sizeof name - (size_t)at);
        if (all == 0)
            continue;
        if (block_is_xielu(t)) {
            if (take_listed(s, c, from.gguf, i, &b->w[t], e) < 0)
                return -1;
            continue;
        }
        if (t == W_MLA_KVB && !gguf_tensor(&s->gguf.g, name)) {
            if (take_latent(s, c, i, &b->w[t], e) < 0)
                return -1;
            continue;
        }
        if (t == W_CONV ? take_gguf_tensor(s, name, all / c->conv, c->conv,
                              &whole, e) < 0
                : block_is_vector(t)
                ? take_gguf_tensor(s, name, 1, all, &whole, e) < 0
                : take_gguf_tensor(s, name, all, cols, &whole, e) < 0)
            return -1;
        if (t == W_CONV)
            weight_flatten(&whole);
        if (t == W_DELTA_LOG && take_log(s, &whole, name, e) < 0)
            return -1;
        if (from.n == 1 || !block_is_delta(t))
            split_stored(t, from.n, rows, &whole, b->w);
        for (int k = t; from.n > 1 && block_is_delta(t) && k < t + from.n; k++)
            source_keep(s, arranged_take(c, k, &shape, 0, &whole, &b->w[k]));
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
        take_gguf_tensor(s, family_outer_name(c, OUTER_NORM, 1), 1, c->d,
            &m->norm, e) < 0 ||
        (family_has_outer(c, OUTER_NORM_BIAS) &&
            take_gguf_tensor(s, family_outer_name(c, OUTER_NORM_BIAS, 1), 1,
                c->d, &m->norm_bias, e) < 0) ||
        (family_has_outer(c, OUTER_POSITIONS) &&
            take_gguf_tensor(s, family_outer_name(c, OUTER_POSITIONS, 1),
                c->max_pos, c->d, &m->positions, e) < 0) ||
        (family_has_outer(c, OUTER_HEAD_BIAS) &&
            take_gguf_tensor(s, family_outer_name(c, OUTER_HEAD_BIAS, 1), 1,
                c->V, &m->head_bias, e) < 0))
        return -1;
    m->head = m->embed;
    if (!c->tied &&
        take_gguf_tensor(s, "output.weight", c->V, c->d, &m->head, e) < 0)
        return -1;
    if (family_of(c)->gguf_head > 0 && weight_same(&m->head, &m->embed)) {
        m->c.tied = 1;
        model_forget(m, &m->head);
        m->head = m->embed;
    }
    model_set_bias(m);
    m->block = xcalloc(c->L, sizeof *m->block);
    for (size_t i = 0; i < c->L; i++) {
        const struct block_shape all = config_whole_block(c, i);

        block_set_shape(&m->block[i], &all);
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
