/*
 * Products of few rows x with the rows of a weight w, for decoding, with the
 * bits of gemm_nt.  w is read where it lies and transposed in registers: a
 * vector has a column of VW rows, whose sums go along k together, in order.
 * Included by gemm_vec.h.
 */
enum {
    DOT_COLS = DOT_GROUPS * VW, /* rows of w at a time */
    SPARSE_COLS = 32            /* columns of 2:4 rows at a time */
};

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

/* The end of the block of columns that begins at column `l`; k: all columns. */
static inline size_t
dot_block_end(size_t l, size_t k)
{
    const size_t l0 = l - l % GEMM_DEEP;
    const size_t deep = k - l0 < GEMM_DEEP ? k - l0 : GEMM_DEEP;
    const size_t blocks = (deep + KC - 1) / KC;
    const size_t end = l + (deep + blocks - 1) / blocks;

    return end < l0 + deep ? end : l0 + deep;
}

/* Set col to the columns in 16 bytes of VW rows: 4 of fp32, 8 of bf16. */
static inline __attribute__((always_inline)) void
dot_turn(vf col[8], enum dot_type type, const unsigned char *p, size_t stride)
{
    vf z[4], u[4];

    UNROLL
    for (size_t i = 0; i < 4; i++)
        z[i] = v_rows4(p + i * stride, 4 * stride);
    u[0] = v_unpack_low(z[0], z[1]);
    u[1] = v_unpack_high(z[0], z[1]);
    u[2] = v_unpack_low(z[2], z[3]);
    u[3] = v_unpack_high(z[2], z[3]);
    z[0] = v_shuffle(u[0], u[2], 0x44);
    z[1] = v_shuffle(u[0], u[2], 0xee);
    z[2] = v_shuffle(u[1], u[3], 0x44);
    z[3] = v_shuffle(u[1], u[3], 0xee);
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (type == DOT_F32) {
            col[i] = z[i];
        } else {
            col[2 * i] = v_low_half(z[i]);
            col[2 * i + 1] = v_high_half(z[i]);
        }
    }
}

/* Add to s, for VW neighbouring columns, the products of m rows of x with the
 * VW rows at p.  Rows of x are k long. */
static inline __attribute__((always_inline)) void
dot_square(vf s[DOT_ROWS], int m, enum dot_type type, const float *x, size_t k,
    const unsigned char *p, size_t stride)
{
    const int n = type == DOT_F32 ? 4 : 8;

    UNROLL
    for (int c = 0; c < VW; c += n, p += 16) {
        vf col[8];

        dot_turn(col, type, p, stride);
        UNROLL
        for (int j = 0; j < n; j++) {
            UNROLL
            for (int i = 0; i < m; i++)
                s[i] = v_fma(v_set1(x[(size_t)i * k + (size_t)(c + j)]), col[j],
                    s[i]);
        }
    }
}

/* The 32 bits at p of each of VW rows, a row's in each lane. */
static inline __attribute__((always_inline)) vb
dot_bits(const unsigned char *p, size_t stride)
{
    int b[VW];

    UNROLL
    for (size_t r = 0; r < VW; r++)
        memcpy(&b[r], p + r * stride, sizeof *b);
    return b_set(b);
}

/* dot_square for SPARSE_COLS columns of 2:4 rows.  Each lane has a row of w: of
 * four numbers of x it takes the two whose weights are stored.  Products with
 * zeros are not computed; sums of finite numbers are the same without them. */
static inline __attribute__((always_inline)) void
dot_sparse(vf s[DOT_ROWS], int m, enum dot_type type, const float *x, size_t k,
    const unsigned char *p, size_t stride, vb mask)
{
    const enum dot_type dense = type == DOT_F32_2_4 ? DOT_F32 : DOT_BF16;
    const int n = dense == DOT_F32 ? 4 : 8;

    UNROLL
    for (int c = 0; c < SPARSE_COLS / 2; c += n, p += 16) {
        vf col[8];

        dot_turn(col, dense, p, stride);
        UNROLL
        for (int j = 0; j < n; j += 2) {
            const vb first = b_places(mask), second = b_shift(first, 2);

            mask = b_shift(mask, 4);
            UNROLL
            for (int i = 0; i < m; i++) {
                const vf four = v_set4(x + (size_t)i * k + 2 * (c + j));

                s[i] = v_fma(v_pick(four, first), col[j], s[i]);
                s[i] = v_fma(v_pick(four, second), col[j + 1], s[i]);
            }
        }
    }
}

