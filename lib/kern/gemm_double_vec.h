/*
 * gemm_double of kern.h over the vector operations and panels of gemm_vec.h,
 * which includes this file.  A tile is DOUBLE_MR rows by NV vectors of VW / 2
 * doubles.  Both factors are widened into panels.  k is cut into blocks of
 * DEEP; each is summed in order of l and then added to c.
 */
enum { DV = VW / 2, DR = NV * DV };
_Static_assert(DC % DOUBLE_MR == 0, "whole groups of rows");

/* c += a panel of a times a panel of b, for the first DOUBLE_MR of m rows, or
 * all m if m < DOUBLE_MR, and n <= DR columns. */
static inline void
double_tile(size_t kc, const double *restrict a, const double *restrict b,
    double *restrict c, size_t ldc, size_t m, size_t n)
{
    double part[DOUBLE_MR * DR];
    vd s[DOUBLE_MR][NV];

    UNROLL
    for (int i = 0; i < DOUBLE_MR; i++) {
        UNROLL
        for (int v = 0; v < NV; v++)
            s[i][v] = d_zero();
    }
    for (size_t l = 0; l < kc; l++, a += DOUBLE_MR, b += DR) {
        vd y[NV];

        UNROLL
        for (int v = 0; v < NV; v++)
            y[v] = d_load(b + v * DV);
        UNROLL
        for (int i = 0; i < DOUBLE_MR; i++) {
            const vd x = d_set1(a[i]);

            UNROLL
            for (int v = 0; v < NV; v++)
                s[i][v] = d_fma(x, y[v], s[i][v]);
        }
    }
    if (m >= DOUBLE_MR && n == DR) {
        UNROLL
        for (int i = 0; i < DOUBLE_MR; i++, c += ldc) {
            UNROLL
            for (int v = 0; v < NV; v++)
                d_store(c + v * DV, d_add(d_load(c + v * DV), s[i][v]));
        }
        return;
    }
    UNROLL
    for (int i = 0; i < DOUBLE_MR; i++) {
        UNROLL
        for (int v = 0; v < NV; v++)
            d_store(part + i * DR + v * DV, s[i][v]);
    }
    for (size_t i = 0; i < m && i < DOUBLE_MR; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] += part[i * DR + j];
}

/* Make a panel of `width` rows of a or columns of b: out[l * width + i].  Only
 * n of them exist; for i >= n it has zeros. */
static inline __attribute__((always_inline)) void
double_pack(double *restrict out, size_t width, size_t n, size_t kc,
    const struct factor *x, size_t i0, size_t l0)
{
    const size_t at = i0 * x->i_step + l0 * x->l_step;

    for (size_t l = 0; l < kc; l++, out += width) {
        const size_t p = at + l * x->l_step;
        size_t i = 0;

        if (x->i_step == 1)
            for (; i + DV <= n; i += DV)
                d_store(out + i,
                    x->f != NULL ? d_widen(x->f + p + i)
                                 : d_load(x->d + p + i));
        for (; i < n; i++)
            out[i] = x->f != NULL ? (double)x->f[p + i * x->i_step]
                                  : x->d[p + i * x->i_step];
        for (; i < width; i++)
            out[i] = 0.0;
    }
}

static void
gemm_double(size_t m, size_t n, size_t k, struct factor a, struct factor b,
    double *c, size_t ldc)
{
    for (size_t l = 0; l < k; l += DEEP) {
        const size_t kc = k - l < DEEP ? k - l : DEEP;

        for (size_t i0 = 0; i0 < m; i0 += DC) {
            const size_t rows = m - i0 < DC ? m - i0 : DC;

            for (size_t i = 0; i < rows; i += DOUBLE_MR)
                double_pack(panel.wide_a + i * kc, DOUBLE_MR,
                    rows - i < DOUBLE_MR ? rows - i : DOUBLE_MR, kc, &a, i0 + i,
                    l);
            for (size_t j = 0; j < n; j += DR) {
                const size_t cols = n - j < DR ? n - j : DR;

                double_pack(panel.wide_b, DR, cols, kc, &b, j, l);
                for (size_t i = 0; i < rows; i += DOUBLE_MR)
                    double_tile(kc, panel.wide_a + i * kc, panel.wide_b,
                        c + (i0 + i) * ldc + j, ldc, rows - i, cols);
            }
        }
    }
}
