/*
 * Products in bfloat16: the plain versions against results of processors
 * (tests/golden/kern/bf16.safetensors); each instruction's products against the
 * plain version's, bit by bit, where this processor has the instruction.
 */
#include "base/cpu.h"
#include "base/rng.h"
#include "kern/bf16.h"
#include "kern/gemm_bf16.h"
#include "kern/kern.h"
#include "../lib/emulated.h"
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "kern/rounding.h"

#include <string.h>

enum { M = 70, N = 110, K = 1600, LD = 1700 };

static float
of_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

/* Do x and y have the same bits, or are both NaN?  (Nothing promises a NaN's
 * payload.) */
static int
same(float x, float y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

static float
at16(const struct st_tensor *t, size_t i)
{
    return of_bits((uint32_t)((const uint16_t *)t->data)[i] << 16);
}

static float
at32(const struct st_tensor *t, size_t i)
{
    return of_bits(((const uint32_t *)t->data)[i]);
}

/* An instruction's factors a and b, what is added (c), and its results [n]. */
struct answers {
    const struct st_tensor *a, *b, *c, *out;
};

static float
vdp(const struct answers *s, size_t i)
{
    const float x[2] = { at16(s->a, 2 * i), at16(s->a, 2 * i + 1) };
    const float y[2] = { at16(s->b, 2 * i), at16(s->b, 2 * i + 1) };

    return bf16_vdp(at32(s->c, i), x, y);
}

static float
tdp(const struct answers *s, size_t i)
{
    const size_t tile = i / 256, row = i / 16 % 16, col = i % 16;
    float x[32], y[32];

    for (size_t l = 0; l < 32; l++) {
        x[l] = at16(s->a, tile * 512 + row * 32 + l);
        y[l] = at16(s->b, tile * 512 + l / 2 * 32 + col * 2 + l % 2);
    }
    return bf16_tdp(at32(s->c, i), x, y);
}

static float
mmla(const struct answers *s, size_t i)
{
    float x[4], y[4];

    for (size_t l = 0; l < 4; l++) {
        x[l] = at16(s->a, 4 * i + l);
        y[l] = at16(s->b, 4 * i + l);
    }
    return bf16_mmla(at32(s->c, i), x, y);
}

static void
test_answers(const char *name, const struct answers *s, size_t want,
    float (*answer)(const struct answers *s, size_t i))
{
    const size_t n = s->out->nbytes / 4;
    size_t good = 0;

    for (size_t i = 0; i < n; i++)
        good += (size_t)same(answer(s, i), at32(s->out, i));
    ok(n == want && good == n, "%s: %zu of %zu answers", name, good, n);
}

/* Fill x with numbers by kind.
 *   0: around 1
 *   1: of many exponents
 *   2: as 0, with zeros, denormal numbers, and numbers halfway between two
 *      bfloat16 numbers
 *   3: around 1, with infinite ones and NaN */
static void
fill(float *x, size_t n, uint64_t seed, int kind)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = rng_u64(seed, i);
        const uint32_t u = (uint32_t)r, pick = (uint32_t)(r >> 32) % 64;

        if (kind == 0 || (kind == 2 && pick > 8))
            x[i] = (float)rng_normal(seed, i);
        else if (kind == 1)
            x[i] = of_bits((u & 0x80ffffff) | (64 + (u >> 8) % 100) << 23);
        else if (kind == 2)
            x[i] = of_bits(pick < 3 ? u & 0x807fffff
                    : pick == 3     ? u & 0x80000000
                    : pick == 4     ? (u & 0x80000000) | 0x007fffff
                                    : (u & 0xffff0000) | 0x8000);
        else
            x[i] = of_bits(pick < 2 ? (u & 0x80000000) | 0x7f800000
                    : pick == 2     ? u | 0x7f800000
                                    : (u & 0xbfffffff) | 0x3f000000);
    }
}

static float a[LD * LD], b[LD * LD];

static void
multiply(const struct kern *by, int op, size_t m, size_t n, size_t k, int add,
    float *c)
{
    const size_t lda = (op == 2 ? m : k) + 3, ldb = (op == 0 ? k : n) + 1;

    (op == 0          ? by->gemm_nt
            : op == 1 ? by->gemm_nn
                      : by->gemm_tn)(m, n, k, a, lda, b, ldb, add, c, N);
}

/* Multiply by the kernels and by plain C; returns how many elements differ. */
static size_t
differing(const struct kern *plain, int op, size_t m, size_t n, size_t k,
    int add)
{
    static float c[M * N], want[M * N];
    size_t bad = 0;

    fill(c, M * N, 3, 0);
    memcpy(want, c, sizeof want);
    multiply(&kern, op, m, n, k, add, c);
    multiply(plain, op, m, n, k, add, want);
    for (size_t i = 0; i < M * N; i++)
        bad += !same(c[i], want[i]);
    return bad;
}

