/* Rounding to bfloat16: its error, and rounding the factors of products. */
#ifndef KERN_ROUNDING_H
#define KERN_ROUNDING_H

#include <stddef.h>
#include <stdint.h>

/* Measure the rounding of x[n] to bf16: *lost += |rounded - x|^2, *whole +=
 * |x|^2. */
void rounding_bf16(const float *x, size_t n, double *lost, double *whole);

/* Round the n floats at x, which need not be aligned, as products in bfloat16
 * round their factors: narrow_bf16, but zero for denormal numbers.  A bfloat16
 * product with `half` as a factor has the bits of that with x. */
void factor_bf16(uint16_t *half, const void *x, size_t n);

#endif
