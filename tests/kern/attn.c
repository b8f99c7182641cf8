/* Attention by tiles against the definition in double: the forward pass;
 * gradients, by central differences of the definition; masks; sinks; and that
 * later tokens and other documents change no bit.  Products with a factor in
 * pages. */
#include "base/mem.h"
#include "base/rng.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

struct shape {
    size_t T, H, KV, D;
    const size_t *len; /* lengths of pieces, 0 at the end */
};

/* A row: q, k, v side by side in [Tp, ld], and what the tiles give. */
struct row {
    struct attn a;
    uint32_t *first;
    float *qkv, *out, *dout, *dqkv, *dkh, *dvh, *scratch;
    size_t n; /* Tp * ld */
};

static void
row_init(struct row *r, const struct shape *s)
{
    const size_t Tp = (s->T + 63) / 64 * 64, ld = (s->H + 2 * s->KV) * s->D;
    size_t t = 0;

    memset(r, 0, sizeof *r);
    r->n = Tp * ld;
    r->first = xcalloc(s->T, sizeof *r->first);
    r->qkv = xcalloc(r->n, sizeof(float));
    r->dqkv = xcalloc(r->n, sizeof(float));
    r->out = xcalloc(Tp * s->H * s->D, sizeof(float));
    r->dout = xcalloc(Tp * s->H * s->D, sizeof(float));
    r->dkh = xcalloc(Tp * s->D, sizeof(float));
    r->dvh = xcalloc(Tp * s->D, sizeof(float));
    for (size_t p = 0; s->len[p] > 0; p++) {
        for (size_t i = 0; i < s->len[p]; i++)
            r->first[t + i] = (uint32_t)t;
        t += s->len[p];
    }
    for (size_t i = 0; i < t * ld; i++)
        r->qkv[i] = (float)rng_normal(1, i);
    for (size_t i = 0; i < t * s->H * s->D; i++)
        r->dout[i] = (float)rng_normal(2, i);
    for (; t < s->T; t++)
        r->first[t] = UINT32_MAX;
    r->a = (struct attn){ s->T, Tp, s->H, s->KV, s->D, ld, s->H * s->D, r->qkv,
        r->qkv + s->H * s->D, r->qkv + (s->H + s->KV) * s->D, r->first, r->out,
        xcalloc(s->H * Tp, sizeof(float)), 0.0f, NULL, NULL, 0.0f, NULL };
    r->scratch = xmalloc(attn_scratch(&r->a) * sizeof(float));
}

static void
row_release(struct row *r)
{
    free(r->first);
    free(r->qkv);
    free(r->dqkv);
    free(r->out);
    free(r->dout);
    free(r->dkh);
    free(r->dvh);
    free(r->scratch);
    free(r->a.lse);
}

static void
forward(struct row *r)
{
    for (size_t h = 0; h < r->a.KV; h++)
        for (size_t qt = 0; qt < r->a.Tp / ATTN_TILE; qt++)
            attn_fwd(&r->a, h, qt, r->scratch);
}

static void
backward(struct row *r)
{
    const struct attn *a = &r->a;
    float *dk = r->dqkv + a->H * a->D, *dv = dk + a->KV * a->D;

    memset(r->dqkv, 0, r->n * sizeof(float));
    for (size_t h = 0; h < a->H; h++) {
        const size_t at = h / (a->H / a->KV) * a->D;

        attn_bwd(a, h, r->dout, r->dqkv, r->dkh, r->dvh, r->scratch);
        for (size_t t = 0; t < a->Tp; t++) {
            kern.axpy(dk + t * a->ld + at, 1.0f, r->dkh + t * a->D, a->D);
            kern.axpy(dv + t * a->ld + at, 1.0f, r->dvh + t * a->D, a->D);
        }
    }
}