/* `some` has VW columns of VW rows, one column after another.  Add to s the
 * products of columns from..from+n-1 alone. */
static inline __attribute__((always_inline)) void
dot_some(vf s[DOT_ROWS], int m, const float *x, size_t k, const float *some,
    size_t from, size_t n)
{
    for (size_t c = from; c < from + n; c++) {
        UNROLL
        for (int i = 0; i < m; i++)
            s[i] = v_fma(v_set1(x[(size_t)i * k + c]), v_load(some + c * VW),
                s[i]);
    }
}
/* Copy a square of w, widened, to out [VW,VW]: rows row..row+VW-1, columns
 * t..t+VW-1.  w has k columns; rows from row + n on, and columns from k on, are
 * set to zero. */
static inline __attribute__((always_inline)) void
dot_fill(float *out, enum dot_type type, const struct kern_rows *w, size_t row,
    size_t n, size_t t, size_t k)
{
    for (size_t r = 0; r < VW; r++) {
        const unsigned char *p = w->data + (row + r) * w->stride;
        const unsigned char *mask = w->mask + (row + r) * w->mask_stride;

        if (r >= n)
            v_store(out + r * VW, v_set1(0.0f));
        else if (k - t >= VW)
            v_store(out + r * VW, dot_load(type, p, mask, t));
        else
            v_store(out + r * VW, dot_load_part(type, p, mask, t, k - t));
    }
}

/* Add to s the products of columns t..t+n-1 of m rows of x with those of VW
 * rows of w from `row` on.  Only `rows` of these exist, if rows < VW.  The
 * columns lie between multiples of VW, or there are SPARSE_COLS of them. */
static inline __attribute__((always_inline)) void
dot_step(vf s[DOT_ROWS], int m, enum dot_type type, const float *x, size_t k,
    const struct kern_rows *w, size_t row, size_t rows, size_t t, size_t n)
{
    const size_t from = t % VW, t0 = t - from;
    const size_t size = type == DOT_F32 ? 4 : type == DOT_BF16_2_4 ? 1 : 2;
    const unsigned char *p = w->data + row * w->stride + t0 * size;
    _Alignas(64) float in[VW * VW], some[VW * VW];
    vf col[8];

    if (type <= DOT_BF16 && n == VW && rows >= VW) {
        dot_square(s, m, type, x + t0, k, p, w->stride);
        return;
    }
    if (type > DOT_BF16 && n == SPARSE_COLS) {
        dot_sparse(s, m, type, x + t0, k, p, w->stride,
            dot_bits(w->mask + row * w->mask_stride + t / 8, w->mask_stride));
        return;
    }
    dot_fill(in, type, w, row, rows, t0, k);
    if (n == VW) {
        dot_square(s, m, DOT_F32, x + t0, k, (const unsigned char *)in, 4 * VW);
        return;
    }
    for (size_t c = 0; c < VW; c += 4) {
        dot_turn(col, DOT_F32, (const unsigned char *)(in + c), 4 * VW);
        UNROLL
        for (size_t j = 0; j < 4; j++)
            v_store(some + (c + j) * VW, col[j]);
    }
    dot_some(s, m, x + t0, k, some, from, n);
}

/* Store the sums of a block in n elements of m rows of y, or add them, and set
 * the sums to zero. */
static inline __attribute__((always_inline)) void
dot_put(vf s[DOT_GROUPS][DOT_ROWS], int m, size_t n, int add, float *y,
    size_t ldy)
{
    UNROLL
    for (int i = 0; i < m; i++, y += ldy) {
        UNROLL
        for (int g = 0; g < DOT_GROUPS; g++) {
            float *to = y + g * VW;
            const size_t left = n > (size_t)g * VW ? n - (size_t)g * VW : 0;
            const size_t last = left < VW ? left : VW;

            if (last == VW)
                v_store(to, add ? v_add(v_load(to), s[g][i]) : s[g][i]);
            else if (last > 0)
                v_store_part(to, last,
                    add ? v_add(v_load_part(to, last, 0.0f), s[g][i])
                        : s[g][i]);
            s[g][i] = v_set1(0.0f);
        }
    }
}

/* Prefetch for DOT_COLS rows of w, of k columns, from `row` on: to be called
 * while columns t..t+cols-1 are multiplied.  By the time that RUN bytes of each
 * row are multiplied, all calls together have prefetched the next RUN bytes of
 * each row, or after the last column the first RUN bytes of the next DOT_COLS
 * rows.  A Xeon (family 6, model 167) reads 24 GB/s so, and 19 with runs of 64
 * bytes. */
