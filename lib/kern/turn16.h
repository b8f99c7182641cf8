/* Transposing a square of 16 rows of 16 words in registers. */
#include "kern/unroll.h"

#include <immintrin.h>
#include <stddef.h>

/* Set out[c * width + i] to word c of row i; overwrites row. */
static inline __attribute__((always_inline)) void
turn16(float *restrict out, size_t width, __m512 row[16])
{
    __m512 u[16];

    UNROLL
    for (int i = 0; i < 16; i += 2) {
        u[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
        u[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
    }
    /* row[i + c], i = 0, 4, 8, 12: rows i..i+3 of columns c, c+4, c+8, c+12 */
    UNROLL
    for (int i = 0; i < 16; i += 4) {
        UNROLL
        for (int c = 0; c < 2; c++) {
            const __m512d x = _mm512_castps_pd(u[i + c]);
            const __m512d y = _mm512_castps_pd(u[i + c + 2]);

            row[i + 2 * c] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
            row[i + 2 * c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
        }
    }
    UNROLL
    for (int c = 0; c < 4; c++) {
        const __m512 a = _mm512_shuffle_f32x4(row[c], row[4 + c], 0x88);
        const __m512 b = _mm512_shuffle_f32x4(row[8 + c], row[12 + c], 0x88);
        const __m512 e = _mm512_shuffle_f32x4(row[c], row[4 + c], 0xdd);
        const __m512 f = _mm512_shuffle_f32x4(row[8 + c], row[12 + c], 0xdd);
        float *to = out + (size_t)c * width;

        _mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, b, 0x88));
        _mm512_storeu_ps(to + 4 * width, _mm512_shuffle_f32x4(e, f, 0x88));
        _mm512_storeu_ps(to + 8 * width, _mm512_shuffle_f32x4(a, b, 0xdd));
        _mm512_storeu_ps(to + 12 * width, _mm512_shuffle_f32x4(e, f, 0xdd));
    }
}
