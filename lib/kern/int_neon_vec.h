/* Integers of NEON for int_vec.h, with SDOT if the including file is compiled
 * for it: sums are exact, so both give the same bits. */
#include "kern/int_form.h"

#include "kern/neon_vec.h"
#include "kern/unroll.h"

#include <string.h>

#define INT_TILE 4 /* rows of x at a time */
enum {
    CODE_ZERO = 0 /* codes of 8 bits are multiplied as they are */
};

#define vi int32x4x2_t
#define Q_BYTES(a) vreinterpretq_s8_s32(a)
#define I2(f, a, b) \
    ((vi){ { f((a).val[0], (b).val[0]), f((a).val[1], (b).val[1]) } })
static inline vi
i_load(const void *p)
{
    const unsigned char *b = p;

    return (vi){ { vreinterpretq_s32_u8(vld1q_u8(b)),
        vreinterpretq_s32_u8(vld1q_u8(b + 16)) } };
}
static inline void
i_store(void *p, vi a)
{
    memcpy(p, &a, sizeof a);
}
#define i_and(a, b) I2(vandq_s32, a, b)
#define i_max32(a, b) I2(vmaxq_s32, a, b)
#define i_add32(a, b) I2(vaddq_s32, a, b)
static inline vi
i_set32(int32_t a)
{
    return (vi){ { vdupq_n_s32(a), vdupq_n_s32(a) } };
}
static inline vi
i_bits(vf a)
{
    return (vi){ { vreinterpretq_s32_f32(a.val[0]),
        vreinterpretq_s32_f32(a.val[1]) } };
}
static inline vi
i_nearest(vf a)
{
    return (vi){ { vcvtnq_s32_f32(a.val[0]), vcvtnq_s32_f32(a.val[1]) } };
}
#define i_bytes(p) v_from_i8(p)
static inline int32x4_t
q_list(int32x4_t a)
{
    return vreinterpretq_s32_s8(
        vqtbl1q_s8(vld1q_s8((const int8_t *)quant_iq4_value),
            vreinterpretq_u8_s32(a)));
}
#define i_most(a) vmaxvq_s32(vmaxq_s32((a).val[0], (a).val[1]))
#define i_total(a) vaddvq_s32(vaddq_s32((a).val[0], (a).val[1]))

/* Store signed bytes. */
static inline void
i_narrow(signed char *p, vi a)
{
    vst1_s8((int8_t *)p,
        vqmovn_s16(vcombine_s16(vqmovn_s32(a.val[0]), vqmovn_s32(a.val[1]))));
}

/* Add to each lane of sum the products of four codes with the four numbers in
 * lane i of x.  Two products of signed bytes, of which those of x are above
 * -128, have room in 16 bits. */
#if defined(__ARM_FEATURE_DOTPROD)
#define q_quad(sum, q, x, i) vdotq_laneq_s32(sum, Q_BYTES(q), Q_BYTES(x), i)
#else
static inline int32x4_t
q_quad(int32x4_t sum, int32x4_t q, int32x4_t x, int i)
{
    const int32x4_t a = vdupq_n_s32(x[i]);
    const int16x8_t low =
        vmull_s8(vget_low_s8(Q_BYTES(q)), vget_low_s8(Q_BYTES(a)));
    const int16x8_t high = vmull_high_s8(Q_BYTES(q), Q_BYTES(a));

    return vpadalq_s16(sum, vpaddq_s16(low, high));
}
#endif

/* Bytes shifted to the right. */
static inline uint8x16_t
q_right(uint8x16_t a, int n)
{
    return vshlq_u8(a, vdupq_n_s8((int8_t)-n));
}

/* Load quad i of 4 rows of a block of codes at p. */
static inline __attribute__((always_inline)) int32x4_t
load_quad(struct int_form f, const unsigned char *p, int i)
{
    const int wide = f.bits - 4; /* bits of a code after the fourth */
    const int at = wide == 2 ? i / 2 * 2 : i;
    const unsigned char *more = p + (4 + (wide == 2 ? i % 2 : 0)) * INT_QUAD;
    uint8x16_t a = vld1q_u8(p + (f.bits == 8 ? i : i % 4) * INT_QUAD), b;

    if (wide == 0) {
        a = i < 4 ? vandq_u8(a, vdupq_n_u8(15)) : q_right(a, 4);
    } else if (wide < 4 && i < 4) {
        a = vsliq_n_u8(a, q_right(vld1q_u8(more), at), 4);
        a = vandq_u8(a, vdupq_n_u8((uint8_t)((16 << wide) - 1)));
    } else if (wide < 4) {
        b = q_right(vld1q_u8(more), at - 4);
        if (at + wide < 8)
            b = vandq_u8(b, vdupq_n_u8((uint8_t)((16 << wide) - 16)));
        a = vsriq_n_u8(b, a, 4);
    }
    return f.listed ? q_list(vreinterpretq_s32_u8(a)) : vreinterpretq_s32_u8(a);
}

