/* Angles of rotary position embedding. */
#ifndef KERN_ROPE_H
#define KERN_ROPE_H

#include <stddef.h>

/*
 * Rotary position embedding (Su et al., arXiv:2104.09864) turns the pair (i,
 * i + D/2) of a head's D rotary dimensions by position * freq_i.  The kinds
 * change the frequencies theta^(-2i/D), as in transformers'
 * modeling_rope_utils.py:
 *   LINEAR    every frequency is divided by factor.
 *   DYNAMIC   theta grows with a text that is longer than orig.
 *   LLAMA3    low frequencies are divided by factor, high ones stay.
 *   YARN      between two dimensions, the corners, the frequency goes over from
 *             freq to freq / factor (Peng et al., arXiv:2309.00071, s. 3.2).
 *   LONGROPE  frequency i is divided by near[i], in texts longer than orig by
 *             far[i] (Ding et al., arXiv:2402.13753).
 */
enum kern_rope {
    KERN_ROPE_DEFAULT,
    KERN_ROPE_LINEAR,
    KERN_ROPE_LLAMA3,
    KERN_ROPE_DYNAMIC,
    KERN_ROPE_YARN,
    KERN_ROPE_LONGROPE
};
struct kern_rope_opt {
    enum kern_rope kind;
    double theta;
    double factor;     /* linear, llama3, dynamic, yarn */
    double low, high;  /* llama3: low_freq_factor, high_freq_factor; yarn:
                        * beta_slow, beta_fast */
    double orig;       /* positions that the model was first trained with */
    int whole;         /* yarn: 1: round the corners to whole dimensions */
    const float *near; /* longrope: [D/2] divisors, texts up to orig tokens */
    const float *far;  /* longrope: [D/2] divisors for longer texts */
};
/* Do frequencies depend on the length of the text? */
int rope_by_length(const struct kern_rope_opt *o);
/* Set freq [D/2] for a text of T tokens.  While T is at most orig, no kind's
 * frequencies depend on T. */
void rope_freq(double *freq, size_t D, const struct kern_rope_opt *o, size_t T);
/* Set cs [T,D] to D/2 cosines, then D/2 sines, all times `scale`, of the angles
 * of positions t0 .. t0+T-1, computed in double. */
void rope_table(float *cs, const double *freq, size_t D, size_t t0, size_t T,
    double scale);
/* The factor of cosines and sines that yarn has by default for a factor and a
 * number mscale: 0.1 mscale log(factor) + 1, or 1 if factor <= 1. */
double rope_yarn_scale(double factor, double mscale);

#endif
