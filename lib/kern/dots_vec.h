/*
 * Products of few rows with the rows of a weight, as decoding needs them: both
 * are read along k in place.  An element is the sum of parts along k, each of
 * them a vector of sums whose lanes are then added in one order: so it is the
 * same in whatever tile it falls.  Included by gemm_vec.h.
 */
enum { DOT_COLS = 4, DOT_DEEP = 576 }; /* rows of w, columns at a time */

/* Sums of the lanes of four vectors, each in the same order. */
static inline __m128
sum_each(const vf s[DOT_COLS])
{
#if VW == 16
    __m256 h[DOT_COLS];
    __m128 lo[DOT_COLS];

    UNROLL
    for (int j = 0; j < DOT_COLS; j++)
        h[j] = _mm256_add_ps(_mm512_castps512_ps256(s[j]),
            _mm512_extractf32x8_ps(s[j], 1));
#else
    const __m256 *h = s;
    __m128 lo[DOT_COLS];
#endif
    UNROLL
    for (int j = 0; j < DOT_COLS; j++)
        lo[j] = _mm_add_ps(_mm256_castps256_ps128(h[j]),
            _mm256_extractf128_ps(h[j], 1));
    _MM_TRANSPOSE4_PS(lo[0], lo[1], lo[2], lo[3]);
    return _mm_add_ps(_mm_add_ps(lo[0], lo[1]), _mm_add_ps(lo[2], lo[3]));
}

/* n columns (n >= VW: VW) of m rows of x times those of rows p of w, added to
 * the sums; rows of x are k long. */
static inline __attribute__((always_inline)) void
dot_step(vf s[DOT_ROWS][DOT_COLS], int m, size_t n, size_t k, const float *x,
    const float *const p[DOT_COLS], size_t t)
{
    vf b[DOT_COLS];

    UNROLL
    for (int j = 0; j < DOT_COLS; j++)
        b[j] = n >= VW ? v_load(p[j] + t) : v_load_part(p[j] + t, n, 0.0f);
    UNROLL
    for (int i = 0; i < m; i++) {
        const float *q = x + (size_t)i * k + t;
        const vf a = n >= VW ? v_load(q) : v_load_part(q, n, 0.0f);

        UNROLL
        for (int j = 0; j < DOT_COLS; j++)
            s[i][j] = v_fma(a, b[j], s[i][j]);
    }
}

/* Columns l to l + kc of m rows of x times those of n <= DOT_COLS rows of w,
 * all k long, to or (l > 0) added to y.  Inlined with constant m. */
static inline __attribute__((always_inline)) void
dot_tile(int m, size_t n, size_t k, size_t l, size_t kc,
    const float *restrict x, const float *restrict w, float *restrict y,
    size_t ldy)
{
    const size_t end = l + kc;
    vf s[DOT_ROWS][DOT_COLS];
    const float *p[DOT_COLS];
    size_t t = l;

    UNROLL
    for (int j = 0; j < DOT_COLS; j++) {
        p[j] = w + ((size_t)j < n ? (size_t)j : 0) * k;
        UNROLL
        for (int i = 0; i < m; i++)
            s[i][j] = v_set1(0.0f);
    }
    for (; t + VW <= end; t += VW)
        dot_step(s, m, VW, k, x, p, t);
    if (t < end)
        dot_step(s, m, end - t, k, x, p, t);
    UNROLL
    for (int i = 0; i < m; i++, y += ldy) {
        float z[DOT_COLS];

        _mm_storeu_ps(z, sum_each(s[i]));
        for (size_t j = 0; j < n; j++)
            y[j] = l > 0 ? y[j] + z[j] : z[j];
    }
}

/* By parts of k of which 16 rows of x stay in a first-level cache. */
static void
dots(size_t m, size_t n, size_t k, const float *x, const float *w, float *y,
    size_t ldy)
{
    const size_t parts = (k + DOT_DEEP - 1) / DOT_DEEP;
    const size_t deep = ((k + parts - 1) / parts + VW - 1) / VW * VW;

    for (size_t l = 0; l < k; l += deep) {
        const size_t kc = k - l < deep ? k - l : deep;

        for (size_t j = 0; j < n; j += DOT_COLS) {
            const size_t cols = n - j < DOT_COLS ? n - j : DOT_COLS;
            const float *b = w + j * k;
            size_t i = 0;

            for (; i + DOT_ROWS <= m; i += DOT_ROWS)
                dot_tile(DOT_ROWS, cols, k, l, kc, x + i * k, b,
                    y + i * ldy + j, ldy);
            for (; i < m; i++)
                dot_tile(1, cols, k, l, kc, x + i * k, b, y + i * ldy + j, ldy);
        }
    }
}
