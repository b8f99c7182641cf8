/* The backward pass: against gradients of PyTorch in double and against
 * differences along a direction; and changes that must not change a bit. */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "model/pass/backward.h"
#include "model/config/family.h"
#include "model/files/random.h"
#include "../lib/packed.h"
#include "../lib/tap.h"
#include "../lib/golden.h"

#include <stdlib.h>
#include <string.h>

/*
 * The losses of scripts/oracle/grad.py, in plain C and double.  They give three
 * things: the gradient at the final states, that of the head, and what is added
 * to the gradients at the blocks' outputs.
 */
struct losses {
    const struct golden *g;
    size_t B, T, d, V, L;
    const uint32_t *ids, *first;
    double ce, kl, sh; /* weights */
    size_t n, *row_n;  /* scored tokens: of all rows, of each row */
    struct bwd *b;     /* hidden states of the student */
    size_t map[8];
};

static int
scored(const struct losses *l, size_t t)
{
    return ((const uint8_t *)golden_get(l->g, "scored")->data)[t];
}

/* Set dz [V], the gradient at the logits of position t.  z: the student's
 * logits, zt: the teacher's. */
static void
dlogits(const struct losses *l, size_t t, const double *z, const double *zt,
    double *dz)
{
    double s1 = 0.0, s3 = 0.0, t3 = 0.0;

    for (size_t v = 0; v < l->V; v++) {
        s1 += exp(z[v]);
        s3 += exp(z[v] / 3.0);
        t3 += exp(zt[v] / 3.0);
    }
    for (size_t v = 0; v < l->V; v++)
        dz[v] =
            (l->ce * (exp(z[v]) / s1 - (v == l->ids[t + 1])) +
                l->kl * 3.0 * (exp(z[v] / 3.0) / s3 - exp(zt[v] / 3.0) / t3)) /
            (double)l->n;
}

static void
head_grad(const struct losses *l, struct tmodel *m, float *dfinal)
{
    const struct st_tensor *zt = golden_get(l->g, "teacher.logits");
    const struct group *head = &m->group[l->L + (m->m.c.tied ? 0 : 2)];
    const float *final = bwd_final(l->b);
    double *z = xmalloc(l->V * sizeof *z), *t = xmalloc(l->V * sizeof *z);
    double *dz = xmalloc(l->V * sizeof *z);

    memset(dfinal, 0, l->B * l->T * l->d * sizeof *dfinal);
    for (size_t p = 0; p < l->B * l->T; p++) {
        if (!scored(l, p))
            continue;
        for (size_t v = 0; v < l->V; v++) {
            t[v] = golden_at(zt, p * l->V + v);
            z[v] = 0.0;
            for (size_t i = 0; i < l->d; i++)
                z[v] += (double) final[p * l->d + i] * head->p[v * l->d + i];
        }
        dlogits(l, p, z, t, dz);
        for (size_t i = 0; i < l->d; i++) {
            double s = 0.0;

            for (size_t v = 0; v < l->V; v++) {
                s += dz[v] * head->p[v * l->d + i];
                head->g[v * l->d + i] += (float)(dz[v] * final[p * l->d + i]);
            }
            dfinal[p * l->d + i] = (float)s;
        }
    }
    free(z);
    free(t);
    free(dz);
}

/* SquareHead's gradient at the output of block i. */
static void
add_square(void *ctx, size_t i, float *dx)
{
    const struct losses *l = ctx;
    const float *hs = bwd_hidden(l->b, i);
    char name[40];
    const struct st_tensor *ht;

    snprintf(name, sizeof name, "teacher.hidden.%zu", l->map[i]);
    ht = golden_get(l->g, name);
    for (size_t b = 0; b < l->B; b++) {
        double sum = 1e-6;

        for (size_t k = b * l->T * l->d; k < (b + 1) * l->T * l->d; k++)
            sum += golden_at(ht, k) * golden_at(ht, k);
        for (size_t k = b * l->T * l->d; k < (b + 1) * l->T * l->d; k++)
            dx[k] += (float)(l->sh * 2.0 * (hs[k] - golden_at(ht, k)) / sum *
                (double)l->row_n[b] / (double)l->n / (double)l->L);
    }
}

