/* The forward pass: against golden values of PyTorch in double; and changes
 * that must not change a bit. */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "model/pass/forward.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "model/files/random.h"
#include "../lib/packed.h"
#include "../lib/tap.h"
#include "../lib/golden.h"

#include <stdlib.h>
#include <string.h>

/* Make `first` [B,T] from the pieces of a golden batch. */
static uint32_t *
first_of(const struct golden *g, size_t B, size_t T)
{
    const struct st_tensor *row = golden_get(g, "piece_row");
    const struct st_tensor *len = golden_get(g, "piece_len");
    uint32_t *first = xmalloc(B * T * sizeof *first);
    size_t *at = xcalloc(B, sizeof *at);

    memset(first, 0xff, B * T * sizeof *first);
    for (size_t p = 0; p < row->n; p++) {
        const size_t b = ((const uint32_t *)row->data)[p];
        const size_t n = ((const uint32_t *)len->data)[p];

        for (size_t t = 0; t < n; t++)
            first[b * T + at[b] + t] = (uint32_t)at[b];
        at[b] += n;
    }
    free(at);
    return first;
}

static uint32_t *
ids_of(const struct golden *g)
{
    const struct st_tensor *t = golden_get(g, "ids");
    uint32_t *ids = xmalloc(t->n * sizeof *ids);

    for (size_t i = 0; i < t->n; i++)
        ids[i] = ((const uint16_t *)t->data)[i];
    return ids;
}

static double
worst(const float *got, const struct golden *g, const char *name)
{
    const struct st_tensor *t = golden_get(g, name);
    double w = 0.0;

    for (size_t i = 0; i < t->n; i++) {
        const double want = golden_at(t, i);

        w = farther(w, fabs(got[i] - want) / (1.0 + fabs(want)));
    }
    return w;
}

/* Run embedding, blocks and final norm.  hidden [L][B,T,d]: the blocks'
 * outputs; NULL: not wanted. */
static void
forward(struct fwd *f, const struct model *m, const struct rows *r,
    float **hidden, float *final)
{
    const size_t n = r->B * r->T * m->c.d;
    float *x = xmalloc(n * sizeof *x);

    fwd_embed(f, r, x);
    for (size_t i = 0; i < m->c.L; i++) {
        fwd_block(f, i, r, x, x);
        if (hidden != NULL)
            memcpy(hidden[i], x, n * sizeof *x);
    }
    fwd_norm(f, r, x, final);
    free(x);
}

/* Scores against those that are worked out in double from the golden logits. */
static void
test_score(const char *name, const struct golden *g, struct fwd *fs,
    struct fwd *ft, const float *hs, const float *ht)
{
    const struct st_tensor *zs = golden_get(g, "student.logits");
    const struct st_tensor *zt = golden_get(g, "teacher.logits");
    const size_t n = zs->shape[0] * zs->shape[1], V = zs->shape[2];
    uint32_t *target = xmalloc(n * sizeof *target);
    uint32_t *top = xmalloc(n * sizeof *top);
    double *nll = xmalloc(n * sizeof *nll), *lse = xmalloc(n * sizeof *lse);
    struct pair_score *pair = xcalloc(n, sizeof *pair), *kept;
    float *z = xreallocarray(NULL, n * V, sizeof *z);
    double wn = 0.0, wk = 0.0, wp = 0.0, wb = 0.0;
    int tops = 1, agree = 1;

