/* Products in bfloat16 by panels, for every instruction; see gemm_bf16.h. */
#include "kern/gemm_bf16.h"

#include <string.h>

enum {
    PANEL = BF16_GROUP * BF16_DEEP / 2, /* words */
    A_PANELS = BF16_ROWS / BF16_GROUP,
    B_PANELS = BF16_STRIP + 1
};
_Static_assert(BF16_DEEP % BF16_CHUNK == 0, "whole chunks");
_Static_assert(A_PANELS % 2 == 0 && B_PANELS % 2 == 0, "pairs of panels");

/* The panels of this thread. */
struct half_panels {
    _Alignas(64) uint32_t a[A_PANELS * PANEL];
    _Alignas(64) uint32_t b[B_PANELS * PANEL];
};
static _Thread_local struct half_panels panel;

static const struct bf16_set *set; /* that gemm_bf16 was last told */

/* Panels of n rows or columns, an even number of them: AMX takes two by two. */
static void
pack(void (*one)(uint32_t *out, size_t n, size_t kc,
         const struct bf16_operand *x),
    uint32_t *out, size_t n, size_t kc, struct bf16_operand x)
{
    const size_t step =
        (kc + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK / 2 * BF16_GROUP;
    size_t i;

    for (i = 0; i < n; i += BF16_GROUP, out += step) {
        one(out, n - i < BF16_GROUP ? n - i : BF16_GROUP, kc, &x);
        x.p += BF16_GROUP * x.i_step;
    }
    if (i / BF16_GROUP % 2 != 0)
        memset(out, 0, step * sizeof *out);
}

/* Products of at most BF16_ROWS rows and BF16_DEEP depth. */
static void
block(size_t m, size_t n, size_t kc, struct bf16_operand a,
    struct bf16_operand b, int add, float *c, size_t ldc)
{
    const size_t width = set->strip * BF16_GROUP;

    pack(set->pack_a, panel.a, m, kc, a);
    for (size_t j = 0; j < n; j += width) {
        const struct bf16_strip s = { m, n - j < width ? n - j : width,
            (kc + BF16_CHUNK - 1) / BF16_CHUNK, panel.a, panel.b, add, c + j,
            ldc };

        pack(set->pack_b, panel.b, s.n, kc, b);
        b.p += width * b.i_step;
        set->multiply(&s);
    }
}

static void
gemm(size_t m, size_t n, size_t k, struct bf16_operand a, struct bf16_operand b,
    int add, float *c, size_t ldc)
{
    for (size_t i = 0; i < m && k == 0 && !add; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        const size_t at = l % GEMM_DEEP;
        const size_t deep = k - (l - at) < GEMM_DEEP ? k - (l - at) : GEMM_DEEP;
        const struct bf16_operand y = { b.p + l * b.l_step, b.i_step,
            b.l_step };

        kc = bf16_block(deep);
        kc = deep - at < kc ? deep - at : kc;
        for (size_t i = 0; i < m; i += BF16_ROWS) {
            const struct bf16_operand x = { a.p + i * a.i_step + l * a.l_step,
                a.i_step, a.l_step };

            block(m - i < BF16_ROWS ? m - i : BF16_ROWS, n, kc, x, y, add,
                c + i * ldc, ldc);
        }
    }
}

static void
gemm_nt(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct bf16_operand){ a, lda, 1 },
        (struct bf16_operand){ b, ldb, 1 }, add, c, ldc);
}

static void
gemm_nn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct bf16_operand){ a, lda, 1 },
        (struct bf16_operand){ b, 1, ldb }, add, c, ldc);
}

static void
gemm_tn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct bf16_operand){ a, 1, lda },
        (struct bf16_operand){ b, 1, ldb }, add, c, ldc);
}

void
gemm_bf16(struct kern *k, const struct bf16_set *by)
{
    set = by;
    k->gemm_nt = gemm_nt;
    k->gemm_nn = gemm_nn;
    k->gemm_tn = gemm_tn;
    k->panels += sizeof(struct half_panels);
}
