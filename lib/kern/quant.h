/* Convert quantised rows of a GGUF to fp32, and fp32 to them, in plain C.  The
 * table of kernels (kern.h) has faster versions of Q4_0, Q4_1 and Q8_0 to
 * fp32. */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include <stddef.h>

/* The other block types of GGUF to fp32: n elements in whole blocks, which have
 * 32 elements (Q5_0, Q5_1, IQ4_NL) or 256.  The bits are those of gguf-py. */
enum kern_quant {
    QUANT_Q5_0,
    QUANT_Q5_1,
    QUANT_Q2_K,
    QUANT_Q3_K,
    QUANT_Q4_K,
    QUANT_Q5_K,
    QUANT_Q6_K,
    QUANT_IQ4_NL,
    QUANT_IQ4_XS,
    QUANT_N
};
void quant_widen(enum kern_quant t, float *out, const void *in, size_t n);
/* Round n finite fp32 numbers, n % 32 == 0, to Q8_0 (n / 32 * 34 bytes), with
 * the bits of gguf-py and of ggml's reference.  If a block's largest magnitude
 * is 65520 * 127 or more, its scale is infinite. */
void quant_q8_0(void *out, const float *in, size_t n);
/* Round n finite fp32 numbers, n % 32 == 0, to Q4_0 (n / 32 * 18 bytes)
 * likewise. */
void quant_q4_0(void *out, const float *in, size_t n);

#endif
