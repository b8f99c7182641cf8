/* Where a strip's numbers are (int.h); only for int_*.[ch]. */
#ifndef KERN_INT_FORM_H
#define KERN_INT_FORM_H

#include "kern/int.h"

#include <assert.h>

/* How the codes of a type are stored and multiplied. */
struct int_form {
    int bits;   /* of a stored code: 4, 5, 6 or 8 */
    int listed; /* stored codes are indices of quant_iq4_value */
    int range;  /* bits of a code when it is multiplied; 8: signed */
    int zero;   /* 0, or 2^zero is subtracted from the stored code */
    int super;  /* scales are bytes, with d and dmin for 8 blocks */
    int min;    /* groups have minima (f of int.h) */
    int groups; /* groups in a block: 1 or 2 */
};

/* The form of type t.  Its bits are 0 if there is no product for t. */
static inline __attribute__((always_inline)) struct int_form
int_form(enum kern_quant t)
{
    switch (t) {
    case QUANT_Q4_0: return (struct int_form){ 4, 0, 4, 3, 0, 0, 1 };
    case QUANT_Q4_1: return (struct int_form){ 4, 0, 4, 0, 0, 1, 1 };
    case QUANT_Q5_0: return (struct int_form){ 5, 0, 5, 4, 0, 0, 1 };
    case QUANT_Q5_1: return (struct int_form){ 5, 0, 5, 0, 0, 1, 1 };
    case QUANT_Q8_0: return (struct int_form){ 8, 0, 8, 0, 0, 0, 1 };
    case QUANT_Q4_K: return (struct int_form){ 4, 0, 4, 0, 1, 1, 1 };
    case QUANT_Q5_K: return (struct int_form){ 5, 0, 5, 0, 1, 1, 1 };
    case QUANT_Q6_K: return (struct int_form){ 6, 0, 6, 5, 1, 0, 2 };
    case QUANT_IQ4_NL: return (struct int_form){ 4, 1, 8, 0, 0, 0, 1 };
    case QUANT_IQ4_XS: return (struct int_form){ 4, 1, 8, 0, 1, 0, 1 };
    default: return (struct int_form){ 0 };
    }
}

/* INT_QUAD: bytes of a quad.  INT_PANEL_BLOCK: bytes of a block in a panel. */
enum {
    INT_QUADS = 8,
    INT_QUAD = 4 * INT_ROWS,
    INT_PANEL_BLOCK = INT_QUADS * INT_QUAD + 2 * 4 * INT_ROWS
};

/* Bytes of the codes of a block. */
static inline __attribute__((always_inline)) size_t
int_code_bytes(struct int_form f)
{
    return (size_t)f.bits * INT_QUAD;
}

/* Offset, in a piece of n blocks, of the scales of block b; for b = n, of the
 * codes. */
static inline __attribute__((always_inline)) size_t
int_scale_at(struct int_form f, size_t b)
{
    const size_t half = 2 * INT_ROWS * (size_t)(1 + f.min);

    return f.super ? half + b * INT_ROWS * (size_t)(f.groups + f.min)
                   : b * half;
}

/* Bytes of a piece of n blocks. */
static inline __attribute__((always_inline)) size_t
int_piece_bytes(struct int_form f, size_t n)
{
    return int_scale_at(f, n) + n * int_code_bytes(f);
}

/* The number of blocks of a piece. */
static inline __attribute__((always_inline)) size_t
int_piece(struct int_form f)
{
    return f.super ? 8 : 1;
}

#endif
