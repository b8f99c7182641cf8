/* Rounding to the block types of a GGUF; see quant_out.h.  quant.c has the
 * layouts. */
#include "kern/quant_out.h"
#include "kern/kern.h"
#include "kern/quant_fit.h"
#include "kern/rows_ref.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32, SUPER = 256 };

/* Store v in half precision; returns the number that was stored. */
static float
put_half(unsigned char *p, float v)
{
    uint16_t h;

    kern.narrow_f16(&h, &v, 1);
    p[0] = (unsigned char)(h & 0xff);
    p[1] = (unsigned char)(h >> 8);
    return half_to_float(h);
}

/* Pack the low 4 bits of 2n codes into n bytes: the first n codes are the low
 * halves. */
static void
put_nibbles(unsigned char *restrict p, const unsigned char *restrict q,
    size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((q[i] & 15) | q[i + n] << 4);
}

/* The codes of a type.  ranged 1: codes are 0..levels, 0 for the smallest
 * number; ranged 0: -levels..levels-1, stored with levels added. */
struct codes {
    int ranged;
    float levels;
};

static unsigned char
nearest_code(float v, const struct codes *c)
{
    const float least = c->ranged ? 0.0f : -c->levels;
    const float most = c->ranged ? c->levels : c->levels - 1.0f;

    return (unsigned char)(fit_clamp(fit_near(v), least, most) - least);
}

/* --- blocks of 32 numbers: scale, minimum if ranged, codes --- */

static const struct codes block_codes[] = { [QUANT_Q4_0] = { 0, 8.0f },
    [QUANT_Q4_1] = { 1, 15.0f },
    [QUANT_Q5_0] = { 0, 16.0f },
    [QUANT_Q5_1] = { 1, 31.0f } };

static void
pack_block(enum kern_quant t, unsigned char *p, const unsigned char *q)
{
    p += block_codes[t].ranged ? 4 : 2;
    if (t == QUANT_Q5_0 || t == QUANT_Q5_1) {
        memset(p, 0, 4);
        for (size_t i = 0; i < BLOCK; i++)
            p[i / 8] |= (unsigned char)((q[i] >> 4 & 1) << i % 8);
        p += 4;
    }
    put_nibbles(p, q, BLOCK / 2);
}

/* The largest magnitude of a block.  Magnitudes are in the order of their bits
 * as integers, whose maximum compilers find by vectors. */
static float
block_most(const float *x)
{
    uint32_t bits[BLOCK], most = 0;
    float m;

    memcpy(bits, x, sizeof bits);
    for (size_t i = 0; i < BLOCK; i++) {
        const uint32_t b = bits[i] & 0x7fffffff;

        most = (int32_t)b > (int32_t)most ? b : most;
    }
    memcpy(&m, &most, sizeof m);
    return m;
}

/* Codes are rounded as by roundf, halves away from 0. */
static void
encode_q8_0(unsigned char *p, const float *x)
{
    const float d = block_most(x) / 127.0f;
    /* half precision rounds a subnormal d to 0 */
    const float inverse = d >= 0x1p-126f ? 1.0f / d : 0.0f;
    signed char q[BLOCK];

    put_half(p, d);
    for (size_t i = 0; i < BLOCK; i++) {
        const float v = x[i] * inverse, near = fit_near(v), off = v - near;
        const int up = (v > 0.0f) & (off == 0.5f);
        const int down = (v < 0.0f) & (off == -0.5f);

        q[i] = (signed char)((int)near + up - down);
    }
    memcpy(p + 2, q, BLOCK);
}

/* Encode a block without importance.  The number of largest magnitude, or of
 * ranged codes the smallest and the largest number, get codes at the ends of
 * the range; halves are rounded up. */
static void
encode_block(enum kern_quant t, unsigned char *p, const float *x)
{
    const struct codes *c = &block_codes[t];
    const float top = c->ranged ? c->levels : 2.0f * c->levels - 1.0f;
    float low = x[0], high = x[0], most = x[0], d, inverse, shift = 0.5f;
    unsigned char q[BLOCK];

    for (size_t i = 1; i < BLOCK; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    }
    if (c->ranged) {
        d = (high - low) / c->levels;
        put_half(p + 2, low);
    } else {
        d = most / -c->levels;
        shift = c->levels + 0.5f;
        low = 0.0f;
    }
    inverse = fabsf(d) >= 0x1p-126f ? 1.0f / d : 0.0f;
    put_half(p, d);
    for (size_t i = 0; i < BLOCK; i++)
        q[i] =
            (unsigned char)fit_clamp((x[i] - low) * inverse + shift, 0.0f, top);
    pack_block(t, p, q);
}

