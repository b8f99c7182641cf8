/*
 * Attention by tiles, forward and backward, with the matrix products of struct
 * kern.
 *
 * A tile is 64 queries by 64 keys and starts at a multiple of 64 from the row's
 * first token, so a token's result depends on its own row alone.  Of the key
 * tiles, only those from the first that the query tile attends to up to the
 * query tile itself are computed, in groups of up to four (between multiples of
 * 256 keys), so that a row of scores is long.  A masked pair has weight 0
 * exactly, so no bit of a token's result depends on the row's other documents.
 */
#include "kern/attn.h"
#include "kern/kern.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TILE = ATTN_TILE, GROUP = 4, KEYS = GROUP * TILE };

size_t
attn_scratch(const struct attn *a)
{
    const size_t M = a->H / a->KV * TILE;
    const size_t fwd = M * (2 * a->D + KEYS + 2);
    const size_t bwd = TILE * (2 * a->D + 2 * KEYS + 1);

    return (fwd > bwd ? fwd : bwd) + 16;
}

/* The factor of the scores; see struct attn. */
static float
scale_of(float scale, size_t D)
{
    return scale != 0.0f ? scale : 1.0f / sqrtf((float)D);
}

static int
live_rows(const struct attn *a, size_t t)
{
    return t < a->T && a->first[t] != UINT32_MAX;
}

/* First key tile that some query of tile qt attends to; qt + 1: there is
 * none. */
static size_t
first_tile(const struct attn *a, size_t qt)
{
    size_t k = (qt + 1) * TILE;

    for (size_t t = qt * TILE; t < (qt + 1) * TILE; t++) {
        if (live_rows(a, t) && a->first[t] < k)
            k = a->first[t];
        if (live_rows(a, t) && a->stem != NULL && a->nstem[t] > 0 &&
            a->stem[t] < k)
            k = a->stem[t];
    }
    return k / TILE;
}

/* The number of keys from tile kt to the end of its group of tiles, or to the
 * end of tile qt if that comes first. */
static size_t
group_keys(size_t kt, size_t qt)
{
    const size_t end = (kt / GROUP + 1) * GROUP;

    return ((end <= qt ? end : qt + 1) - kt) * TILE;
}

/* Set *lo, *hi: of the n keys from k0 on, token t attends to keys *lo..*hi-1.
 * Returns 0 if it attends to none. */
static int
span(const struct attn *a, size_t t, size_t k0, size_t n, size_t *lo,
    size_t *hi)
{
    if (!live_rows(a, t) || t < k0 || a->first[t] >= k0 + n)
        return 0;
    *lo = a->first[t] > k0 ? a->first[t] - k0 : 0;
    *hi = t - k0 + 1 < n ? t - k0 + 1 : n;
    return 1;
}

/* span() for the keys in token t's stem. */
static int
stem_span(const struct attn *a, size_t t, size_t k0, size_t n, size_t *lo,
    size_t *hi)
{
    size_t from, end;

    if (a->stem == NULL || !live_rows(a, t))
        return 0;
    from = a->stem[t];
    end = from + a->nstem[t];
    if (from >= k0 + n || end <= k0 || from == end)
        return 0;
    *lo = from > k0 ? from - k0 : 0;
    *hi = end < k0 + n ? end - k0 : n;
    return 1;
}

/* Set s[n] to zero outside lo..hi-1. */
static void
mask(float *s, size_t n, size_t lo, size_t hi)
{
    if (lo > 0)
        memset(s, 0, lo * sizeof *s);
    if (hi < n)
        memset(s + hi, 0, (n - hi) * sizeof *s);
}

double
attn_pairs(const struct attn *a, size_t qt)
{
    double n = 0.0;

    for (size_t t = qt * TILE; t < (qt + 1) * TILE; t++)
        if (live_rows(a, t))
            n += (double)(t - a->first[t] + 1) +
                (a->stem != NULL ? (double)a->nstem[t] : 0.0);
    return n;
}

/* Copy n rows of one head to out [n,D], multiplied by c. */
static void
gather_heads(float *out, const float *in, size_t ld, size_t n, size_t D,
    float c)
{
    for (size_t r = 0; r < n; r++) {
        memcpy(out + r * D, in + r * ld, D * sizeof *out);
        if (c != 1.0f)
            kern.scale(out + r * D, c, D);
    }
}

/* Prepare the running softmax for scores of at most `top`.  If its maximum *m
 * is lower, set *m to top and rescale the sum of terms *l and the output
 * o[D]. */
