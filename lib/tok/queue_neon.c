/* Merging side by side with NEON; see queue.h. */
#include "tok/queue.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define QUEUE_NAME queue_neon

static inline uint32_t
smallest(const uint32_t *key, size_t n)
{
    uint32x4_t a = vld1q_u32(key), b = vld1q_u32(key + 4);

    for (size_t i = 8; i < 8 * n; i += 8) {
        a = vminq_u32(a, vld1q_u32(key + i));
        b = vminq_u32(b, vld1q_u32(key + i + 4));
    }
    return vminvq_u32(vminq_u32(a, b));
}

static inline uint64_t
line_find(const uint64_t *line, uint64_t want, unsigned shift)
{
    const uint64x2_t w = vdupq_n_u64(want);
    const int64x2_t down = vdupq_n_s64(-(int64_t)shift);
    uint64x2_t least = vdupq_n_u64(UINT64_MAX);

    /* All bits are set but in the one word, if any, that is below 1 << shift.
     */
    for (int i = 0; i < LINE_PAIRS; i += 2) {
        const uint64x2_t x = veorq_u64(vld1q_u64(line + i), w);

        least = vandq_u64(least, vornq_u64(x, vceqzq_u64(vshlq_u64(x, down))));
    }
    return vgetq_lane_u64(least, 0) & vgetq_lane_u64(least, 1);
}

#include "tok/queue_vec.h"
#endif
