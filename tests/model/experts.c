/* Mixtures of experts, against tiny models of transformers
 * (scripts/oracle/experts.py, gpt_oss.py, deepseek.py): logits in prefill and
 * with a cache, the experts of each token, gradients, and the same after an
 * export.  A token's bits do not depend on the other tokens. */
#include "base/dir.h"
#include "base/io.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/pass/backward.h"
#include "model/pass/route.h"
#include "../lib/golden.h"
#include "../lib/export_as.h"
#include "model/config/experts_config.h"
#include "model/files/export.h"
#include "model/config/family.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "model/pass/mla.h"

enum { B = 2, T = 20, ROW = B * T };

struct mixture_case {
    const char *name;
    struct golden g;
    uint32_t ids[ROW], first[ROW];
    struct rows r;
};

static char *
golden_path(const char *name, const char *end)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";

    return xasprintf("%s/tests/golden/experts/%s%s", top, name, end);
}

static void
case_open(struct mixture_case *c, const char *name)
{
    char *path = golden_path(name, ".safetensors");
    const struct st_tensor *ids, *first;

    golden_open(&c->g, path);
    free(path);
    c->name = name;
    ids = golden_get(&c->g, "ids");
    first = golden_get(&c->g, "first");
    for (size_t i = 0; i < ROW; i++) {
        uint16_t id;

        memcpy(&id, (const char *)ids->data + 2 * i, sizeof id);
        c->ids[i] = id;
        memcpy(&c->first[i], (const char *)first->data + 4 * i, 4);
    }
    c->r = (struct rows){ B, T, c->ids, c->first };
}

static void
open_or_stop(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) != 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

/* The largest distance of z [V] from row `at` of the golden logits, relative to
 * the largest logit. */
static double
off_by(const struct mixture_case *c, size_t V, size_t at, const float *z)
{
    const struct st_tensor *want = golden_get(&c->g, "logits");
    double off = 0.0, top = 0.0;

    for (size_t i = 0; i < want->n; i++)
        top = fmax(top, fabs(golden_at(want, i)));
    for (size_t v = 0; v < V; v++)
        off = farther(off, fabs(z[v] - golden_at(want, at * V + v)));
    return off / top;
}

/* The final states of the rows r; the caller frees them. */
static float *
states(const struct model *m, struct pool *pool, const struct rows *r)
{
    struct fwd *f = fwd_new(m, pool, r->B, r->T);
    float *x = xcalloc(r->B * r->T * m->c.d, sizeof *x);

    fwd_states(f, r, x);
    fwd_free(f);
    return x;
}

static double
prefill(const struct mixture_case *c, const struct model *m, struct pool *pool)
{
    struct fwd *f = fwd_new(m, pool, 1, 1);
    float *x = states(m, pool, &c->r), *z = xcalloc(m->c.V, sizeof *z);
    double off = 0.0;

    for (size_t i = 0; i < ROW; i++) {
        fwd_head(f, x + i * m->c.d, 1, z);
        off = farther(off, off_by(c, m->c.V, i, z));
    }
    fwd_free(f);
    free(x);
    free(z);
    return off;
}

/* Is each piece, fed to a cache `now` tokens at once and then one by one, the
 * same to the bit as x? */
static int
cached_same(const struct mixture_case *c, const struct model *m,
    struct pool *pool, size_t now, const float *x)
{
    const size_t d = m->c.d;
    float *s = xcalloc(T * d, sizeof *s);
    struct kvcache *k = kv_new(m, pool, 2, 2, T);
    struct kv_more more = { .text = 1, .states = s };
    int same = 1;

    for (size_t i = 0; i < ROW; i += more.n) {
        const int start = i % T == c->first[i];

        if (start)
            kv_drop(k, more.text);
        more.ids = c->ids + i;
        more.n = start ? now : 1;
        same &= kv_feed(k, &more, 1, NULL) == 0 &&
            memcmp(s, x + i * d, more.n * d * sizeof *s) == 0;
    }
    kv_free(k);
    free(s);
    return same;
}

/* Is each piece, as a row of its own, the same to the bit as x? */
static int
alone_same(const struct mixture_case *c, const struct model *m,
    struct pool *pool, const float *x)
{
    const size_t d = m->c.d;
    const uint32_t zero[T] = { 0 };
    int same = 1;

