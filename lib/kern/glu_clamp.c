/* The unit of gpt-oss's experts; see glu_clamp.h. */
#include "kern/glu_clamp.h"

#include <math.h>

static const float limit = 7.0f, slope = 1.702f;

/* NaN stays NaN. */
static float
clamp_up(float u)
{
    return u > limit ? limit : u < -limit ? -limit : u;
}

static float
clamp_gate(float g)
{
    return g > limit ? limit : g;
}

static float
gate_share(float g)
{
    return 1.0f / (1.0f + expf(-slope * g));
}

void
glu_clamp_ref(float *out, const float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float g = clamp_gate(gate[i]);

        out[i] = (clamp_up(up[i]) + 1.0f) * (g * gate_share(g));
    }
}

void
glu_clamp_bwd_ref(float *dgate, float *dup, const float *dout,
    const float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float g = clamp_gate(gate[i]), u = clamp_up(up[i]);
        const float s = gate_share(g), d = dout[i];
        const int cut_gate = gate[i] > limit, cut_up = u != up[i];

        dgate[i] =
            cut_gate ? 0.0f : d * (u + 1.0f) * (s + slope * g * s * (1.0f - s));
        dup[i] = cut_up ? 0.0f : d * g * s;
    }
}
