/* Vector operations of NEON (64-bit ARMv8.0-A), which the kernel templates
 * *_vec.h use.  A vector is a pair of 128-bit registers with eight floats. AVX2
 * has eight floats, too, so both sets of kernels add in the same order and give
 * the same bits. */
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define VW 8
#define vf float32x4x2_t
#define vd float64x2x2_t
/* An operation on each half of vectors. */
#define V1(f, a) ((vf){ { f((a).val[0]), f((a).val[1]) } })
#define V2(f, a, b) \
    ((vf){ { f((a).val[0], (b).val[0]), f((a).val[1], (b).val[1]) } })
#define V3(f, a, b, c)                              \
    ((vf){ { f((a).val[0], (b).val[0], (c).val[0]), \
        f((a).val[1], (b).val[1], (c).val[1]) } })

/* Number i of those that lie `step` floats apart, to be broadcast.  Where it is
 * known that these are neighbours, four are loaded at a time: a lane of a
 * register multiplies a vector. */
static inline float
v_number(const float *p, int i, size_t step)
{
    return __builtin_constant_p(step) && step == 1
        ? vld1q_f32(p + i / 4 * 4)[i % 4]
        : p[(size_t)i * step];
}
static inline vf
v_set1(float a)
{
    return (vf){ { vdupq_n_f32(a), vdupq_n_f32(a) } };
}
static inline vf
v_load(const float *p)
{
    return (vf){ { vld1q_f32(p), vld1q_f32(p + 4) } };
}
static inline void
v_store(float *p, vf a)
{
    vst1q_f32(p, a.val[0]);
    vst1q_f32(p + 4, a.val[1]);
}
static inline vf
v_add(vf a, vf b)
{
    return V2(vaddq_f32, a, b);
}
static inline vf
v_sub(vf a, vf b)
{
    return V2(vsubq_f32, a, b);
}
static inline vf
v_mul(vf a, vf b)
{
    return V2(vmulq_f32, a, b);
}
static inline vf
v_div(vf a, vf b)
{
    return V2(vdivq_f32, a, b);
}
/* As on x86: the second operand if one is NaN. */
static inline float32x4_t
q_max(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline float32x4_t
q_min(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
static inline vf
v_max(vf a, vf b)
{
    return V2(q_max, a, b);
}
static inline vf
v_min(vf a, vf b)
{
    return V2(q_min, a, b);
}
/* a where x > 0, else b */
static inline float32x4_t
q_where(float32x4_t x, float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcgtzq_f32(x), a, b);
}
static inline vf
v_where(vf x, vf a, vf b)
{
    return V3(q_where, x, a, b);
}
static inline vf
v_fma(vf a, vf b, vf c)
{
    return V3(vfmaq_f32, c, a, b);
}
static inline vf
v_fnma(vf a, vf b, vf c)
{
    return V3(vfmsq_f32, c, a, b);
}
static inline vf
v_round(vf a)
{
    return V1(vrndnq_f32, a);
}

static inline vd
d_load(const double *p)
{
    return (vd){ { vld1q_f64(p), vld1q_f64(p + 2) } };
}
static inline void
d_store(double *p, vd a)
{
    vst1q_f64(p, a.val[0]);
    vst1q_f64(p + 2, a.val[1]);
}
static inline vd
q_widen(float32x4_t a)
{
    return (vd){ { vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a) } };
}
#define d_widen(p) q_widen(vld1q_f32(p)) /* floats */
#define d_lo(a) q_widen((a).val[0])
#define d_hi(a) q_widen((a).val[1])
static inline vd
d_set1(double a)
{
    return (vd){ { vdupq_n_f64(a), vdupq_n_f64(a) } };
}
#define d_zero() d_set1(0.0)
static inline vd
d_add(vd a, vd b)
{
    return (
        vd){ { vaddq_f64(a.val[0], b.val[0]), vaddq_f64(a.val[1], b.val[1]) } };
}
static inline vd
d_sub(vd a, vd b)
{
    return (
        vd){ { vsubq_f64(a.val[0], b.val[0]), vsubq_f64(a.val[1], b.val[1]) } };
}
static inline vd
d_fma(vd a, vd b, vd c)
{
    return (vd){ { vfmaq_f64(c.val[0], a.val[0], b.val[0]),
        vfmaq_f64(c.val[1], a.val[1], b.val[1]) } };
}
static inline double
d_sum(vd a)
{
    const float64x2_t s = vaddq_f64(a.val[0], a.val[1]);

    return vgetq_lane_f64(s, 0) + vgetq_lane_f64(s, 1);
}
static inline float
v_hsum(vf a)
{
    const float32x4_t s = vaddq_f32(a.val[0], a.val[1]);

    return (vgetq_lane_f32(s, 0) + vgetq_lane_f32(s, 2)) +
        (vgetq_lane_f32(s, 1) + vgetq_lane_f32(s, 3));
}
static inline float
v_hmax(vf a)
{
    float t[8], m;

    v_store(t, a);
    m = t[0];
    for (int i = 1; i < 8; i++)
        m = t[i] > m ? t[i] : m;
    return m;
}