    for (size_t i = 0, n; i < ROW; i += n) {
        struct rows r = { 1, 1, c->ids + i, zero };
        float *y;

        for (n = 1; (i + n) % T != 0 && c->first[i + n] == c->first[i]; n++)
            ;
        r.T = n;
        y = states(m, pool, &r);
        same &= memcmp(y, x + i * d, n * d * sizeof *y) == 0;
        free(y);
    }
    return same;
}

/* ---- gradients ---- */

/* Replace the final states by the cross-entropy's gradients with respect to
 * them, and add the head's to its group. */
static void
loss_grad(const struct mixture_case *c, struct tmodel *t, float *final)
{
    const size_t L = t->m.c.L, d = t->m.c.d, V = t->m.c.V;
    const struct group *head = &t->group[L + (t->m.c.tied ? 0 : 2)];
    const struct st_tensor *z = golden_get(&c->g, "logits");
    float *h = xmalloc(d * sizeof *h);
    size_t n = 0;

    for (size_t i = 0; i + 1 < ROW; i++)
        n += c->first[i] == c->first[i + 1] && (i + 1) % T != 0;
    for (size_t i = 0; i < ROW; i++) {
        const int in = (i + 1) % T != 0 && c->first[i] == c->first[i + 1];
        double sum = 0.0;

        memcpy(h, final + i * d, d * sizeof *h);
        memset(final + i * d, 0, d * sizeof *h);
        for (size_t v = 0; in && v < V; v++)
            sum += exp(golden_at(z, i * V + v));
        for (size_t v = 0; in && v < V; v++) {
            const double dz =
                (exp(golden_at(z, i * V + v)) / sum - (v == c->ids[i + 1])) /
                (double)n;

            for (size_t k = 0; k < d; k++) {
                final[i * d + k] += (float)(dz * head->p[v * d + k]);
                head->g[v * d + k] += (float)(dz * h[k]);
            }
        }
    }
    free(h);
}

/* The relative error |got - want| / |want| of one tensor's gradient. */
static double
grad_off(const struct mixture_case *c, const char *name, const float *got,
    size_t n)
{
    const struct st_tensor *want = golden_get(&c->g, name);
    double off = 0.0, norm = 0.0;

    if (want->n != n)
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double w = golden_at(want, i);

        off += (got[i] - w) * (got[i] - w);
        norm += w * w;
    }
    return norm > 0 ? sqrt(off / norm) : sqrt(off) / 1e-9;
}

/* The largest relative error of the gradients of tensor k of block i, over the
 * block's experts; of a router's shift, which must have no gradient, the
 * largest gradient. */
static double
tensor_off(const struct mixture_case *c, const struct tmodel *t, size_t i,
    int k)
{
    const struct block_shape b = block_shape(&t->m.block[i]);
    const struct weight *w = &t->m.block[i].w[k];
    const size_t parts = experts_apart(k) ? b.experts : 1;
    const struct stored_rows s = block_stored(&t->m.c, k, 0);
    size_t n = w->rows * w->cols / parts;
    double off = 0.0;
    char name[120];

    if (s.first != k) /* its gradient follows the first one's */
        return 0.0;
    for (int j = k + 1; j < k + s.n; j++)
        n += w[j - k].rows * w[j - k].cols;
    for (size_t j = 0; k == W_ROUTER_SHIFT && j < n; j++)
        off = farther(off, fabs(t->group[i].g[t->group[i].at[k] + j]));
    for (size_t e = 0; k != W_ROUTER_SHIFT && e < parts; e++) {
        const int at = snprintf(name, sizeof name, "grad.model.layers.%zu.", i);

        experts_name(&t->m.c, &b, k, e, name + at, sizeof name - (size_t)at);
        off = farther(off,
            grad_off(c, name, t->group[i].g + t->group[i].at[k] + e * n, n));
    }
    return off;
}