/* --- the search for scales, in 8 groups at once --- */

static const struct fit_grid coarse = { -1.0f, 0.1f, 0, 20 },
                             narrow = { -0.5f, 0.1f, 0, 15 },
                             fine = { -0.9f, 0.05f, 0, 36 },
                             around = { 0.0f, 0.1f, -9, 9 };

/* Put groups of `size` numbers side by side, as quant_fit.h has them. */
static void
set_lanes(float *out, const float *x, size_t size)
{
    for (size_t g = 0; g < FIT_LANES; g++)
        for (size_t i = 0; i < size; i++)
            out[i * FIT_LANES + g] = x[g * size + i];
}

static void
fit_groups(const float *x, const float *w, size_t size, const struct codes *c,
    const struct fit_grid *grid, struct fit *f)
{
    float lanes[2][FIT_LANES * FIT_MOST];

    set_lanes(lanes[0], x, size);
    set_lanes(lanes[1], w, size);
    (c->ranged ? kern.fit->range : kern.fit->scale)(lanes[0], lanes[1], size,
        c->levels, grid, f);
}

/* Set the codes of n numbers of group g, whose scale was rounded to d and whose
 * minimum to low.  If d is 0 the codes have no effect; then take the codes of
 * the search, as ggml's files have them. */
static void
group_codes(unsigned char *q, const float *x, size_t n, float d, float low,
    const struct fit *f, size_t g, const struct codes *c)
{
    for (size_t i = 0; i < n; i++)
        q[i] = d != 0.0f ? nearest_code((x[i] - low) / d, c)
            : f->inverse[g] == 0.0f
            ? 0
            : nearest_code((x[i] - f->least[g]) * f->inverse[g], c);
}

/* Weights of errors without importance, by groups of 32: the group's root mean
 * square plus |x|. */
static void
plain_weights(float *w, const float *x)
{
    for (size_t k = 0; k < SUPER; k += 32) {
        float sum = 0.0f;

        for (size_t i = k; i < k + 32; i++)
            sum += x[i] * x[i];
        sum = sqrtf(sum / 32.0f);
        for (size_t i = k; i < k + 32; i++)
            w[i] = sum + fabsf(x[i]);
    }
}

/* Weights of errors with importance, by which large numbers keep more of their
 * precision: importance * sqrt(twice the mean square + x^2). */
static void
important_weights(float *w, const float *x, const float *importance)
{
    float sum = 0.0f;

    for (size_t i = 0; i < SUPER; i++)
        sum += x[i] * x[i];
    for (size_t i = 0; i < SUPER; i++)
        w[i] = importance[i] * sqrtf(2.0f / SUPER * sum + x[i] * x[i]);
}

/* Encode n <= 256 numbers, in blocks of 32, with importance. */
static void
encode_important(enum kern_quant t, unsigned char *p, size_t bytes,
    const float *x, const float *importance, size_t n)
{
    const struct codes *c = &block_codes[t];
    float all[SUPER] = { 0 }, w[SUPER] = { 0 };
    struct fit f;

    memcpy(all, x, n * sizeof *x);
    memcpy(w, importance, n * sizeof *w);
    important_weights(w, all, w);
    fit_groups(all, w, BLOCK, c, c->ranged ? &fine : &around, &f);
    for (size_t g = 0; g < n / BLOCK; g++, p += bytes) {
        const float d = put_half(p, f.scale[g]);
        const float low = c->ranged ? put_half(p + 2, f.low[g]) : 0.0f;
        unsigned char q[BLOCK];

        group_codes(q, x + g * BLOCK, BLOCK, d, low, &f, g, c);
        pack_block(t, p, q);
    }
}

/* --- super-blocks of 256 numbers --- */

/* Pack 8 scales and 8 minima of 6 bits, as eight_groups of quant.c reads
 * them. */
static void
put_scales(unsigned char *p, const unsigned char *scale,
    const unsigned char *min)
{
    for (size_t g = 0; g < 4; g++) {
        p[g] = (unsigned char)(scale[g] | scale[g + 4] >> 4 << 6);
        p[g + 4] = (unsigned char)(min[g] | min[g + 4] >> 4 << 6);
        p[g + 8] = (unsigned char)((scale[g + 4] & 15) | min[g + 4] << 4);
    }
}

