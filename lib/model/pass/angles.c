/* Angles of RoPE; see angles.h. */
#include "model/pass/angles.h"
#include "kern/rope.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static struct kern_rope_opt
rope_options(const struct config *c)
{
    return (struct kern_rope_opt){ .kind = (enum kern_rope)c->rope,
        .theta = c->theta,
        .factor = c->rope_factor,
        .low = c->rope_low,
        .high = c->rope_high,
        .orig = (double)(c->rope == ROPE_DYNAMIC ? c->max_pos : c->rope_orig),
        .whole = !c->rope_split,
        .near = c->rope_near,
        .far = c->rope_far };
}

static void
fill_table(const struct config *c, const struct kern_rope_opt *o, size_t length,
    size_t from, size_t n, float *cs)
{
    const size_t rotary = config_rotary(c);
    const int scaled =
        o->kind == KERN_ROPE_YARN || o->kind == KERN_ROPE_LONGROPE;
    double *freq = xcalloc(rotary, sizeof *freq);

    rope_freq(freq, rotary, o, length);
    rope_table(cs, freq, rotary, from, n,
        scaled && c->rope_scale > 0 ? c->rope_scale : 1.0);
    free(freq);
}

void
angles_lay(const struct config *c, size_t T, struct arena *a, float **cs,
    float **local)
{
    const struct kern_rope_opt o = rope_options(c),
                               plain = { .theta = c->theta_local };

    *cs = *local = arena_alloc(a, T * config_rotary(c), sizeof **cs);
    if (*cs != NULL)
        fill_table(c, &o, 1, 0, T, *cs);
    if (c->theta_local == 0)
        return;
    *local = arena_alloc(a, T * config_rotary(c), sizeof **local);
    if (*local != NULL)
        fill_table(c, &plain, 1, 0, T, *local);
}

size_t
angles_short(const struct config *c)
{
    const struct kern_rope_opt o = rope_options(c);

    return rope_by_length(&o) ? (size_t)o.orig : SIZE_MAX;
}

void
angles_text(const struct config *c, size_t length, size_t from, size_t n,
    float *cs)
{
    const struct kern_rope_opt o = rope_options(c);

    fill_table(c, &o, length, from, n, cs);
}

size_t
angles_set(const struct config *c, size_t length)
{
    const size_t most = angles_short(c);

    if (length <= most)
        return 0;
    return c->rope == ROPE_LONGROPE ? 1 : length - most;
}

int
angles_outgrown(const struct config *c, size_t was, size_t n)
{
    return c->rope == ROPE_LONGROPE && angles_set(c, was) != angles_set(c, n);
}

float
angles_query(const struct config *c, size_t position)
{
    if (!(c->rope_query > 0.0))
        return 1.0f;
    return (float)(1.0 +
        c->rope_query * log(1.0 + (double)(position / c->rope_orig)));
}