    for (size_t i = 0; i < n; i++)
        target[i] = (uint32_t)(rng_u64(5, i) % V);
    head_score(fs, hs, target, n, nll, lse, top);
    head_score_pair(fs, hs, ft, ht, V, target, n, 3.0, pair);
    for (size_t i = 0; i < n; i++) {
        double s1 = 0.0, s3 = 0.0, t1 = 0.0, t3 = 0.0, kl = 0.0;
        double back = 0.0;
        size_t bs = 0, bt = 0;

        for (size_t v = 0; v < V; v++) {
            const double a = golden_at(zs, i * V + v);
            const double b = golden_at(zt, i * V + v);

            s1 += exp(a);
            s3 += exp(a / 3.0);
            t1 += exp(b);
            t3 += exp(b / 3.0);
            bs = a > golden_at(zs, i * V + bs) ? v : bs;
            bt = b > golden_at(zt, i * V + bt) ? v : bt;
        }
        for (size_t v = 0; v < V; v++) {
            const double a = golden_at(zs, i * V + v) / 3.0 - log(s3);
            const double b = golden_at(zt, i * V + v) / 3.0 - log(t3);

            kl += exp(b) * (b - a);
            back += exp(a) * (a - b);
        }
        s1 = log(s1);
        t1 = log(t1);
        wn = fmax(wn, fabs(lse[i] - s1));
        wn = fmax(wn, fabs(nll[i] - s1 + golden_at(zs, i * V + target[i])));
        wp = fmax(wp, fabs(pair[i].nll_q - nll[i]));
        wp = fmax(wp,
            fabs(pair[i].nll_p - t1 + golden_at(zt, i * V + target[i])));
        wk = fmax(wk, fabs(pair[i].kl - kl));
        wb = farther(wb, fabs(pair[i].back - back));
        tops &= top[i] == bs;
        agree &= pair[i].agree == (bs == bt);
    }
    ok(wn <= 2e-5 && tops, "%s: nll, lse, top (%.2g)", name, wn);
    ok(wp <= 2e-5 && wk <= 2e-5 && agree, "%s: pair (%.2g, KL %.2g)", name, wp,
        wk);
    ok(wb <= 2e-5, "%s: reverse KL (%.2g)", name, wb);
    kept = xcalloc(n, sizeof *kept);
    fwd_head(ft, ht, n, z);
    head_score_logits(fs, hs, z, target, n, 3.0, kept);
    ok(memcmp(pair, kept, n * sizeof *kept) == 0,
        "%s: the same bits with logits", name);
    fwd_head(fs, hs, n, z);
    head_score_logits(fs, hs, z, target, n, 3.0, kept);
    ok(memcmp(pair, kept, n * sizeof *kept) != 0,
        "%s: logits of another base give other bits", name);
    free(z);
    free(kept);
    head_score_pair(fs, hs, fs, hs, V, target, n, 3.0, pair);
    wk = 0.0;
    for (size_t i = 0; i < n; i++)
        wk = farther(wk, fabs(pair[i].kl) + fabs(pair[i].back));
    ok(wk <= 1e-14, "%s: KL(p,p) = 0 (%.2g)", name, wk);
    free(target);
    free(top);
    free(nll);
    free(lse);
    free(pair);
}

static void
test_golden(const char *name, struct pool *pool)
{
    const char *top = getenv("RETORT_TOP");
    char *base =
        xasprintf("%s/tests/golden/grad/%s", top != NULL ? top : ".", name);
    char *file = xasprintf("%s.safetensors", base);
    struct golden g;
    struct model ms, mt;
    struct err e;
    struct rows r;
    struct fwd *fs, *ft;
    float *final, *finalt, *hidden[3], *z;
    double w = 0.0;
    uint32_t *ids, *first;

    golden_open(&g, file);
    free(file);
    file = xasprintf("%s-student", base);
    if (model_open(&ms, file, &e) != 0)
        die_err(&e);
    free(file);
    file = xasprintf("%s-teacher", base);
    if (model_open(&mt, file, &e) != 0)
        die_err(&e);
    r.B = golden_get(&g, "ids")->shape[0];
    r.T = golden_get(&g, "ids")->shape[1];
    r.ids = ids = ids_of(&g);
    r.first = first = first_of(&g, r.B, r.T);
    ok(ms.block[1].mlp == 20, "%s: block 1 is narrower", name);
    final = xmalloc(r.B * r.T * ms.c.d * sizeof *final);
    finalt = xmalloc(r.B * r.T * ms.c.d * sizeof *final);
    for (size_t i = 0; i < 3; i++)
        hidden[i] = xmalloc(r.B * r.T * ms.c.d * sizeof(float));
    z = xcalloc(r.B * r.T * ms.c.V, sizeof *z);
    fs = fwd_new(&ms, pool, r.B, r.T);
    ft = fwd_new(&mt, pool, r.B + 1, r.T + 70); /* more than needed */
    forward(fs, &ms, &r, hidden, final);
    for (size_t i = 0; i < 2; i++) {
        char what[30];

        snprintf(what, sizeof what, "student.hidden.%zu", i);
        w = farther(w, worst(hidden[i], &g, what));
    }
    ok(w <= 1e-5, "%s: hidden states (%.2g)", name, w);
    fwd_head(fs, final, r.B * r.T, z);
    w = worst(z, &g, "student.logits");
    ok(w <= 1e-5, "%s: logits (%.2g)", name, w);
    forward(ft, &mt, &r, hidden, finalt);
    w = worst(finalt, &g, "teacher.final");
    w = farther(w, worst(hidden[2], &g, "teacher.hidden.2"));
    ok(w <= 1e-5, "%s: teacher, final states (%.2g)", name, w);
    test_score(name, &g, fs, ft, final, finalt);
    fwd_free(fs);
    fwd_free(ft);
    model_close(&ms);
    model_close(&mt);
    free(base);
    free(file);
    free(final);
    free(finalt);
    free(z);
    free(ids);
    free(first);
    for (size_t i = 0; i < 3; i++)
        free(hidden[i]);
    golden_close(&g);
}

