/* Products in 8-bit integers: every kernel set has the bits of plain C, which
 * is compared with sums in double over the weights that quant_widen gives. */
#include "base/mem.h"
#include "base/rng.h"
#include "kern/int.h"
#include "kern/kern.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { K = 512, ROWS = 37, M = 33, STRIPS = 3 };

static const char *const names[QUANT_N] = { [QUANT_Q8_0] = "Q8_0",
    [QUANT_Q4_0] = "Q4_0",
    [QUANT_Q4_1] = "Q4_1",
    [QUANT_Q5_0] = "Q5_0",
    [QUANT_Q5_1] = "Q5_1",
    [QUANT_Q4_K] = "Q4_K",
    [QUANT_Q5_K] = "Q5_K",
    [QUANT_Q6_K] = "Q6_K",
    [QUANT_IQ4_NL] = "IQ4_NL",
    [QUANT_IQ4_XS] = "IQ4_XS" };

/* Offsets, in a block, of numbers in half precision.  Second offset 0: there is
 * only the first. */
static const unsigned char halves[QUANT_N][2] = { [QUANT_Q4_1] = { 0, 2 },
    [QUANT_Q5_1] = { 0, 2 },
    [QUANT_Q4_K] = { 0, 2 },
    [QUANT_Q5_K] = { 0, 2 },
    [QUANT_Q6_K] = { 208 } };

struct matrix {
    enum kern_quant t;
    unsigned char *file; /* [ROWS] rows as in a GGUF */
    size_t stride;
    struct int_matrix packed;
};

static void *
aligned(size_t n)
{
    return xtable((n + 63) / 64, 64, 0xa5);
}

/* Make a matrix of random bytes (fill < 0) or of bytes `fill`.  Its numbers in
 * half precision are then set to 1/64 .. 2. */
static struct matrix
make_matrix(enum kern_quant t, size_t k, int fill)
{
    const struct quant_type type = quant_type(t);
    struct matrix m = { .t = t, .stride = k / type.elements * type.bytes };
    unsigned char *strips;

    m.file = xmalloc(ROWS * m.stride);
    for (size_t i = 0; i < ROWS * m.stride; i++)
        m.file[i] = fill < 0 ? (unsigned char)(rng_u64(t, i) >> 32)
                             : (unsigned char)fill;
    for (size_t b = 0; b < ROWS * m.stride; b += type.bytes)
        for (int h = 0; h < 2; h++) {
            unsigned char *p = m.file + b + halves[t][h];

            p[1] = (unsigned char)(0x24 + rng_u64(9, b + h) % 28);
        }
    m.packed = (struct int_matrix){ NULL, t, ROWS, k, int_strip_bytes(t, k) };
    strips = aligned(STRIPS * m.packed.strip);
    m.packed.strips = strips;
    for (size_t s = 0; s < STRIPS; s++) {
        const unsigned char *row[INT_ROWS] = { NULL };

        for (size_t r = 0; r < INT_ROWS && s * INT_ROWS + r < ROWS; r++)
            row[r] = m.file + (s * INT_ROWS + r) * m.stride;
        int_pack(t, k, row, strips + s * m.packed.strip);
    }
    return m;
}

static void
free_matrix(struct matrix *m)
{
    free(m->file);
    free((void *)(uintptr_t)m->packed.strips);
}

/* Round rows of x, as the kernels in use do. */
static struct int_block *
round_rows(const float *x, size_t m, size_t k)
{
    unsigned char *out = aligned(m * int_row_bytes(k));

    memset(out, 0, m * int_row_bytes(k));
    for (size_t i = 0; i < m; i++)
        kern.ints->round((void *)(out + i * int_row_bytes(k)), x + i * k, k);
    return (void *)out;
}

static const struct int_block *
row_of(const struct int_block *x, size_t i, size_t k)
{
    return (const void *)((const unsigned char *)x + i * int_row_bytes(k));
}

/* Set y [m,ROWS] to the product, computed for `some` rows of x at a time. */
static void
multiply_some(const struct matrix *w, const struct int_block *x, size_t m,
    size_t some, float *y)
{
    const size_t k = w->packed.cols;
    unsigned char *panel = aligned(int_panel_bytes(k));

    for (size_t i = 0; i < m; i += some)
        kern.ints->multiply(&w->packed, 0, STRIPS, row_of(x, i, k),
            m - i < some ? m - i : some, panel, y + i * ROWS, ROWS);
    free(panel);
}

/* The largest error of y, relative to the sum of its terms' magnitudes. */
static double
error_of(const struct matrix *w, const struct int_block *x, size_t m,
    const float *y)
{
    const size_t k = w->packed.cols;
    float *wide = xmalloc(k * sizeof *wide);
    double worst = 0.0;

    for (size_t r = 0; r < ROWS; r++) {
        quant_widen(w->t, wide, w->file + r * w->stride, k);
        for (size_t i = 0; i < m; i++) {
            const struct int_block *b = row_of(x, i, k);
            double sum = 0.0, size = 1e-30, e;

            for (size_t l = 0; l < k; l++) {
                const double a =
                    (double)b[l / 32].d[l / 16 % 2] * b[l / 32].q[l % 32];

                sum += a * wide[l];
                size += fabs(a * wide[l]);
            }
            e = fabs(y[i * ROWS + r] - sum) / size;
            worst = e <= worst ? worst : isnan(e) ? INFINITY : e;
        }
    }
    free(wide);
    return worst;
}

