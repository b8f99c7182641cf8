/* The versions behind the kernel table; only for lib/kern. */
#ifndef KERN_IMPL_H
#define KERN_IMPL_H

#include "kern/kern.h"

/* The whole reference version: what every other starts from. */
extern const struct kern kern_ref;
/* Put the row kernels (all but gemm) of one instruction set into *k. */
void rows_avx2(struct kern *k);
void rows_avx512(struct kern *k);
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

/* How a factor of a product lies: row (of a) or column (of b) i at depth l is
 * element i * i_step + l * l_step; one of the steps is 1. */
struct operand {
    const float *p;
    size_t i_step, l_step;
};

/* 2 sqrt(2/pi) and the factor of the cube in the tanh form of GELU. */
#define GELU_Z2 1.5957691216057308f
#define GELU_CUBE 0.044715f

/* Half precision to single, exact. */
float half_to_float(uint16_t h);

static inline uint16_t
load16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

#endif
