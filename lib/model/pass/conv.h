/*
 * The causal convolution of `linear` blocks, by which the gated delta rule and
 * the short convolution see a text's last tokens: for each of C channels
 *   y(t) = sum over j < n of taps[n-1-j] x(t-j), within a text
 */
#ifndef MODEL_CONV_H
#define MODEL_CONV_H

#include "model/pass/run.h"

/* Work space, f->room[ROOM_CONV], and what the block in use convolves. */
struct conv {
    size_t C, n;
    float *taps;    /* [n,C] set by conv_take */
    const float *x; /* [B,Tp,C], ldx floats from one row to the next */
    size_t ldx;
};
struct conv *conv_of(const struct fwd *f);

void conv_lay(struct fwd *f, struct arena *a);
/* Copy the taps of u's block, and set what it convolves. */
void conv_take(struct run *u, const float *x, size_t ldx);
/* Add stage `row`, which calls conv_row.  The list is run before, so that all
 * rows of x are there. */
void conv_stage(struct run *u, const struct branch *in,
    void (*row)(struct run *u, const struct run_row *r));
/* y [C] = the convolution at a live row. */
void conv_row(const struct run *u, const struct run_row *r, float *y);

/* Backward, dy [B,Tp,C] being the gradient of y: dx [C] = that of x at a live
 * row; conv_back_taps adds that of the taps. */
void conv_back_row(const struct run *u, const struct run_row *r,
    const float *dy, float *dx);
void conv_back_taps(struct run *u, const float *dy);

/* Of the engine of batches (struct engine). */
const float *batch_before(const struct run *u, const struct run_row *r,
    size_t back);

#endif
