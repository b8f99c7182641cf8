/* Frequencies and angles of rotary position embedding. */
#include "kern/rope.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Llama 3's rule for a frequency f: a low one is divided by `factor`, a high
 * one stays, one between is interpolated (transformers,
 * _compute_llama3_parameters). */
static double
llama3(double f, const struct kern_rope_opt *o)
{
    const double wave = 2.0 * pi / f;
    double mix;

    if (wave > o->orig / o->low)
        return f / o->factor;
    if (wave < o->orig / o->high)
        return f;
    mix = (o->orig / wave - o->low) / (o->high - o->low);
    return (1.0 - mix) * f / o->factor + mix * f;
}

void
rope_freq(double *freq, size_t D, const struct kern_rope_opt *o)
{
    for (size_t i = 0; i < D / 2; i++) {
        const double f = pow(o->theta, -2.0 * (double)i / (double)D);

        freq[i] = o->kind == KERN_ROPE_LLAMA3 ? llama3(f, o)
            : o->kind == KERN_ROPE_LINEAR     ? f / o->factor
                                              : f;
    }
}

void
rope_table(float *cs, const double *freq, size_t D, size_t t0, size_t T)
{
    const size_t half = D / 2;

    for (size_t t = 0; t < T; t++, cs += D) {
        for (size_t i = 0; i < half; i++) {
            const double a = (double)(t0 + t) * freq[i];

            cs[i] = (float)cos(a);
            cs[half + i] = (float)sin(a);
        }
    }
}
