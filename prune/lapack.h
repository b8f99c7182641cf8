/*
 * Cholesky factors of symmetric matrices, by OpenBLAS's LAPACK, which is loaded
 * at run time.  OpenBLAS runs on one thread.  If our own kernels use AVX2,
 * AVX-512 or NEON, it is made to use its kernels for the same instruction set;
 * so results do not depend on its guess of the processor.
 *
 * Matrices are double [n,n], row-major; only the named triangle is read or
 * written.
 */
#ifndef PRUNE_LAPACK_H
#define PRUNE_LAPACK_H

#include "base/err.h"

#include <stddef.h>

/* Load OpenBLAS, after kern_init; later calls do nothing.  -1 (EX_SYS): it is
 * not installed. */
int lapack_open(struct err *e);

/* Replace the lower triangle of a = L L^T by L.  Returns 0; if a is not
 * positive definite, the order of the first leading minor that is not
 * positive. */
size_t lapack_potrf(double *a, size_t n);
/* Replace the lower triangle L, which has no zeros on the diagonal, by its
 * inverse. */
void lapack_trtri(double *a, size_t n);

#endif
