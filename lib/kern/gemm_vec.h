/*
 * Matrix products over the vector operations that the including file defines
 * for its instruction set.  Registers hold a tile: MR * NV sums (MR rows by NV
 * vectors of TW columns, see panel_vec.h), NV vectors of b, and a number of a,
 * broadcast.
 *
 * A product is cut along k at multiples of GEMM_DEEP, and between these into
 * blocks of equal length.  Each element of c is
 *   c = or += sum of block 0, in order of l, by fused multiply-adds
 *   c += sum of block 1 ...
 * at any position and by any of the paths below.  So its bits depend only on k,
 * its row of a and its column of b.
 *
 * Large products copy both factors into panels along l, with zeros past the
 * edges.  A panel of a has MR rows; all rows of a block of MC are copied at
 * once, for the second-level cache.  A panel of b has NV vectors of columns;
 * panels of b are copied one at a time, for the first-level cache.  While the
 * tiles of a panel of b are computed, the numbers of the next one are
 * prefetched, else copying would wait for memory.  Small products, such as
 * attention's, read both factors in place if their steps allow it.  Products
 * with few columns read the rows of a in place.
 *
 * The including file defines:
 *   MR, NV         the size of a tile
 *   DOUBLE_MR      rows of a tile of gemm_double (gemm_double_vec.h)
 *   PAGED_NV       see paged_vec.h
 *   DOT_ROWS, DOT_GROUPS  see dots_vec.h
 *   GEMM           the name of the function that puts the products into a table
 *   AHEAD          __builtin_prefetch's locality: 3 if the first-level cache
 *                  has room beside a panel of b, else 2
 *   STEPS          positions along k that the inner loop takes at once; it may
 *                  be left out, which means one
 */
#include "kern/gemm_ways_vec.h"
#include "kern/panel_vec.h"

#include <stddef.h>
#include <string.h>

enum {
    NR = NV * TW,
    LINE = 16,             /* floats in a line of the caches */
    SOME = 16,             /* steps along k between prefetches */
    KC = 288,              /* length of a block of k, at most */
    MC = 576,              /* rows copied at once, a multiple of MR */
    SMALL = 256 * 64 * 64, /* multiplications in a small product, at most */
    FEW = 640,             /* columns, at most, of a product with few columns */
    DC = 384,              /* gemm_double: rows copied at once */
    DEEP = 128             /* gemm_double: length of a block of k */
};
_Static_assert(MC % MR == 0, "whole groups of rows");

/* A thread's panels.  They are static, so that no product waits for an
 * allocation or for another thread. */
struct panels {
    union {
        _Alignas(64) float a[MC * KC];
        _Alignas(64) double wide_a[DC * DEEP];
    };
    union {
        _Alignas(64) float b[NR * KC];
        _Alignas(64) double wide_b[NV * VW / 2 * DEEP];
    };
};
static _Thread_local struct panels panel;

/* Cache lines to prefetch.  They form runs of `length` floats; a run begins
 * `next` floats after the run before, and its lines are `step` floats apart. */
struct lines_ahead {
    const float *at;  /* the next line to prefetch */
    const float *end; /* end of the run to which `at` belongs */
    size_t step, length, next;
    size_t each; /* lines to prefetch each time before SOME steps of a tile */
};

/* A strip: all rows by nv vectors of columns.  All tiles of a strip share these
 * values. */
struct strip {
    size_t kc, m;
    const float *b; /* row l at l * ldb */
    size_t ldb;
    size_t last; /* floats in the last vector */
    size_t ldc;
    int add;
    struct lines_ahead ahead; /* the numbers that are copied for the next
                               * strip */
};

/* Plan to prefetch the next strip of b, of which n columns are left, in the
 * course of a strip of m rows.  If columns are contiguous, a run has a line of
 * each of them: runs along a column were slower than no prefetching. */
static struct lines_ahead
plan_ahead(const struct operand *b, size_t n, size_t kc, size_t m)
{
    const int along = b->l_step == 1;
    const size_t cols = n < NR ? n : NR;
    const size_t times = (m + MR - 1) / MR * ((kc + SOME - 1) / SOME);
    const size_t deep = along ? (kc + LINE - 1) / LINE : kc;
    const size_t wide = along ? cols : (cols + LINE - 1) / LINE;
    const size_t step = along ? b->i_step : LINE;

    return (struct lines_ahead){ b->p, b->p + wide * step, step, wide * step,
        along ? LINE : b->l_step, (wide * deep + times - 1) / times };
}

/* Prefetch n lines.  Always inlined: gcc 12 drops calls of a function that only
 * prefetches. */
