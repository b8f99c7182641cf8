/* Squares of 4 and 8 rows of floats, transposed in registers, for panel_vec.h,
 * which defines PACKED. */
#include "kern/unroll.h"

#include <stddef.h>

#if VW == 8
#define LOAD8(p) PACKED(v_load(p))
#else
#define LOAD8(p) _mm256_loadu_ps(p)
#endif

#if defined(__aarch64__)
/* Store the columns of four rows. */
static inline void
turn_rows(float *restrict out, size_t width, float32x4_t a, float32x4_t b,
    float32x4_t c, float32x4_t d)
{
    const float64x2_t low = vreinterpretq_f64_f32(vzip1q_f32(a, b));
    const float64x2_t high = vreinterpretq_f64_f32(vzip2q_f32(a, b));
    const float64x2_t low2 = vreinterpretq_f64_f32(vzip1q_f32(c, d));
    const float64x2_t high2 = vreinterpretq_f64_f32(vzip2q_f32(c, d));

    vst1q_f32(out, vreinterpretq_f32_f64(vzip1q_f64(low, low2)));
    vst1q_f32(out + width, vreinterpretq_f32_f64(vzip2q_f64(low, low2)));
    vst1q_f32(out + 2 * width, vreinterpretq_f32_f64(vzip1q_f64(high, high2)));
    vst1q_f32(out + 3 * width, vreinterpretq_f32_f64(vzip2q_f64(high, high2)));
}

/* Transpose 4 rows of 4 floats: out[l * width + i] = in[i * step + l]. */
static inline void
turn4(float *restrict out, size_t width, const float *restrict in, size_t step)
{
    turn_rows(out, width, vld1q_f32(in), vld1q_f32(in + step),
        vld1q_f32(in + 2 * step), vld1q_f32(in + 3 * step));
}

/* Transpose 8 rows of 8 floats, as turn4. */
static inline void
turn8(float *restrict out, size_t width, const float *restrict in, size_t step)
{
    UNROLL
    for (size_t i = 0; i < 8; i += 4) {
        const float *p = in + i * step;
        const vf a = LOAD8(p), b = LOAD8(p + step);
        const vf c = LOAD8(p + 2 * step), d = LOAD8(p + 3 * step);

        turn_rows(out + i, width, a.val[0], b.val[0], c.val[0], d.val[0]);
        turn_rows(out + i + 4 * width, width, a.val[1], b.val[1], c.val[1],
            d.val[1]);
    }
}
#else
/* Transpose 8 rows of 8 floats: out[l * width + i] = in[i * step + l]. */
static inline void
turn8(float *restrict out, size_t width, const float *restrict in, size_t step)
{
    __m256 r[8], u[8];

    UNROLL
    for (int i = 0; i < 4; i++) {
        /* rows i and i + 4 side by side, for each half of the columns */
        const __m256 x = LOAD8(in + (size_t)i * step);
        const __m256 y = LOAD8(in + (size_t)(i + 4) * step);

        r[i] = _mm256_permute2f128_ps(x, y, 0x20);
        r[i + 4] = _mm256_permute2f128_ps(x, y, 0x31);
    }
    UNROLL
    for (int h = 0; h < 8; h += 4) {
        u[0] = _mm256_unpacklo_ps(r[h], r[h + 1]);
        u[1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
        u[2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
        u[3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
        u[4] = _mm256_shuffle_ps(u[0], u[2], 0x44);
        u[5] = _mm256_shuffle_ps(u[0], u[2], 0xee);
        u[6] = _mm256_shuffle_ps(u[1], u[3], 0x44);
        u[7] = _mm256_shuffle_ps(u[1], u[3], 0xee);
        UNROLL
        for (int i = 0; i < 4; i++)
            _mm256_storeu_ps(out + (size_t)(h + i) * width, u[4 + i]);
    }
}

/* Transpose 4 rows of 4 floats, as turn8. */
static inline void
turn4(float *restrict out, size_t width, const float *restrict in, size_t step)
{
    __m128 a = _mm_loadu_ps(in), b = _mm_loadu_ps(in + step);
    __m128 c = _mm_loadu_ps(in + 2 * step), d = _mm_loadu_ps(in + 3 * step);

    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, a);
    _mm_storeu_ps(out + width, b);
    _mm_storeu_ps(out + 2 * width, c);
    _mm_storeu_ps(out + 3 * width, d);
}
#endif
