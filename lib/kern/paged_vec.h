/*
 * gemm_paged: rows of a times b in pages, with the bits of gemm_nn, for
 * attention of few queries with a cache of keys and values.  Included by
 * gemm_vec.h.
 *
 * b is read once for PAGED_MR rows of a, where it lies, in chunks that fit the
 * first-level cache.  The next chunk is prefetched in the order of memory.
 * Registers hold the sums of m rows by PAGED_NV(m) <= 4 vectors of columns;
 * between chunks `sum` holds them.  The file that includes gemm_vec.h defines
 * PAGED_NV.
 */
enum {
    PAGED_MR = 6,      /* rows of a at a time */
    PAGED_COLS = 256,  /* columns at a time */
    PAGED_CHUNK = 4096 /* floats of a chunk, at most */
};

/* Add to sum [m,PAGED_COLS] the products of m rows of a with `deep` rows of b,
 * for nv vectors of columns (last < VW: nv is 1, and the vector has `last`
 * columns); with `first`, set sum to the products.  Prefetch the deep * nv * VW
 * numbers from `next` on.  Inlined with constant m, nv. */
static inline __attribute__((always_inline)) void
paged_tile(size_t m, size_t nv, size_t last, size_t deep,
    const float *restrict a, size_t lda, const float *restrict b, size_t ldb,
    const float *next, int first, float *restrict sum)
{
    vf s[PAGED_MR][4];

    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < nv; v++)
            s[i][v] =
                first ? v_set1(0.0f) : v_load(sum + i * PAGED_COLS + v * VW);
    }
    for (size_t l = 0; l < deep; l++, b += ldb, next += nv * VW) {
        vf z[4];

        for (size_t v = 0; v < nv * VW; v += 16)
            __builtin_prefetch(next + v, 0, 2);
        UNROLL
        for (size_t v = 0; v < nv; v++)
            z[v] = last == VW ? v_load(b + v * VW) : v_load_part(b, last, 0.0f);
        UNROLL
        for (size_t i = 0; i < m; i++) {
            const vf x = v_set1(a[i * lda + l]);

            UNROLL
            for (size_t v = 0; v < nv; v++)
                s[i][v] = v_fma(x, z[v], s[i][v]);
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < nv; v++)
            v_store(sum + i * PAGED_COLS + v * VW, s[i][v]);
    }
}

/* paged_tile for n columns. */
static inline __attribute__((always_inline)) void
paged_chunk(size_t m, size_t n, size_t deep, const float *a, size_t lda,
    const float *b, size_t ldb, const float *next, int first, float *sum)
{
    const size_t nv = PAGED_NV(m);
    size_t j = 0, last;

    for (; j + nv * VW <= n; j += nv * VW)
        paged_tile(m, nv, VW, deep, a, lda, b + j, ldb, next + j * deep, first,
            sum + j);
    for (; j < n; j += last) {
        last = n - j < VW ? n - j : VW;
        paged_tile(m, 1, last, deep, a, lda, b + j, ldb, next + j * deep, first,
            sum + j);
    }
}

/* Set sum to the products of rows of a with the rows from..end-1 of b. */
static inline __attribute__((always_inline)) void
paged_block(size_t m, size_t n, size_t from, size_t end, const float *a,
    size_t lda, const struct kern_pages *b, float *sum)
{
    const size_t most = PAGED_CHUNK / n;
    const char *const pages = b->p;
    const float *p, *next;

    for (size_t l = from, deep; l < end; l += deep) {
        const size_t page = l / b->deep, at = l % b->deep;

        deep = b->deep - at < end - l ? b->deep - at : end - l;
        deep = deep < most ? deep : most;
        p = (const float *)(const void *)(pages + b->page[page] * b->bytes) +
            at * b->ld;
        next = p + deep * b->ld;
        if (at + deep == b->deep && page + 1 < b->pages)
            next = (const void *)(pages + b->page[page + 1] * b->bytes);
        paged_chunk(m, n, deep, a + l, lda, p, b->ld, next, l == from, sum);
    }
}

/* Set c [m,n] to the sums, or with `add` add the sums to c. */
static void
paged_put(size_t m, size_t n, const float *sum, int add, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++, sum += PAGED_COLS, c += ldc) {
        size_t j = 0;

        for (; j + VW <= n; j += VW)
            v_store(c + j,
                add ? v_add(v_load(c + j), v_load(sum + j)) : v_load(sum + j));
        for (; j < n; j++)
            c[j] = add ? c[j] + sum[j] : sum[j];
    }
}

/* Compute m <= PAGED_MR rows for n <= PAGED_COLS columns. */
static void
paged_rows(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const struct kern_pages *b, int add, float *c, size_t ldc)
{
    _Alignas(64) float sum[PAGED_MR * PAGED_COLS];

    for (size_t l = 0, end; l < k; l = end, add = GEMM_ADD) {
        end = dot_block_end(l, k);
        switch (m) {
        case 1: paged_block(1, n, l, end, a, lda, b, sum); break;
        case 2: paged_block(2, n, l, end, a, lda, b, sum); break;
        case 3: paged_block(3, n, l, end, a, lda, b, sum); break;
        case 4: paged_block(4, n, l, end, a, lda, b, sum); break;
        case 5: paged_block(5, n, l, end, a, lda, b, sum); break;
        default: paged_block(6, n, l, end, a, lda, b, sum); break;
        }
        paged_put(m, n, sum, add, c, ldc);
    }
}

static void
gemm_paged(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const struct kern_pages *b, int add, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j += PAGED_COLS) {
        const size_t cols = n - j < PAGED_COLS ? n - j : PAGED_COLS;
        struct kern_pages y = *b;

        y.p = (const float *)b->p + j;
        for (size_t i = 0, rows; i < m; i += rows) {
            rows = m - i < PAGED_MR ? m - i : PAGED_MR;
            paged_rows(rows, cols, k, a + i * lda, lda, &y, add,
                c + i * ldc + j, ldc);
        }
    }
}
