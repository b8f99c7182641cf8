/* Rounding to bfloat16: its cost, and the factors of products. */
#ifndef KERN_ROUNDING_H
#define KERN_ROUNDING_H

#include <stddef.h>
#include <stdint.h>

/* Measure the rounding of x[n] to bf16: *lost += |rounded - x|^2, *whole +=
 * |x|^2. */
void rounding_bf16(const float *x, size_t n, double *lost, double *whole);

/* The n floats at x, which need not be aligned, to what products in bfloat16
 * make of them: narrow_bf16, but zero for denormal numbers.  Such a product of
 * half has the bits of one of x. */
void factor_bf16(uint16_t *half, const void *x, size_t n);

#endif