static void
raise_to(float top, float *m, float *l, float *o, size_t D)
{
    if (!(top > *m))
        return;
    if (*l != 0.0f) {
        const float c = expf(*m - top);

        *l *= c;
        kern.scale(o, c, D);
    }
    *m = top;
}

/* A softmax that goes on from one group of keys to the next, for M queries. */
struct online {
    size_t M, D;
    float *q; /* [M,D] scaled queries */
    float *o; /* [M,D] sums of values, to be divided by l */
    float *s; /* [M,KEYS] scores of a group */
    float *m; /* [M] maxima so far */
    float *l; /* [M] sums of exponentials */
};

/* Lay out the arrays in scratch, and set them to the state before the first
 * key.  sink [G]: the score of the sink of each of G heads, which have M / G
 * queries each; NULL: there are no sinks. */
static struct online
begin_online(size_t M, size_t D, const float *sink, size_t G, float *scratch)
{
    struct online w = { M, D, scratch, scratch + M * D, NULL, NULL, NULL };

    w.s = w.o + M * D;
    w.m = w.s + M * KEYS;
    w.l = w.m + M;
    memset(w.o, 0, M * D * sizeof *w.o);
    for (size_t i = 0; i < M; i++) {
        w.m[i] = sink != NULL ? sink[i / (M / G)] : -INFINITY;
        w.l[i] = sink != NULL ? 1.0f : 0.0f;
    }
    return w;
}

/* Keys lo..hi-1 of a group; none if hi = 0. */
struct key_tiles {
    size_t lo, hi;
};

/* Replace the n scores of query i by terms of the softmax.  The query attends
 * to the keys `own` and `stem`; scores of other keys become 0. */
static void
take_keys(struct online *w, size_t i, size_t n, struct key_tiles own,
    struct key_tiles stem)
{
    float *s = w->s + i * KEYS, *m = w->m + i, *l = w->l + i;
    float *o = w->o + i * w->D;
    const size_t has = own.hi - own.lo, old = stem.hi - stem.lo;

    if (old > 0)
        raise_to(kern.max(s + stem.lo, old), m, l, o, w->D);
    if (has > 0)
        raise_to(kern.max(s + own.lo, has), m, l, o, w->D);
    if (old > 0)
        *l += (float)kern.exp(s + stem.lo, s + stem.lo, old, *m, 1.0f);
    if (has > 0)
        *l += (float)kern.exp(s + own.lo, s + own.lo, has, *m, 1.0f);
    if (has > 0 && old > 0) {
        mask(s, own.lo, stem.lo, stem.hi);
        mask(s + own.lo, n - own.lo, 0, has);
    } else {
        mask(s, n, old > 0 ? stem.lo : own.lo, old > 0 ? stem.hi : own.hi);
    }
}

/* Cap the scores s [M,n] with leading dimension KEYS, if there is a cap. */
static void
cap_scores(float cap, float *s, size_t M, size_t n)
{
    for (size_t i = 0; cap > 0.0f && i < M; i++)
        kern.softcap(s + i * KEYS, cap, n);
}

void
attn_fwd(const struct attn *a, size_t kvh, size_t qt, float *scratch)
{
    const size_t D = a->D, G = a->H / a->KV, M = G * TILE;
    const float *sink = a->sink != NULL ? a->sink + kvh * G : NULL;
    struct online w = begin_online(M, D, sink, G, scratch);
    size_t n;

    for (size_t g = 0; g < G; g++)
        gather_heads(w.q + g * TILE * D,
            a->q + qt * TILE * a->ld + (kvh * G + g) * D, a->ld, TILE, D,
            scale_of(a->scale, D));
    for (size_t kt = first_tile(a, qt); kt <= qt; kt += n / TILE) {
        const size_t at = kt * TILE * a->ld + kvh * D;

        n = group_keys(kt, qt);
        kern.gemm_nt(M, n, D, w.q, D, a->k + at, a->ld, GEMM_SET, w.s, KEYS);
        cap_scores(a->cap, w.s, M, n);
        for (size_t i = 0; i < M; i++) {
            const size_t t = qt * TILE + i % TILE;
            struct key_tiles own = { 0, 0 }, stem = { 0, 0 };

            span(a, t, kt * TILE, n, &own.lo, &own.hi);
            stem_span(a, t, kt * TILE, n, &stem.lo, &stem.hi);
            take_keys(&w, i, n, own, stem);
        }
        kern.gemm_nn(M, D, n, w.s, KEYS, a->v + at, a->ld, GEMM_ADD, w.o, D);
    }
    for (size_t i = 0; i < M; i++) {
        const size_t t = qt * TILE + i % TILE, h = kvh * G + i / TILE;
        const int on = live_rows(a, t);

        if (on)
            kern.scale(w.o + i * D, 1.0f / w.l[i], D);
        else
            memset(w.o + i * D, 0, D * sizeof *w.o);
        memcpy(a->out + t * a->ldo + h * D, w.o + i * D, D * sizeof *w.o);
        a->lse[h * a->Tp + t] = on ? w.m[i] + logf(w.l[i]) : 0.0f;
    }
}