static inline __attribute__((always_inline)) void
dot_prefetch(enum dot_type type, const struct kern_rows *w, size_t row,
    size_t t, size_t cols, size_t k)
{
    enum { RUN = 256 };
    static const size_t bits[] = { 32, 16, 16, 8 };
    const size_t at = t * bits[type] / 8, next = at - at % RUN + RUN;
    const size_t n = cols * bits[type] / 8 * DOT_COLS / RUN;
    const unsigned char *p = w->data +
        (row + at % RUN * DOT_COLS / RUN) * w->stride +
        (next < k * bits[type] / 8 ? next : DOT_COLS * w->stride);

    for (size_t r = 0; r < n; r++, p += w->stride)
        for (size_t j = 0; j < RUN; j += 64)
            __builtin_prefetch(p + j, 0, 2);
}

/* Compute m rows of y for n <= DOT_COLS rows of w from `row` on.  Inlined with
 * constant m, type and ahead (prefetch the rows that follow). */
static inline __attribute__((always_inline)) void
dot_tile(int m, enum dot_type type, int ahead, size_t n, size_t k,
    const float *restrict x, const struct kern_rows *w, size_t row,
    float *restrict y, size_t ldy)
{
    vf s[DOT_GROUPS][DOT_ROWS];
    size_t end = dot_block_end(0, k);
    int add = 0;

    UNROLL
    for (int g = 0; g < DOT_GROUPS; g++) {
        UNROLL
        for (int i = 0; i < m; i++)
            s[g][i] = v_set1(0.0f);
    }
    for (size_t t = 0, cols; t < k; t += cols) {
        cols = end - t < VW - t % VW ? end - t : VW - t % VW;
        if (type > DOT_BF16 && n == DOT_COLS && t % SPARSE_COLS == 0 &&
            end - t >= SPARSE_COLS)
            cols = SPARSE_COLS;
        if (ahead)
            dot_prefetch(type, w, row, t, cols, k);
        UNROLL
        for (size_t g = 0; g < DOT_GROUPS; g++)
            if (g * VW < n)
                dot_step(s[g], m, type, x, k, w, row + g * VW, n - g * VW, t,
                    cols);
        if (t + cols == end) {
            dot_put(s, m, n, add, y, ldy);
            end = end < k ? dot_block_end(end, k) : k;
            add = 1;
        }
    }
}

/* Compute all elements. */
static inline __attribute__((always_inline)) void
dot_all(enum dot_type type, int ahead, size_t m, size_t n, size_t k,
    const float *x, const struct kern_rows *w, float *y, size_t ldy)
{
    for (size_t j = 0; j < n; j += DOT_COLS) {
        const size_t cols = n - j < DOT_COLS ? n - j : DOT_COLS;
        size_t i = 0;

        for (; i + DOT_ROWS <= m; i += DOT_ROWS)
            dot_tile(DOT_ROWS, type, ahead, cols, k, x + i * k, w, j,
                y + i * ldy + j, ldy);
        if (DOT_ROWS > 3 && m - i == 3)
            dot_tile(3, type, ahead, cols, k, x + i * k, w, j, y + i * ldy + j,
                ldy);
        else if (m - i == 2)
            dot_tile(2, type, ahead, cols, k, x + i * k, w, j, y + i * ldy + j,
                ldy);
        else if (m - i == 1)
            dot_tile(1, type, ahead, cols, k, x + i * k, w, j, y + i * ldy + j,
                ldy);
    }
}

static void
dots(size_t m, size_t n, size_t k, const float *x, const float *w, size_t ldw,
    float *y, size_t ldy)
{
    const struct kern_rows rows = { (const unsigned char *)w, NULL, 4 * ldw, 0,
        0 };

    dot_all(DOT_F32, 0, m, n, k, x, &rows, y, ldy);
}

static void
dots_stored(size_t m, size_t n, size_t k, const float *x,
    const struct kern_rows *w, float *y, size_t ldy)
{
    if (w->mask == NULL && !w->half)
        dot_all(DOT_F32, 1, m, n, k, x, w, y, ldy);
    else if (w->mask == NULL)
        dot_all(DOT_BF16, 1, m, n, k, x, w, y, ldy);
    else if (!w->half)
        dot_all(DOT_F32_2_4, 1, m, n, k, x, w, y, ldy);
    else
        dot_all(DOT_BF16_2_4, 1, m, n, k, x, w, y, ldy);
}