static inline __attribute__((always_inline)) void
fetch_ahead(struct lines_ahead *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(f->at, 0, AHEAD);
        f->at += f->step;
        if (f->at >= f->end) {
            f->end += f->next;
            f->at = f->end - f->length;
        }
    }
}

#ifdef STEPS
/* Compilers move no load past this.  If a tile fills all registers, gcc 12
 * would otherwise load numbers before they are needed, and would have to write
 * sums to memory to make room for them. */
#define KEEP_LOADS __asm__ __volatile__("" : : : "memory")

/* Add the products at STEPS positions along k to the sums s.  The MR numbers of
 * a at a position are neighbours.  With one body for this loop and that in
 * tile, 76 instead of 81 % of Arm's inner loop would be multiply-adds. */
static inline __attribute__((always_inline)) void
tile_steps(tf s[MR][NV], const float *a, size_t al, const float *b, size_t ldb,
    int nv)
{
    UNROLL
    for (int t = 0; t < STEPS; t++, a += al, b += ldb) {
        tf y[NV];

        UNROLL
        for (int v = 0; v < nv; v++)
            y[v] = t_load(b + v * TW);
        UNROLL
        for (int i = 0; i < MR; i++) {
            const tf x = t_set1(v_number(a, i, 1));

            UNROLL
            for (int v = 0; v < nv; v++)
                s[i][v] = t_fma(x, y[v], s[i][v]);
        }
        KEEP_LOADS;
    }
}
#else
#define KEEP_LOADS ((void)0)
#endif

/* c = or += a b, for the first MR of m rows, or all m if m < MR, and nv vectors
 * of columns.  Element l of row i of a is at i * ai + l * al.  Inlined with
 * constant nv, and constant ai or al. */
static inline __attribute__((always_inline)) void
tile(const struct strip *t, struct lines_ahead *ahead, const float *restrict a,
    size_t ai, size_t al, float *restrict c, size_t m, int nv)
{
    const float *restrict b = t->b;
    const size_t ldb = t->ldb, last = t->last, ldc = t->ldc;
    const int add = t->add;
    tf s[MR][NV];

    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int v = 0; v < nv; v++) {
            s[i][v] = t_set1(0.0f);
            if (v % (64 / (TW * 4)) == 0)
                __builtin_prefetch(c + (size_t)i * ldc + v * TW, 1);
        }
    }
    for (size_t l = 0; l < t->kc;) {
        const size_t end = t->kc - l < SOME ? t->kc : l + SOME;

        fetch_ahead(ahead, ahead->each);
#ifdef STEPS
        for (size_t n = __builtin_constant_p(ai) ? (end - l) / STEPS : 0; n > 0;
             n--) {
            tile_steps(s, a, al, b, ldb, nv);
            l += STEPS;
            a += STEPS * al;
            b += STEPS * ldb;
        }
#endif
        for (; l < end; l++, a += al, b += ldb) {
            tf y[NV];

            UNROLL
            for (int v = 0; v < nv; v++)
                y[v] = t_load(b + v * TW);
            UNROLL
            for (int i = 0; i < MR; i++) {
                const tf x = t_set1(v_number(a, i, ai));

                UNROLL
                for (int v = 0; v < nv; v++)
                    s[i][v] = t_fma(x, y[v], s[i][v]);
                if (i % 2)
                    KEEP_LOADS;
            }
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        float *to = c + (size_t)i * ldc;

        if ((size_t)i >= m)
            return;
        UNROLL
        for (int v = 0; v < nv - 1; v++)
            t_store(to + v * TW,
                add ? t_add(t_load(to + v * TW), s[i][v]) : s[i][v]);
        to += (nv - 1) * TW;
        if (last == TW)
            t_store(to, add ? t_add(t_load(to), s[i][nv - 1]) : s[i][nv - 1]);
        else
            t_store_part(to, last,
                add ? t_add(t_load_part(to, last), s[i][nv - 1])
                    : s[i][nv - 1]);
    }
}

/* Compute all tiles of a strip.  In a, groups of MR rows are `next` floats
 * apart. */
#define STRIP(name, ai, al, nv)                                       \
    static __attribute__((noinline)) void name(const struct strip *t, \
        const float *a, size_t step, size_t next, float *c)           \
    {                                                                 \
        struct lines_ahead ahead = t->ahead;                          \
                                                                      \
        (void)step;                                                   \
        for (size_t i = 0; i < t->m; i += MR, a += next) {            \
            tile(t, &ahead, a, ai, al, c + i * t->ldc, t->m - i, nv); \
        }                                                             \
    }