/* The lanes as words. */
#define Q_WORDS(a) vreinterpretq_u32_f32(a)
#define Q_FLOATS(a) vreinterpretq_f32_u32(a)

/* For dots_vec.h.  v_unpack_low, v_unpack_high and v_shuffle work within each
 * group of four lanes, as SSE's operations do.  v_low_half, v_high_half: the
 * bf16 numbers in the halves of each 32 bits, as floats.  v_rows4: 16 bytes
 * from p on and 16 from p + step on. */
#define v_unpack_low(a, b) V2(vzip1q_f32, a, b)
#define v_unpack_high(a, b) V2(vzip2q_f32, a, b)
#define Q_SHUFFLE(a, b, how)                               \
    __builtin_shufflevector(a, b, (how)&3, (how) >> 2 & 3, \
        4 + ((how) >> 4 & 3), 4 + ((how) >> 6 & 3))
#define v_shuffle(a, b, how)                         \
    ((vf){ { Q_SHUFFLE((a).val[0], (b).val[0], how), \
        Q_SHUFFLE((a).val[1], (b).val[1], how) } })
static inline float32x4_t
q_low_half(float32x4_t a)
{
    return Q_FLOATS(vshlq_n_u32(Q_WORDS(a), 16));
}
static inline float32x4_t
q_high_half(float32x4_t a)
{
    return Q_FLOATS(vandq_u32(Q_WORDS(a), vdupq_n_u32(0xffff0000)));
}
#define v_low_half(a) V1(q_low_half, a)
#define v_high_half(a) V1(q_high_half, a)
static inline float32x4_t
q_load(const void *p)
{
    return vreinterpretq_f32_u8(vld1q_u8(p));
}
static inline vf
v_rows4(const unsigned char *p, size_t step)
{
    return (vf){ { q_load(p), q_load(p + step) } };
}

/* For dot_sparse.  Each lane of a vb has the 32-bit mask of one row.
 *   b_set     makes a vb of VW masks
 *   b_places  the lowest four bits of a mask have two ones; returns the place
 *             (0 to 3) of the first plus 4 times the place of the second
 *   b_shift   mask >> n in each lane
 *   v_set4    repeats the four floats at p in each group of four lanes
 *   v_pick    result[i] = a[i - i % 4 + places[i] % 4] */
#define vb uint32x4x2_t
static inline vb
b_set(const int *b)
{
    return (vb){ { vreinterpretq_u32_s32(vld1q_s32(b)),
        vreinterpretq_u32_s32(vld1q_s32(b + 4)) } };
}
static inline uint32x4_t
q_places(uint32x4_t mask)
{
    static const uint8_t place[16] = { 0, 0, 0, 4, 0, 8, 9, 0, 0, 12, 13, 0, 14,
        0, 0, 0 };

    return vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(place),
        vreinterpretq_u8_u32(vandq_u32(mask, vdupq_n_u32(15)))));
}
static inline vb
b_places(vb mask)
{
    return (vb){ { q_places(mask.val[0]), q_places(mask.val[1]) } };
}
static inline vb
b_shift(vb a, int n)
{
    const int32x4_t by = vdupq_n_s32(-n);

    return (vb){ { vshlq_u32(a.val[0], by), vshlq_u32(a.val[1], by) } };
}
static inline vf
v_set4(const float *p)
{
    return (vf){ { vld1q_f32(p), vld1q_f32(p) } };
}
static inline float32x4_t
q_pick(float32x4_t a, uint32x4_t places)
{
    const uint32x4_t at = vmlaq_n_u32(vdupq_n_u32(0x03020100),
        vandq_u32(places, vdupq_n_u32(3)), 0x04040404);

    return vreinterpretq_f32_u8(
        vqtbl1q_u8(vreinterpretq_u8_f32(a), vreinterpretq_u8_u32(at)));
}
static inline vf
v_pick(vf a, vb places)
{
    return (vf){ { q_pick(a.val[0], places.val[0]),
        q_pick(a.val[1], places.val[1]) } };
}

