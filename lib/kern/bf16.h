/*
 * The bfloat16 instructions of the processors in plain C, for the plain version
 * of the products and for tests.  Both round to nearest even, take denormal
 * numbers for zero and make zero of denormal results, whatever the
 * floating-point environment says.
 */
#ifndef KERN_BF16_H
#define KERN_BF16_H

/* x rounded to bfloat16 (VCVTNE2PS2BF16), as fp32; NaN stays NaN. */
float bf16_round(float x);

/* A lane of VDPBF16PS: a[0] b[0] + (a[1] b[1] + c), two fused products. */
float bf16_vdp(float c, const float a[2], const float b[2]);

/* An element of TDPBF16PS over 32 products: the even ones and the odd ones are
 * summed apart, each from zero in rising order by fused products, and c + (even
 * + odd) is the result. */
float bf16_tdp(float c, const float a[32], const float b[32]);

#endif