/* Round 8 numbers, times sign, to codes of 6 bits with a common factor, which
 * gives the largest number the code 63.  Stores the factor in half precision at
 * p, and returns it. */
static float
six_bits(unsigned char *p, unsigned char *out, const float *x, float sign)
{
    static const struct codes six = { 1, 63.0f };
    float most = 0.0f, inverse;

    for (size_t g = 0; g < FIT_LANES; g++)
        most = x[g] * sign > most ? x[g] * sign : most;
    inverse = most > 0.0f ? 63.0f / most : 0.0f;
    for (size_t g = 0; g < FIT_LANES; g++)
        out[g] = nearest_code(inverse * (x[g] * sign), &six);
    return put_half(p, most / 63.0f);
}

/* The numbers of a Q4_K or Q5_K block besides its codes. */
struct ranges {
    float d, dmin;
    unsigned char scale[FIT_LANES], min[FIT_LANES]; /* of the groups */
};

/* Change each group's scale and minimum by at most one, to those with the least
 * error. */
static void
improve_ranges(struct ranges *r, const float lanes[2][SUPER], float levels)
{
    const struct ranges old = *r;
    float best[FIT_LANES], error[FIT_LANES], scale[FIT_LANES], low[FIT_LANES];

    for (size_t g = 0; g < FIT_LANES; g++)
        best[g] = HUGE_VALF;
    for (int k = 0; k < 9; k++) {
        unsigned char s[FIT_LANES], m[FIT_LANES];

        for (size_t g = 0; g < FIT_LANES; g++) {
            s[g] = (unsigned char)fit_clamp((float)(old.scale[g] + k % 3 - 1),
                0.0f, 63.0f);
            m[g] = (unsigned char)fit_clamp((float)(old.min[g] + k / 3 - 1),
                0.0f, 63.0f);
            scale[g] = r->d * (float)s[g];
            low[g] = -(r->dmin * (float)m[g]);
        }
        kern.fit->error(lanes[0], lanes[1], 32, levels, scale, low, error);
        for (size_t g = 0; g < FIT_LANES; g++) {
            if (!(error[g] < best[g]))
                continue;
            best[g] = error[g];
            r->scale[g] = s[g];
            r->min[g] = m[g];
        }
    }
}

/* Set d and dmin by least squares for the codes that the groups' scales and
 * minima give. */
static void
refit_ranges(struct ranges *r, unsigned char *p, const float *x, const float *w,
    const struct codes *c)
{
    double ss = 0.0, sm = 0.0, mm = 0.0, sx = 0.0, mx = 0.0, det;

    for (size_t i = 0; i < SUPER; i++) {
        const double s = r->scale[i / 32], m = r->min[i / 32];
        const float step = r->d * r->scale[i / 32];
        const float low = -(r->dmin * r->min[i / 32]);
        const double a =
            step > 0.0f ? s * nearest_code((x[i] - low) / step, c) : 0.0;

        ss += w[i] * a * a;
        sm += w[i] * a * m;
        mm += w[i] * m * m;
        sx += w[i] * a * x[i];
        mx += w[i] * m * x[i];
    }
    det = ss * mm - sm * sm;
    if (det > 1e-9 * ss * mm) {
        r->d = put_half(p, (float)((mm * sx - sm * mx) / det));
        r->dmin = put_half(p + 2, (float)((sm * sx - ss * mx) / det));
    } else if (ss > 0.0) {
        r->d = put_half(p, (float)((sx + r->dmin * sm) / ss));
    }
}

/* Set d, dmin and scales of a Q4_K or Q5_K block at p, and its codes q.  The
 * scale and the minimum of each group are searched on the grid `plain`, as ggml
 * does, or with importance on `fine`, and rounded to 6 bits.  With importance
 * they are then fitted again, to each other and to d and dmin. */
static void
encode_ranges(unsigned char *p, unsigned char *q, const float *x,
    const float *importance, const struct codes *c,
    const struct fit_grid *plain)
{
    enum { ROUNDS = 3 };
    const struct fit_grid *grid = importance ? &fine : plain;
    float lanes[2][SUPER], w[SUPER];
    struct ranges r;
    struct fit f;

    if (importance)
        important_weights(w, x, importance);
    else
        plain_weights(w, x);
    set_lanes(lanes[0], x, 32);
    set_lanes(lanes[1], w, 32);
    kern.fit->range(lanes[0], lanes[1], 32, c->levels, grid, &f);
    r.d = six_bits(p, r.scale, f.scale, 1.0f);
    r.dmin = six_bits(p + 2, r.min, f.low, -1.0f);
    for (int k = 0; importance && k < ROUNDS; k++) {
        if (k > 0)
            refit_ranges(&r, p, x, w, c);
        improve_ranges(&r, lanes, c->levels);
    }
    put_scales(p + 4, r.scale, r.min);
    for (size_t g = 0; g < FIT_LANES; g++)
        group_codes(q + 32 * g, x + 32 * g, 32, r.d * (float)r.scale[g],
            -(r.dmin * (float)r.min[g]), &f, g, c);
}

