/* Convert quantised rows of a GGUF to fp32.  quant_out.h has the other
 * direction. */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include <stddef.h>

/* The block types of GGUF, in the order of enum dtype. */
enum kern_quant {
    QUANT_Q8_0,
    QUANT_Q4_0,
    QUANT_Q4_1,
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
/* Elements of a block: 32 or 256; and its bytes. */
size_t quant_block(enum kern_quant t);
size_t quant_bytes(enum kern_quant t);
/* Widen n elements in whole blocks to fp32, with the bits of gguf-py. */
void quant_widen(enum kern_quant t, float *out, const void *in, size_t n);

#endif