/* Compare all three products of the table `kern`, as it is now, with plain
 * C. */
static void
test_against_plain(enum kern_bf16 set, const char *name)
{
    static const size_t rows[] = { 1, 16, 17, 31, 64, M };
    static const size_t cols[] = { 1, 15, 16, 33, 48, N };
    static const size_t deep[] = { 1, 2, 31, 64, 576, 577, K };
    struct kern plain = kern;
    size_t bad = 0, n = 0;

    gemm_bf16_ref(&plain, set);
    for (int kind = 0; kind < 4; kind++) {
        fill(a, LD * LD, 1, kind);
        fill(b, LD * LD, 2, kind);
        for (int op = 0; op < 3; op++)
            for (size_t i = 0; i < 252;
                 i += every(11) * (kind == 0 ? 1 : 7), n++)
                bad += differing(&plain, op, rows[i % 6], cols[i / 6 % 6],
                    deep[i / 36], (int)(i % 2));
    }
    ok(bad == 0, "%s: %zu products as in plain C (%zu elements differ)", name,
        n, bad);
}

/* Rounding to bfloat16 changes a factor by at most 2^-8 of its magnitude.  So
 * the result lies within about 2^-7 of the sum of the products' magnitudes. */
static void
test_error(const char *name)
{
    static float c[M * N];
    double worst = 0.0;

    fill(a, LD * LD, 1, 0);
    fill(b, LD * LD, 2, 0);
    kern.gemm_nt(M, N, K, a, K, b, K, GEMM_SET, c, N);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double s = 0.0, size = 0.0, e;

            for (size_t l = 0; l < K; l++) {
                const double p = (double)a[i * K + l] * b[j * K + l];

                s += p;
                size += fabs(p);
            }
            e = fabs(c[i * N + j] - s) / size;
            worst = e <= worst ? worst : isnan(e) ? INFINITY : e;
        }
    ok(worst < 0x1p-7 && worst > 0x1p-24, "%s: error %.2g of the magnitudes",
        name, worst);
}

/* Results near the smallest normal number.  Whether such a result is tiny
 * depends on how it rounds with an unbounded exponent: seen on a Xeon, family 6
 * model 207. */
static void
test_tiny(void)
{
    const float x[2] = { 0x1p-75f, 0.0f };
    const float less[2] = { -0x1.04p-76f, 0.0f }, half[2] = { -0x1p-76f, 0.0f };

    ok(bf16_vdp(0x1p-126f, x, less) == 0.0f &&
            bf16_vdp(0x1p-126f, x, half) == 0x1p-126f,
        "what is tiny before its exponent is bounded becomes zero");
}

static void
test_factor(void)
{
    static float x[5000];
    static uint16_t half[5000];
    size_t bad = 0;

    for (int kind = 0; kind < 4; kind++) {
        fill(x, 5000, 4, kind);
        factor_bf16(half, x, 5000);
        for (size_t i = 0; i < 5000; i++)
            bad += !same(of_bits((uint32_t)half[i] << 16), bf16_round(x[i]));
    }
    ok(bad == 0, "a factor kept as bfloat16: %zu numbers differ", bad);
}

/* Products with stored bfloat16 weights, against gemm_nt with the widened
 * ones. */
static void
test_dots(void)
{
    static const size_t depths[] = { 32, 64, 96, 288, 320, 576, 768, 800, 1536,
        2080 };
    enum { ROWS = 48, DEEP = 2080, LDY = 50 };
    static float x[DOTS_MOST * DEEP], w[ROWS * DEEP], want[DOTS_MOST * LDY],
        got[DOTS_MOST * LDY];
    static uint16_t half[ROWS * (DEEP + 3)];
    size_t bad = 0, n = 0;

    if (kern.dots_bf16 == NULL) {
        tap_skip("products with stored bfloat16 have the bits of gemm_nt",
            "this processor has no such kernels");
        return;
    }
    for (size_t c = 0; c < 10 * DOTS_MOST * 3 * 4; c++, n++) {
        const size_t k = depths[c % 10], m = 1 + c / 10 % DOTS_MOST;
        const size_t rows = 16 * (1 + c / (10 * DOTS_MOST) % 3);

        fill(x, m * k, (int)c, (int)(c / (10 * DOTS_MOST * 3)));
        fill(w, rows * k, 1000 + (int)c, (int)(c / (10 * DOTS_MOST * 3)));
        for (size_t i = 0; i < rows; i++) {
            factor_bf16(half + i * (k + 3), w + i * k, k);
            for (size_t l = 0; l < k; l++)
                w[i * k + l] = of_bits((uint32_t)half[i * (k + 3) + l] << 16);
        }
        memset(got, 0, sizeof got);
        memset(want, 0, sizeof want);
        kern.gemm_nt(m, rows, k, x, k, w, k, GEMM_SET, want, LDY);
        kern.dots_bf16(m, rows, k, x, (const unsigned char *)half, 2 * (k + 3),
            got, LDY);
        for (size_t i = 0; i < m * LDY; i++)
            bad += !same(got[i], want[i]);
    }
    ok(bad == 0,
        "products with stored bfloat16 have the bits of gemm_nt (%zu "
        "products, %zu numbers differ)",
        n, bad);
}

