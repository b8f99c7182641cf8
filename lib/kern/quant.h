/* Quantised rows of a GGUF, to fp32 and back; Q4_0, Q4_1 and Q8_0 to fp32 are
 * in the table of kernels (kern.h). */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include <stddef.h>

/* The other block types of GGUF: n elements, whole blocks of
 * 32 (Q5_0, Q5_1, IQ4_NL) or 256, to fp32.  The bits are those of gguf-py. */
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
/* Round n finite fp32 numbers, n % 32 == 0, to Q8_0, n / 32 * 34 bytes: the
 * bits of gguf-py and of ggml's reference.  A block whose largest element is
 * 65520 * 127 or more gets an infinite scale. */
void quant_q8_0(void *out, const float *in, size_t n);
/* Round n finite fp32 numbers to Q4_0 likewise, n / 32 * 18 bytes. */
void quant_q4_0(void *out, const float *in, size_t n);

#endif
