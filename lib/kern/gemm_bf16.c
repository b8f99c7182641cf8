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

/* Multiply strips of panels, n columns in all.  s: all but its n. */
static void
multiply_strips(struct bf16_strip s, size_t n)
{
    for (; n > 0; n -= s.n) {
        s.n = strip_columns(n);
        set->multiply(&s);
        s.b += (s.n + BF16_GROUP - 1) / BF16_GROUP * s.b_step;
        s.c += s.n;
    }
}

/* Products of at most BF16_ROWS rows, with one block along k. */
static void
block(size_t m, size_t n, size_t kc, struct operand a, struct operand b,
    int add, float *c, size_t ldc)
{
    const size_t chunks = bf16_chunks(kc);
    struct bf16_strip s = { m, 0, chunks, panel.a, panel.b, chunks * set->words,
        a.l_step == 1, add, c, ldc };

    set->pack_a(panel.a, m, kc, &a);
    for (size_t some; n > 0; n -= some) {
        some = copied_columns(n);
        set->pack_b(panel.b, some, kc, &b);
        multiply_strips(s, some);
        s.c += some;
        b = operand_from(&b, some, 0);
    }
}

/* The length of the block that begins at depth l of k. */
static size_t
next_block(size_t l, size_t k)
{
    const size_t at = l % GEMM_DEEP;
    const size_t deep = k - (l - at) < GEMM_DEEP ? k - (l - at) : GEMM_DEEP;
    const size_t n = bf16_block(set->result, deep);

    return deep - at < n ? deep - at : n;
}

static void
gemm(size_t m, size_t n, size_t k, struct operand a, struct operand b, int add,
    float *c, size_t ldc)
{
    for (size_t i = 0; i < m && k == 0 && !add; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        const struct operand y = operand_from(&b, 0, l);

        kc = next_block(l, k);
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

/* ---- factors that were rounded and laid out before ---- */

static size_t
packed_bytes(size_t n, size_t k)
{
    return (n + BF16_GROUP - 1) / BF16_GROUP * bf16_chunks(k) * BF16_PAIRS *
        sizeof(float);
}

static void
pack(void *out, size_t n, size_t k, const void *b, int half, size_t j_step,
    size_t l_step)
{
    const struct operand x = { b, j_step, l_step, half };

    set->pack_b(out, n, k, &x);
}

/* Multiply the rows in panel.a, of depth kc from depth l on, by one factor. */
static void
multiply_packed(struct bf16_strip s, const struct kern_packed *b, size_t l,
    size_t i)
{
    s.b_step = bf16_chunks(b->k) * BF16_PAIRS;
    s.b = (const float *)b->b + l / BF16_CHUNK * BF16_PAIRS;
    s.c = b->c + i * b->ldc;
    s.ldc = b->ldc;
    multiply_strips(s, b->n);
}

static void
gemm_packed(size_t m, size_t k, const float *a, size_t lda,
    const struct kern_packed *b, size_t nb, int add)
{
    const struct operand x = { a, lda, 1, 0 };

    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        kc = next_block(l, k);
        for (size_t i = 0, rows; i < m; i += rows) {
            struct bf16_strip s = { .chunks = bf16_chunks(kc),
                .a = panel.a,
                .along = 1,
                .add = add };
            const struct operand y = operand_from(&x, i, l);

            s.m = rows = m - i < BF16_ROWS ? m - i : BF16_ROWS;
            set->pack_a(panel.a, rows, kc, &y);
            for (size_t p = 0; p < nb; p++)
                multiply_packed(s, &b[p], l, i);
        }
    }
}

/* ---- a factor in packed pages ---- */

/* The chunk at depth l of column j. */
static const float *
page_chunk(const struct kern_pages *b, size_t l, size_t j)
{
    const char *page = (const char *)b->p + b->page[l / b->deep] * b->bytes;

    return (const float *)(const void *)page +
        (j / BF16_GROUP * bf16_chunks(b->deep) + l % b->deep / BF16_CHUNK) *
        BF16_PAIRS;
}

/* Copy n columns from j on, depths l to l + kc - 1, to panel.b. */
static void
copy_pages(size_t n, size_t j, size_t l, size_t kc, const struct kern_pages *b)
{
    float *out = panel.b;

    for (size_t i = j; i < j + n; i += BF16_GROUP)
        for (size_t at = l, deep; at < l + kc; at += deep) {
            deep = b->deep - at % b->deep;
            deep = deep < l + kc - at ? deep : l + kc - at;
            memcpy(out, page_chunk(b, at, i),
                bf16_chunks(deep) * BF16_PAIRS * sizeof *out);
            out += bf16_chunks(deep) * BF16_PAIRS;
        }
}

/* Multiply by depths l to l + kc - 1 of n columns.  If they are in several
 * pages, these are copied one behind the other. */
static void
multiply_paged(struct bf16_strip s, size_t n, size_t l, size_t kc,
    const struct kern_pages *b)
{
    if (l / b->deep == (l + kc - 1) / b->deep) {
        s.b = page_chunk(b, l, 0);
        s.b_step = bf16_chunks(b->deep) * BF16_PAIRS;
        multiply_strips(s, n);
        return;
    }
    for (size_t j = 0, some; j < n; j += some, s.c += some) {
        some = copied_columns(n - j);
        copy_pages(some, j, l, kc, b);
        multiply_strips(s, some);
    }
}

static void
gemm_paged(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const struct kern_pages *b, int add, float *c, size_t ldc)
{
    const struct operand x = { a, lda, 1, 0 };

    for (size_t l = 0, kc; l < k; l += kc, add = GEMM_ADD) {
        kc = next_block(l, k);
        for (size_t i = 0, rows; i < m; i += rows) {
            const struct operand y = operand_from(&x, i, l);

            rows = m - i < BF16_ROWS ? m - i : BF16_ROWS;
            set->pack_a(panel.a, rows, kc, &y);
            multiply_paged((struct bf16_strip){ rows, 0, bf16_chunks(kc),
                               panel.a, panel.b, bf16_chunks(kc) * BF16_PAIRS,
                               1, add, c + i * ldc, ldc },
                n, l, kc, b);
        }
    }
}

void
gemm_bf16(struct kern *k, const struct bf16_set *by)
{
    const int pairs = by->words == BF16_PAIRS;

    set = by;
    put_gemm(k);
    k->gemm_half = pairs ? gemm_half : NULL;
    k->packed_bytes = pairs ? packed_bytes : NULL;
    k->pack = pairs ? pack : NULL;
    k->gemm_packed = pairs ? gemm_packed : NULL;
    k->gemm_paged = pairs ? gemm_paged : NULL;
    k->packed_along = pairs ? bf16_along(by->result) : 0;
    k->panels += sizeof(struct half_panels);
    k->chunk = bf16_cut(by->result);
}