/* The largest error of all gradients.  Where a golden gradient is zero
 * everywhere, ours must be too. */
static double
all(const struct tmodel *m, const struct golden *g, const char *loss)
{
    const size_t L = m->m.c.L;
    char name[100];
    double w = 0.0;

    for (size_t i = 0; i < L; i++) {
        for (int k = 0; k <= W_DOWN; k++) {
            snprintf(name, sizeof name, "grad.%s.model.layers.%zu.%s", loss, i,
                block_tensor_name(&m->m.c, k));
            w = farther(w,
                golden_off(m->group[i].g + m->group[i].at[k],
                    golden_get(g, name)));
        }
    }
    snprintf(name, sizeof name, "grad.%s.model.embed_tokens.weight", loss);
    w = farther(w, golden_off(m->group[L].g, golden_get(g, name)));
    snprintf(name, sizeof name, "grad.%s.model.norm.weight", loss);
    w = farther(w, golden_off(m->group[L + 1].g, golden_get(g, name)));
    if (!m->m.c.tied) {
        snprintf(name, sizeof name, "grad.%s.lm_head.weight", loss);
        w = farther(w, golden_off(m->group[L + 2].g, golden_get(g, name)));
    }
    return w;
}

static void
read_batch(struct losses *l, uint32_t *ids, uint32_t *first)
{
    const struct st_tensor *row = golden_get(l->g, "piece_row");
    const struct st_tensor *len = golden_get(l->g, "piece_len");
    size_t b = 0, t = 0;

    for (size_t i = 0; i < l->B * l->T; i++) {
        ids[i] = ((const uint16_t *)golden_get(l->g, "ids")->data)[i];
        first[i] = UINT32_MAX;
    }
    for (size_t p = 0; p < row->n; p++) {
        const size_t n = ((const uint32_t *)len->data)[p];

        if (((const uint32_t *)row->data)[p] != b)
            t = 0;
        b = ((const uint32_t *)row->data)[p];
        for (size_t i = 0; i < n; i++)
            first[b * l->T + t + i] = (uint32_t)t;
        t += n;
    }
    for (size_t i = 0; i < l->B * l->T; i++) {
        l->n += (size_t)scored(l, i);
        l->row_n[i / l->T] += (size_t)scored(l, i);
    }
}

static void
test_golden(const char *file, const char *dir, const char *const *which,
    struct pool *pool)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/grad/%s.safetensors", top, file);
    struct golden g;
    struct model m;
    struct tmodel t;
    struct err e;
    struct losses l = { .g = &g, .map = { 0, 2 } };
    struct rows r;
    uint32_t *ids, *first;
    float *dfinal;

    golden_open(&g, path);
    free(path);
    path = xasprintf("%s/tests/golden/grad/%s-student", top, dir);
    if (model_open(&m, path, &e) != 0)
        die_err(&e);
    tmodel_init(&t, &m);
    ok(t.nparam == model_params(&m), "%s: %zu parameters", file, t.nparam);
    l.B = golden_get(&g, "ids")->shape[0];
    l.T = golden_get(&g, "ids")->shape[1];
    l.d = m.c.d;
    l.V = m.c.V;
    l.L = m.c.L;
    l.row_n = xcalloc(l.B, sizeof *l.row_n);
    l.ids = ids = xmalloc(l.B * l.T * sizeof *ids);
    l.first = first = xmalloc(l.B * l.T * sizeof *first);
    read_batch(&l, ids, first);
    r = (struct rows){ l.B, l.T, ids, first };
    dfinal = xmalloc(l.B * l.T * l.d * sizeof *dfinal);
    for (int recompute = 0; recompute < 2; recompute++) {
        struct bwd *b = bwd_new(&t, pool, l.B, l.T, recompute);

        l.b = b;
        for (size_t k = 0; which[k] != NULL; k++) {
            const int full = strcmp(which[k], "LOSS") == 0;
            double w;

            l.ce = full ? 0.25 : strcmp(which[k], "CE") == 0;
            l.kl = full || strcmp(which[k], "KL") == 0;
            l.sh = full || strcmp(which[k], "SH") == 0;
            tmodel_zero_grad(&t);
            bwd_forward(b, &r);
            head_grad(&l, &t, dfinal);
            memcpy(bwd_final(b), dfinal, l.B * l.T * l.d * sizeof *dfinal);
            bwd_backward(b, &r, add_square, &l);
            bwd_flush(b);
            w = all(&t, &g, which[k]);
            ok(w <= 1e-4, "%s: gradients of %s%s (%.2g)", file, which[k],
                recompute ? ", recomputed" : "", w);
        }
        bwd_free(b);
    }
    tmodel_release(&t);
    model_close(&m);
    free(path);
    free(ids);
    free(first);
    free(dfinal);
    free(l.row_n);
    golden_close(&g);
}

