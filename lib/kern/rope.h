/* Angles of rotary position embedding. */
#ifndef KERN_ROPE_H
#define KERN_ROPE_H

#include <stddef.h>

/*
 * Angles of rotary position embedding (Su et al., arXiv:2104.09864), HF
 * order: cs[t] = D/2 cosines then D/2 sines of t * freq_i, computed in double.
 */
enum kern_rope { KERN_ROPE_DEFAULT, KERN_ROPE_LINEAR, KERN_ROPE_LLAMA3 };
struct kern_rope_opt {
    enum kern_rope kind;
    double theta;
    double factor;    /* linear, llama3 */
    double low, high; /* llama3: low_freq_factor, high_freq_factor */
    double orig;      /* llama3: original_max_position_embeddings */
};
/* Set freq [D/2]. */
void rope_freq(double *freq, size_t D, const struct kern_rope_opt *o);
/* Set cs [T,D] to the angles of positions t0 .. t0+T-1. */
void rope_table(float *cs, const double *freq, size_t D, size_t t0, size_t T);

#endif