static void
random_rows(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rng_normal(3, i) * exp(rng_normal(4, i / 32)));
}

static void
test_rounding(const char *set)
{
    static float x[M * K];
    struct int_block *q;
    int good = 1;

    random_rows(x, M * K);
    memset(x + 64, 0, 32 * sizeof *x);
    q = round_rows(x, M, K);
    for (size_t i = 0; i < M * K; i++) {
        const struct int_block *b = row_of(q, i / K, K) + i % K / 32;

        const double d = b->d[i / 16 % 2];

        good &= fabs(d * b->q[i % 32] - x[i]) <= 0.50001 * d;
    }
    ok(good, "%s rounds numbers to within half a step", set);
    for (size_t i = 0; i < M * K / 32; i++) {
        const struct int_block *b = row_of(q, i / (K / 32), K) + i % (K / 32);
        int sum[2] = { 0, 0 }, most[2] = { 0, 0 };

        for (int l = 0; l < 32; l++) {
            const int size = abs(b->q[l]);

            sum[l / 16] += b->q[l];
            most[l / 16] = size > most[l / 16] ? size : most[l / 16];
        }
        for (int h = 0; h < 2; h++)
            good &= b->neg[h] == -sum[h] && most[h] == (i == 2 ? 0 : 127);
        good &= b->s == b->d[0] * (float)sum[0] + b->d[1] * (float)sum[1];
    }
    ok(good, "%s adds up the integers of a block", set);
    free(q);
}

static void
test_not_finite(const char *set)
{
    struct matrix w = make_matrix(QUANT_Q4_1, 64, -1);
    float x[64], y[ROWS];
    const float bad[] = { NAN, INFINITY, -INFINITY };
    int good = 1;

    for (size_t i = 0; i < 3; i++) {
        struct int_block *q;

        random_rows(x, 64);
        x[41] = bad[i];
        q = round_rows(x, 1, 64);
        multiply_some(&w, q, 1, 1, y);
        for (size_t r = 0; r < ROWS; r++)
            good &= isnan(y[r]);
        free(q);
    }
    ok(good, "%s gives NaN for a number that is not finite", set);
    free_matrix(&w);
}

/* Random codes; then blocks whose bytes are all 0xff, 0x00 or 0x80, with
 * numbers x of the same size and both signs. */
static void
test_type(const char *set, enum kern_quant t)
{
    static float x[M * K], y[M * ROWS], part[M * ROWS], ref[M * ROWS];
    static const size_t some[] = { 1, 2, 3, 7, 32 };
    static const int fills[] = { -1, 0xff, 0x00, 0x80 };
    int same = 1, as_ref = 1;
    double worst = 0.0;

    for (size_t i = 0; i < 4; i++) {
        struct matrix w = make_matrix(t, K, fills[i]);
        struct int_block *q;
        double e;

        random_rows(x, M * K);
        for (size_t l = 0; i > 0 && l < M * K; l++)
            x[l] = l % 97 < 5 * i ? -1.0f : 1.0f;
        q = round_rows(x, M, K);
        multiply_some(&w, q, M, M, y);
        for (size_t j = 0; j < 5; j++) {
            multiply_some(&w, q, M, some[j], part);
            same &= memcmp(part, y, sizeof y) == 0;
        }
        e = error_of(&w, q, M, y);
        worst = e <= worst ? worst : e;
        kern_force("ref");
        free(q);
        q = round_rows(x, M, K);
        multiply_some(&w, q, M, M, ref);
        as_ref &= memcmp(ref, y, sizeof y) == 0;
        kern_force(set);
        free(q);
        free_matrix(&w);
    }
    ok(worst < 1e-6, "%s %s products are near those in double (%g)", set,
        names[t], worst);
    ok(same, "%s %s products of 1, 2, 3, 7 and 32 rows agree to the bit", set,
        names[t]);
    ok(as_ref, "%s %s products have the bits of plain C", set, names[t]);
}

int
main(void)
{
    static const char *const sets[] = { "avx512", "avx2", "neon", "ref" };

    for (size_t i = 0; i < 4; i++) {
        if (kern_force(sets[i]) != NULL) {
            tap_skip(sets[i], "this processor has no such kernels");
            continue;
        }
        test_rounding(sets[i]);
        test_not_finite(sets[i]);
        for (int t = 0; t < QUANT_N; t++)
            if (int_has((enum kern_quant)t))
                test_type(sets[i], (enum kern_quant)t);
    }
    return done_testing();
}
