/*
 * Attention by tiles, forward and backward, with the matrix products of struct
 * kern.
 *
 * A tile is 64 queries by 64 keys and starts at a multiple of 64 from the row's
 * first token, so a token's result depends on its own row alone.  Tiles in
 * which every pair is masked are skipped.  The others of a query tile are done
 * in groups of up to four (between multiples of 256 keys), so that a row of
 * scores is long.  A masked pair has weight 0 exactly, so the row's other
 * documents do not change a bit.
 */
#include "kern/attn.h"
#include "kern/kern.h"

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

static float
scale_of(const struct attn *a)
{
    return a->scale != 0.0f ? a->scale : 1.0f / sqrtf((float)a->D);
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

/* The number of keys from tile kt on in its group of tiles, no further than
 * tile qt. */
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

/* As span, for the keys in token t's stem. */
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

/* Copy one head's rows of a tile to out [TILE,D], multiplied by c. */
static void
gather_heads(float *out, const float *in, size_t ld, size_t D, float c)
{
    for (size_t r = 0; r < TILE; r++) {
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

/*
 * Replace the scores s[n] of token t for the keys from k0 on by terms of the
 * softmax; masked keys get zero.  m, l, o: as in raise_to.
 */
static void
online(const struct attn *a, size_t t, size_t k0, float *s, size_t n, float *m,
    float *l, float *o)
{
    size_t lo = 0, hi = 0, from = 0, end = 0;
    const int own = span(a, t, k0, n, &lo, &hi);
    const int stem = stem_span(a, t, k0, n, &from, &end);

    if (stem)
        raise_to(kern.max(s + from, end - from), m, l, o, a->D);
    if (own)
        raise_to(kern.max(s + lo, hi - lo), m, l, o, a->D);
    if (stem)
        *l += (float)kern.exp(s + from, s + from, end - from, *m, 1.0f);
    if (own)
        *l += (float)kern.exp(s + lo, s + lo, hi - lo, *m, 1.0f);
    if (own && stem) {
        mask(s, lo, from, end);
        mask(s + lo, n - lo, 0, hi - lo);
    } else {
        mask(s, n, stem ? from : lo, stem ? end : hi);
    }
}

void
attn_fwd(const struct attn *a, size_t kvh, size_t qt, float *scratch)
{
    const size_t D = a->D, G = a->H / a->KV, M = G * TILE;
    float *q = scratch, *o = q + M * D, *s = o + M * D;
    float *m = s + M * KEYS, *l = m + M;
    size_t n;

    memset(o, 0, M * D * sizeof *o);
    for (size_t i = 0; i < M; i++) {
        m[i] = -INFINITY;
        l[i] = 0.0f;
    }
    for (size_t g = 0; g < G; g++)
        gather_heads(q + g * TILE * D,
            a->q + qt * TILE * a->ld + (kvh * G + g) * D, a->ld, D,
            scale_of(a));
    for (size_t kt = first_tile(a, qt); kt <= qt; kt += n / TILE) {
        const size_t at = kt * TILE * a->ld + kvh * D;

        n = group_keys(kt, qt);
        kern.gemm_nt(M, n, D, q, D, a->k + at, a->ld, GEMM_SET, s, KEYS);
        for (size_t i = 0; i < M; i++)
            online(a, qt * TILE + i % TILE, kt * TILE, s + i * KEYS, n, m + i,
                l + i, o + i * D);
        kern.gemm_nn(M, D, n, s, KEYS, a->v + at, a->ld, GEMM_ADD, o, D);
    }
    for (size_t i = 0; i < M; i++) {
        const size_t t = qt * TILE + i % TILE, h = kvh * G + i / TILE;
        const int on = live_rows(a, t);

        if (on)
            kern.scale(o + i * D, 1.0f / l[i], D);
        else
            memset(o + i * D, 0, D * sizeof *o);
        memcpy(a->out + t * a->ldo + h * D, o + i * D, D * sizeof *o);
        a->lse[h * a->Tp + t] = on ? m[i] + logf(l[i]) : 0.0f;
    }
}

void
attn_bwd(const struct attn *a, size_t h, const float *dout, float *dq,
    float *dkh, float *dvh, float *scratch)
{
    const size_t D = a->D, kvh = h / (a->H / a->KV);
    const float c = scale_of(a);
    const float *lse = a->lse + h * a->Tp;
    float *q = scratch, *g = q + TILE * D, *s = g + TILE * D;
    float *dp = s + TILE * KEYS, *delta = dp + TILE * KEYS;
    size_t n;

    memset(dkh, 0, a->Tp * D * sizeof *dkh);
    memset(dvh, 0, a->Tp * D * sizeof *dvh);
    for (size_t qt = 0; qt < a->Tp / TILE; qt++) {
        const size_t t0 = qt * TILE;
        const float *dO = dout + t0 * a->ldo + h * D;

        /* q: the scaled queries; g: the gradient at them */
        gather_heads(q, a->q + t0 * a->ld + h * D, a->ld, D, c);
        memset(g, 0, TILE * D * sizeof *g);
        for (size_t r = 0; r < TILE; r++)
            delta[r] = (float)kern.dot(dO + r * a->ldo,
                a->out + (t0 + r) * a->ldo + h * D, D);
        for (size_t kt = first_tile(a, qt); kt <= qt; kt += n / TILE) {
            const size_t at = kt * TILE * a->ld + kvh * D;

            n = group_keys(kt, qt);
            kern.gemm_nt(TILE, n, D, q, D, a->k + at, a->ld, GEMM_SET, s, KEYS);
            kern.gemm_nt(TILE, n, D, dO, a->ldo, a->v + at, a->ld, GEMM_SET, dp,
                KEYS);
            for (size_t r = 0; r < TILE; r++) {
                float *sr = s + r * KEYS, *dr = dp + r * KEYS;
                size_t lo = 0, hi = 0;

                if (span(a, t0 + r, kt * TILE, n, &lo, &hi))
                    kern.attn_ds(sr + lo, dr + lo, hi - lo, lse[t0 + r],
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
