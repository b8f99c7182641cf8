/* Products in bfloat16 by panels, whatever the instruction; see gemm_bf16.h. */
#include "kern/gemm_bf16.h"
#include "kern/gemm_ways_vec.h"

#include <string.h>

enum {
    PANEL = BF16_GROUP * BF16_WORDS,
    A_PANELS = BF16_ROWS / BF16_GROUP,
    B_PANELS = BF16_AT_ONCE
};
_Static_assert(BF16_WORDS % BF16_CHUNK == 0, "whole chunks");
_Static_assert((int)B_PANELS >= (int)BF16_STRIP, "a strip fits");
_Static_assert(A_PANELS % 2 == 0 && B_PANELS % 2 == 0, "pairs of panels");

/* The panels of this thread. */
struct half_panels {
    _Alignas(64) float a[A_PANELS * PANEL];
    _Alignas(64) float b[B_PANELS * PANEL];
};
static _Thread_local struct half_panels panel;

static const struct bf16_set *set; /* the set that gemm_bf16 was last given */

/* The number of columns of the next strip if n are left.  If the panels left
 * are one more than a strip's, the next strip gets half of them: four are cut
 * into two and two rather than three and one. */
static size_t
strip_columns(size_t n)
{
    const size_t left = (n + BF16_GROUP - 1) / BF16_GROUP;
    const size_t some = left == set->strip + 1 ? left / 2 : set->strip;

    return n < some * BF16_GROUP ? n : some * BF16_GROUP;
}

/* The number of columns to copy next if n are left: those of a strip, or
 * set->at_once panels, since memory is read faster in long runs. */
static size_t
copied_columns(size_t n)
{
    const size_t most = set->at_once * BF16_GROUP;

    return most == 0 ? strip_columns(n) : n < most ? n : most;
}

/* Products of at most BF16_ROWS rows, with one block along k. */
static void
block(size_t m, size_t n, size_t kc, struct operand a, struct operand b,
    int add, float *c, size_t ldc)
{
    struct bf16_strip s = { m, 0, (kc + BF16_CHUNK - 1) / BF16_CHUNK, panel.a,
        panel.b, a.l_step == 1, add, c, ldc };

    set->pack_a(panel.a, m, kc, &a);
    for (size_t some; n > 0; n -= some) {
        some = copied_columns(n);
        set->pack_b(panel.b, some, kc, &b);
        s.b = panel.b;
        for (size_t j = 0; j < some; j += s.n) {
            s.n = strip_columns(some - j);
            set->multiply(&s);
            s.b += (s.n + BF16_GROUP - 1) / BF16_GROUP * s.chunks * set->words;
            s.c += s.n;
        }
        b = operand_from(&b, some, 0);
    }
}

static void
gemm(size_t m, size_t n, size_t k, struct operand a, struct operand b, int add,
    float *c, size_t ldc)
{
    for (size_t i = 0; i < m && k == 0 && !add; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        const size_t at = l % GEMM_DEEP;
        const size_t deep = k - (l - at) < GEMM_DEEP ? k - (l - at) : GEMM_DEEP;
        const struct operand y = operand_from(&b, 0, l);

        kc = bf16_block(set->result, deep);
        kc = deep - at < kc ? deep - at : kc;
        for (size_t i = 0; i < m; i += BF16_ROWS) {
            const struct operand x = operand_from(&a, i, l);

            block(m - i < BF16_ROWS ? m - i : BF16_ROWS, n, kc, x, y, add,
                c + i * ldc, ldc);
        }
    }
}

static void
gemm_half(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const unsigned char *b, size_t j_step, size_t l_step, int add, float *c,
    size_t ldc)
{
    gemm(m, n, k, (struct operand){ a, lda, 1, 0 },
        (struct operand){ (const float *)(const void *)b, j_step, l_step, 1 },
        add, c, ldc);
}

void
gemm_bf16(struct kern *k, const struct bf16_set *by)
{
    set = by;
    put_gemm(k);
    k->gemm_half = set->words == BF16_PAIRS ? gemm_half : NULL;
    k->panels += sizeof(struct half_panels);
}
