/*
 * Dropout on the inputs of adapters, in training.  An element's fate is a
 * function of a key for the step, the ids of its row, its block, matrix, token
 * and column.  So it is the same in the forward and the backward pass, and
 * depends neither on threads and ranks nor on how rows are grouped.
 */
#ifndef MODEL_DROPOUT_H
#define MODEL_DROPOUT_H

#include "model/pass/forward.h"

/* The probability p is rounded to a multiple of 1/65536. */
struct dropout {
    double p;
    uint64_t key;  /* the step's key */
    uint64_t *row; /* [B] keys of the rows, set by dropout_rows */
    float **room;  /* [workers][CHUNK,widest input] scratch for the passes */
};
void dropout_rows(struct dropout *d, const struct rows *r);
/* The key of matrix k of a block for row b of the batch. */
uint64_t dropout_key(const struct dropout *d, size_t b, size_t block, size_t k);
/* Set out [n,cols] to columns c0..c0+cols-1 of tokens t0..t0+n-1 of a matrix's
 * input: 0 where dropped, x / (1 - p) elsewhere.  x: column c0 of token t0;
 * tokens are ldx floats apart.  in: how many columns the matrix has.  c0 is a
 * multiple of 4; out may be x if ldx is cols. */
void dropout_copy(const struct dropout *d, uint64_t key, size_t in, size_t t0,
    size_t n, size_t c0, size_t cols, const float *x, size_t ldx, float *out);

#endif
