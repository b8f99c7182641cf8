/* Blocks that keep fewer groups of heads or fewer channels than the widest, or
 * none.  Forward, with a cache and backward they give what whole blocks give
 * with zeros in place of the rest, and the number of threads changes no bit. */
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "model/pass/backward.h"
#include "model/config/family.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "model/files/random.h"
#include "train/plan.h"
#include "../lib/packed.h"
#include "../lib/small_config.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { B = PACKED_B, T = PACKED_T, V = 150, D = 48, L = 5 };
static uint32_t ids[B * T], first[B * T];
static float weight[(L + 1) * B * T * D]; /* of packed_gradient */

static const struct block_shape shapes[L] = { { 3, 96, 0, 0, 0 },
    { 1, 70, 1, 0, 0 }, { 0, 96, 2, 0, 0 }, { 2, 0, 3, 0, 0 },
    { 0, 0, 4, 0, 0 } };
/* The same, for the family; `linear` blocks have no groups. */
static struct block_shape kept[L];
static size_t groups, all_groups;

static void
set_kept(const struct config *c)
{
    groups = all_groups = 0;
    for (size_t i = 0; i < L; i++) {
        kept[i] = shapes[i];
        kept[i].linear = (size_t)config_linear(c, i);
        kept[i].groups *= !kept[i].linear;
        if (family_of(c)->whole_norms && kept[i].groups > 0)
            kept[i].groups = c->KV; /* such a norm spans all heads */
        groups += kept[i].groups;
        all_groups += config_whole_block(c, i).groups;
    }
}

/* Make a whole model with zeros in place of what is not kept. */
static void
make_padded(struct tmodel *t, const char *family)
{
    struct config c = small_config(family, V, D, L, 10);
    struct arena a;
    struct model m;

    set_kept(&c);
    if (c.attn_scalar > 0)
        c.attn_scalar = 12; /* other than the head size */
    model_random(&m, &c, NULL, 3, &a);
    tmodel_init(t, &m);
    model_random_free(&m);
    arena_release(&a);
    for (size_t i = 0; i < L * W_N; i++) {
        const struct weight *w = &t->m.block[i / W_N].w[i % W_N];
        float *p = t->group[i / W_N].p + t->group[i / W_N].at[i % W_N];
        size_t rows, cols;

        block_dims(&c, (int)(i % W_N), &kept[i / W_N], &rows, &cols);
        for (size_t k = 0; k < w->rows * w->cols; k++) {
            if (k / w->cols >= rows || k % w->cols >= cols)
                p[k] = 0.0f;
            else if (w->rows == 1) /* norms other than 1, biases other than 0 */
                p[k] += (float)(0.3 * rng_normal(i + 50, k));
        }
    }
}

/* Make *m the model of t without what is not kept; its weights are views of
 * t's. */
static void
make_views(struct model *m, const struct tmodel *t)
{
    *m = t->m;
    m->block = xcalloc(L, sizeof *m->block);
    for (size_t i = 0; i < L; i++) {
        struct block *b = &m->block[i];

        *b = t->m.block[i];
        b->groups = kept[i].groups;
        b->mlp = kept[i].mlp;
        for (int k = 0; k < W_N; k++)
            block_dims(&m->c, k, &kept[i], &b->w[k].rows, &b->w[k].cols);
    }
}

/* The final states [B,T,D]. */
static float *
final(const struct model *m, size_t threads)
{
    struct pool *p = pool_new(threads, NULL);
    struct fwd *f = fwd_new(m, p, B, T);
    struct rows r = { B, T, ids, first };
    float *x = xmalloc(B * T * D * sizeof *x);

    fwd_states(f, &r, x);
    fwd_free(f);
    pool_free(p);
    return x;
}

/* The largest distance of got from want, divided by the largest |want|. */
static double
off(const float *got, const float *want, size_t n)
{
    double most = 0.0, top = 1e-30;

    for (size_t i = 0; i < n; i++) {
        top = fmax(top, fabs((double)want[i]));
        most = farther(most, fabs((double)got[i] - want[i]));
    }
    return most / top;
}

