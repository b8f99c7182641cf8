/* Sums over the tokens of an input: see profile_sums.h. */
#include "profile_sums.h"
#include "base/profile.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[CLASSES] = { "first", "rest" };
const char *const profile_inputs[FWD_INPUTS] = { "attn", "o", "mlp", "down" };

/* Number of channels of a task; their counts fit the first-level cache. */
enum { TILE = 96 };

static size_t
count_cells(size_t n, size_t bins)
{
    return CLASSES * n * (1 + bins);
}

void
sums_init(struct input_sums *s, size_t n)
{
    s->n = n;
    s->sum = xcalloc(CLASSES * SUMS * n, sizeof *s->sum);
    s->max = xcalloc(CLASSES * n, sizeof *s->max);
    s->from = 0;
    s->bins = SKETCH_BINS;
    s->count = xcalloc(count_cells(n, SKETCH_BINS), sizeof *s->count);
    s->grad = NULL;
}

void
sums_release(struct input_sums *s)
{
    free(s->sum);
    free(s->max);
    free(s->count);
    free(s->grad);
    memset(s, 0, sizeof *s);
}

size_t
sums_bytes(size_t n, size_t bins)
{
    return CLASSES * n * (SUMS * sizeof(double) + sizeof(float)) +
        count_cells(n, bins) * sizeof(uint32_t);
}

/* ---- adding tokens ---- */

/* A bin is named by bits SHIFT and up of a float: its exponent, and the high
 * bits of its fraction. */
enum { SHIFT = 20, BIAS = 127 };
_Static_assert(1 << (23 - SHIFT) == SKETCH_STEPS, "bins are high bits");

/* Index of |x| in the counts of a channel.  Without branches, so that loops
 * over it become vector code. */
static inline int
bin_of_value(float x)
{
    const int below = (BIAS + SKETCH_LOW) * SKETCH_STEPS - 1;
    uint32_t bits;
    int bin;

    memcpy(&bits, &x, sizeof bits);
    bin = (int)((bits & 0x7fffffff) >> SHIFT) - below;
    bin = bin > 0 ? bin : 0;
    return bin < SKETCH_BINS ? bin : SKETCH_BINS;
}

/* The lower end of bin i (from 0). */
static double
bin_start(size_t i)
{
    return ldexp(1.0 + (double)(i % SKETCH_STEPS) / SKETCH_STEPS,
        (int)(i / SKETCH_STEPS) + SKETCH_LOW);
}

struct tap_job {
    struct input_sums *s;
    const struct fwd_tapped *t;
};

/* Rows copied at a time; tokens after which 16-bit counts are added up. */
enum { ROWS = 32, COUNTED = UINT16_MAX - ROWS };

/* A task: n channels from c0 on, padded to TILE. */
struct sums_tile {
    size_t c0, n;
    double sum[CLASSES][SUMS * TILE];
    float max[CLASSES][TILE];
    uint16_t rest[TILE][1 + SKETCH_BINS]; /* 16-bit counts of CLASS_REST, which
                                           * a cache holds */
    size_t counted;                       /* tokens since flush_counts */
    float v[ROWS][TILE];                  /* values; 0 in channels past n */
};

/* Add the counts of the tile to the sums, and clear them. */
static void
flush_counts(struct sums_tile *z, struct input_sums *s)
{
    uint32_t *to = s->count + (CLASS_REST * s->n + z->c0) * (1 + SKETCH_BINS);

    for (size_t c = 0; c < z->n; c++, to += 1 + SKETCH_BINS)
        for (size_t i = 0; i <= SKETCH_BINS; i++)
            to[i] += z->rest[c][i];
    memset(z->rest, 0, sizeof z->rest);
    z->counted = 0;
}

/* Add at most ROWS rows of one class. */
static void
add_class_rows(struct sums_tile *z, struct input_sums *s, size_t kind,
    const float *x, size_t ld, size_t rows)
{
    const size_t n = z->n;
    uint32_t *count = s->count + (kind * s->n + z->c0) * (1 + SKETCH_BINS);
    float(*v)[TILE] = z->v;
    int bin[TILE];

    for (size_t i = 0; i < rows; i++) /* rows are pages apart: copy them once */
        memcpy(v[i], x + i * ld, n * sizeof *x);
    kern.powers(z->sum[kind], z->max[kind], v[0], rows, TILE, n);
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < TILE; c++)
            bin[c] = bin_of_value(v[i][c]);
        if (kind == CLASS_REST)
            for (size_t c = 0; c < n; c++)
                z->rest[c][bin[c]]++;
        else
            for (size_t c = 0; c < n; c++)
                count[c * (1 + SKETCH_BINS) + (size_t)bin[c]]++;
    }
    z->counted += rows;
    if (z->counted > COUNTED)
        flush_counts(z, s);
}

static size_t
class_of(const struct fwd_tapped *t, size_t k)
{
    return t->r->first[k] == k % t->r->T ? CLASS_FIRST : CLASS_REST;
}