/* A model and batch large enough for several tiles and slices. */
enum { B = PACKED_B, T = PACKED_T, V = 600, D = 48 };
static uint32_t ids[B * T], first[B * T];

static void
make(struct model *m, struct arena *a)
{
    const struct config c = { .arch = "llama",
        .V = V,
        .d = D,
        .L = 2,
        .H = 4,
        .KV = 2,
        .D = 10,
        .mlp = 96,
        .max_pos = 1024,
        .eps = 1e-5,
        .theta = 1e4,
        .tied = 1,
        .init_range = 0.2 };

    model_random(m, &c, NULL, 3, a);
    m->block[1].mlp = 70; /* a cut block: a view of the first 70 channels */
    m->block[1].w[W_GATE].rows = m->block[1].w[W_UP].rows = 70;
    m->block[1].w[W_DOWN].cols = 70;
    packed_rows(ids, first, V);
}

/* The final states of n rows from row b0 on; z: their logits; NULL: not
 * wanted. */
static float *
run(const struct model *m, size_t threads, size_t b0, size_t n, float *z)
{
    struct pool *p = pool_new(threads, NULL);
    struct fwd *f = fwd_new(m, p, n, T);
    struct rows r = { n, T, ids + b0 * T, first + b0 * T };
    float *final = xmalloc(n * T * m->c.d * sizeof *final);

    forward(f, m, &r, NULL, final);
    if (z != NULL)
        fwd_head(f, final, n * T, z);
    fwd_free(f);
    pool_free(p);
    return final;
}

static int
same(const float *a, const float *b, size_t t0, size_t n)
{
    return memcmp(a + t0 * D, b + t0 * D, n * D * sizeof *a) == 0;
}

static void
test_bits(const struct model *m)
{
    float *z = xmalloc(B * T * V * sizeof *z), *z2, *y, *x;
    uint32_t was = ids[T + 400];
    int good = 1, zero = 1;

    z2 = xmalloc(B * T * V * sizeof *z2);
    x = run(m, 1, 0, B, z);
    for (size_t n = 2; n <= 3; n++) {
        y = run(m, n, 0, B, z2);
        ok(same(x, y, 0, B * T) && memcmp(z, z2, B * T * V * sizeof *z) == 0,
            "%zu threads give the bits of one", n);
        free(y);
    }
    for (size_t b = 0; b < B; b++) {
        y = run(m, 2, b, 1, NULL);
        good &= same(x + b * T * D, y, 0, T);
        free(y);
    }
    ok(good, "a row alone gives the bits that it gives among others");
    for (size_t i = (4 * T - 200) * D; i < 4 * T * D; i++)
        zero &= x[i] == 0.0f;
    ok(zero, "padding gives zeros");
    ids[T + 400] = (was + 1) % V; /* in document 2 of row 1 */
    y = run(m, 2, 0, B, NULL);
    ok(same(x, y, 0, T + 400) && same(x, y, 2 * T, 2 * T) &&
            !same(x, y, T + 400, 1),
        "a later token changes no earlier state");
    ids[T + 400] = was;
    free(y);
    was = ids[T + 5];
    ids[T + 5] = (was + 1) % V; /* in document 1 of row 1 */
    y = run(m, 2, 0, B, NULL);
    ok(same(x, y, T + 240, 360) && !same(x, y, T + 5, 100),
        "document 2 does not depend on document 1");
    ids[T + 5] = was;
    free(y);
    free(x);
    free(z);
    free(z2);
}

/* Positions restart at a piece.  A document packed behind another has the final
 * states that it has alone, up to rounding, since its place in the tiles
 * differs. */
