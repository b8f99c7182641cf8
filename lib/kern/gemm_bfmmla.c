/* Products in bfloat16 by BFMMLA of 64-bit Arm, which adds to a tile of 2 x 2
 * sums the products of 2 rows of a and 2 columns of b, 4 elements along k.  16
 * such tiles, 8 rows by 8 columns, stay in registers.  A chunk of a panel is an
 * array [BF16_CHUNK / 4][16][4]: 4 neighbours along k of one row (of a) or
 * column (of b), then those of the next row or column, then the next 4 of k. */
#include "kern/gemm_bf16.h"

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include "kern/neon_vec.h"
#include "kern/unroll.h"

#include <string.h>

enum { SIDE = 8, QUAD = 4 }; /* rows or columns at a time; numbers along k */

/* Load 4 numbers, neighbours in memory, rounded to bfloat16.  Only `have` of
 * them exist; zeros take the place of the others. */
static inline uint16x4_t
round_quad(const void *p, int half, size_t have)
{
    float wide[QUAD] = { 0 };
    uint16_t some[QUAD] = { 0 };

    if (have == 0)
        return vdup_n_u16(0);
    if (have < QUAD)
        p = half ? memcpy(some, p, have * sizeof *some)
                 : memcpy(wide, p, have * sizeof *wide);
    if (half)
        return vreinterpret_u16_u8(vld1_u8(p));
    return vshrn_n_u32(Q_WORDS(q_bf16(vld1q_f32(p))), 16);
}

static inline size_t
left(size_t all, size_t at)
{
    return at < all ? all - at : 0;
}

/* Pack the chunk at depth l of a panel of n rows; in a panel of b, rows are
 * columns. */
static void
pack_quads(uint16_t *out, size_t n, size_t l, size_t kc,
    const struct operand *x)
{
    for (size_t end = l + BF16_CHUNK; l < end; l += QUAD)
        for (size_t i = 0; i < BF16_GROUP; i += QUAD, out += QUAD * QUAD) {
            uint16x4x4_t q;

            UNROLL
            for (size_t j = 0; j < QUAD; j++) {
                if (x->l_step == 1)
                    vst1_u16(out + QUAD * j,
                        round_quad(operand_from(x, i + j, l).p, x->half,
                            i + j < n ? left(kc, l) : 0));
                else
                    q.val[j] = round_quad(operand_from(x, i, l + j).p, x->half,
                        l + j < kc ? left(n, i) : 0);
            }
            if (x->l_step != 1)
                vst4_u16(out, q);
        }
}

/* Pack all panels, in the order in which memory is read: panel by panel if rows
 * are contiguous along k, else chunk by chunk. */
static void
pack_bfmmla(float *out, size_t n, size_t kc, const struct operand *x)
{
    const size_t chunks = (kc + BF16_CHUNK - 1) / BF16_CHUNK;
    const size_t panels = (n + BF16_GROUP - 1) / BF16_GROUP;
    const int along = x->l_step == 1;

    for (size_t t = 0; t < chunks * panels; t++) {
        const size_t c = along ? t % chunks : t / panels;
        const size_t i = (along ? t / chunks : t % panels) * BF16_GROUP;
        const struct operand y = operand_from(x, i, 0);

        pack_quads((uint16_t *)(void *)(out +
                       (i / BF16_GROUP * chunks + c) * BF16_PAIRS),
            n - i, c * BF16_CHUNK, kc, &y);
    }
}

/* Compute the sums of SIDE rows and columns over all chunks. */
static void
tile_sums(size_t chunks, const uint16_t *restrict a, const uint16_t *restrict b,
    float out[SIDE][SIDE])
{
    float32x4_t s[SIDE / 2][SIDE / 2];

    UNROLL
    for (int i = 0; i < SIDE / 2; i++) {
        UNROLL
        for (int j = 0; j < SIDE / 2; j++)
            s[i][j] = vdupq_n_f32(0.0f);
    }
    for (size_t l = 0; l < chunks * BF16_CHUNK; l += QUAD) {
        bfloat16x8_t x[SIDE / 2], y[SIDE / 2];

        UNROLL
        for (int i = 0; i < SIDE / 2; i++) {
            x[i] = vreinterpretq_bf16_u16(vld1q_u16(a + 8 * i));
            y[i] = vreinterpretq_bf16_u16(vld1q_u16(b + 8 * i));
        }
        UNROLL
        for (int i = 0; i < SIDE / 2; i++) {
            UNROLL
            for (int j = 0; j < SIDE / 2; j++)
                s[i][j] = vbfmmlaq_f32(s[i][j], x[i], y[j]);
        }
        a += QUAD * BF16_GROUP;
        b += QUAD * BF16_GROUP;
    }
    UNROLL
    for (int i = 0; i < SIDE / 2; i++) {
        UNROLL
        for (int j = 0; j < SIDE / 2; j++) {
            vst1_f32(&out[2 * i][2 * j], vget_low_f32(s[i][j]));
            vst1_f32(&out[2 * i + 1][2 * j], vget_high_f32(s[i][j]));
        }
    }
}

static void
multiply_bfmmla(const struct bf16_strip *t)
{
    const size_t panel = 2 * t->chunks * BF16_PAIRS; /* numbers */
    const uint16_t *const a = (const void *)t->a, *const b = (const void *)t->b;
    float sum[SIDE][SIDE];

    for (size_t i = 0; i < t->m; i += SIDE)
        for (size_t j = 0; j < t->n; j += SIDE) {
            const size_t rows = t->m - i < SIDE ? t->m - i : SIDE;
            const size_t cols = t->n - j < SIDE ? t->n - j : SIDE;

            tile_sums(t->chunks,
                a + i / BF16_GROUP * panel + i % BF16_GROUP * QUAD,
                b + j / BF16_GROUP * 2 * t->b_step + j % BF16_GROUP * QUAD,
                sum);
            for (size_t r = 0; r < rows; r++)
                for (size_t k = 0; k < cols; k++) {
                    float *const c = t->c + (i + r) * t->ldc + j + k;

                    *c = t->add ? *c + sum[r][k] : sum[r][k];
                }
        }
}

const struct bf16_set bf16_bfmmla = { KERN_BF16_BFMMLA, BF16_STRIP, 0,
    BF16_PAIRS, pack_bfmmla, pack_bfmmla, multiply_bfmmla };
#endif