/* Add all tokens; each run of rows of one class is added at once. */
static void
add_tokens(struct sums_tile *z, struct input_sums *s,
    const struct fwd_tapped *t)
{
    const size_t T = t->r->T;
    const uint32_t *first = t->r->first;

    for (size_t k = 0, n; k < t->r->B * T; k += n) {
        const size_t kind = class_of(t, k);

        n = 1;
        if (first[k] == UINT32_MAX)
            continue;
        while (n < ROWS && (k + n) % T != 0 && first[k + n] != UINT32_MAX &&
            class_of(t, k + n) == kind)
            n++;
        add_class_rows(z, s, kind,
            t->x + (k / T * t->Tp + k % T) * t->ld + z->c0, t->ld, n);
    }
}

static void
add_tile(void *ctx, size_t task, size_t worker)
{
    const struct tap_job *j = ctx;
    const double begin = profile_begin();
    struct input_sums *s = j->s;
    const size_t c0 = task * TILE;
    struct sums_tile z = { .c0 = c0, .n = s->n - c0 < TILE ? s->n - c0 : TILE };

    (void)worker;
    add_tokens(&z, s, j->t);
    flush_counts(&z, s);
    for (size_t kind = 0; kind < CLASSES; kind++)
        for (size_t c = 0; c < z.n; c++) {
            float *max = s->max + kind * s->n + c0 + c;

            for (size_t k = 0; k < SUMS; k++)
                s->sum[(kind * SUMS + k) * s->n + c0 + c] +=
                    z.sum[kind][k * z.n + c];
            *max = fmaxf(*max, z.max[kind][c]);
        }
    profile_end("sums of inputs", begin, 0.0,
        4.0 * (double)(j->t->r->B * j->t->r->T * z.n));
}

void
sums_tap(struct input_sums *s, struct pool *pool, const struct fwd_tapped *t)
{
    struct tap_job j = { s, t };

    pool_run(pool, (s->n + TILE - 1) / TILE, add_tile, &j);
}

/* ---- sums of sums ---- */

/* Store the bins from..from+bins-1.  Bins that are then not stored must be
 * empty; new ones are 0. */
static void
keep_bins(struct input_sums *s, size_t from, size_t bins)
{
    const size_t rows = CLASSES * s->n;
    uint32_t *to = xcalloc(count_cells(s->n, bins), sizeof *to);
    const size_t lo = from > s->from ? from : s->from;
    const size_t end =
        from + bins < s->from + s->bins ? from + bins : s->from + s->bins;

    for (size_t r = 0; r < rows; r++) {
        uint32_t *out = to + r * (1 + bins);
        const uint32_t *in = s->count + r * (1 + s->bins);

        out[0] = in[0];
        if (end > lo)
            memcpy(out + 1 + lo - from, in + 1 + lo - s->from,
                (end - lo) * sizeof *out);
    }
    free(s->count);
    s->count = to;
    s->from = (uint32_t)from;
    s->bins = bins;
}

void
sums_trim(struct input_sums *s)
{
    size_t lo = s->bins, end = 0;

    for (size_t r = 0; r < CLASSES * s->n; r++) {
        const uint32_t *in = s->count + r * (1 + s->bins) + 1;

        for (size_t i = 0; i < lo; i++)
            lo = in[i] > 0 ? i : lo;
        for (size_t i = s->bins; i > end; i--)
            end = in[i - 1] > 0 ? i : end;
    }
    keep_bins(s, s->from + (end > 0 ? lo : 0), end > 0 ? end - lo : 0);
}

void
sums_add(struct input_sums *s, const struct input_sums *t)
{
    const size_t lo = t->from < s->from ? t->from : s->from;
    const size_t a = s->from + s->bins, b = t->from + t->bins;
    const size_t end = a > b ? a : b, shift = t->from - lo;

    if (lo < s->from || end > a)
        keep_bins(s, lo, end - lo);
    for (size_t i = 0; i < CLASSES * SUMS * s->n; i++)
        s->sum[i] += t->sum[i];
    for (size_t c = 0; s->grad != NULL && c < s->n; c++)
        s->grad[c] += t->grad[c];
    for (size_t i = 0; i < CLASSES * s->n; i++) {
        uint32_t *to = s->count + i * (1 + s->bins);
        const uint32_t *in = t->count + i * (1 + t->bins);

        s->max[i] = fmaxf(s->max[i], t->max[i]);
        to[0] += in[0];
        for (size_t k = 0; k < t->bins; k++)
            to[1 + shift + k] += in[1 + k];
    }
}

int
sums_finite(const struct input_sums *s)
{
    for (size_t i = 0; i < CLASSES * SUMS * s->n; i++)
        if (!isfinite(s->sum[i]))
            return 0;
    for (size_t c = 0; s->grad != NULL && c < s->n; c++)
        if (!isfinite(s->grad[c]))
            return 0;
    return 1;
}