/* Split a = 2^n m, 2/3 <= m < 4/3: returns m, sets *n.  a must be normal and
 * positive, or NaN. */
static inline float32x4_t
q_split(float32x4_t a, float32x4_t *n)
{
    const int32x4_t two_thirds = vdupq_n_s32(0x3f2aaaab);
    const int32x4_t i = vsubq_s32(vreinterpretq_s32_f32(a), two_thirds);

    *n = vcvtq_f32_s32(vshrq_n_s32(i, 23));
    return vreinterpretq_f32_s32(
        vaddq_s32(vandq_s32(i, vdupq_n_s32(0x7fffff)), two_thirds));
}
static inline vf
v_split(vf a, vf *n)
{
    return (
        vf){ { q_split(a.val[0], &n->val[0]), q_split(a.val[1], &n->val[1]) } };
}
/* a * 2^n, |n| < 250, as two products: 2^n itself may be out of the range of
 * floats. */
static inline float32x4_t
q_scalef(float32x4_t a, float32x4_t n)
{
    const int32x4_t i = vcvtnq_s32_f32(n), h = vshrq_n_s32(i, 1);
    const int32x4_t bias = vdupq_n_s32(127);
    const int32x4_t p = vshlq_n_s32(vaddq_s32(h, bias), 23);
    const int32x4_t q = vshlq_n_s32(vaddq_s32(vsubq_s32(i, h), bias), 23);

    return vmulq_f32(vmulq_f32(a, vreinterpretq_f32_s32(p)),
        vreinterpretq_f32_s32(q));
}
static inline vf
v_scalef(vf a, vf n)
{
    return V2(q_scalef, a, n);
}

/* u to the upper 16 bits: the nearest bf16, ties to even; the lower bits are
 * not cleared.  u is no NaN. */
static inline uint32x4_t
q_nearest(uint32x4_t u)
{
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));

    return vaddq_u32(vaddq_u32(u, odd), vdupq_n_u32(0x7fff));
}
/* bf16_round of each number. */
static inline float32x4_t
q_bf16(float32x4_t a)
{
    const uint32x4_t u = Q_WORDS(a);
    const uint32x4_t size = vandq_u32(u, vdupq_n_u32(0x7fffffff));
    const uint32x4_t nan = vcgtq_u32(size, vdupq_n_u32(0x7f800000));
    const uint32x4_t tiny = vcltq_u32(size, vdupq_n_u32(0x00800000));
    uint32x4_t r = q_nearest(u);

    r = vbslq_u32(nan, vorrq_u32(u, vdupq_n_u32(0x400000)), r);
    r = vbslq_u32(tiny, vandq_u32(u, vdupq_n_u32(0x80000000)), r);
    return Q_FLOATS(vandq_u32(r, vdupq_n_u32(0xffff0000)));
}
static inline vf
v_bf16(vf a)
{
    return V1(q_bf16, a);
}
/* narrow_bf16 and chance_bf16 of kern.h */
static inline uint32x4_t
q_narrow(float32x4_t a)
{
    const uint32x4_t u = Q_WORDS(a);

    return vbslq_u32(vceqq_f32(a, a), q_nearest(u),
        vorrq_u32(u, vdupq_n_u32(0x400000)));
}
static inline void
v_narrow_bf16(uint16_t *p, vf a)
{
    vst1_u16(p, vshrn_n_u32(q_narrow(a.val[0]), 16));
    vst1_u16(p + 4, vshrn_n_u32(q_narrow(a.val[1]), 16));
}
static inline uint32x4_t
q_chance(float32x4_t a, const uint16_t *chance)
{
    const uint32x4_t u = Q_WORDS(a), most = vdupq_n_u32(0x7f800000);
    const uint32x4_t r = vaddw_u16(u, vld1_u16(chance));

    return vbslq_u32(vceqq_u32(vandq_u32(r, most), most), u, r);
}
static inline void
v_chance_bf16(uint16_t *p, vf a, const uint16_t *chance)
{
    vst1_u16(p, vshrn_n_u32(q_chance(a.val[0], chance), 16));
    vst1_u16(p + 4, vshrn_n_u32(q_chance(a.val[1], chance + 4), 16));
}

