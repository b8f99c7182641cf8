/* Unpack quantised rows of a GGUF, and convert them to fp32.  quant_out.h has
 * the other direction. */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include <stddef.h>
#include <stdint.h>

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
    QUANT_MXFP4,
    QUANT_N
};
/* Sizes of a block: elements (32 or 256), bytes, and elements in a group that
 * shares a scale (16 or 32). */
struct quant_type {
    size_t elements, bytes, group;
};
struct quant_type quant_type(enum kern_quant t);
/* A block's parts.  Element i of the block, which is in group g, is d *
 * scale[g] * q[i] - dmin * min[g]; d and dmin are in half precision.  MXFP4 has
 * d * q[i], d being a power of two that half precision cannot hold:
 * quant_mxfp4_scale. */
struct quant_parts {
    signed char q[256];
    signed char scale[16], min[16];
    uint16_t d, dmin;
};
void quant_unpack(enum kern_quant t, const void *in, struct quant_parts *b);
/* The values of the 16 codes of the IQ4 types. */
extern const signed char quant_iq4_value[16];
/* Half the scale of an MXFP4 block with exponent e (half, as q[i] is
 * doubled). */
float quant_mxfp4_scale(unsigned char e);
/* Widen n numbers of F8_E4M3 (of the kind without infinities, which has NaN in
 * the codes 127 and 255). */
void quant_f8_widen(float *out, const void *in, size_t n);
/* Widen n elements in whole blocks to fp32.  The bits are those of gguf-py. */
void quant_widen(enum kern_quant t, float *out, const void *in, size_t n);

#endif