size_t
attn_page_bytes(size_t D)
{
    return kern.packed_along > 0 ? kern.packed_bytes(TILE, D)
                                 : TILE * D * sizeof(float);
}

/* Round at most PACKED_DEPTH numbers to bfloat16, denormal ones to zero. */
static void
round_numbers(uint16_t out[PACKED_DEPTH], const float *x, size_t n)
{
    kern.narrow_bf16(out, x, n);
    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) < FLT_MIN)
            out[i] = signbit(x[i]) ? 0x8000 : 0;
}

static void
put_rounded(uint16_t *keys, uint16_t *values, size_t at, size_t D,
    const float *key, const float *value)
{
    uint16_t some[PACKED_DEPTH];

    for (size_t i = 0; i < D; i += PACKED_DEPTH) {
        const size_t n = D - i < PACKED_DEPTH ? D - i : PACKED_DEPTH;

        round_numbers(some, key + i, n);
        for (size_t j = 0; j < n; j++)
            keys[kern_packed_place(i + j, at, D)] = some[j];
        round_numbers(some, value + i, n);
        for (size_t j = 0; j < n; j++)
            values[kern_packed_place(at, i + j, TILE)] = some[j];
    }
}

void
attn_text_put(void *keys, void *values, size_t at, size_t D, const float *key,
    const float *value)
{
    float *number = keys;

    if (kern.packed_along > 0) {
        put_rounded(keys, values, at, D, key, value);
        return;
    }
    for (size_t i = 0; i < D; i++)
        number[i * TILE + at] = key[i];
    memcpy((float *)values + at * D, value, D * sizeof *value);
}

size_t
attn_text_scratch(size_t G, size_t D)
{
    return G * TILE * (2 * D + KEYS + 2) + KEYS * D + 16;
}

/* The first token that token t attends to. */
static size_t
window_start(size_t window, size_t t)
{
    return window > 0 && t + 1 > window ? t + 1 - window : 0;
}

/* The n keys from k0 on, reduced to those that token t attends to. */
static struct key_tiles
window_keys(size_t window, size_t t, size_t k0, size_t n)
{
    const size_t first = window_start(window, t);

    if (t < k0 || first >= k0 + n)
        return (struct key_tiles){ 0, 0 };
    return (struct key_tiles){ first > k0 ? first - k0 : 0,
        t - k0 + 1 < n ? t - k0 + 1 : n };
}

/* Call gemm_paged; if kern has none, copy the pages, which have at most
 * KEYS * D numbers, and call gemm_nn.  b->ld is n. */
static void
multiply_pages(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const struct kern_pages *b, int add, float *c, size_t ldc, float *copy)
{
    const size_t size = b->deep * n * sizeof *copy;

    if (kern.gemm_paged != NULL) {
        kern.gemm_paged(m, n, k, a, lda, b, add, c, ldc);
        return;
    }
    for (size_t i = 0; i < k / b->deep; i++)
        memcpy(copy + i * b->deep * n,
            (const char *)b->p + b->page[i] * b->bytes, size);
    kern.gemm_nn(m, n, k, a, lda, copy, n, add, c, ldc);
}

void
attn_text_fwd(const struct attn_text *a, size_t t0, size_t n, float *scratch)
{
    const size_t D = a->D, M = a->G * n, qt = t0 / TILE;
    const size_t bytes = attn_page_bytes(D);
    struct online w = begin_online(M, D, a->sink, a->G, scratch);
    float *copy = w.l + M;
    size_t keys;

    for (size_t g = 0; g < a->G; g++)
        gather_heads(w.q + g * n * D, a->q + g * D, a->ld, n, D,
            scale_of(a->scale, D));
    for (size_t kt = window_start(a->window, qt * TILE) / TILE; kt <= qt;
         kt += keys / TILE) {
        keys = group_keys(kt, qt);
        for (size_t i = 0; i < keys / TILE; i++)
            multiply_pages(M, TILE, D, w.q, D,
                &(struct kern_pages){ a->k, a->page + kt + i, qt - kt - i + 1,
                    bytes, D, TILE },
                GEMM_SET, w.s + i * TILE, KEYS, copy);
        cap_scores(a->cap, w.s, M, keys);
        for (size_t i = 0; i < M; i++)
            take_keys(&w, i, keys,
                window_keys(a->window, t0 + i % n, kt * TILE, keys),
                (struct key_tiles){ 0, 0 });
        multiply_pages(M, D, keys, w.s, KEYS,
            &(struct kern_pages){ a->v, a->page + kt, qt - kt + 1, bytes, TILE,
                D },
            GEMM_ADD, w.o, D, copy);
    }
    for (size_t i = 0; i < M; i++) {
        kern.scale(w.o + i * D, 1.0f / w.l[i], D);
        memcpy(a->out + i % n * a->ldo + i / n * D, w.o + i * D,
            D * sizeof *w.o);
    }
}

