/*
 * Processors' bfloat16 instructions in plain C, for the plain version of
 * products and for tests.  Whatever the floating-point environment, they take
 * denormal numbers as zero and return zero in place of a denormal result.  They
 * round to nearest even; bf16_mmla rounds to odd.
 */
#ifndef KERN_BF16_H
#define KERN_BF16_H

/* x rounded to bfloat16 (VCVTNE2PS2BF16), as fp32; NaN stays NaN. */
float bf16_round(float x);

/* A lane of VDPBF16PS, two fused multiply-adds: a[0] b[0] + (a[1] b[1] + c). */
float bf16_vdp(float c, const float a[2], const float b[2]);

/* An element of TDPBF16PS over 32 products: c + (even + odd).  even and odd are
 * the sums of the products of even and of odd index, each from zero, in rising
 * order, by fused multiply-adds. */
float bf16_tdp(float c, const float a[32], const float b[32]);

/* An element of BFMMLA, which sums two pairs of products one after the other: c
 * + (a[0] b[0] + a[1] b[1]), then + (a[2] b[2] + a[3] b[3]).  Each product and
 * each sum is rounded to odd (Arm Architecture Reference Manual for A-profile,
 * BFMatMulAdd). */
float bf16_mmla(float c, const float a[4], const float b[4]);

#endif