/* A product has the same bits at once, and cut along k at multiples of
 * kern.chunk. */
static void
test_cut(void)
{
    static float want[M * N], got[M * N];
    size_t bad = 0;

    fill(a, K * M, 1, 0);
    fill(b, K * N, 2, 0);
    ok(kern.chunk > 0, "%s: products may be cut", kern_name());
    for (size_t part = kern.chunk; part > 0 && part < K; part *= 2) {
        fill(want, M * N, 3, 0);
        fill(got, M * N, 3, 0);
        kern.gemm_tn(M, N, K, a, M, b, N, GEMM_ADD, want, N);
        for (size_t l = 0; l < K; l += part)
            kern.gemm_tn(M, N, K - l < part ? K - l : part, a + l * M, M,
                b + l * N, N, GEMM_ADD, got, N);
        for (size_t i = 0; i < M * N; i++)
            bad += !same(got[i], want[i]);
    }
    ok(bad == 0, "%s: parts have the bits of the whole (%zu differ)",
        kern_name(), bad);
}

/* gemm_half against gemm_nt and gemm_nn with the widened weights, at an odd
 * address. */
static void
test_halves(const char *name, int there)
{
    static const size_t depths[] = { 1, 31, 32, 33, 63, 576, 769 };
    enum { COLS = 90, DEEP = 769, ROWS = 40, STRIDE = DEEP + 3 };
    static float x[ROWS * DEEP], w[STRIDE * DEEP], wide[STRIDE * DEEP],
        want[ROWS * COLS], got[ROWS * COLS];
    static unsigned char half[2 * STRIDE * DEEP + 1];
    size_t bad = 0;

    ok(there == (kern.gemm_half != NULL),
        "%s multiplies stored bfloat16 as it is if its panels have pairs",
        name);
    for (size_t c = 0; there && c < 7 * 2 * 2 * 2; c++) {
        const size_t k = depths[c % 7], m = c / 7 % 2 != 0 ? ROWS : 3;
        const int back = c / 14 % 2 != 0, add = c / 28 % 2 != 0;
        const size_t n = COLS - c % 5, rows = back ? k : n;

        fill(x, m * k, (int)c, 0);
        fill(w, rows * STRIDE, 2000 + (int)c, 0);
        for (size_t i = 0; i < rows * STRIDE; i++) {
            uint16_t h;

            factor_bf16(&h, w + i, 1);
            memcpy(half + 1 + 2 * i, &h, sizeof h);
            wide[i] = of_bits((uint32_t)h << 16);
        }
        fill(want, m * COLS, 3000 + (int)c, 0);
        memcpy(got, want, sizeof got);
        (back ? kern.gemm_nn : kern.gemm_nt)(m, n, k, x, k, wide, STRIDE, add,
            want, COLS);
        kern.gemm_half(m, n, k, x, k, half + 1, back ? 1 : STRIDE,
            back ? STRIDE : 1, add, got, COLS);
        for (size_t i = 0; i < m * COLS; i++)
            bad += !same(got[i], want[i]);
    }
    if (there)
        ok(bad == 0, "%s with stored bfloat16: %zu numbers differ", name, bad);
}

/* gemm_packed with two factors against gemm_nt and gemm_nn: all columns, or
 * those from 32 on; the whole depth, or that from 32 on. */
