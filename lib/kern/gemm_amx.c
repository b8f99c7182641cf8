/*
 * Products in bfloat16 by TDPBF16PS.  Four tiles hold sums of two panels of
 * rows times two of columns.  The process must have permission to use tiles
 * (base/cpu.h).
 */
#include "kern/gemm_bf16.h"

#if defined(__AMX_BF16__) || defined(__AMXBF16__) /* clang 14 */
#include "kern/pairs_vec.h"

enum { SIDE = BF16_GROUP, WORDS = SIDE * SIDE, LINE = 64 /* bytes */ };

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
pack_rows1(float *out, size_t n, size_t kc, const struct operand *x)
{
    pack_chunks(out, n, kc, x, 1);
}

static void
pack_rows(float *out, size_t n, size_t kc, const struct operand *x)
{
    bf16_panels(pack_rows1, BF16_PAIRS, out, n, kc, x);
}

/* Set c to the 32 x 32 sums, or add them; sums outside of c are dropped. */
static void
put_sums(const struct bf16_strip *t, float sum[2 * SIDE][2 * SIDE], size_t i0)
{
    const size_t m = t->m - i0 < 2 * SIDE ? t->m - i0 : 2 * SIDE;
    const __mmask32 some = t->n < 32 ? (1u << t->n) - 1 : 0xffffffffu;

    for (size_t i = 0; i < m; i++) {
        float *to = t->c + (i0 + i) * t->ldc;
        __m512 s[2] = { _mm512_loadu_ps(sum[i]),
            _mm512_loadu_ps(sum[i] + SIDE) };

        for (int v = 0; v < 2; v++) {
            const __mmask16 here = (__mmask16)(some >> 16 * v);

            if (here == 0)
                break;
            if (t->add)
                s[v] = _mm512_add_ps(_mm512_maskz_loadu_ps(here, to + SIDE * v),
                    s[v]);
            _mm512_mask_storeu_ps(to + SIDE * v, here, s[v]);
        }
    }
}

static void
multiply_amx(const struct bf16_strip *t)
{
    const size_t panel = t->chunks * WORDS;
    _Alignas(64) float sum[2 * SIDE][2 * SIDE];

    _tile_loadconfig(&all_tiles);
    for (size_t i = 0; i < t->m; i += 2 * SIDE) {
        const float *a = t->a + i / SIDE * panel, *b = t->b;

        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (size_t k = 0; k < t->chunks; k++, a += WORDS, b += WORDS) {
            _tile_loadd(4, a, LINE);
            _tile_loadd(6, b, LINE);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, b + panel, LINE);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, a + panel, LINE);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, sum[0], sizeof sum[0]);
        _tile_stored(1, sum[0] + SIDE, sizeof sum[0]);
        _tile_stored(2, sum[SIDE], sizeof sum[0]);
        _tile_stored(3, sum[SIDE] + SIDE, sizeof sum[0]);
        put_sums(t, sum, i);
    }
    _tile_release();
}

const struct bf16_set bf16_amx = { KERN_BF16_AMX, 2, BF16_PAIRS, pack_rows,
    pack_pairs, multiply_amx };
#endif
