/*
 * The three products of struct kern by one function, gemm, which the including
 * file defines.  gemm takes factors that are contiguous in either direction.
 */
#include "kern/gemm.h"

static void gemm(size_t m, size_t n, size_t k, struct operand a,
    struct operand b, int add, float *c, size_t ldc);

static void
gemm_nt(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct operand){ a, lda, 1, 0 },
        (struct operand){ b, ldb, 1, 0 }, add, c, ldc);
}

static void
gemm_nn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct operand){ a, lda, 1, 0 },
        (struct operand){ b, 1, ldb, 0 }, add, c, ldc);
}

static void
gemm_tn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    gemm(m, n, k, (struct operand){ a, 1, lda, 0 },
        (struct operand){ b, 1, ldb, 0 }, add, c, ldc);
}

static void
put_gemm(struct kern *k)
{
    k->gemm_nt = gemm_nt;
    k->gemm_nn = gemm_nn;
    k->gemm_tn = gemm_tn;
}
