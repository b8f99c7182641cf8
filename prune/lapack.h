/*
 * Cholesky's factor of a symmetric matrix by the LAPACK of OpenBLAS, which is
 * loaded at run time.  It runs on one thread and with kernels of the
 * instruction set that our own kernels use, so that bits depend neither on
 * threads nor on OpenBLAS's guess of the processor.
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

/* Lower triangle of a = L L^T becomes L.  0, or the order of the first leading
 * minor that is not positive: a is not positive definite. */
size_t lapack_potrf(double *a, size_t n);
/* Lower triangle L, without zeros on the diagonal, becomes its inverse. */
void lapack_trtri(double *a, size_t n);

#endif