/* The definition, for query head h of token t; p[T]: room for the weights. */
static void
define(const struct attn *a, const double *qkv, size_t h, size_t t, double *p,
    double *o)
{
    const size_t D = a->D, kh = h / (a->H / a->KV);
    const double *k = qkv + (a->H + kh) * D;
    const double *v = qkv + (a->H + a->KV + kh) * D;
    double top = a->sink != NULL ? a->sink[h] : -INFINITY, sum = 0.0;

    for (size_t j = a->first[t]; j <= t; j++) {
        p[j] = 0.0;
        for (size_t i = 0; i < D; i++)
            p[j] += qkv[t * a->ld + h * D + i] * k[j * a->ld + i];
        p[j] /= sqrt((double)D);
        top = fmax(top, p[j]);
    }
    for (size_t j = a->first[t]; j <= t; j++)
        sum += p[j] = exp(p[j] - top);
    sum += a->sink != NULL ? exp(a->sink[h] - top) : 0.0;
    memset(o, 0, D * sizeof *o);
    for (size_t j = a->first[t]; j <= t; j++)
        for (size_t i = 0; i < D; i++)
            o[i] += p[j] / sum * v[j * a->ld + i];
}

/* Returns sum dout * out, in double: the function whose gradient backward()
 * gives. */
static double
functional(const struct row *r, const double *qkv, double *worst)
{
    const struct attn *a = &r->a;
    double *p = xmalloc(a->T * sizeof *p), o[64], f = 0.0;

    for (size_t t = 0; t < a->Tp; t++) {
        for (size_t h = 0; h < a->H; h++) {
            const size_t at = t * a->ldo + h * a->D;

            memset(o, 0, sizeof o);
            if (t < a->T && a->first[t] != UINT32_MAX)
                define(a, qkv, h, t, p, o);
            for (size_t i = 0; i < a->D; i++) {
                const double e = fabs(o[i] - a->out[at + i]);

                f += o[i] * r->dout[at + i];
                if (worst != NULL)
                    *worst = e <= *worst ? *worst : isnan(e) ? INFINITY : e;
            }
        }
    }
    free(p);
    return f;
}

/* Gradients at sinks, against central differences. */
static void
test_sinks(const char *name, struct row *r, const double *q, float *sink)
{
    const struct attn *a = &r->a;
    float *terms = xcalloc(a->Tp * a->H, sizeof *terms);
    double off = 0.0, pad = 0.0;

    for (size_t h = 0; h < a->H; h++) {
        const float was = sink[h], step = 1.0f / 1024;
        double up, sum = 0.0;

        attn_sink_bwd(a, h, r->dout, terms);
        for (size_t t = 0; t < a->Tp; t++)
            *(t < a->T && a->first[t] != UINT32_MAX ? &sum : &pad) +=
                (double)terms[t * a->H + h];
        sink[h] = was + step;
        up = functional(r, q, NULL);
        sink[h] = was - step;
        up -= functional(r, q, NULL);
        sink[h] = was;
        off = fmax(off, fabs(up / (2.0 * (double)step) - sum));
    }
    ok(off <= 2e-5 && off > 0.0, "%s has the gradient of sinks (%.2g)", name,
        off);
    ok(pad == 0.0, "%s: padding gives a sink no gradient", name);
    free(terms);
}

static void
test_shape(const char *isa, const struct shape *s, float *sink)
{
    struct row r;
    double *q, w = 0.0, wg = 0.0, wz = 0.0;
    char name[80];

    row_init(&r, s);
    r.a.sink = sink;
    snprintf(name, sizeof name, "%s T %zu H %zu KV %zu D %zu%s", isa, s->T,
        s->H, s->KV, s->D, sink != NULL ? " with sinks" : "");
    memset(r.out, 0xff, r.a.Tp * r.a.ldo * sizeof(float)); /* NaN */
    forward(&r);
    backward(&r);
    q = xmalloc(r.n * sizeof *q);
    for (size_t i = 0; i < r.n; i++)
        q[i] = r.qkv[i];
    functional(&r, q, &w);
    ok(w <= 2e-6, "%s forward (%.2g)", name, w);
    for (size_t k = 0; k < 60; k++) {
        const size_t i = rng_u64(7, k) % r.n, t = i / r.a.ld;
        const double was = q[i], h = 1e-4;
        double up, d;

        if (t >= s->T || r.first[t] == UINT32_MAX) {
            wz += r.dqkv[i] != 0.0f;
            continue;
        }
        q[i] = was + h;
        up = functional(&r, q, NULL);
        q[i] = was - h;
        d = (up - functional(&r, q, NULL)) / (2.0 * h);
        q[i] = was;
        d = fabs(d - r.dqkv[i]);
        wg = d <= wg ? wg : isnan(d) ? INFINITY : d;
    }
    ok(wg <= 2e-5, "%s gradient (%.2g)", name, wg);
    ok(wz == 0, "%s padding has no gradient", name);
    if (sink != NULL)
        test_sinks(name, &r, q, sink);
    free(q);
    row_release(&r);
}

