/*
 * Products in bfloat16 by TDPBF16PS.  Four tiles hold sums of two panels of
 * rows times two of columns.  If the last panel is alone, it is multiplied
 * together with old numbers behind it, whose sums are not stored.  The process
 * must have permission to use tiles (base/cpu.h).
 */
#include "kern/gemm_bf16.h"

#if defined(__AMX_BF16__) || defined(__AMXBF16__) /* clang 14 */
#include "kern/pairs_vec.h"

#include <string.h>

enum {
    SIDE = BF16_GROUP,
    WORDS = SIDE * SIDE,
    LINE = 64, /* bytes */
    DEEP = 12  /* chunks multiplied at once, at most */
};

/* The operand of LDTILECFG: eight tiles of 16 rows of 64 bytes. */
static const struct {
    unsigned char palette, start_row, zero[14];
    unsigned short bytes[16];
    unsigned char rows[16];
} all_tiles __attribute__((aligned(64))) = {
    .palette = 1,
    .bytes = { LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE },
    .rows = { SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE },
};

static void
pack_rows(float *out, size_t n, size_t kc, const struct operand *x)
{
    pack_panels(out, n, kc, x, 1);
}

/* Copy `from` [m,n], whose rows are `step` apart, to `to`, where they are ld
 * apart. */
static void
copy_edge(float *to, size_t ld, const float *from, size_t step, size_t m,
    size_t n)
{
    for (size_t i = 0; i < m; i++)
        memcpy(to + i * ld, from + i * step, n * sizeof *to);
}

/* Set the four tiles of sums to c [2 SIDE,2 SIDE], or to zero without add. */
static inline __attribute__((always_inline)) void
begin_tiles(const float *c, size_t ldc, int add)
{
    if (!add) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, c, ldc * sizeof *c);
    _tile_loadd(1, c + SIDE, ldc * sizeof *c);
    _tile_loadd(2, c + SIDE * ldc, ldc * sizeof *c);
    _tile_loadd(3, c + SIDE * ldc + SIDE, ldc * sizeof *c);
}

static inline __attribute__((always_inline)) void
end_tiles(float *c, size_t ldc)
{
    _tile_stored(0, c, ldc * sizeof *c);
    _tile_stored(1, c + SIDE, ldc * sizeof *c);
    _tile_stored(2, c + SIDE * ldc, ldc * sizeof *c);
    _tile_stored(3, c + SIDE * ldc + SIDE, ldc * sizeof *c);
}

/* Add the products of n chunks of two panels of a, a_step words apart, with two
 * of b, b_step words apart, to the sums.  Meanwhile prefetch the 2 SIDE rows of
 * c that come next: a share with each chunk, as the processor waits if many are
 * asked for at once. */
static inline __attribute__((always_inline)) void
add_chunks(const float *a, size_t a_step, const float *b, size_t b_step,
    size_t n, const float *c, size_t ldc)
{
    const size_t share = (2 * SIDE + n - 1) / n;

    for (size_t k = 0; k < n; k++, a += WORDS, b += WORDS) {
        for (size_t r = 0; r < share; r++, c += ldc) {
            __builtin_prefetch(c, 1);
            __builtin_prefetch(c + SIDE, 1);
        }
        _tile_loadd(4, a, LINE);
        _tile_loadd(6, b, LINE);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + b_step, LINE);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + a_step, LINE);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
}

/* Multiply the strip's chunks k..k+n-1. */
static void
multiply_chunks(const struct bf16_strip *t, size_t k, size_t n, int add)
{
    _Alignas(64) float edge[2 * SIDE * 2 * SIDE] = { 0 };

    for (size_t i = 0; i < t->m; i += 2 * SIDE) {
        const size_t m = t->m - i < 2 * SIDE ? t->m - i : 2 * SIDE;
        const int whole = m == 2 * SIDE && t->n == 2 * SIDE;
        float *c = t->c + i * t->ldc, *to = whole ? c : edge;
        const size_t ld = whole ? t->ldc : 2 * SIDE;

        if (add && !whole)
            copy_edge(to, ld, c, t->ldc, m, t->n);
        begin_tiles(to, ld, add);
        add_chunks(t->a + i * t->chunks * SIDE + k * WORDS, t->chunks * WORDS,
            t->b + k * WORDS, t->n > SIDE ? t->b_step : 0, n,
            c + 2 * SIDE * t->ldc, t->ldc);
        end_tiles(to, ld);
        if (!whole)
            copy_edge(c, t->ldc, to, ld, m, t->n);
    }
}

/* Multiply the strip in parts of at most DEEP chunks: that many chunks of two
 * panels of a and of two panels of b fit the first-level cache. */
static void
multiply_amx(const struct bf16_strip *t)
{
    const size_t parts = (t->chunks + DEEP - 1) / DEEP;

    _tile_loadconfig(&all_tiles);
    for (size_t p = 0; p < parts; p++) {
        const size_t k = t->chunks * p / parts;

        multiply_chunks(t, k, t->chunks * (p + 1) / parts - k, p > 0 || t->add);
    }
    _tile_release();
}

const struct bf16_set bf16_amx = { KERN_BF16_AMX, 2, BF16_AT_ONCE, BF16_PAIRS,
    pack_rows, pack_pairs, multiply_amx };
#endif
