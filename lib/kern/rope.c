/* Frequencies and angles of rotary position embedding. */
#include "kern/rope.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Llama 3's rule for a frequency f: a low frequency is divided by `factor`, a
 * high one stays, between them f is interpolated (transformers,
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

/* The dimension whose angle makes `turns` full turns within orig positions. */
static double
yarn_corner(const struct kern_rope_opt *o, size_t D, double turns)
{
    return (double)D * log(o->orig / (turns * 2.0 * pi)) /
        (2.0 * log(o->theta));
}

/* YaRN's rule for frequency f of dimension i: before the first corner f stays,
 * after the second f is divided by `factor`. */
static double
yarn_rule(double f, const struct kern_rope_opt *o, size_t D, size_t i)
{
    double low = yarn_corner(o, D, o->high), high = yarn_corner(o, D, o->low);
    double ramp;

    if (o->whole) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, (double)D - 1.0);
    if (low == high)
        high += 0.001;
    ramp = fmin(fmax(((double)i - low) / (high - low), 0.0), 1.0);
    return f / o->factor * ramp + f * (1.0 - ramp);
}

/* The base theta for a text of T tokens. */
static double
base_of(const struct kern_rope_opt *o, size_t D, size_t T)
{
    const double d = (double)D;

    if (o->kind != KERN_ROPE_DYNAMIC || !((double)T > o->orig) || D <= 2)
        return o->theta;
    return o->theta *
        pow(o->factor * (double)T / o->orig - (o->factor - 1.0), d / (d - 2.0));
}

int
rope_by_length(const struct kern_rope_opt *o)
{
    return o->kind == KERN_ROPE_DYNAMIC || o->kind == KERN_ROPE_LONGROPE;
}

void
rope_freq(double *freq, size_t D, const struct kern_rope_opt *o, size_t T)
{
    const double theta = base_of(o, D, T);

    for (size_t i = 0; i < D / 2; i++) {
        const double f = pow(theta, -2.0 * (double)i / (double)D);

        switch (o->kind) {
        case KERN_ROPE_LINEAR: freq[i] = f / o->factor; break;
        case KERN_ROPE_LLAMA3: freq[i] = llama3(f, o); break;
        case KERN_ROPE_YARN: freq[i] = yarn_rule(f, o, D, i); break;
        case KERN_ROPE_LONGROPE:
            freq[i] = f / ((double)T > o->orig ? o->far : o->near)[i];
            break;
        default: freq[i] = f;
        }
    }
}

void
rope_table(float *cs, const double *freq, size_t D, size_t t0, size_t T,
    double scale)
{
    const size_t half = D / 2;

    for (size_t t = 0; t < T; t++, cs += D) {
        for (size_t i = 0; i < half; i++) {
            const double a = (double)(t0 + t) * freq[i];

            cs[i] = (float)(scale * cos(a));
            cs[half + i] = (float)(scale * sin(a));
        }
    }
}

double
rope_yarn_scale(double factor, double mscale)
{
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * log(factor) + 1.0;
}