static void
encode_q4_k(unsigned char *p, const float *x, const float *importance)
{
    static const struct codes codes = { 1, 15.0f };
    unsigned char q[SUPER];

    encode_ranges(p, q, x, importance, &codes, &coarse);
    for (size_t k = 0; k < 4; k++)
        put_nibbles(p + 16 + 32 * k, q + 64 * k, 32);
}

static void
encode_q5_k(unsigned char *p, const float *x, const float *importance)
{
    static const struct codes codes = { 1, 31.0f };
    unsigned char q[SUPER];

    encode_ranges(p, q, x, importance, &codes, &narrow);
    memset(p + 16, 0, 32);
    for (size_t k = 0; k < 8; k++)
        for (size_t i = 0; i < 32; i++)
            p[16 + i] |= (unsigned char)(q[32 * k + i] >> 4 << k);
    for (size_t k = 0; k < 4; k++)
        put_nibbles(p + 48 + 32 * k, q + 64 * k, 32);
}

static void
pack_q6_k(unsigned char *p, const unsigned char *q)
{
    put_nibbles(p, q, 64);
    put_nibbles(p + 64, q + 128, 64);
    for (size_t h = 0; h < 2; h++, q += 128)
        for (size_t i = 0; i < 32; i++)
            p[128 + 32 * h + i] =
                (unsigned char)(q[i] >> 4 | q[32 + i] >> 4 << 2 |
                    q[64 + i] >> 4 << 4 | q[96 + i] >> 4 << 6);
}

/* The scales of 16 groups are signed codes of 8 bits; the scale of largest
 * magnitude has the code -128. */
static void
encode_q6_k(unsigned char *p, const float *x, const float *importance)
{
    static const struct codes codes = { 0, 32.0f }, eight = { 0, 128.0f };
    struct fit f[2];
    unsigned char q[SUPER];
    float w[SUPER], most = 0.0f, d, inverse;

    for (size_t i = 0; i < SUPER; i++)
        w[i] = importance ? importance[i] : x[i] * x[i];
    fit_groups(x, w, 16, &codes, &around, &f[0]);
    fit_groups(x + 128, w + 128, 16, &codes, &around, &f[1]);
    for (size_t g = 0; g < 16; g++)
        most = fabsf(f[g / 8].scale[g % 8]) > fabsf(most)
            ? f[g / 8].scale[g % 8]
            : most;
    if (fabsf(most) < 1e-15f) {
        memset(p, 0, 210);
        return;
    }
    inverse = -128.0f / most;
    d = put_half(p + 208, 1.0f / inverse);
    for (size_t g = 0; g < 16; g++) {
        const int s =
            nearest_code(inverse * f[g / 8].scale[g % 8], &eight) - 128;

        p[192 + g] = (unsigned char)(signed char)s;
        group_codes(q + 16 * g, x + 16 * g, 16, d * (float)s, 0.0f, &f[g / 8],
            g % 8, &codes);
    }
    pack_q6_k(p, q);
}

void
quant_encode(enum kern_quant t, void *out, const float *x,
    const float *importance, size_t n)
{
    const size_t bytes = quant_type(t).bytes, block = quant_type(t).elements;
    unsigned char *p = out;

    assert(n % block == 0);
    while (n > 0) {
        size_t some = block;

        switch (t) {
        case QUANT_Q8_0: encode_q8_0(p, x); break;
        case QUANT_Q4_K: encode_q4_k(p, x, importance); break;
        case QUANT_Q5_K: encode_q5_k(p, x, importance); break;
        case QUANT_Q6_K: encode_q6_k(p, x, importance); break;
        default:
            if (importance) {
                some = n < SUPER ? n : SUPER;
                encode_important(t, p, bytes, x, importance, some);
            } else {
                encode_block(t, p, x);
            }
        }
        p += some / block * bytes;
        x += some;
        importance = importance ? importance + some : NULL;
        n -= some;
    }
}