/* Changing a later token or another document changes no bit. */
static void
test_independence(const char *isa)
{
    static const size_t len[] = { 70, 90, 0 };
    const struct shape s = { 170, 4, 2, 16, len };
    struct row r;
    float *was;
    int past = 1, other = 1;

    row_init(&r, &s);
    forward(&r);
    was = xmalloc(r.a.Tp * r.a.ldo * sizeof *was);
    memcpy(was, r.out, r.a.Tp * r.a.ldo * sizeof *was);
    for (size_t i = 0; i < r.a.ld; i++)
        r.qkv[100 * r.a.ld + i] += 1.0f; /* token 100, document 2 */
    forward(&r);
    past &= memcmp(was, r.out, 100 * r.a.ldo * sizeof *was) == 0;
    past &= memcmp(was + 100 * r.a.ldo, r.out + 100 * r.a.ldo,
                r.a.ldo * sizeof *was) != 0;
    ok(past, "%s: a later token changes no earlier output", isa);
    memcpy(was, r.out, r.a.Tp * r.a.ldo * sizeof *was);
    for (size_t i = 0; i < 70 * r.a.ld; i++)
        r.qkv[i] *= -3.0f; /* document 1 */
    forward(&r);
    other &= memcmp(was + 70 * r.a.ldo, r.out + 70 * r.a.ldo,
                 90 * r.a.ldo * sizeof *was) == 0;
    other &= memcmp(was, r.out, 70 * r.a.ldo * sizeof *was) != 0;
    ok(other, "%s: document 1 changes no bit of document 2", isa);
    r.qkv[80 * r.a.ld + 3] = NAN; /* in a query of token 80 */
    forward(&r);
    ok(isnan(r.out[80 * r.a.ldo]), "%s: NaN in a query comes out", isa);
    free(was);
    row_release(&r);
}

/* Does a product with a factor in pages give the bits of gemm_nn with the pages
 * side by side?  The table of pages has one page more than is read. */
static int
paged_same(size_t m, size_t n, size_t deep, size_t k, int add)
{
    const size_t pages = (k + deep - 1) / deep, lda = k + 3;
    const int packs = kern.packed_along > 0;
    const size_t ldb = packs ? n : n + 5;
    const size_t bytes =
        64 + (packs ? kern.packed_bytes(n, deep) : deep * ldb * sizeof(float));
    float *a = xmalloc(m * lda * sizeof *a), *c = xmalloc(m * n * sizeof *c);
    float *side = xmalloc((pages + 1) * deep * n * sizeof *side);
    float *want = xmalloc(m * n * sizeof *want);
    char *b = aligned_alloc(64, ((pages + 1) * bytes + 63) / 64 * 64);
    uint32_t *page = xreallocarray(NULL, pages + 1, sizeof *page);
    const struct kern_pages in = { b, page, pages + 1, bytes, deep, ldb };
    int same;

    for (size_t i = 0; i < m * lda; i++)
        a[i] = (float)rng_normal(3, i);
    for (size_t i = 0; i < (pages + 1) * deep * n; i++)
        side[i] = (float)rng_normal(4, i);
    for (size_t i = 0; i < m * n; i++)
        c[i] = want[i] = (float)rng_normal(5, i);
    for (size_t i = 0; i <= pages; i++) {
        char *to = b + (pages - i) * bytes;

        page[i] = (uint32_t)(pages - i);
        if (packs)
            kern.pack(to, n, deep, side + i * deep * n, 0, 1, n);
        for (size_t l = 0; !packs && l < deep; l++)
            memcpy(to + l * ldb * sizeof *a, side + (i * deep + l) * n,
                n * sizeof *a);
    }
    kern.gemm_paged(m, n, k, a, lda, &in, add, c, n);
    kern.gemm_nn(m, n, k, a, lda, side, n, add, want, n);
    same = memcmp(c, want, m * n * sizeof *c) == 0;
    free(a);
    free(b);
    free(c);
    free(side);
    free(want);
    free(page);
    return same;
}