static double
all_off(const struct mixture_case *c, const struct tmodel *t)
{
    const size_t L = t->m.c.L;
    double off = 0.0;

    for (size_t i = 0; i < L; i++)
        for (int k = 0; k < W_N; k++)
            if (t->m.block[i].w[k].rows > 0)
                off = farther(off, tensor_off(c, t, i, k));
    off = farther(off,
        grad_off(c, "grad.model.embed_tokens.weight", t->group[L].g,
            t->group[L].n));
    off = farther(off,
        grad_off(c, "grad.model.norm.weight", t->group[L + 1].g,
            t->group[L + 1].n));
    return t->m.c.tied ? off
                       : farther(off,
                             grad_off(c, "grad.lm_head.weight",
                                 t->group[L + 2].g, t->group[L + 2].n));
}

/* Run both passes with the option `how` of bwd_new, from the gradient of the
 * cross-entropy at the final states; the gradients are in t. */
static void
pass(const struct mixture_case *c, struct tmodel *t, struct pool *pool, int how)
{
    struct bwd *b = bwd_new(t, pool, B, T, how);

    tmodel_zero_grad(t);
    bwd_forward(b, &c->r);
    loss_grad(c, t, bwd_final(b));
    bwd_backward(b, &c->r, NULL, NULL);
    bwd_flush(b);
    bwd_free(b);
}

/* All gradients, one group after another; the caller frees them. */
static float *
copy_grads(const struct tmodel *t)
{
    float *all = xcalloc(t->nparam, sizeof *all), *p = all;

    for (size_t i = 0; i < t->ngroup; p += t->group[i++].n)
        if (t->group[i].n > 0)
            memcpy(p, t->group[i].g, t->group[i].n * sizeof *p);
    return all;
}

/* Set t's gradients, with at_once rows in a call; the gradient at the final
 * states is 1 everywhere. */
static void
ones_pass(const struct mixture_case *c, struct tmodel *t, struct pool *pool,
    size_t at_once)
{
    struct bwd *b = bwd_new(t, pool, at_once, T, 0);

    tmodel_zero_grad(t);
    for (size_t i = 0; i < B; i += at_once) {
        const struct rows r = { at_once, T, c->ids + i * T, c->first + i * T };
        float *final;

        bwd_forward(b, &r);
        final = bwd_final(b);
        for (size_t k = 0; k < at_once * T * t->m.c.d; k++)
            final[k] = 1.0f;
        bwd_backward(b, &r, NULL, NULL);
    }
    bwd_flush(b);
    bwd_free(b);
}

static void
test_grouping(const struct mixture_case *c, struct tmodel *t, struct pool *pool)
{
    float *two, *one;

    ones_pass(c, t, pool, 2);
    two = copy_grads(t);
    ones_pass(c, t, pool, 1);
    one = copy_grads(t);
    ok(memcmp(one, two, t->nparam * sizeof *one) == 0,
        "%s: gradients have the same bits for rows one by one and together",
        c->name);
    free(one);
    free(two);
}

/* The loss of load balance, and its gradient at the routers if no other loss is
 * there. */
static void
test_balance(const struct mixture_case *c, struct tmodel *t, struct pool *pool,
    int how)
{
    struct bwd *b = bwd_new(t, pool, B, T, how);
    const struct st_tensor *want = golden_get(&c->g, "aux");
    double loss = 0.0, off = 0.0;
    char name[80];

    bwd_keep_balance(b);
    tmodel_zero_grad(t);
    bwd_forward(b, &c->r);
    for (size_t i = 0; i < B; i++)
        loss =
            farther(loss, fabs(bwd_balance(b, i, T) / golden_at(want, i) - 1));
    memset(bwd_final(b), 0, ROW * t->m.c.d * sizeof(float));
    bwd_backward(b, &c->r, NULL, NULL);
    ok(loss <= 1e-6, "%s: the loss of load balance%s is transformers' (%.2g)",
        c->name, how ? ", recomputed," : "", loss);
    for (size_t i = 0; i < t->m.c.L; i++) {
        const struct block_shape s = block_shape(&t->m.block[i]);
        int n = snprintf(name, sizeof name, "aux.model.layers.%zu.", i);

        if (s.experts == 0)
            continue;
        experts_name(&t->m.c, &s, W_ROUTER, 0, name + n,
            sizeof name - (size_t)n);
        off = farther(off,
            grad_off(c, name, t->group[i].g + t->group[i].at[W_ROUTER],
                s.experts * t->m.c.d));
    }
    ok(off <= 1e-4, "%s: its gradient at the routers is too%s (%.2g)", c->name,
        how ? ", recomputed" : "", off);
    bwd_free(b);
}

