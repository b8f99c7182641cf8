/*
 * Cholesky's factor of a symmetric matrix by LAPACK, which is OpenBLAS's,
 * loaded at run time by those who need it: on one thread, and with the kernels
 * that our own kernels' instruction set means, so that bits depend on neither
 * threads nor what OpenBLAS guesses of a processor.
 *
 * Matrices are double [n,n], row-major; only the triangle that is named is read
 * or written.
 */
#ifndef PRUNE_LAPACK_H
#define PRUNE_LAPACK_H

#include "base/err.h"

#include <stddef.h>

/* Load it, after kern_init; later calls do nothing.  -1 (EX_SYS): there is
 * none. */
int lapack_open(struct err *e);

/* Lower triangle of a = L L^T becomes L.  0, or the order of the first leading
 * minor that is not positive: a is not positive definite. */
size_t lapack_potrf(double *a, size_t n);
/* Lower triangle L, without zeros on the diagonal, becomes its inverse. */
void lapack_trtri(double *a, size_t n);

#endif