static void
test_packed(const char *name, int there)
{
    static const size_t depths[] = { 33, 64, 577, 800, 1537 };
    enum { COLS = 90, DEEP = 1537, ROWS = 40 };
    static float x[ROWS * DEEP], w[2][COLS * DEEP], want[2][ROWS * COLS],
        got[2][ROWS * COLS];
    static _Alignas(64) unsigned char laid[2][96 * 2 * (DEEP + 32)];
    size_t bad = 0;

    ok(there == (kern.gemm_packed != NULL),
        "%s lays factors out once if its panels have pairs", name);
    for (size_t c = 0; there && c < 5 * 2 * 2 * 2 * 2; c++) {
        const size_t k = depths[c % 5], m = c / 5 % 2 != 0 ? ROWS : 3;
        const int back = c / 10 % 2 != 0, add = c / 20 % 2 != 0;
        const size_t from = c / 40 % 2 != 0 ? PACKED_DEPTH : 0;
        struct kern_packed to[2];

        fill(x, m * k, c, 0);
        fill(want[0], 2 * ROWS * COLS, 3000 + c, 0);
        memcpy(got, want, sizeof got);
        for (size_t p = 0; p < 2; p++) {
            const size_t n = COLS - c % 7 - 20 * p, j = 2 * p * PACKED_COLUMNS;
            const size_t l_step = back ? n : 1, j_step = back ? 1 : k;
            const float *y = w[p] + j * j_step + from * l_step;
            unsigned char *at = laid[p] + kern.packed_bytes(j, k);

            fill(w[p], n * k, 2000 + 2 * c + p, 0);
            kern.pack(laid[p], j, k, w[p], 0, j_step, l_step);
            kern.pack(at, n - j, k, w[p] + j * j_step, 0, j_step, l_step);
            to[p] = (struct kern_packed){ at +
                    from * PACKED_COLUMNS * sizeof(uint16_t),
                n - j, k, got[p], COLS };
            (back ? kern.gemm_nn : kern.gemm_nt)(m, n - j, k - from, x + from,
                k, y, back ? n : k, add, want[p], COLS);
        }
        kern.gemm_packed(m, k - from, x + from, k, to, 2, add);
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < m * COLS; i++)
                bad += !same(got[p][i], want[p][i]);
    }
    if (there)
        ok(bad == 0, "%s with factors laid out before: %zu numbers differ",
            name, bad);
}

static int
has(const char *kernels)
{
    return kern_force(kernels) == NULL;
}

static void
test_sets(void)
{
    const struct {
        const char *name;
        const struct bf16_set *set;
        int here;
    } sets[] = {
#if defined(__aarch64__)
        { "NEON", &bf16_fma_neon, has("neon") },
        { "BFMMLA", &bf16_bfmmla, has("neon") && cpu_bfmmla() },
#else
        { "TDPBF16PS", &bf16_amx, has("avx512") && cpu_amx() },
        { "VDPBF16PS", &bf16_avx512, cpu_avx512bf16() },
        { "AVX-512", &bf16_fma512, has("avx512") },
        { "AVX2", &bf16_fma256, has("avx2") },
#endif
    };

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char label[60];

        snprintf(label, sizeof label, "products by %s have plain C's bits",
            sets[i].name);
        if (!sets[i].here) {
            tap_skip(label, "this processor has no such kernels");
            continue;
        }
        gemm_bf16(&kern, sets[i].set);
        test_against_plain(sets[i].set->result, sets[i].name);
        gemm_bf16(&kern, sets[i].set);
        test_halves(sets[i].name, sets[i].set->words == BF16_PAIRS);
        test_packed(sets[i].name, sets[i].set->words == BF16_PAIRS);
    }
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP"), *why = kern_init();
    char file[4096];
    struct golden g;

    ok(why == NULL, "the kernels are chosen: %s",
        why != NULL ? why : kern_name());
    snprintf(file, sizeof(file), "%s/tests/golden/kern/bf16.safetensors",
        top != NULL ? top : ".");
    golden_open(&g, file);
    test_answers("VDPBF16PS",
        &(struct answers){ golden_get(&g, "avx512.a"),
            golden_get(&g, "avx512.b"), golden_get(&g, "avx512.c"),
            golden_get(&g, "avx512.out") },
        4096, vdp);
    test_answers("TDPBF16PS",
        &(struct answers){ golden_get(&g, "amx.a"), golden_get(&g, "amx.b"),
            golden_get(&g, "amx.c"), golden_get(&g, "amx.out") },
        10240, tdp);
    test_answers("BFMMLA",
        &(struct answers){ golden_get(&g, "bfmmla.a"),
            golden_get(&g, "bfmmla.b"), golden_get(&g, "bfmmla.c"),
            golden_get(&g, "bfmmla.out") },
        4096, mmla);
    golden_close(&g);
    test_tiny();
    test_factor();
    test_sets();
    kern_force(NULL);
    kern_compute("avx512bf16");
    test_error(kern_name());
    test_dots();
    kern_compute("amx");
    test_error(kern_name());
    test_cut();
    kern_compute("bfmmla");
    test_error(kern_name());
    kern_compute("f32");
    ok(strchr(kern_name(), '+') == NULL && !kern_slow(),
        "products are in fp32 again");
    return done_testing();
}