static inline __attribute__((always_inline)) void
load_codes(struct int_form f, const unsigned char *p, vi q[INT_QUADS])
{
    UNROLL
    for (int i = 0; i < INT_QUADS; i++)
        q[i] = (vi){ { load_quad(f, p, i), load_quad(f, p + 16, i) } };
}

/* A sum of products is an integer s, at most 16 * 127 * 128 in magnitude.
 * SUM_BITS are the bits of the float 1.5 * 2^23.  As an integer, SUM_BITS + s
 * has the bits of the float 1.5 * 2^23 + s, and subtracting 1.5 * 2^23 leaves s
 * as a float.  That is faster than a conversion: more units of the processor
 * subtract than convert. */
#define SUM_BITS 0x4b400000
/* Two vectors of SUM_BITS.  The volatile asm loads them anew for each sum: the
 * units that load have time, and copying a register would take time of the
 * units that multiply. */
static inline vi
sum_start(void)
{
    static const vi bits = { { { SUM_BITS, SUM_BITS, SUM_BITS, SUM_BITS },
        { SUM_BITS, SUM_BITS, SUM_BITS, SUM_BITS } } };
    vi a;

    __asm__ __volatile__("ldp %q0, %q1, %2"
                         : "=w"(a.val[0]), "=w"(a.val[1])
                         : "Q"(bits));
    return a;
}

/* add_half of int_vec.h. */
static inline __attribute__((always_inline)) vf
add_half(struct int_form f, int zero, const vi q[4], vf e,
    const struct int_block *x, int h, vf y)
{
    const int32x4_t a = vreinterpretq_s32_s8(vld1q_s8(x->q + 16 * h));
    const float32x2_t d = vld1_f32(x->d);
    int32x4_t none = vdupq_n_s32(SUM_BITS);
    vi sum = sum_start();

    (void)f;
    if (zero)
        none = vsubq_s32(none, vshlq_n_s32(vdupq_n_s32(x->neg[h]), zero));
    UNROLL
    for (int v = 0; v < 2; v++) {
        sum.val[v] = q_quad(sum.val[v], q[0].val[v], a, 0);
        sum.val[v] = q_quad(sum.val[v], q[1].val[v], a, 1);
        sum.val[v] = q_quad(sum.val[v], q[2].val[v], a, 2);
        sum.val[v] = q_quad(sum.val[v], q[3].val[v], a, 3);
        y.val[v] = vfmaq_f32(y.val[v],
            vsubq_f32(vreinterpretq_f32_s32(sum.val[v]),
                vreinterpretq_f32_s32(none)),
            vmulq_n_f32(e.val[v], d[h]));
    }
    return y;
}

/* Codes in registers may be larger by 2^zero than the integers c_l that int.h
 * multiplies; those of a panel are c_l. */
static inline __attribute__((always_inline)) vi
panel_code(struct int_form f, vi q)
{
    const int8x16_t z = vdupq_n_s8((int8_t)(f.zero ? 1 << f.zero : 0));

    return (vi){ { vreinterpretq_s32_s8(vsubq_s8(Q_BYTES(q.val[0]), z)),
        vreinterpretq_s32_s8(vsubq_s8(Q_BYTES(q.val[1]), z)) } };
}

/* panel_block of int_vec.h, half a block at a time, so that all codes in use
 * fit the registers. */
static inline __attribute__((always_inline)) void
panel_block(struct int_form f, const unsigned char *p, size_t row,
    const unsigned char *x, size_t step, int m, vf *sum)
{
    const float *e =
        (const float *)(const void *)(p + INT_QUADS * INT_QUAD) + row;

    UNROLL
    for (int h = 0; h < 2; h++) {
        const vf scale = v_load(f.groups == 2 ? e + h * INT_ROWS : e);
        vi q[4];

        UNROLL
        for (int i = 0; i < 4; i++)
            q[i] = i_load(p + (4 * h + i) * INT_QUAD + 4 * row);
        UNROLL
        for (int i = 0; i < m; i++) {
            const struct int_block *b = (const void *)(x + (size_t)i * step);

            sum[i] = add_half(f, 0, q, scale, b, h, sum[i]);
        }
    }
    if (!f.min)
        return;
    UNROLL
    for (int i = 0; i < m; i++) {
        const struct int_block *b = (const void *)(x + (size_t)i * step);

        sum[i] = v_fnma(v_load(e + INT_ROWS), v_set1(b->s), sum[i]);
    }
}
#define OWN_BLOCKS

#include "kern/int_vec.h"
