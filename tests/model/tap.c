/* The inputs of linear layers that fwd_tap shows are recomputed from the stored
 * weights by plain sums in double; and looking changes nothing. */
#include "base/mem.h"
#include "cli/die.h"
#include "model/pass/forward.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 70, TOKENS = B * T };

static uint32_t ids[TOKENS], first[TOKENS];
static const struct rows rows = { B, T, ids, first };

static struct seen {
    float *x[FWD_INPUTS], *stream[FWD_INPUTS]; /* [TOKENS,n], [TOKENS,d] */
    size_t n[FWD_INPUTS], calls, block;
    size_t zeros; /* numbers that should be zero and are not */
    int order;
} seen;

static void
look(void *ctx, const struct fwd_tapped *t)
{
    const size_t d = *(const size_t *)ctx;
    float *x = xcalloc(TOKENS * t->n, sizeof *x);

    seen.order |= t->input != (int)(seen.calls++ % FWD_INPUTS);
    seen.block = t->block;
    for (size_t k = 0; k < B * t->Tp; k++) {
        const size_t b = k / t->Tp, i = k % t->Tp;
        const float *row = t->x + k * t->ld;

        if (i < T)
            memcpy(x + (b * T + i) * t->n, row, t->n * sizeof *x);
        for (size_t c = 0; c < t->n; c++)
            seen.zeros +=
                (i >= T || first[b * T + i] == UINT32_MAX) && !(row[c] == 0.0f);
    }
    free(seen.x[t->input]);
    free(seen.stream[t->input]);
    seen.x[t->input] = x;
    seen.n[t->input] = t->n;
    seen.stream[t->input] = xreallocarray(NULL, TOKENS, d * sizeof(float));
    memcpy(seen.stream[t->input], t->stream, TOKENS * d * sizeof(float));
}

static float *
values(const struct weight *w)
{
    float *v = xreallocarray(NULL, w->rows, w->cols * sizeof *v);

    weight_rows(w, 0, w->rows, v);
    return v;
}

/* RMSNorm of x [d] by the vector w, in double. */
static void
norm(const struct weight *w, double eps, const double *x, double *y)
{
    float *v = values(w);
    double sq = 0.0;

    for (size_t i = 0; i < w->cols; i++)
        sq += x[i] * x[i] / (double)w->cols;
    for (size_t i = 0; i < w->cols; i++)
        y[i] = x[i] / sqrt(sq + eps) * ((double)v[i] + w->add);
    free(v);
}

/* The error of the input that was seen, against the norm of the stream. */
static double
norm_off(const struct model *m, const struct weight *w, int input)
{
    const size_t d = m->c.d;
    double *x = xcalloc(2 * d, sizeof *x), most = 0.0;

    for (size_t k = 0; k < TOKENS; k++) {
        for (size_t i = 0; i < d; i++)
            x[i] = seen.stream[input][k * d + i];
        norm(w, m->c.eps, x, x + d);
        for (size_t i = 0; i < d && first[k] != UINT32_MAX; i++)
            most = farther(most, fabs(seen.x[input][k * d + i] - x[d + i]));
    }
    free(x);
    return most;
}

/* The error of stream + W x against what the block gave, `after` [TOKENS,d].
 * If the family has a norm after the product, W x is normed. */
static double
product_off(const struct model *m, int layer, int post, int input,
    const float *after)
{
    const struct block *b = &m->block[seen.block];
    const struct weight *w = &b->w[layer];
    const size_t d = m->c.d, n = w->cols;
    float *v = values(w);
    double *y = xcalloc(d, sizeof *y), most = 0.0;

    for (size_t k = 0; k < TOKENS; k++) {
        for (size_t i = 0; i < d; i++) {
            y[i] = 0.0;
            for (size_t c = 0; c < n; c++)
                y[i] += (double)v[i * n + c] * seen.x[input][k * n + c];
        }
        if (b->w[post].rows > 0)
            norm(&b->w[post], m->c.eps, y, y);
        for (size_t i = 0; i < d && first[k] != UINT32_MAX; i++)
            most = farther(most,
                fabs(
                    after[k * d + i] - (y[i] + seen.stream[input][k * d + i])));
    }
    free(v);
    free(y);
    return most;
}

static void
test(const char *name, size_t threads)
{
    char *path = xasprintf("tests/golden/family/%s", name);
    struct pool *pool = pool_new(threads, NULL);
    struct model m;
    struct err e;
    struct fwd *f;
    float *x, *y;

    if (model_open(&m, path, &e) < 0)
        die_err(&e);
    for (size_t k = 0; k < TOKENS; k++) {
        ids[k] = (uint32_t)((k * k * 5 + 3) % m.c.V);
        first[k] = k % T < 30 ? 0 : k / T == 1 && k % T >= 60 ? UINT32_MAX : 30;
    }
    x = xcalloc(2 * TOKENS * m.c.d, sizeof *x);
    y = x + TOKENS * m.c.d;
    f = fwd_new_blocks(&m, pool, B, T);
    memset(&seen, 0, sizeof seen);
    for (size_t i = 0; i < m.c.L; i++) {
        const struct block *b = &m.block[i];
        double off;

        fwd_embed(f, &rows, x); /* every block gets the embedding as input */
        fwd_block(f, i, &rows, x, y);
        fwd_tap(f, look, &m.c.d);
        fwd_block(f, i, &rows, x, x);
        fwd_tap(f, NULL, NULL);
        ok(memcmp(x, y, TOKENS * m.c.d * sizeof *x) == 0 && seen.block == i,
            "%s, block %zu, %zu threads: looking changes no bit", name, i,
            threads);
        /* a parallel block has one norm, LayerNorm */
        off = b->w[W_NORM2].rows == 0
            ? 0
            : fmax(norm_off(&m, &b->w[W_NORM1], FWD_ATTN),
                  norm_off(&m, &b->w[W_NORM2], FWD_MLP));
        ok(off <= 5e-6, "%s, block %zu: inputs of q and gate are off by %.2g",
            name, i, off);
        off = product_off(&m, W_O, W_NORM_ATT, FWD_O, seen.stream[FWD_MLP]);
        ok(off <= 5e-6, "%s, block %zu: the input of o is off by %.2g", name, i,
            off);
        off = product_off(&m, W_DOWN, W_NORM_MLP, FWD_DOWN, x);
        ok(off <= 5e-6, "%s, block %zu: the input of down is off by %.2g", name,
            i, off);
    }
    ok(seen.calls == FWD_INPUTS * m.c.L && !seen.order,
        "%s: each block has four inputs", name);
    ok(seen.zeros == 0, "%s: padding is zero", name);
    for (size_t i = 0; i < FWD_INPUTS; i++) {
        free(seen.x[i]);
        free(seen.stream[i]);
    }
    free(x);
    free(path);
    fwd_free(f);
    model_close(&m);
    pool_free(pool);
}

int
main(void)
{
    test("gemma3", 1);
    test("qwen2", 2);
    test("cohere", 2);
    return done_testing();
}