/* attn_ds for n scores, which were capped if cap > 0. */
static void
score_grad(float cap, float *s, float *dp, size_t n, float lse, float delta)
{
    float capped[KEYS];

    if (cap > 0.0f)
        memcpy(capped, s, n * sizeof *s);
    kern.attn_ds(s, dp, n, lse, delta);
    if (cap > 0.0f)
        kern.softcap_bwd(dp, capped, cap, n);
}

void
attn_bwd(const struct attn *a, size_t h, const float *dout, float *dq,
    float *dkh, float *dvh, float *scratch)
{
    const size_t D = a->D, kvh = h / (a->H / a->KV);
    const float c = scale_of(a->scale, D);
    const float *lse = a->lse + h * a->Tp;
    float *q = scratch, *g = q + TILE * D, *s = g + TILE * D;
    float *dp = s + TILE * KEYS, *delta = dp + TILE * KEYS;
    size_t n;

    memset(dkh, 0, a->Tp * D * sizeof *dkh);
    memset(dvh, 0, a->Tp * D * sizeof *dvh);
    for (size_t qt = 0; qt < a->Tp / TILE; qt++) {
        const size_t t0 = qt * TILE;
        const float *dO = dout + t0 * a->ldo + h * D;

        /* q: the scaled queries; g: the gradient at q */
        gather_heads(q, a->q + t0 * a->ld + h * D, a->ld, TILE, D, c);
        memset(g, 0, TILE * D * sizeof *g);
        for (size_t r = 0; r < TILE; r++)
            delta[r] = (float)kern.dot(dO + r * a->ldo,
                a->out + (t0 + r) * a->ldo + h * D, D);
        for (size_t kt = first_tile(a, qt); kt <= qt; kt += n / TILE) {
            const size_t at = kt * TILE * a->ld + kvh * D;

            n = group_keys(kt, qt);
            kern.gemm_nt(TILE, n, D, q, D, a->k + at, a->ld, GEMM_SET, s, KEYS);
            cap_scores(a->cap, s, TILE, n);
            kern.gemm_nt(TILE, n, D, dO, a->ldo, a->v + at, a->ld, GEMM_SET, dp,
                KEYS);
            for (size_t r = 0; r < TILE; r++) {
                float *sr = s + r * KEYS, *dr = dp + r * KEYS;
                size_t lo = 0, hi = 0;

                if (span(a, t0 + r, kt * TILE, n, &lo, &hi))
                    score_grad(a->cap, sr + lo, dr + lo, hi - lo, lse[t0 + r],
                        delta[r]);
                mask(sr, n, lo, hi);
                mask(dr, n, lo, hi);
            }
            kern.gemm_tn(n, D, TILE, s, KEYS, dO, a->ldo, GEMM_ADD,
                dvh + kt * TILE * D, D);
            kern.gemm_tn(n, D, TILE, dp, KEYS, q, D, GEMM_ADD,
                dkh + kt * TILE * D, D);
            kern.gemm_nn(TILE, D, n, dp, KEYS, a->k + at, a->ld, GEMM_ADD, g,
                D);
        }
        for (size_t r = 0; r < TILE; r++) {
            float *out = dq + (t0 + r) * a->ld + h * D;

            kern.scale(g + r * D, c, D);
            memcpy(out, g + r * D, D * sizeof *out);
        }
    }
}

/* A sink has the value 0.  So the gradient at its weight is 0, and the gradient
 * at its score is minus the weight times the mean gradient, dout . out. */
void
attn_sink_bwd(const struct attn *a, size_t h, const float *dout, float *dsink)
{
    for (size_t t = 0; t < a->Tp; t++) {
        const size_t at = t * a->ldo + h * a->D;
        const float mean = live_rows(a, t)
            ? (float)kern.dot(dout + at, a->out + at, a->D)
            : 0.0f;

        dsink[t * a->H + h] = mean == 0.0f
            ? 0.0f
            : -mean * expf(a->sink[h] - a->lse[h * a->Tp + t]);
    }
}