static void
test_paged(const char *isa)
{
    static const size_t shape[][3] = { { 64, 64, 64 }, { 64, 64, 256 },
        { 6, 64, 192 }, { 66, 64, 150 }, { 300, 20, 301 }, { 64, 300, 900 },
        { 80, 160, 160 }, { 576, 64, 256 }, { 64, 576, 576 }, { 64, 70, 70 } };
    int same = 1;

    if (kern.gemm_paged == NULL)
        return;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        const size_t n = shape[i][0], deep = shape[i][1], k = shape[i][2];

        for (size_t m = 1; m < 15; m++)
            for (int add = 0; add < 2; add++)
                if (kern.packed_along == 0 || deep % PACKED_DEPTH == 0 ||
                    deep >= k)
                    same &= paged_same(m, n, deep, k, add);
    }
    ok(same, "%s: a product with pages has the bits of gemm_nn", isa);
}

/* A page holds a token's key and value, as kern.pack writes them if products
 * are in bfloat16. */
static void
test_put(const char *isa)
{
    enum { D = 70, AT = 5, SIZE = ATTN_TILE * 96 };
    float key[D], value[D], *plain = xcalloc(2 * ATTN_TILE * D, sizeof *plain);
    float *page = xcalloc(4 * SIZE, sizeof *page), *want = page + 2 * SIZE;

    for (size_t i = 0; i < D; i++) {
        key[i] = (float)rng_normal(6, i);
        value[i] = (float)rng_normal(7, i);
    }
    key[3] = value[4] = 0x1.fffffcp-127f; /* would be rounded up to 0x1p-126 */
    key[4] = -0x1p-130f; /* a denormal number in bfloat16 too */
    value[3] = INFINITY;
    for (size_t i = 0; i < D; i++) {
        plain[i * ATTN_TILE + AT] = key[i];
        plain[ATTN_TILE * D + AT * D + i] = value[i];
    }
    attn_text_put(page, page + SIZE, AT, D, key, value);
    if (kern.packed_along > 0) {
        kern.pack(want, ATTN_TILE, D, plain, 0, 1, ATTN_TILE);
        kern.pack(want + SIZE, D, ATTN_TILE, plain + ATTN_TILE * D, 0, 1, D);
    } else {
        memcpy(want, plain, ATTN_TILE * D * sizeof *want);
        memcpy(want + SIZE, plain + ATTN_TILE * D,
            ATTN_TILE * D * sizeof *want);
    }
    ok(memcmp(page, want, 2 * SIZE * sizeof *page) == 0,
        "%s: a page has a token's key and value", isa);
    ok(attn_page_bytes(D) % 64 == 0 &&
            attn_page_bytes(D) >= ATTN_TILE * D *
                    (kern.packed_along > 0 ? sizeof(uint16_t) : sizeof(float)),
        "%s: a page has room for them", isa);
    free(page);
    free(plain);
}

/* Pages where products are in bfloat16. */
static void
test_rounded_pages(const char *isa)
{
    static const char *const by[] = { "avx512bf16", "amx", "bfmmla" };
    char name[40];

    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        kern_compute(by[i]);
        snprintf(name, sizeof name, "%s %s", isa, by[i]);
        test_paged(name);
        test_put(name);
    }
    kern_compute("f32");
}

int
main(void)
{
    static const char *const isas[] = { "avx512", "avx2", "neon", "ref" };
    static const size_t one[] = { 1, 0 }, l64[] = { 64, 0 };
    static const size_t packed[] = { 3, 1, 60, 30, 40, 0 };
    static const size_t odd[] = { 5, 95, 0 };
    float sink[] = { 0.5f, -1.0f, 2.0f, 9.0f, 0.0f, -30.0f };
    const struct shape shapes[] = { { 1, 1, 1, 2, one }, { 64, 2, 2, 16, l64 },
        { 150, 6, 2, 16, packed }, { 130, 4, 2, 6, odd } };

    for (size_t i = 0; i < 4; i++) {
        const char *why = kern_force(isas[i]);

        if (why != NULL) {
            printf("# %s: %s\n", isas[i], why);
            continue;
        }
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            test_shape(isas[i], shapes + k, NULL);
        for (size_t k = 2; k < sizeof shapes / sizeof *shapes; k++)
            test_shape(isas[i], shapes + k, sink);
        test_independence(isas[i]);
        test_paged(isas[i]);
        test_put(isas[i]);
        test_rounded_pages(isas[i]);
    }
    return done_testing();
}