double
hess_off(const float *h, const struct input_sums *s)
{
    double most = 0.0;

    for (size_t c = 0; c < s->n; c++) {
        const double sq =
            s->sum[SUM_2 * s->n + c] + s->sum[(SUMS + SUM_2) * s->n + c];
        const double off = fabs(h[c * s->n + c] - sq) / (sq + 1e-30);

        most = off <= most ? most : isnan(off) ? INFINITY : off;
    }
    return most;
}

/* ---- figures from sums ---- */

static const uint32_t *
counts_of(const struct input_sums *s, size_t kind, size_t c)
{
    return s->count + (kind * s->n + c) * (1 + s->bins);
}

/* The harmonic mean of the ends of bin i, which is at the same relative
 * distance from both ends. */
static double
bin_middle(size_t i)
{
    const double a = bin_start(i), b = bin_start(i + 1);

    return 2.0 * a * b / (a + b);
}

double
sums_quantile(const struct input_sums *s, size_t kind, size_t c,
    uint64_t tokens, double q)
{
    const uint32_t *n = counts_of(s, kind, c);
    const double rank = fmax(1.0, ceil(q * (double)tokens));
    double seen = n[0];
    size_t i = 0;

    if (seen >= rank)
        return 0.0;
    while (i < s->bins && (seen += n[1 + i]) < rank)
        i++;
    return bin_middle(s->from + i);
}

/* Kurtosis, the fourth central moment over the squared variance, from sums of
 * powers. */
static double
kurtosis(const struct input_sums *s, size_t kind, size_t c, double tokens)
{
    const double *p = s->sum + kind * SUMS * s->n + c;
    const double m = p[SUM_1 * s->n] / tokens, x2 = p[SUM_2 * s->n] / tokens;
    const double x3 = p[SUM_3 * s->n] / tokens, x4 = p[SUM_4 * s->n] / tokens;
    const double var = x2 - m * m;

    if (!(var > 1e-4 * x2)) /* the difference has too few correct bits */
        return 0.0;
    return (x4 - 4.0 * m * x3 + 6.0 * m * m * x2 - 3.0 * m * m * m * m) /
        (var * var);
}

/* Index of the first bin of outliers in a channel's counts.  Outliers are at
 * least 6 times the root mean square of CLASS_REST, or of CLASS_FIRST if
 * CLASS_REST has no tokens. */
static size_t
outlier_bin(const struct input_sums *s, const uint64_t *tokens)
{
    const size_t kind = tokens[CLASS_REST] > 0 ? CLASS_REST : CLASS_FIRST;
    const double *sq = s->sum + (kind * SUMS + SUM_2) * s->n;
    double sum = 0.0, limit;
    size_t i = 0;

    for (size_t c = 0; c < s->n; c++)
        sum += sq[c];
    limit = 6.0 * sqrt(sum / (double)s->n / (double)tokens[kind]);
    while (i < s->bins && !(bin_start(s->from + i) >= limit))
        i++;
    return 1 + i;
}

const char sums_tsv_head[] = "block\tinput\tchannel\tclass\ttokens\tmean_abs\t"
                             "mean_sq\tmax\tkurtosis\tq50\tq90\tq99\tq999\t"
                             "outliers\n";

void
sums_tsv(const struct input_sums *s, size_t block, enum fwd_input input,
    const uint64_t *tokens, struct buf *b)
{
    static const double share[] = { 0.5, 0.9, 0.99, 0.999 };
    const size_t out = s->n > 0 ? outlier_bin(s, tokens) : 0;

    for (size_t i = 0; i < CLASSES * s->n; i++) {
        const size_t c = i / CLASSES;
        const size_t kind = i % CLASSES;
        const double *sum = s->sum + kind * SUMS * s->n + c;
        const double n = (double)tokens[kind];
        const uint32_t *count = counts_of(s, kind, c);
        uint64_t outliers = 0;

        if (tokens[kind] == 0)
            continue;
        for (size_t k = out; k <= s->bins; k++)
            outliers += count[k];
        buf_addf(b, "%zu\t%s\t%zu\t%s\t%llu\t%.9g\t%.9g\t%.9g\t%.9g", block,
            profile_inputs[input], c, class_names[kind],
            (unsigned long long)tokens[kind], sum[SUM_ABS * s->n] / n,
            sum[SUM_2 * s->n] / n, s->max[kind * s->n + c],
            kurtosis(s, kind, c, n));
        for (size_t k = 0; k < sizeof share / sizeof *share; k++)
            buf_addf(b, "\t%.6g",
                sums_quantile(s, kind, c, tokens[kind], share[k]));
        buf_addf(b, "\t%.6g\n", (double)outliers / n);
    }
}

/* ---- all blocks ---- */

void
profile_sums_init(struct profile_sums *s, size_t L)
{
    memset(s, 0, sizeof *s);
    s->L = L;
    s->b = xcalloc(L, sizeof *s->b);
}

void
profile_sums_release(struct profile_sums *s)
{
    for (size_t i = 0; i < s->L * FWD_INPUTS; i++)
        sums_release(&s->b[i / FWD_INPUTS].in[i % FWD_INPUTS]);
    free(s->b);
    memset(s, 0, sizeof *s);
}
