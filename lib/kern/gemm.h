/* Matrix products in plain C and by vectors.  Only for lib/kern. */
#ifndef KERN_GEMM_H
#define KERN_GEMM_H

#include "kern/kern.h"

/* Set in *k the matrix products of one instruction set. */
void gemm_avx2(struct kern *k);
void gemm_avx512(struct kern *k);
void gemm_neon(struct kern *k);

void gemm_nt_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_nn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_tn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc);
void gemm_double_ref(size_t m, size_t n, size_t k, struct factor a,
    struct factor b, double *c, size_t ldc);

/* A factor of a product.  Element l (along k) of a's row i, or of b's column i,
 * is p[i * i_step + l * l_step]; one of the steps is 1.  half: p points to
 * bfloat16 numbers, at any address, which only pack_pairs reads. */
struct operand {
    const float *p;
    size_t i_step, l_step;
    int half;
};

/* x from row or column i and from depth l on */
static inline struct operand
operand_from(const struct operand *x, size_t i, size_t l)
{
    const size_t at = i * x->i_step + l * x->l_step;
    struct operand y = *x;

    y.p = (const float *)(const void *)((const char *)x->p +
        at * (x->half ? 2 : sizeof(float)));
    return y;
}

#endif
