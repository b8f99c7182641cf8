/* Integers of NEON for int_vec.h, with SDOT if the including file is compiled
 * for it: sums are exact, so both give the same bits. */
#include "kern/int.h"

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
#define i_or(a, b) I2(vorrq_s32, a, b)
#define i_max32(a, b) I2(vmaxq_s32, a, b)
#define i_add32(a, b) I2(vaddq_s32, a, b)
/* Shift lanes of 16 bits to the left; right if n < 0. */
static inline int32x4_t
q_shift16(int32x4_t a, int n)
{
    return vreinterpretq_s32_u16(
        vshlq_u16(vreinterpretq_u16_s32(a), vdupq_n_s16((int16_t)n)));
}
static inline vi
i_left(vi a, int n)
{
    return (vi){ { q_shift16(a.val[0], n), q_shift16(a.val[1], n) } };
}
#define i_right(a, n) i_left(a, -(n))
static inline vi
i_shift32(vi a, int n)
{
    const int32x4_t by = vdupq_n_s32(n);

    return (vi){ { vshlq_s32(a.val[0], by), vshlq_s32(a.val[1], by) } };
}
static inline vi
i_set32(int32_t a)
{
    return (vi){ { vdupq_n_s32(a), vdupq_n_s32(a) } };
}
#define i_set8(a) i_set32((int32_t)((uint8_t)(a)*UINT32_C(0x01010101)))
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
static inline vf
i_float(vi a)
{
    return (vf){ { vcvtq_f32_s32(a.val[0]), vcvtq_f32_s32(a.val[1]) } };
}
#define i_bytes(p) v_from_i8(p)
#define i_code(a) (a)
static inline int32x4_t
q_list(int32x4_t a)
{
    return vreinterpretq_s32_s8(
        vqtbl1q_s8(vld1q_s8((const int8_t *)quant_iq4_value),
            vreinterpretq_u8_s32(a)));
}
static inline vi
i_list(vi a)
{
    return (vi){ { q_list(a.val[0]), q_list(a.val[1]) } };
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
#define Q_QUADS(half)                                                \
    sum.val[half] = q_quad(sum.val[half], q[i].val[half], a, 0);     \
    sum.val[half] = q_quad(sum.val[half], q[i + 1].val[half], a, 1); \
    sum.val[half] = q_quad(sum.val[half], q[i + 2].val[half], a, 2); \
    sum.val[half] = q_quad(sum.val[half], q[i + 3].val[half], a, 3)
/* sum += the products of n vectors of codes with the 4 n numbers of x: each
 * lane of q[i] has four codes, which meet x[4 i] to x[4 i + 3].  n is a
 * multiple of 4. */
static inline __attribute__((always_inline)) vi
sum_quads(int range, const vi *q, int n, const signed char *x, vi sum)
{
    (void)range;
    UNROLL
    for (int i = 0; i < n; i += 4) {
        const int32x4_t a = vreinterpretq_s32_s8(vld1q_s8(x + 4 * i));

        Q_QUADS(0);
        Q_QUADS(1);
    }
    return sum;
}

#include "kern/int_vec.h"
