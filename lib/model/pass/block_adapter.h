/* The steps of one block that adapters add (adapter.h), forward and backward.
 * Private to lib/model. */
#ifndef MODEL_BLOCK_ADAPTER_H
#define MODEL_BLOCK_ADAPTER_H

#include "model/pass/backward_block.h"

/* The place in u->a.low of matrix k's (scale A x), at row `row` of the padded
 * arrays; rows are low_width(u->b) apart. */
float *low_rows(const struct run *u, size_t k, size_t row);
/* Compute scale A x for a tile from the matrix's input x [B,Tp,.]; nothing
 * without an adapter. */
void low_tile(struct run *u, size_t k, const float *x, size_t b, size_t t0,
    size_t worker);

/* Backward, for a tile of matrix k: from dy [B,Tp,out] with lddy, the gradient
 * of the output, compute the gradient of scale A x, times scale, in u->g->low
 * (laid out as u->a.low).  DoRA: dy is multiplied by m / n first. */
void low_back_tile(struct run *u, size_t k, float *dy, size_t lddy, size_t b,
    size_t t0);
/* Add columns c0..c0+n-1 of the gradient of the adapter's input to dx
 * [B,Tp,in]. */
void low_back_input(struct run *u, size_t k, size_t b, size_t t0, size_t c0,
    size_t n, size_t worker, float *dx);
/* Add the gradient of A, for columns c0..c0+n-1 of a row b, to g [rank,in].
 * x [B,Tp,in]: the matrix's input, to which dropout is applied again. */
void low_grad_a(struct run *u, size_t k, const float *x, size_t b, size_t c0,
    size_t n, size_t worker, float *g);
/* Add the gradient of DoRA's magnitudes to g [out]; x: the matrix's input, dy:
 * as low_back_tile has left it.  Runs on the pool. */
void low_grad_m(struct run *u, size_t k, const float *x, const float *dy,
    size_t lddy, float *g);

#endif
