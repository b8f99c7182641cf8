/*
 * Matrices of a model in their stored type.  Before a matrix product they are
 * widened to fp32, a tile of rows at a time.
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "format/safetensors.h"

#include <stddef.h>

/* The scales of a matrix in F8_E4M3, each of a block of rows and columns.  The
 * last blocks of a part, and of a row, may be smaller. */
struct f8_scales {
    size_t rows, cols; /* of a block */
    size_t across;     /* blocks side by side */
    size_t part;       /* rows after which blocks begin anew: those of an
                        * expert, or all */
    float x[];         /* [blocks of all parts, across] */
};

/* A matrix [rows,cols], row-major as in y = x W^T, or a vector (rows = 1).  A
 * matrix with a mask is 2:4: data has only the numbers whose bits are set
 * (compressed.h). */
struct weight {
    const unsigned char *data;
    enum dtype dtype;
    size_t rows, cols;
    size_t stride; /* bytes from a row to the next in data */
    size_t perm;   /* number of heads, each of whose rows llama.cpp permuted; 0:
                    * none */
    float add;     /* number that is added to a norm's stored values when they
                    * are used */
    const unsigned char *mask; /* mask_stride bytes for each row; or NULL */
    size_t mask_stride;
    /* A matrix stored in several parts: rows from part_rows * i on lie at
     * part[i], and data is part[0].  part NULL: one part */
    const unsigned char *const *part;
    size_t part_rows;
    const struct f8_scales *scales; /* NULL unless dtype is DT_F8_E4M3 */
    size_t scale_row;               /* the row of these scales that is row 0 */
    const struct int_matrix *ints; /* the matrix packed for products in integers
                                    * (packed.h); or NULL */
    const struct low_rank *low;    /* an adapter's change (adapter.h), which
                                    * passes add to products; or NULL */
    const unsigned char *bias;     /* of a head: a number for each row, which
                                * weight_add_bias adds to products; or NULL */
    enum dtype bias_dtype;         /* F32, F16 or BF16 */
};
struct int_matrix;
struct low_rank;
/* Widen rows r0..r0+n-1 to fp32 out [n,cols], in logical row order (GGUF's
 * permutation of Q and K undone); `add` is not added. */
void weight_rows(const struct weight *w, size_t r0, size_t n, float *out);
/* Rows r0..r0+n-1, all in one part, as a weight of their own.  The weight has
 * neither perm nor mask. */
struct weight weight_slice(const struct weight *w, size_t r0, size_t n);
/* The stored bytes of logical row r of a weight without a mask. */
const unsigned char *weight_row(const struct weight *w, size_t r);
/* Bytes of all rows and of the mask. */
size_t weight_bytes(const struct weight *w);
/* The data, if they are an aligned fp32 matrix in one part, without mask and
 * permuted heads, and without a gap between rows; else NULL. */
const float *weight_f32(const struct weight *w);
/* Row r0 of a weight in bfloat16 that kern.gemm_half can read, or NULL. */
const unsigned char *weight_halves(const struct weight *w, size_t r0);
/* c [m,n] with ldc = a [m,cols] times rows r0..r0+n-1, transposed.  Weights
 * that are not fp32 are widened piece by piece in `wide` [WEIGHT_PIECE], which
 * fits a second-level cache.  The bits are those of a product with all of the
 * weights widened. */
enum { WEIGHT_PIECE = 256 * 768 };
void weight_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *a, float *wide, float *c, size_t ldc);

/* c [m,n] with ldc = or (add) += a [m,k] with lda times columns c0..c0+n-1 of
 * rows r0..r0+k-1: the gradient at the input of a product.  c0 and n are
 * multiples of WEIGHT_COLS, or c0 + n is the last column.  Otherwise as
 * weight_product. */
enum { WEIGHT_COLS = 256 };
void weight_product_back(const struct weight *w, size_t r0, size_t k, size_t c0,
    size_t n, size_t m, const float *a, size_t lda, int add, float *wide,
    float *c, size_t ldc);

/* y [m,n] with ldy = x [m,cols] times rows r0..r0+n-1, transposed, for few rows
 * of x: computed from the stored type without widening.  -1: there is no such
 * kernel for the type. */
int weight_dots(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *y, size_t ldy);

/* Add the n numbers at p, of type t (F32, F16 or BF16), to each of the m rows
 * z + i * ldz. */
void weight_add_row(enum dtype t, const unsigned char *p, size_t n, size_t m,
    float *z, size_t ldz);
/* Add the bias of rows r0..r0+n-1, if w has one, to each row of z [m,n] with
 * ldz. */
void weight_add_bias(const struct weight *w, size_t r0, size_t n, size_t m,
    float *z, size_t ldz);

/* Widen n numbers of any type to fp32; for a quantised type n is a multiple of
 * its block size. */
void weight_widen(float *out, enum dtype t, const unsigned char *p, size_t n);

#endif
