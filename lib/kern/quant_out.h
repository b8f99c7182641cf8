/*
 * Rounding fp32 numbers to the block types of a GGUF.
 *
 * Without importance the bits are those of ggml's reference.  The importance of
 * a number is the mean square of the input that it is multiplied by.  With
 * importance the error of the layer's output is made small, not the weights'.
 */
#ifndef KERN_QUANT_OUT_H
#define KERN_QUANT_OUT_H

#include "kern/quant.h"

#include <stddef.h>

/* Round n finite numbers x to whole blocks of type t: Q8_0, Q4_0, Q4_1, Q5_0,
 * Q5_1, Q4_K, Q5_K or Q6_K; n is a multiple of quant_type(t).elements.
 * importance [n]: finite, not negative, or NULL; Q8_0 does not use it.  A scale
 * of 65520 or more becomes infinite.  Needs kern_init; every set of kernels
 * gives the same bits. */
void quant_encode(enum kern_quant t, void *out, const float *x,
    const float *importance, size_t n);

#endif