static void
test_packed(const struct model *m)
{
    struct pool *p = pool_new(2, NULL);
    struct fwd *f = fwd_new(m, p, 1, T);
    float *x = run(m, 2, 1, 1, NULL), *y = xmalloc(360 * D * sizeof *y);
    uint32_t zero[360] = { 0 };
    struct rows r = { 1, 360, ids + T + 240, zero };
    double w = 0.0;

    forward(f, m, &r, NULL, y);
    for (size_t i = 0; i < 360 * D; i++) {
        const double e = fabs((double)y[i] - x[240 * D + i]);

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    ok(w <= 1e-5, "a packed document gives what it gives alone (%.2g)", w);
    free(x);
    free(y);
    fwd_free(f);
    pool_free(p);
}

static void
test_kv(const struct model *m)
{
    static const size_t feed[] = { 1, 2, 70, 1, 1, 5, 120, 1, 399 };
    struct pool *p = pool_new(2, NULL);
    struct kvcache *k = kv_new(m, p, 1, kv_pages(T), T);
    float *z = xmalloc(T * V * sizeof *z), *x = run(m, 2, 0, 1, z);
    float *got = xmalloc(V * sizeof *got);
    const struct kv_more full = { .ids = ids, .n = 1, .logits = 1 };
    size_t t = 0;
    double w = 0.0;

    for (size_t i = 0; i < sizeof feed / sizeof *feed; i++) {
        const struct kv_more more = { .ids = ids + t,
            .n = feed[i],
            .logits = 1 };

        if (kv_feed(k, &more, 1, got) < 0)
            w = INFINITY;
        t += feed[i];
        for (size_t v = 0; v < V; v++) {
            const double e = fabs((double)got[v] - z[(t - 1) * V + v]);

            w = e <= w ? w : isnan(e) ? INFINITY : e;
        }
    }
    ok(t == T && w <= 1e-4, "the cache gives the logits of the whole (%.2g)",
        w);
    ok(kv_feed(k, &full, 1, got) == -1, "a full cache is refused");
    kv_free(k);
    free(x);
    free(z);
    free(got);
    pool_free(p);
}

/* Generate texts 0 to TEXTS - 1, in this order (or backwards), at most
 * `at_once` of them in the caches at a time.  Text i has a prompt of 1 + 13 i
 * tokens, then 5 + i % 4 tokens one by one, while others begin.  z [TEXTS,V]:
 * the last logits of each. */
enum { TEXTS = 7 };
static void
texts(const struct model *m, size_t threads, size_t at_once, int backwards,
    float *z)
{
    struct pool *p = pool_new(threads, NULL);
    struct kvcache *k = kv_new(m, p, at_once, 2 * at_once, 100);
    size_t text[TEXTS], left[TEXTS], n = 0, next = 0;
    float *got = xmalloc(TEXTS * V * sizeof *got);
    struct kv_more more[TEXTS];

    for (size_t i = 0; i < at_once; i++)
        more[i] = (struct kv_more){ .text = i, .logits = 1 };
    while (n > 0 || next < TEXTS) {
        for (; n < at_once && next < TEXTS; n++, next++) {
            const size_t i = backwards ? TEXTS - 1 - next : next;

            text[n] = i;
            left[n] = 5 + i % 4;
            kv_drop(k, more[n].text);
            more[n].ids = ids + i;
            more[n].n = 1 + 13 * i;
        }
        kv_feed(k, more, n, got);
        for (size_t i = n; i-- > 0;) {
            const size_t unused = more[i].text;

            more[i].ids = ids + 50 + 10 * text[i] + left[i];
            more[i].n = 1;
            if (left[i]-- > 0)
                continue;
            memcpy(z + text[i] * V, got + i * V, V * sizeof *z);
            n--;
            memcpy(got + i * V, got + n * V, V * sizeof *z);
            more[i] = more[n];
            text[i] = text[n];
            left[i] = left[n];
            more[n].text = unused;
        }
    }
    kv_free(k);
    free(got);
    pool_free(p);
}

static void
test_neighbours(const struct model *m)
{
    float *want = xcalloc(TEXTS * V, sizeof *want);
    float *got = xcalloc(TEXTS * V, sizeof *got);

    texts(m, 1, 1, 0, want);
    for (size_t at_once = 1; at_once <= TEXTS; at_once += 2) {
        for (int back = 0; back < 2; back++) {
            memset(got, 0, TEXTS * V * sizeof *got);
            texts(m, at_once, at_once, back, got);
            ok(memcmp(got, want, TEXTS * V * sizeof *got) == 0,
                "texts %zu at a time%s: the bits of each alone", at_once,
                back ? ", the last first" : "");
        }
    }
    free(want);
    free(got);
}

/* Collect the inputs of the matrix `down`, one row after another. */
static void
take_act(void *ctx, const struct fwd_tapped *t)
{
    float *act = ctx;

    for (size_t b = 0; t->input == FWD_DOWN && b < B; b++)
        memcpy(act + b * T * 96, t->x + b * t->Tp * t->ld,
            (size_t)T * 96 * sizeof *act);
}

/* The MLP's activations, with channels scaled or removed. */
static void
test_mlp(const struct model *m, struct model *cut)
{
    struct pool *p = pool_new(2, NULL);
    struct fwd *f = fwd_new(m, p, B, T), *g = fwd_new(cut, p, B, T);
    const size_t n = B * T * D;
    float *x = xmalloc(n * sizeof *x), *y = xmalloc(n * sizeof *y);
    float *z = xmalloc(n * sizeof *z), scale[96];
    float *act = xmalloc(B * T * 96 * sizeof *act),
          *down = xmalloc(D * 96 * sizeof *down);
    struct rows r = { B, T, ids, first };
    const struct fwd_part part = { .chan = scale };
    double w = 0.0;

    fwd_embed(f, &r, x);
    for (size_t i = 0; i < 96; i++)
        scale[i] = i < 70 ? 1.0f : 0.0f;
    fwd_tap(f, take_act, act);
    fwd_block_part(f, 0, &r, x, y, &part);
    fwd_tap(f, NULL, NULL);
    fwd_block(g, 0, &r, x, z); /* `cut` lacks the channels of scale 0 */
    for (size_t i = 0; i < n; i++)
        w = farther(w, fabs((double)y[i] - z[i]));
    ok(w <= 1e-5, "a channel scaled by 0 is a channel removed (%.2g)", w);
    /* y = x2 + act down^T; with act = 0 it is x2, so the difference of the two
     * is the product */
    memset(scale, 0, sizeof scale);
    fwd_block_part(f, 0, &r, x, z, &part);
    weight_rows(&m->block[0].w[W_DOWN], 0, D, down);
    w = 0.0;
    for (size_t t = 0; t < B * T; t += 37) {
        for (size_t i = 0; i < D; i++) {
            double s = (double)z[t * D + i] - y[t * D + i];

            for (size_t k = 0; k < 96; k++)
                s += (double)act[t * 96 + k] * down[i * 96 + k];
            w = fabs(s) <= w ? w : isnan(s) ? INFINITY : fabs(s);
        }
    }
    ok(w <= 1e-5, "act is the input of down (%.2g)", w);
    free(x);
    free(y);
    free(z);
    free(act);
    free(down);
    fwd_free(f);
    fwd_free(g);
    pool_free(p);
}

/* Weights stored as bf16 give the bits of the same values in fp32. */
static void
test_bf16(struct model *m)
{
    struct model a = *m, b = *m;
    struct block ba[2], bb[2];
    float *x, *y;
    unsigned char *mem[2 * W_N];
    size_t n = 0;

    memcpy(ba, m->block, sizeof ba);
    memcpy(bb, m->block, sizeof bb);
    a.block = ba;
    b.block = bb;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < W_N; k++) {
            struct weight *w = &bb[i].w[k], *wide = &ba[i].w[k];
            const size_t size = w->rows * w->cols;
            float *v = xmalloc(size * 4);
            uint16_t *h = xmalloc(size * 4);

            weight_rows(w, 0, w->rows, v);
            for (size_t j = 0; j < size; j++) {
                uint32_t u;

                memcpy(&u, v + j, 4);
                h[j] = (uint16_t)(u >> 16);
                u &= 0xffff0000;
                memcpy(v + j, &u, 4);
            }
            *wide = (struct weight){ .data = (unsigned char *)v,
                .dtype = DT_F32,
                .rows = w->rows,
                .cols = w->cols,
                .stride = w->cols * 4 };
            *w = *wide;
            w->data = (unsigned char *)h;
            w->dtype = DT_BF16;
            w->stride = w->cols * 2;
            mem[n++] = (unsigned char *)v;
        }
    }
    x = run(&a, 2, 0, B, NULL);
    y = run(&b, 2, 0, B, NULL);
    ok(same(x, y, 0, B * T), "bf16 weights give the bits of their values");
    free(x);
    free(y);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < W_N; k++)
            free((void *)(uintptr_t)bb[i].w[k].data);
    while (n > 0)
        free(mem[--n]);
}

int
main(void)
{
    struct pool *pool = pool_new(2, NULL);
    struct model m, cut;
    struct arena a, a2;

    test_golden("tied", pool);
    test_golden("untied", pool);
    make(&m, &a);
    test_bits(&m);
    test_packed(&m);
    test_kv(&m);
    test_neighbours(&m);
    make(&cut, &a2);
    cut.block[0].mlp = 70;
    cut.block[0].w[W_GATE].rows = cut.block[0].w[W_UP].rows = 70;
    cut.block[0].w[W_DOWN].cols = 70;
    test_mlp(&m, &cut);
    test_bf16(&m);
    model_random_free(&m);
    model_random_free(&cut);
    arena_release(&a);
    arena_release(&a2);
    pool_free(pool);
    return done_testing();
}