static void
test_forward(const char *name, const struct model *views,
    const struct model *packed, const struct model *padded)
{
    float *want = final(padded, 2), *x = final(views, 1);
    float *y = final(packed, 2), *z = final(packed, 3);
    double w = off(x, want, B * T * D);

    ok(w <= 2e-6, "%s: final states (%.2g)", name, w);
    w = off(y, want, B * T * D);
    ok(w <= 2e-6, "%s: of a copy (%.2g)", name, w);
    ok(memcmp(y, z, B * T * D * sizeof *y) == 0,
        "%s: 3 threads give the bits of 2", name);
    free(want);
    free(x);
    free(y);
    free(z);
}

/* The cut model with a cache, fed a prompt and then single tokens, must give
 * the logits of the padded model's forward pass. */
static void
test_cache(const char *name, const struct model *m, const struct model *padded)
{
    struct pool *p = pool_new(2, NULL);
    struct fwd *f = fwd_new(padded, p, 1, T);
    struct kvcache *k = kv_new(m, p, 2, 6, T),
                   *whole = kv_new(padded, p, 2, 6, T);
    float *x = final(padded, 2), *z = xmalloc(V * sizeof *z);
    float *want = xmalloc(V * sizeof *want);
    double w = 0.0;

    for (size_t t = 0, n = 300; t + n < 330; t += n, n = 1) {
        const struct kv_more more = { 1, ids + t, n, 1, NULL, 0 };

        if (kv_feed(k, &more, 1, z) < 0)
            w = INFINITY;
        fwd_head(f, x + (t + n - 1) * D, 1, want);
        w = farther(w, off(z, want, V));
    }
    ok(w <= 2e-5, "%s: logits with a cache (%.2g)", name, w);
    ok(kv_cache_bytes(k) * all_groups == kv_cache_bytes(whole) * groups,
        "%s: which holds %zu of %zu groups", name, groups, all_groups);
    kv_free(k);
    kv_free(whole);
    fwd_free(f);
    pool_free(p);
    free(x);
    free(z);
    free(want);
}

static float *
gradient(struct tmodel *t, size_t threads, size_t n, int how)
{
    return packed_gradient(t, ids, first, weight, threads, n, how);
}

/* Tensor k of group i in the gradients g, as gradient() returns them. */
static const float *
part(const struct tmodel *t, const float *g, size_t i, size_t k)
{
    for (size_t n = 0; n < i; n++)
        g += t->group[n].n;
    return g + t->group[i].at[k];
}

/* How far the gradient of a tensor that is cut is from the same part of the
 * whole tensor's gradient. */
static double
off_kept(const struct weight *w, const float *got, const struct weight *whole,
    const float *want)
{
    float *same = xmalloc((w->rows * w->cols + 1) * sizeof *same);
    double far;

    for (size_t r = 0; r < w->rows; r++)
        memcpy(same + r * w->cols, want + r * whole->cols,
            w->cols * sizeof *same);
    far = off(got, same, w->rows * w->cols);
    free(same);
    return far;
}

static void
test_gradients(const char *name, struct tmodel *t, struct tmodel *padded)
{
    float *g = gradient(t, 2, B, 0), *want = gradient(padded, 2, B, 0);
    double w = 0.0, rest = 0.0;

    for (size_t i = 0; i < L * W_N; i++)
        w = farther(w,
            off_kept(&t->m.block[i / W_N].w[i % W_N],
                part(t, g, i / W_N, i % W_N),
                &padded->m.block[i / W_N].w[i % W_N],
                part(padded, want, i / W_N, i % W_N)));
    ok(w <= 2e-5, "%s: gradients (%.2g)", name, w);
    for (size_t i = L; i < L + 2; i++)
        rest = farther(rest,
            off(part(t, g, i, 0), part(padded, want, i, 0), t->group[i].n));
    ok(rest <= 2e-5, "%s: and beside the blocks (%.2g)", name, rest);
    free(g);
    free(want);
}

