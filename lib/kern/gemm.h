/* Matrix products in plain C and by vectors; only for lib/kern. */
#ifndef KERN_GEMM_H
#define KERN_GEMM_H

#include "kern/kern.h"

/* The matrix products of one instruction set. */
void gemm_avx2(struct kern *k);
void gemm_avx512(struct kern *k);

void gemm_nt_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_nn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_tn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_double_ref(size_t m, size_t n, size_t k, struct factor a,
    struct factor b, double *c, size_t ldc);

/* A factor of a product: row (of a) or column (of b) i at depth l is element i
 * * i_step + l * l_step; one of the steps is 1. */
struct operand {
    const float *p;
    size_t i_step, l_step;
};

#endif