STRIP(packed1, 1, MR, 1)
STRIP(packed2, 1, MR, 2)
STRIP(packed3, 1, MR, 3)
STRIP(across1, 1, step, 1)
STRIP(across2, 1, step, 2)
STRIP(across3, 1, step, 3)
STRIP(along1, step, 1, 1)
STRIP(along2, step, 1, 2)
STRIP(along3, step, 1, 3)

static void (*const strips[3][NV])(const struct strip *t, const float *a,
    size_t step, size_t next, float *c) = { { packed1, packed2, packed3 },
    { across1, across2, across3 }, { along1, along2, along3 } };

/* Make panels of MR rows of a, one after another. */
static void
pack_rows(float *restrict out, size_t m, size_t kc, const struct operand *x)
{
    enum { G = 128 / (4 * MR) }; /* panels that share two cache lines */
    size_t i = 0;

    for (; x->i_step == 1 && i + G * MR <= m; i += G * MR) {
        const float *in = x->p + i;
        float *to = out + i * kc;

        for (size_t l = 0; l < kc; l++, in += x->l_step, to += MR) {
            UNROLL
            for (size_t g = 0; g < G; g++)
                memcpy(to + g * MR * kc, in + g * MR, MR * sizeof *to);
        }
    }
    for (; i < m; i += MR) {
        const struct operand y = operand_from(x, i, 0);

        pack(out + i * kc, MR, m - i < MR ? m - i : MR, kc, &y);
    }
}

/* The number of vectors of the next strip if `left` are left.  Four are cut
 * into two and two rather than three and one. */
static inline size_t
strip_vectors(size_t left)
{
    return left == NV + 1 ? (NV + 1) / 2 : left < NV ? left : NV;
}

/* Multiply at most MC rows over at most KC of k. */
static void
block(size_t m, size_t n, size_t kc, const struct operand *a,
    const struct operand *b, int small, int add, float *c, size_t ldc)
{
    /* A factor that is read in place must consist of whole tiles of rows, or
     * whole vectors of columns.  Copying rows of a does not pay for few
     * columns. */
    const int a_here = m % MR == 0 && (small || (a->l_step == 1 && n <= FEW));
    const int b_here = small && b->i_step == 1 && n % TW == 0;
    const int how = !a_here ? 0 : a->i_step == 1 ? 1 : 2;
    const size_t step = a->i_step == 1 ? a->l_step : a->i_step;
    size_t nv;

    if (!a_here)
        pack_rows(panel.a, m, kc, a);
    for (size_t j = 0; j < n; j += nv * TW) {
        struct operand y = operand_from(b, j, 0);
        size_t cols;
        struct strip t;

        nv = strip_vectors((n - j + TW - 1) / TW);
        cols = n - j < nv * TW ? n - j : nv * TW;
        if (!b_here)
            pack(panel.b, nv * TW, cols, kc, &y);
        t = (struct strip){ kc, m, b_here ? y.p : panel.b,
            b_here ? b->l_step : nv * TW, cols - (nv - 1) * TW, ldc, add,
            { .each = 0 } };
        y.p += cols * b->i_step;
        if (!small)
            t.ahead = plan_ahead(&y, n - j - cols, kc, m);
        strips[how][nv - 1](&t, a_here ? a->p : panel.a, step,
            a_here ? MR * a->i_step : MR * kc, c + j);
    }
}

static void
gemm(size_t m, size_t n, size_t k, struct operand a, struct operand b, int add,
    float *c, size_t ldc)
{
    const int small = m * n <= SMALL / (k > 0 ? k : 1);

    for (size_t i = 0; i < m && k == 0 && !add; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        const size_t at = l % GEMM_DEEP;
        const size_t deep = k - (l - at) < GEMM_DEEP ? k - (l - at) : GEMM_DEEP;
        const size_t nk = (deep + KC - 1) / KC, len = (deep + nk - 1) / nk;
        const struct operand y = operand_from(&b, 0, l);

        kc = deep - at < len ? deep - at : len;
        for (size_t i = 0; i < m; i += MC) {
            const struct operand x = operand_from(&a, i, l);

            block(m - i < MC ? m - i : MC, n, kc, &x, &y, small, add,
                c + i * ldc, ldc);
        }
    }
}

#include "kern/gemm_double_vec.h"

#include "kern/dots_vec.h"

#include "kern/paged_vec.h"

void
GEMM(struct kern *k)
{
    k->dots = dots;
    k->dots_stored = dots_stored;
    k->gemm_paged = gemm_paged;
    put_gemm(k);
    k->gemm_double = gemm_double;
    k->panels = sizeof(struct panels);
}
