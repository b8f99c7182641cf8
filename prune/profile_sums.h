/*
 * The sums of a profile: how large the inputs of a model's linear layers are,
 * and how much each block turns its input.  All figures are sums over tokens,
 * or maxima.  So the profiles of parts of the data add up to the profile of all
 * data.
 */
#ifndef PRUNE_PROFILE_SUMS_H
#define PRUNE_PROFILE_SUMS_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

/* Classes of tokens: the first token of a piece, which attracts attention, and
 * all others. */
enum { CLASS_FIRST, CLASS_REST, CLASSES };
/* Names by enum fwd_input: "attn", "o", "mlp", "down". */
extern const char *const profile_inputs[FWD_INPUTS];

/* Sums of |x|, x, x^2, x^3, x^4. */
enum { SUM_ABS, SUM_1, SUM_2, SUM_3, SUM_4, SUMS };

/*
 * Counts of |x| in bins.  Each octave from 2^SKETCH_LOW to 2^SKETCH_HIGH has
 * SKETCH_STEPS bins of equal width (the high bits of the float).  Smaller
 * values count as 0, larger ones in the last bin.  The relative error of a
 * quantile is at most 1 / (2 SKETCH_STEPS + 1).  Counts of parts of the data
 * add up exactly.
 */
enum {
    SKETCH_STEPS = 8,
    SKETCH_LOW = -24,
    SKETCH_HIGH = 24,
    SKETCH_BINS = (SKETCH_HIGH - SKETCH_LOW) * SKETCH_STEPS
};

/* Sums over tokens of one input of a block. */
struct input_sums {
    size_t n;      /* number of channels; 0: the block has no such input */
    double *sum;   /* [CLASSES,SUMS,n] */
    float *max;    /* [CLASSES,n] largest |x| */
    uint32_t from; /* the bins from..from+bins-1 are stored */
    size_t bins;
    uint32_t *count; /* [CLASSES,n,1+bins] number of tokens with |x| below
                        * 2^SKETCH_LOW, then in each bin */
    double *grad;    /* [n] sums of |gradient times weight|; NULL: none */
};
/* Begin with all bins, and zeros. */
void sums_init(struct input_sums *s, size_t n);
void sums_release(struct input_sums *s);
size_t sums_bytes(size_t n, size_t bins);
/* Add the input that fwd_tap shows; bits do not depend on the threads. */
void sums_tap(struct input_sums *s, struct pool *pool,
    const struct fwd_tapped *t);
/* Drop the bins at both ends that are empty in all channels and classes. */
void sums_trim(struct input_sums *s);
/* s += t; both have the same n. */
void sums_add(struct input_sums *s, const struct input_sums *t);
/* The largest relative difference between a diagonal element of h [n,n], the
 * Hessian of all tokens, and the channel's sum of squares. */
double hess_off(const float *h, const struct input_sums *s);
/* Largest accepted hess_off if --compute is f32, and if products are of numbers
 * rounded to bfloat16. */
#define PROFILE_OFF_F32 1e-5
#define PROFILE_OFF_BF16 (1.0 / 128)
int sums_finite(const struct input_sums *s);
/* The quantile q of |x| in channel c and class `kind`, which has `tokens`
 * tokens. */
double sums_quantile(const struct input_sums *s, size_t kind, size_t c,
    uint64_t tokens, double q);
/* Append the rows of channels.tsv, without its header. */
void sums_tsv(const struct input_sums *s, size_t block, enum fwd_input input,
    const uint64_t *tokens, struct buf *b);
extern const char sums_tsv_head[];

/* Sums over tokens for a block.  TURN_...: 1 - cos(input, output) of the block,
 * its attention, its MLP; NORM_...: norms of the block's input and output. */
enum { TURN_BLOCK, TURN_ATTN, TURN_MLP, NORM_IN, NORM_OUT, TURNS };
struct block_sums {
    struct input_sums in[FWD_INPUTS];
    double turn[CLASSES][TURNS];
};
struct profile_sums {
    size_t L;
    uint64_t rows, tokens[CLASSES];
    double hess_off;      /* largest hess_off of all inputs */
    struct block_sums *b; /* [L] */
};
void profile_sums_init(struct profile_sums *s, size_t L);
void profile_sums_release(struct profile_sums *s);

#endif
