/* Classes of bytes with NEON; see scan.h. */
#include "tok/scan.h"
#include "text/unicode.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define SCAN_NAME scan_neon
#define VALID_NAME valid_neon
#define vec uint8x16x4_t

static inline vec
vec_load(const unsigned char *p)
{
    return vld1q_u8_x4(p);
}

/* Bit i: byte i of v, which is 0 or 0xff, is not 0. */
static inline uint64_t
bits(vec v)
{
    static const unsigned char place[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2,
        4, 8, 16, 32, 64, 128 };
    const uint8x16_t m = vld1q_u8(place);
    uint8x16_t a, b;

    a = vpaddq_u8(vandq_u8(v.val[0], m), vandq_u8(v.val[1], m));
    b = vpaddq_u8(vandq_u8(v.val[2], m), vandq_u8(v.val[3], m));
    a = vpaddq_u8(a, b);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(a, a)), 0);
}

static inline uint64_t
vec_le(vec v, int from, int most)
{
    const uint8x16_t f = vdupq_n_u8((uint8_t)from);
    const uint8x16_t m = vdupq_n_u8((uint8_t)most);

    for (int i = 0; i < 4; i++)
        v.val[i] = vcleq_u8(vsubq_u8(v.val[i], f), m);
    return bits(v);
}

static inline uint64_t
vec_eq(vec v, int c)
{
    const uint8x16_t x = vdupq_n_u8((uint8_t)c);

    for (int i = 0; i < 4; i++)
        v.val[i] = vceqq_u8(v.val[i], x);
    return bits(v);
}

#include "tok/scan_vec.h"
#endif
