/*
 * Products of few rows x with the rows of a weight w, for decoding: both are
 * read along k, where they lie.  An element is the sum of parts along k.  Each
 * part is summed in the lanes of a vector, which are then added in a fixed
 * order, so its bits do not depend on the tile it is in.  Included by
 * gemm_vec.h.
 */
enum {
    DOT_COLS = 4,
    DOT_DEEP = 576
}; /* DOT_COLS rows of w, DOT_DEEP columns of each, at a time */

/* The sum of the lanes of each of four vectors, in a fixed order. */
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

/* How rows of w are stored; a constant in inlined functions. */
enum dot_type { DOT_F32, DOT_BF16, DOT_F32_2_4, DOT_BF16_2_4 };

/* Load VW columns of a row, from column t on. */
static inline __attribute__((always_inline)) vf
dot_load(enum dot_type type, const unsigned char *p, const unsigned char *mask,
    size_t t)
{
    switch (type) {
    case DOT_F32: return v_load((const float *)(const void *)(p + 4 * t));
    case DOT_BF16: return v_from_bf16(p + 2 * t);
    case DOT_F32_2_4: return v_spread(h_load(p + 2 * t), mask + t / 8);
    default: return v_spread(h_from_bf16(p + t), mask + t / 8);
    }
}

/* Load a row's last n < VW columns. */
static vf
dot_load_part(enum dot_type type, const unsigned char *p,
    const unsigned char *mask, size_t t, size_t n)
{
    float in[VW], out[VW] = { 0 };

    switch (type) {
    case DOT_F32: memcpy(out, p + 4 * t, n * sizeof *out); break;
    case DOT_BF16: kern_ref.widen_bf16(out, p + 2 * t, n); break;
    case DOT_F32_2_4:
        memcpy(in, p + 2 * t, (n + 3) / 4 * 2 * sizeof *in);
        kern_ref.spread(out, in, mask + t / 8, n);
        break;
    default:
        kern_ref.widen_bf16(in, p + t, (n + 3) / 4 * 2);
        kern_ref.spread(out, in, mask + t / 8, n);
    }
    return v_load(out);
}

/* Add to s the products of n <= VW columns of m rows of x with those of the
 * rows p of w.  Rows of x are k long. */
static inline __attribute__((always_inline)) void
dot_step(vf s[DOT_ROWS][DOT_COLS], int m, enum dot_type type, size_t n,
    size_t k, const float *x, const unsigned char *const p[DOT_COLS],
    const unsigned char *const mask[DOT_COLS], size_t t)
{
    vf b[DOT_COLS];

    UNROLL
    for (int j = 0; j < DOT_COLS; j++)
        b[j] = n >= VW ? dot_load(type, p[j], mask[j], t)
                       : dot_load_part(type, p[j], mask[j], t, n);
    UNROLL
    for (int i = 0; i < m; i++) {
        const float *q = x + (size_t)i * k + t;
        const vf a = n >= VW ? v_load(q) : v_load_part(q, n, 0.0f);

        UNROLL
        for (int j = 0; j < DOT_COLS; j++)
            s[i][j] = v_fma(a, b[j], s[i][j]);
    }
}

/* Multiply columns l..l+kc-1 of m rows of x by those of n <= DOT_COLS rows of
 * w; all rows are k long.  l = 0: set y to the sums; l > 0: add them.  Inlined
 * with constant m and type. */
static inline __attribute__((always_inline)) void
dot_tile(int m, enum dot_type type, size_t n, size_t k, size_t l, size_t kc,
    const float *restrict x, const struct kern_rows *w, size_t row,
    float *restrict y, size_t ldy)
{
    const size_t end = l + kc;
    vf s[DOT_ROWS][DOT_COLS];
    const unsigned char *p[DOT_COLS], *mask[DOT_COLS];
    size_t t = l;

    UNROLL
    for (int j = 0; j < DOT_COLS; j++) {
        const size_t r = row + ((size_t)j < n ? (size_t)j : 0);

        p[j] = w->data + r * w->stride;
        mask[j] = type >= DOT_F32_2_4 ? w->mask + r * w->mask_stride : NULL;
        UNROLL
        for (int i = 0; i < m; i++)
            s[i][j] = v_set1(0.0f);
    }
    /* Prefetch the next rows of w: rows are short, so the next are needed soon,
     * and memory is slower than arithmetic. */
    if (l == 0) {
        for (size_t b = 0; b < DOT_COLS * w->mask_stride; b += 64)
            _mm_prefetch(mask[0] + DOT_COLS * w->mask_stride + b, _MM_HINT_T0);
        for (size_t b = 0; b < DOT_COLS * w->stride; b += 64)
            _mm_prefetch(p[0] + DOT_COLS * w->stride + b, _MM_HINT_T0);
    }
    for (; t + VW <= end; t += VW)
        dot_step(s, m, type, VW, k, x, p, mask, t);
    if (t < end)
        dot_step(s, m, type, end - t, k, x, p, mask, t);
    UNROLL
    for (int i = 0; i < m; i++, y += ldy) {
        float z[DOT_COLS];

        _mm_storeu_ps(z, sum_each(s[i]));
        for (size_t j = 0; j < n; j++)
            y[j] = l > 0 ? y[j] + z[j] : z[j];
    }
}

/* Compute all elements.  k is cut into parts so short that 16 rows of x stay in
 * a first-level cache. */
static inline __attribute__((always_inline)) void
dot_all(enum dot_type type, size_t m, size_t n, size_t k, const float *x,
    const struct kern_rows *w, float *y, size_t ldy)
{
    const size_t parts = (k + DOT_DEEP - 1) / DOT_DEEP;
    const size_t deep = ((k + parts - 1) / parts + VW - 1) / VW * VW;

    for (size_t l = 0; l < k; l += deep) {
        const size_t kc = k - l < deep ? k - l : deep;

        for (size_t j = 0; j < n; j += DOT_COLS) {
            const size_t cols = n - j < DOT_COLS ? n - j : DOT_COLS;
            size_t i = 0;

            for (; i + DOT_ROWS <= m; i += DOT_ROWS)
                dot_tile(DOT_ROWS, type, cols, k, l, kc, x + i * k, w, j,
                    y + i * ldy + j, ldy);
            for (; i < m; i++)
                dot_tile(1, type, cols, k, l, kc, x + i * k, w, j,
                    y + i * ldy + j, ldy);
        }
    }
}

static void
dots(size_t m, size_t n, size_t k, const float *x, const float *w, float *y,
    size_t ldy)
{
    const struct kern_rows rows = { (const unsigned char *)w, NULL, 4 * k, 0,
        0 };

    dot_all(DOT_F32, m, n, k, x, &rows, y, ldy);
}

static void
dots_stored(size_t m, size_t n, size_t k, const float *x,
    const struct kern_rows *w, float *y, size_t ldy)
{
    if (w->mask == NULL && !w->half)
        dot_all(DOT_F32, m, n, k, x, w, y, ldy);
    else if (w->mask == NULL)
        dot_all(DOT_BF16, m, n, k, x, w, y, ldy);
    else if (!w->half)
        dot_all(DOT_F32_2_4, m, n, k, x, w, y, ldy);
    else
        dot_all(DOT_BF16_2_4, m, n, k, x, w, y, ldy);
}
