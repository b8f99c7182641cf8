/*
 * The causal convolution along a text, which the gated delta rule (delta.h) and
 * LFM2's mixer (short.c) use.  Each of C channels has n taps of its own:
 *   y(t) = sum over j < n of taps[n-1-j] x(t-j)
 * where x(t-j) is 0 if the text begins after token t-j.
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
/* Copy the taps of u's block, and set its input x [B,Tp,C]: ldx floats lie from
 * one row to the next. */
void conv_take(struct run *u, const float *x, size_t ldx);
/* Run the stages in the list, which compute x, then a stage whose function
 * `row` calls conv_row. */
void conv_stage(struct run *u, const struct branch *in,
    void (*row)(struct run *u, const struct run_row *r));
/* y [C] = the convolution at a live row. */
void conv_row(const struct run *u, const struct run_row *r, float *y);

/* Given dy [B,Tp,C], the gradient of y: conv_back_row computes dx [C], the
 * gradient of x at a live row; conv_back_taps adds the gradient of the taps to
 * the block's. */
void conv_back_row(const struct run *u, const struct run_row *r,
    const float *dy, float *dx);
void conv_back_taps(struct run *u, const float *dy);

/* `before` of the engine for batches (run.h). */
const float *batch_before(const struct run *u, const struct run_row *r,
    size_t back);

#endif
