/*
 * Matrices of a model in their stored type, widened to fp32 a tile of rows at a
 * time in front of the matrix product.
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "format/safetensors.h"

#include <stddef.h>

/* A matrix [rows,cols], row-major as in y = x W^T, or a vector (rows 1).  With
 * a mask it is 2:4, and data are the numbers that it names (compressed.h). */
struct weight {
    const unsigned char *data;
    enum dtype dtype;
    size_t rows, cols;
    size_t stride; /* bytes a row */
    size_t perm;   /* heads whose rows llama.cpp permuted; 0: none */
    float add;     /* to a norm's stored values, where they are used */
    const unsigned char *mask; /* or NULL; rows of mask_stride bytes */
    size_t mask_stride;
};
/* Rows r0..r0+n-1 widened to fp32 out [n,cols], in logical row order (GGUF's
 * permutation of Q and K undone), as they are stored: without `add`. */
void weight_rows(const struct weight *w, size_t r0, size_t n, float *out);
/* Bytes of all rows, masks too. */
size_t weight_bytes(const struct weight *w);
/* The fp32 data itself when no widening is needed, else NULL. */
const float *weight_f32(const struct weight *w);
/* c [m,n] with ldc = a [m,cols] times the n rows from r0 on, transposed.  What
 * is not fp32 is widened in `wide`, which holds a piece that second-level
 * caches keep; the bits are those of the product with all of it widened. */
enum { WEIGHT_PIECE = 192 * 768 };
void weight_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *a, float *wide, float *c, size_t ldc);

/* y [m,n] with ldy = few rows of x [m,cols] times the n rows from r0 on,
 * transposed, as they are stored: kern.dots without widening.  -1: there is no
 * such kernel for this type. */
int weight_dots(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *y, size_t ldy);

/* n numbers of any type in fp32; of a type of blocks n is a multiple of
 * theirs. */
void weight_widen(float *out, enum dtype t, const unsigned char *p, size_t n);

#endif