/* A model and a batch of several tiles, and random weights for a functional. */
enum { B = PACKED_B, T = PACKED_T, V = 200, D = 80, L = 2 };
static uint32_t ids[B * T], first[B * T];
static float weight[(L + 1) * B * T * D]; /* of the final states, then of
                                           * blocks' outputs */

static void
make(struct model *m, struct arena *a, int tied)
{
    const struct config c = { .arch = "llama",
        .V = V,
        .d = D,
        .L = L,
        .H = 4,
        .KV = 2,
        .D = 20,
        .mlp = 400,
        .max_pos = 1024,
        .eps = 1e-5,
        .theta = 1e4,
        .tied = tied,
        .init_range = 0.1 };

    model_random(m, &c, NULL, 3, a);
    m->block[1].mlp = 70; /* a cut block: a view of the first 70 channels */
    m->block[1].w[W_GATE].rows = m->block[1].w[W_UP].rows = 70;
    m->block[1].w[W_DOWN].cols = 70;
    packed_rows(ids, first, V);
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++)
        weight[i] = (float)rng_normal(9, i);
}

/* Returns the sum of weight * (final and hidden states), in double. */
static double
functional(struct bwd *b, const struct rows *r)
{
    double f = 0.0;

    bwd_forward(b, r);
    for (size_t k = 0; k <= L; k++) {
        const float *x = k == 0 ? bwd_final(b) : bwd_hidden(b, k - 1);

        for (size_t i = 0; i < B * T * D; i++)
            f += (double)weight[k * B * T * D + i] * x[i];
    }
    return f;
}

/* The gradient of the functional, with n rows in a call. */
static float *
gradient(struct tmodel *t, size_t threads, size_t n, int how)
{
    return packed_gradient(t, ids, first, weight, threads, n, how);
}

/* For each tensor, the derivative along the tensor's gradient against a
 * difference of the functional. */
