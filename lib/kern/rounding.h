/* Rounding to bfloat16: its error, and rounding the factors of products. */
#ifndef KERN_ROUNDING_H
#define KERN_ROUNDING_H

#include <stddef.h>
#include <stdint.h>

/* Measure the error of rounding x[n] to bf16: *lost += |rounded - x|^2, *whole
 * += |x|^2. */
void rounding_bf16(const float *x, size_t n, double *lost, double *whole);

/* Round the n floats at x (at any alignment) as products in bfloat16 round
 * their factors: as narrow_bf16, but denormal numbers become zero.  So a
 * product in bfloat16 has the same bits whether its factor is `half` or x. */
void factor_bf16(uint16_t *half, const void *x, size_t n);

#endif