static void
test_gradients(const struct mixture_case *c, const struct model *m,
    struct pool *pool)
{
    float *kept, *again;
    struct tmodel t;
    double off;

    tmodel_init(&t, m);
    ok(t.nparam == model_params(m) && t.nparam == config_params(&m->c, NULL),
        "%s: the parameters are counted alike (%zu)", c->name, t.nparam);
    pass(c, &t, pool, 0);
    off = all_off(c, &t);
    ok(off <= 1e-4, "%s: each tensor's gradient is transformers' (%.2g)",
        c->name, off);
    kept = copy_grads(&t);
    pass(c, &t, pool, BWD_RECOMPUTE);
    again = copy_grads(&t);
    ok(memcmp(kept, again, t.nparam * sizeof *kept) == 0,
        "%s: recomputing activations changes no bit", c->name);
    free(kept);
    free(again);
    pass(c, &t, pool, BWD_BF16);
    kept = copy_grads(&t);
    off = all_off(c, &t);
    pass(c, &t, pool, BWD_BF16 | BWD_RECOMPUTE);
    again = copy_grads(&t);
    ok(off < 0.1 && memcmp(kept, again, t.nparam * sizeof *kept) == 0,
        "%s: activations kept in bf16 come near (%.2g), recomputed or not",
        c->name, off);
    free(kept);
    free(again);
    test_grouping(c, &t, pool);
    test_balance(c, &t, pool, 0);
    test_balance(c, &t, pool, BWD_RECOMPUTE);
    tmodel_release(&t);
}

/* ---- the choice ---- */

/* The experts of each token in each block, beside transformers'. */
struct choice {
    const struct mixture_case *c;
    const struct model *m;
    size_t equal, seen;
};

/* Choose experts for the input of a block's MLP, and count those that
 * transformers chooses too. */
static void
compare_choice(void *ctx, const struct fwd_tapped *t)
{
    struct choice *h = ctx;
    const struct weight *w = &h->m->block[t->block].w[W_ROUTER];
    const struct weight *bias = &h->m->block[t->block].w[W_ROUTER_BIAS];
    const struct weight *add = &h->m->block[t->block].w[W_ROUTER_SHIFT];
    float shift[ROUTER_EXPERTS];
    const size_t E = w->rows, d = t->n, k = h->m->c.router.k;
    const struct st_tensor *want;
    float *rows = xcalloc(E * d, sizeof *rows), *z = xcalloc(E, sizeof *z);
    float weight[ROUTER_USED];
    uint32_t id[ROUTER_USED];
    char name[20];

    snprintf(name, sizeof name, "route.%zu", t->block);
    if (t->input == FWD_MLP && E > 0) {
        want = golden_get(&h->c->g, name);
        if (add->rows > 0)
            weight_rows(add, 0, 1, shift);
        weight_rows(w, 0, E, rows);
        for (size_t i = 0; i < ROW; i++) {
            const float *x = t->x + (i / T * t->Tp + i % T) * t->ld;

            memset(z, 0, E * sizeof *z);
            if (bias->rows > 0)
                weight_rows(bias, 0, 1, z);
            for (size_t e = 0; e < E; e++)
                z[e] += (float)kern.dot(rows + e * d, x, d);
            router_choose(&h->m->c.router, z, add->rows > 0 ? shift : NULL, id,
                weight);
            for (size_t s = 0; s < k; s++, h->seen++)
                h->equal +=
                    id[s] == ((const unsigned char *)want->data)[i * k + s];
        }
    }
    free(rows);
    free(z);
}

static void
test_choice(const struct mixture_case *c, const struct model *m,
    struct pool *pool)
{
    struct fwd *f = fwd_new(m, pool, B, T);
    float *x = xcalloc(ROW * m->c.d, sizeof *x);
    struct choice h = { c, m, 0, 0 };

    fwd_tap(f, compare_choice, &h);
    fwd_states(f, &c->r, x);
    ok(h.seen > 0 && h.equal == h.seen,
        "%s: each token goes to transformers' experts (%zu of %zu)", c->name,
        h.equal, h.seen);
    fwd_free(f);
    free(x);
}