static void
test_direction(struct tmodel *t)
{
    struct pool *p = pool_new(2, NULL);
    struct bwd *b = bwd_new(t, p, B, T, 0);
    struct rows r = { B, T, ids, first };
    double w = 0.0;

    free(gradient(t, 2, B, 0));
    for (size_t i = 0; i < t->ngroup; i++) {
        struct group *g = &t->group[i];
        const size_t nw = i < L ? W_DOWN + 1 : g->n > 0;
        float *was = xmalloc((g->n + 1) * sizeof *was);

        if (nw > 0)
            memcpy(was, g->p, g->n * sizeof *was);
        for (size_t k = 0; k < nw; k++) {
            const size_t a = g->at[k];
            const size_t z = k + 1 < nw ? g->at[k + 1] : g->n;
            double want = 0.0, up, down, got, len = 0.0;
            const double h = 2e-3 / sqrt((double)(z - a)) * 10.0;

            for (size_t j = a; j < z; j++) {
                /* along the gradient the derivative is large */
                want += (double)g->g[j] * g->g[j];
                len += fabs(g->g[j]);
            }
            len /= (double)(z - a);
            if (len == 0.0)
                continue;
            for (size_t j = a; j < z; j++)
                g->p[j] = (float)(was[j] + h * g->g[j] / len);
            up = functional(b, &r);
            for (size_t j = a; j < z; j++)
                g->p[j] = (float)(was[j] - h * g->g[j] / len);
            down = functional(b, &r);
            memcpy(g->p, was, g->n * sizeof *was);
            got = (up - down) / (2.0 * h / len);
            w = farther(w, fabs(got / want - 1.0));
            if (!(fabs(got / want - 1.0) <= 1e-2))
                printf("# group %zu tensor %zu: %g, want %g\n", i, k, got,
                    want);
        }
        free(was);
    }
    ok(w <= 1e-2, "derivatives along the gradients (%.2g)", w);
    bwd_free(b);
    pool_free(p);
}

static void
test_bits(struct tmodel *t, const char *what)
{
    const size_t bytes = t->nparam * sizeof(float);
    float *one = gradient(t, 1, B, 0), *g;
    double sum = 0.0;

    for (size_t i = 0; i < t->nparam; i++)
        sum += fabs(one[i]);
    ok(isfinite(sum) && sum > 0.0, "%s: gradients are finite", what);
    g = gradient(t, 2, B, 0);
    ok(memcmp(one, g, bytes) == 0, "%s: 2 threads give the bits of 1", what);
    free(g);
    g = gradient(t, 3, B, 0);
    ok(memcmp(one, g, bytes) == 0, "%s: 3 threads give the bits of 1", what);
    free(g);
    g = gradient(t, 2, 1, 0);
    ok(memcmp(one, g, bytes) == 0, "%s: 4 x 1 rows give the bits of 1 x 4",
        what);
    free(g);
    g = gradient(t, 2, 3, 0);
    ok(memcmp(one, g, bytes) == 0, "%s: 3 + 1 rows give the bits of 1 x 4",
        what);
    free(g);
    g = gradient(t, 2, 2, 1);
    ok(memcmp(one, g, bytes) == 0, "%s: recomputing gives the same bits", what);
    free(g);
    free(one);
}

/* Padding reaches no gradient, whatever its numbers are. */
static void
test_padding(struct tmodel *t)
{
    float *a = gradient(t, 2, B, 0), *b;

    for (size_t i = B * T - 200; i < B * T; i++) {
        ids[i] = (ids[i] + 1) % V;
        for (size_t k = 0; k < D; k++)
            weight[i * D + k] = NAN; /* the gradient at padding's final state */
    }
    b = gradient(t, 2, B, 0);
    ok(memcmp(a, b, t->nparam * sizeof *a) == 0, "padding has no gradient");
    free(a);
    free(b);
}

int
main(void)
{
    static const char *const four[] = { "CE", "KL", "SH", "LOSS", NULL };
    static const char *const one[] = { "LOSS", NULL };
    struct pool *pool = pool_new(2, NULL);
    struct model m;
    struct tmodel t;
    struct arena a;

    test_golden("tied", "tied", four, pool);
    test_golden("untied", "untied", four, pool);
    test_golden("rows8", "tied", one, pool);
    pool_free(pool);
    for (int tied = 0; tied < 2; tied++) {
        make(&m, &a, tied);
        tmodel_init(&t, &m);
        test_bits(&t, tied ? "tied" : "untied");
        test_direction(&t);
        test_padding(&t);
        tmodel_release(&t);
        model_random_free(&m);
        arena_release(&a);
    }
    return done_testing();
}