static void
test_bits(const char *name, struct tmodel *t)
{
    static const struct {
        size_t threads, n;
        int how;
        const char *what;
    } other[] = { { 1, B, 0, "1 thread" }, { 3, B, 0, "3 threads" },
        { 2, 1, 0, "row by row" }, { 2, 2, BWD_RECOMPUTE, "recomputed" } };
    const size_t bytes = t->nparam * sizeof(float);
    float *g = gradient(t, 2, B, 0), *x;

    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        x = gradient(t, other[i].threads, other[i].n, other[i].how);
        ok(memcmp(g, x, bytes) == 0, "%s: %s, the same bits", name,
            other[i].what);
        free(x);
    }
    free(g);
    g = gradient(t, 2, B, BWD_BF16);
    x = gradient(t, 2, B, BWD_BF16 | BWD_RECOMPUTE);
    ok(memcmp(g, x, bytes) == 0, "%s: and of bf16, recomputed", name);
    free(g);
    free(x);
}

/* A block without attention and MLP returns its input. */
static void
test_nothing(const char *name, const struct model *m)
{
    struct model less = *m;
    float *x = final(m, 2), *y;

    less.c.L = L - 1;
    y = final(&less, 2);
    ok(memcmp(x, y, B * T * D * sizeof *x) == 0,
        "%s: a block of neither part changes nothing", name);
    free(x);
    free(y);
}

/* Parameters and operations of a cut model are counted. */
static void
test_counts(const char *name, const struct tmodel *t)
{
    const struct config *c = &t->m.c;
    struct block_shape shape[L];
    struct config less = *c;
    double one, all = 0.0;

    model_shape(&t->m, shape);
    ok(t->nparam == model_params(&t->m) &&
            t->nparam == config_params(c, shape) &&
            t->nparam < config_params(c, NULL),
        "%s: %zu parameters", name, t->nparam);
    ok(plan_flop_forward(c, kept, T) < plan_flop_forward(c, NULL, T),
        "%s: fewer operations", name);
    less.L = 1; /* block 3 has 2 of 3 groups and no MLP */
    config_set_local(&less, 0, config_window(c, 3) > 0);
    one = plan_flop_forward(&less, shapes + 3, T);
    less.H = 2 * (c->H / c->KV);
    less.KV = 2;
    all = plan_flop_forward(&less,
        &(struct block_shape){ .groups = 2, .mlp = 0 }, T);
    ok(one == all, "%s: operations of a block of 2 groups", name);
}

static void
test_family(const char *name)
{
    struct tmodel padded, t;
    struct model views;

    make_padded(&padded, name);
    make_views(&views, &padded);
    tmodel_init(&t, &views);
    test_counts(name, &t);
    test_forward(name, &views, &t.m, &padded.m);
    test_nothing(name, &t.m);
    test_cache(name, &views, &padded.m);
    test_gradients(name, &t, &padded);
    test_bits(name, &t);
    tmodel_release(&t);
    tmodel_release(&padded);
    free(views.block);
}

int
main(void)
{
    static const char *const names[] = { "llama", "mistral", "qwen2", "qwen3",
        "gemma3_text", "gemma2", "gemma", "cohere", "cohere2", "smollm3",
        "granite", "phi3", "ministral3", "seed_oss", "ministral", "lfm2",
        "apertus", "olmo2", "olmo3", "gpt_neox", "gpt2", "starcoder2", "phi",
        "glm4", "glm", "exaone4" };
    const char *why = kern_init();

    ok(why == NULL, "kernels are chosen: %s", why ? why : kern_name());
    packed_rows(ids, first, V);
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++)
        weight[i] = (float)rng_normal(9, i);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_family(names[i]);
    return done_testing();
}