/* Is a GGUF of m refused, with a message that names `key`? */
static void
test_unsaid(const struct mixture_case *c, const struct model *m,
    const char *key)
{
    struct err e = { .code = 0 };

    ok(export_as(m, "out.gguf", "bf16", &e) < 0 && strstr(e.msg, key) != NULL,
        "%s: a GGUF is refused for %s", c->name, key);
}

/* Models with latent attention that a GGUF would describe as other models. */
static void
test_latent_gguf(const struct mixture_case *c, const struct model *from)
{
    struct model m = *from;

    if (m.c.rope == ROPE_YARN)
        test_unsaid(c, &m, "an mscale other than");
    m.c.rope_mscale_all = 0.0;
    if (m.c.rope == ROPE_YARN)
        test_unsaid(c, &m, "without mscale_all_dim");
    m.c.rope_mscale = m.c.rope_mscale_all = 1.0;
    if (m.c.router.groups > 1 && m.c.router.group == ROUTER_MAX)
        test_unsaid(c, &m, "group_limited_greedy");
    m.c.mla.halves = 1;
    test_unsaid(c, &m, "rope_interleave");
}

/* Have all routers' shifts the same bits, and are they fp32? */
static int
same_shifts(const struct model *a, const struct model *b)
{
    int same = 1;

    for (size_t i = 0; i < a->c.L; i++) {
        const struct weight *x = &a->block[i].w[W_ROUTER_SHIFT];
        const struct weight *y = &b->block[i].w[W_ROUTER_SHIFT];

        same &= x->rows == y->rows &&
            (x->rows == 0 ||
                (y->dtype == DT_F32 &&
                    memcmp(x->data, y->data, x->cols * 4) == 0));
    }
    return same;
}

static void
test_model(const char *name, struct pool *pool)
{
    char *path = golden_path(name, "");
    struct mixture_case c;
    struct model m, again;
    struct err e;
    double off;
    float *x;

    case_open(&c, name);
    open_or_stop(&m, path);
    test_choice(&c, &m, pool);
    off = prefill(&c, &m, pool);
    ok(off <= 1e-5, "%s: logits are transformers' (%.2g)", name, off);
    x = states(&m, pool, &c.r);
    ok(alone_same(&c, &m, pool, x),
        "%s: a text has the same bits alone and beside others", name);
    ok(cached_same(&c, &m, pool, 1, x) && cached_same(&c, &m, pool, 7, x),
        "%s: a text has the same bits with a cache", name);
    free(x);
    test_gradients(&c, &m, pool);
    if (strncmp(name, "deepseek", 8) == 0)
        test_latent_gguf(&c, &m);
    if (ok(model_export(&m, "out", DT_BF16, NULL, NULL, &e) == 0 &&
                model_open(&again, "out", &e) == 0,
            "%s: the model is exported and read", name)) {
        const double after = prefill(&c, &again, pool);

        ok(after == off, "%s: its logits are the same after that", name);
        ok(same_shifts(&m, &again), "%s: the shifts of routers stay fp32",
            name);
        model_close(&again);
    } else {
        printf("# %s\n", e.msg);
    }
    dir_remove("out", NULL);
    model_close(&m);
    golden_close(&c.g);
    free(path);
}

static void
test_gguf(const char *name, struct pool *pool)
{
    char *path = golden_path(name, ".gguf");
    struct mixture_case c;
    struct model m, again;
    struct err e;
    double off;

    case_open(&c, name);
    open_or_stop(&m, path);
    off = prefill(&c, &m, pool);
    ok(off <= 1e-5, "%s.gguf: logits are transformers' (%.2g)", name, off);
    if (ok(export_as(&m, "out.gguf", "bf16", &e) == 0 &&
                model_open(&again, "out.gguf", &e) == 0,
            "%s.gguf: a GGUF is written and read", name)) {
        off = prefill(&c, &again, pool);
        ok(off <= 1e-5, "%s.gguf: its logits are the same (%.2g)", name, off);
        model_close(&again);
    } else {
        printf("# %s\n", e.msg);
    }
    ok(model_export(&m, "out", DT_BF16, NULL, NULL, &e) == 0,
        "%s.gguf: a directory is written", name);
    model_close(&m);
    open_or_stop(&m, "out");
    off = prefill(&c, &m, pool);
    ok(off <= 1e-5, "%s.gguf: its logits are those of the GGUF (%.2g)", name,
        off);
    model_close(&m);
    dir_remove("out", NULL);
    remove("out.gguf");
    golden_close(&c.g);
    free(path);
}