/* Half a vector.  h_load loads it from fp32 numbers, h_from_bf16 from bf16
 * numbers; p may have any alignment. */
#define vh float32x4_t
#define h_load(p) q_load(p)
static inline vh
h_from_bf16(const void *p)
{
    return Q_FLOATS(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}
/* spread of kern.h.  For each half byte of the mask the table gives the bytes
 * of `in` for each column; 255: the column is 0. */
static inline vf
v_spread(vh in, const unsigned char *mask)
{
#define NO                 \
    {                      \
        255, 255, 255, 255 \
    }
#define A          \
    {              \
        0, 1, 2, 3 \
    }
#define B          \
    {              \
        4, 5, 6, 7 \
    }
    static const uint8_t at[16][4][4] = { [0] = { NO, NO, NO, NO },
        [3] = { A, B, NO, NO },
        [5] = { A, NO, B, NO },
        [6] = { NO, A, B, NO },
        [9] = { A, NO, NO, B },
        [10] = { NO, A, NO, B },
        [12] = { NO, NO, A, B } };
#undef NO
#undef A
#undef B
    const uint8x16_t low = vld1q_u8(at[*mask & 15][0]);
    const uint8x16_t high = vld1q_u8(at[*mask >> 4][0]);
    const uint8x16_t first = vreinterpretq_u8_f32(in);

    return (vf){ { vreinterpretq_f32_u8(vqtbl1q_u8(first, low)),
        vreinterpretq_f32_u8(vqtbl1q_u8(vextq_u8(first, first, 8), high)) } };
}

/* Load the first k < VW lanes from p; the lanes after them are `fill`. */
static inline vf
v_load_part(const float *p, size_t k, float fill)
{
    float t[8];

    v_store(t, v_set1(fill));
    memcpy(t, p, k * sizeof *t);
    return v_load(t);
}
static inline void
v_store_part(float *p, size_t k, vf a)
{
    float t[8];

    v_store(t, a);
    memcpy(p, t, k * sizeof *t);
}
/* Return a with lanes k and later set to zero. */
static inline vf
v_keep(vf a, size_t k)
{
    float t[8] = { 0 };

    v_store_part(t, k, a);
    return v_load(t);
}
/* Load 8 signed bytes, bf16s or halves as floats. */
static inline vf
v_from_i8(const void *p)
{
    const int16x8_t a = vmovl_s8(vld1_s8(p));

    return (vf){ { vcvtq_f32_s32(vmovl_s16(vget_low_s16(a))),
        vcvtq_f32_s32(vmovl_high_s16(a)) } };
}
static inline vf
v_from_bf16(const void *p)
{
    const uint16x8_t a = vreinterpretq_u16_u8(vld1q_u8(p));

    return (vf){ { Q_FLOATS(vshll_n_u16(vget_low_u16(a), 16)),
        Q_FLOATS(vshll_high_n_u16(a, 16)) } };
}
/* half precision to single */
static inline float
v_half(uint16_t h)
{
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}
static inline vf
v_from_f16(const void *p)
{
    const float16x8_t a = vreinterpretq_f16_u8(vld1q_u8(p));

    return (vf){ { vcvt_f32_f16(vget_low_f16(a)), vcvt_high_f32_f16(a) } };
}

/* For gemm_bf16_vec.h: results too small for normal numbers become 0, until
 * v_set_mode restores what this returned. */
static inline unsigned
v_tiny_to_zero(void)
{
    uint64_t mode;

    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    __asm__ __volatile__("msr fpcr, %0" : : "r"(mode | UINT64_C(1) << 24));
    return (unsigned)mode;
}
static inline void
v_set_mode(unsigned mode)
{
    __asm__ __volatile__("msr fpcr, %0" : : "r"((uint64_t)mode));
}
