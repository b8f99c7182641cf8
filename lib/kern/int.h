/*
 * Products in 8-bit integers, for generation: y = x w^T, where w is quantised
 * as in a GGUF.
 *
 * x is rounded once.  A row of x is cut along k into blocks of 32, and each
 * block into halves of 16 with a scale d of their own: x_l = d q_l, q_l an
 * integer of -127..127, d in fp32.  A row of w consists of groups of 32 or 16
 * numbers along k: w_l = e c_l - f, c_l an integer, e and f exactly those of
 * the GGUF.  An element of y is computed, block after block, by
 *
 *     y = fma(i, e d, y) for each of the two halves in turn, i being the exact
 *         sum of c_l q_l over the half
 *     y = fma(-f, s, y) if there is an f, s being the sum of d q_l over the
 *         block
 *
 * from y = 0 on, with a rounding after each product e d and each fma.  So its
 * bits depend on its row of x and its row of w alone, and are the same in all
 * kernel sets.
 *
 * INT_ROWS rows of w are packed into a strip.  A strip has its numbers in the
 * order in which they are used, so that memory is read as one stream.  It
 * consists of pieces along k: of a block, or of 8 blocks if the type is a
 * K-quant or IQ4_XS.  A piece has first the scales of its blocks, then their
 * codes.
 *
 *     scales of a block: e of each row, then f, in half precision.  K-quants
 *     and IQ4_XS: d of each row, then dmin, in half precision; then for each
 *     block the scales of each group, a byte for each row, then the minima, a
 *     byte for each row: e = d scale, f = dmin minimum.
 *
 *     codes of a block, 4 to 8 bits: the codes of 4 numbers l for each row in
 *     turn, a byte each, are a quad of 64 bytes.  A block has 8 quads.  Bits
 *     0-3 of quads i and i + 4 share bytes: 4 x 64 bytes.  Codes of 5 bits: 64
 *     bytes follow, whose bit i is bit 4 of quad i.  Codes of 6 bits: 2 x 64
 *     bytes follow; in the first 64 if i is even, else in the second, bits
 *     i/2*2 and i/2*2+1 are bits 4-5 of quad i.  Codes of 8 bits: 8 x 64 bytes.
 *
 * int_pack.c packs; int_ref.c, int_avx2.c, int_vnni.c, int_neon.c and
 * int_dotprod.c multiply.
 */
#ifndef KERN_INT_H
#define KERN_INT_H

#include "kern/quant.h"

#include <stddef.h>
#include <stdint.h>

enum { INT_ROWS = 16, INT_BLOCK = 32 };

/* A block of a rounded row of x. */
struct int_block {
    float d[2];     /* scale of each half */
    float s;        /* sum of d q over the block, computed as d[0] * -neg[0] +
                     * d[1] * -neg[1] */
    int32_t neg[2]; /* minus the sum of the q of each half */
    signed char q[INT_BLOCK];
};

/* A matrix [rows,cols] that is packed.  strip: bytes of a strip; the last strip
 * is filled up with rows of zeros. */
struct int_matrix {
    const unsigned char *strips; /* aligned to 64 bytes */
    enum kern_quant type;
    size_t rows, cols, strip;
};

/* Whether products of this type exist; there are none for Q2_K, Q3_K and
 * MXFP4. */
int int_has(enum kern_quant t);
/* Bytes of a strip of k columns, a multiple of 64. */
size_t int_strip_bytes(enum kern_quant t, size_t k);
/* Pack INT_ROWS rows of k columns, as a GGUF stores them, into a strip.  row[i]
 * NULL: row i is zeros. */
void int_pack(enum kern_quant t, size_t k,
    const unsigned char *const row[INT_ROWS], unsigned char *strip);
/* Bytes of a rounded row of x that has k columns, a multiple of 64. */
size_t int_row_bytes(size_t k);
/* Bytes of the panel that a product of more than one row of x needs. */
size_t int_panel_bytes(size_t k);

struct int_kern {
    /* Round x [k]; k is a multiple of INT_BLOCK.  A half with a number that is
     * not finite gets d = NaN. */
    void (*round)(struct int_block *out, const float *x, size_t k);
    /* y[i*ldy + r] = the product of row i of x and row r of w, for the rows of
     * `strips` strips from `first` on.  x: m rounded rows, int_row_bytes apart.
     * y points to the element of row 0 of x and row 0 of w.  panel:
     * int_panel_bytes, aligned to 64. */
    void (*multiply)(const struct int_matrix *w, size_t first, size_t strips,
        const struct int_block *x, size_t m, unsigned char *panel, float *y,
        size_t ldy);
};

extern const struct int_kern int_kern_ref, int_kern_avx2, int_kern_vnni,
    int_kern_neon, int_kern_dotprod;

#endif