/* A type that is another name of a family, such as glm4_moe_lite of
 * deepseek_v3, is exported as a GGUF of that family, which has its logits. */
static void
test_written(const char *name, struct pool *pool)
{
    char *path = golden_path(name, "");
    struct mixture_case c;
    struct model m;
    struct err e;
    double off;

    case_open(&c, name);
    open_or_stop(&m, path);
    ok(export_as(&m, "out.gguf", "bf16", &e) == 0, "%s is written as a GGUF",
        name);
    model_close(&m);
    open_or_stop(&m, "out.gguf");
    off = prefill(&c, &m, pool);
    ok(off <= 1e-5, "%s: the logits of that GGUF are transformers' (%.2g)",
        name, off);
    model_close(&m);
    remove("out.gguf");
    golden_close(&c.g);
    free(path);
}

/* A GGUF in which the first `from` is replaced by `to`, as long, is refused
 * with a message that has `word`. */
static void
test_damaged(const char *from, const char *to, const char *word)
{
    char *path = golden_path("deepseek_v3-equal", ".gguf"), *text;
    const size_t k = strlen(from);
    struct err e = { .code = 0 };
    size_t n, i = 0;
    struct model m;
    FILE *f;

    if (io_slurp(path, 1 << 20, &text, &n, &e) < 0)
        die_err(&e);
    while (i + k < n && memcmp(text + i, from, k) != 0)
        i++;
    memcpy(text + i, to, k);
    f = fopen("bad.gguf", "w");
    if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0)
        die(EX_SYS, "bad.gguf is not written");
    ok(model_open(&m, "bad.gguf", &e) < 0 && strstr(e.msg, word) != NULL,
        "a GGUF with %s in place of %s is refused", to, from);
    printf("# %s\n", e.msg);
    remove("bad.gguf");
    free(text);
    free(path);
}

static void
test_damage(void)
{
    test_damaged("kv_lora_rank", "kv_lora_ranc",
        "kv_lora_ranc: is not known and may change what the model computes; "
        "deepseek2.attention.kv_lora_rank: is missing");
    test_damaged("dimension_count", "dimension_sount", "count: is missing");
    test_damaged("attn_v_b.", "attn_w_b.", "attn_v_b.weight: is missing");
    test_damaged("expert_gating_func", "expert_hating_func", "hating_func");
    test_damaged("expert_group_count", "expert_group_sount", "group_sount");
}

/* Arguments: names of models to test instead. */
int
main(int argc, char **argv)
{
    static const char *const names[] = { "mixtral", "qwen2_moe",
        "qwen2_moe-dense", "qwen3_moe", "qwen3_moe-dense", "olmoe", "gpt_oss",
        "gpt_oss-mxfp4", "deepseek_v2", "deepseek_v2-groups", "deepseek_v3",
        "glm4_moe_lite", "qwen3_next", "qwen3_next-dense", "qwen3_5_moe",
        "qwen3_5_moe-sees" };
    static const char *const ggufs[] = { "mixtral", "qwen2_moe", "qwen3_moe",
        "olmoe", "gpt_oss-mxfp4", "deepseek_v2", "deepseek_v3-equal",
        "qwen3_next", "qwen3_5_moe" };
    static const char *const written[] = { "glm4_moe_lite-equal" };
    struct pool *pool = pool_new(2, NULL);

    tap_scratch();
    for (int i = 1; i < argc; i++)
        test_model(argv[i], pool);
    for (size_t i = 0; argc == 1 && i < sizeof names / sizeof *names; i++)
        test_model(names[i], pool);
    for (size_t i = 0; argc == 1 && i < sizeof ggufs / sizeof *ggufs; i++)
        test_gguf(ggufs[i], pool);
    for (size_t i = 0; argc == 1 && i < sizeof written / sizeof *written; i++)
        test_written(written[i], pool);
    if (argc == 1)
        test_damage();
    pool_free(pool);
    return done_testing();
}
