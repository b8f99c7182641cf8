/*
 * GGUF's quantised block types.  A block is unpacked into small integers, by
 * loops over bytes that compilers vectorise; then a kernel scales these.  Every
 * value is computed as gguf-py computes it, so the bits are the same.  For
 * types without a minimum 0 is subtracted, which changes no number.
 */
#include "kern/quant.h"
#include "kern/kern.h"
#include "kern/rows_ref.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SUPER = 256 };

/* Unpack 2n numbers of 4 bits from n bytes: first the low halves of all, then
 * the high halves. */
static void
nibbles(signed char *restrict q, const unsigned char *restrict p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        q[i] = (signed char)(p[i] & 15);
        q[i + n] = (signed char)(p[i] >> 4);
    }
}

/* For each of the 32 numbers whose bit in p is set, flip its bits `turn`.
 * Eight numbers go at a time: a byte of p is copied eight times, and each copy
 * keeps the bit of its own number. */
static void
fifth(signed char *q, const unsigned char *p, uint64_t turn)
{
    static const unsigned char bit[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    const uint64_t ones = 0x0101010101010101;
    uint64_t own, eight;

    memcpy(&own, bit, 8);
    for (size_t k = 0; k < 4; k++, q += 8) {
        memcpy(&eight, q, 8);
        eight ^= (((p[k] * ones & own) + 0x7f * ones) >> 7 & ones) * turn;
        memcpy(q, &eight, 8);
    }
}

/* Set the scale of a block of 32, and its minimum from `min`; NULL: it has
 * none.  These types add their minimum, struct quant_parts subtracts it: min[0]
 * is -1. */
static void
one_group(struct quant_parts *b, const unsigned char *d,
    const unsigned char *min)
{
    b->d = load16(d);
    b->dmin = min != NULL ? load16(min) : 0;
    b->scale[0] = 1;
    b->min[0] = min != NULL ? -1 : 0;
}

static void
q4_0(struct quant_parts *b, const unsigned char *p)
{
    nibbles(b->q, p + 2, 16);
    for (size_t i = 0; i < 32; i++)
        b->q[i] = (signed char)(b->q[i] - 8);
    one_group(b, p, NULL);
}

static void
q4_1(struct quant_parts *b, const unsigned char *p)
{
    nibbles(b->q, p + 4, 16);
    one_group(b, p, p + 2);
}

static void
q8_0(struct quant_parts *b, const unsigned char *p)
{
    memcpy(b->q, p + 2, 32);
    one_group(b, p, NULL);
}

static void
q5_0(struct quant_parts *b, const unsigned char *p)
{
    nibbles(b->q, p + 6, 16);
    for (size_t i = 0; i < 32; i++)
        b->q[i] = (signed char)(b->q[i] - 16); /* sets the upper four bits */
    fifth(b->q, p + 2, 0xf0);
    one_group(b, p, NULL);
}

static void
q5_1(struct quant_parts *b, const unsigned char *p)
{
    nibbles(b->q, p + 8, 16);
    fifth(b->q, p + 4, 0x10);
    one_group(b, p, p + 2);
}

/* Unpack the 2-bit numbers of half a super-block, as 4 rows of 32. */
static void
pairs_of_nibbles(signed char *restrict q, const unsigned char *restrict p)
{
    for (int s = 0; s < 4; s++, q += 32)
        for (size_t i = 0; i < 32; i++)
            q[i] = (signed char)(p[i] >> 2 * s & 3);
}

/* A block: scales[16], each byte a scale and a minimum of 4 bits; q[64]; d;
 * dmin. */
static void
q2_k(struct quant_parts *b, const unsigned char *p)
{
    pairs_of_nibbles(b->q, p + 16);
    pairs_of_nibbles(b->q + 128, p + 48);
    for (size_t g = 0; g < 16; g++) {
        b->scale[g] = (signed char)(p[g] & 15);
        b->min[g] = (signed char)(p[g] >> 4);
    }
    b->d = load16(p + 80);
    b->dmin = load16(p + 82);
}

static void
no_minima(struct quant_parts *b, const unsigned char *d)
{
    b->d = load16(d);
    b->dmin = 0;
    memset(b->min, 0, sizeof b->min);
}

/* A block: third bits[32], q[64], scales[12] (16 scales of 6 bits), d. */
static void
q3_k(struct quant_parts *b, const unsigned char *p)
{
    const unsigned char *s = p + 96;
    signed char *q = b->q;

    pairs_of_nibbles(q, p + 32);
    pairs_of_nibbles(q + 128, p + 64);
    for (int k = 0; k < 8; k++)
        for (size_t i = 0; i < 32; i++)
            q[32 * k + i] =
                (signed char)(q[32 * k + i] - 4 + (p[i] >> k & 1) * 4);
    no_minima(b, p + 108);
    for (size_t g = 0; g < 16; g++) {
        const int low = s[g % 8] >> g / 8 * 4 & 15;
        const int high = s[8 + g % 4] >> g / 4 * 2 & 3;

        b->scale[g] = (signed char)((low | high << 4) - 32);
    }
}

/* Unpack 8 scales and 8 minima of 6 bits.  A block begins with d, dmin and
 * scales[12]. */
static void
eight_groups(struct quant_parts *b, const unsigned char *p)
{
    const unsigned char *s = p + 4;

    b->d = load16(p);
    b->dmin = load16(p + 2);
    for (size_t g = 0; g < 4; g++) {
        const unsigned char *high = s + g, *both = s + g + 8;

        b->scale[g] = (signed char)(s[g] & 63);
        b->min[g] = (signed char)(s[g + 4] & 63);
        b->scale[g + 4] = (signed char)((*both & 15) | (*high >> 2 & 48));
        b->min[g + 4] = (signed char)(*both >> 4 | (high[4] >> 2 & 48));
    }
}

/* A block: d, dmin, scales[12], q[128]. */
static void
q4_k(struct quant_parts *b, const unsigned char *p)
{
    eight_groups(b, p);
    for (size_t k = 0; k < 4; k++)
        nibbles(b->q + 64 * k, p + 16 + 32 * k, 32);
}

/* A block: as of Q4_K, with fifth bits[32] before q. */
static void
q5_k(struct quant_parts *b, const unsigned char *p)
{
    signed char *q = b->q;

    eight_groups(b, p);
    for (size_t k = 0; k < 4; k++)
        nibbles(q + 64 * k, p + 48 + 32 * k, 32);
    for (int k = 0; k < 8; k++)
        for (size_t i = 0; i < 32; i++)
            q[32 * k + i] =
                (signed char)(q[32 * k + i] | (p[16 + i] >> k & 1) << 4);
}

/* A block: q[128] of low 4 bits, [64] of high 2 bits, scales[16] of 8 bits,
 * d. */
static void
q6_k(struct quant_parts *b, const unsigned char *p)
{
    signed char high[SUPER], *q = b->q;

    nibbles(q, p, 64);
    nibbles(q + 128, p + 64, 64);
    pairs_of_nibbles(high, p + 128);
    pairs_of_nibbles(high + 128, p + 160);
    for (size_t i = 0; i < SUPER; i++)
        q[i] = (signed char)((q[i] | high[i] << 4) - 32);
    memcpy(b->scale, p + 192, 16);
    no_minima(b, p + 208);
}

const signed char quant_iq4_value[16] = { -127, -104, -83, -65, -49, -35, -22,
    -10, 1, 13, 25, 38, 53, 69, 89, 113 };

static void
iq4(signed char *q, const unsigned char *p)
{
    nibbles(q, p, 16);
    for (size_t i = 0; i < 32; i++)
        q[i] = quant_iq4_value[q[i]];
}

static void
iq4_nl(struct quant_parts *b, const unsigned char *p)
{
    iq4(b->q, p + 2);
    one_group(b, p, NULL);
}

/* A block: d, the scales' high 2 bits[2], their low 4 bits[4], q[128]. */
static void
iq4_xs(struct quant_parts *b, const unsigned char *p)
{
    const unsigned high = load16(p + 2);

    for (size_t g = 0; g < 8; g++) {
        const int low = p[4 + g / 2] >> g % 2 * 4 & 15;

        iq4(b->q + 32 * g, p + 8 + 16 * g);
        b->scale[g] = (signed char)((low | (int)(high >> 2 * g & 3) << 4) - 32);
    }
    no_minima(b, p);
}

/* The doubled values of E2M1 (OCP Microscaling Formats v1.0, s. 5.3.3). */
static const signed char e2m1_doubled[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1,
    -2, -3, -4, -6, -8, -12 };

/* A block: exponent of the scale, q[16]. */
static void
mxfp4(struct quant_parts *b, const unsigned char *p)
{
    nibbles(b->q, p + 1, 16);
    for (size_t i = 0; i < 32; i++)
        b->q[i] = e2m1_doubled[b->q[i]];
    b->d = b->dmin = 0;
    b->scale[0] = b->min[0] = 0;
}

float
quant_mxfp4_scale(unsigned char e)
{
    return ldexpf(1.0f, e - 128);
}

static const struct {
    struct quant_type form;
    void (*unpack)(struct quant_parts *b, const unsigned char *p);
} types[QUANT_N] = {
    [QUANT_Q8_0] = { { 32, 34, 32 }, q8_0 },
    [QUANT_Q4_0] = { { 32, 18, 32 }, q4_0 },
    [QUANT_Q4_1] = { { 32, 20, 32 }, q4_1 },
    [QUANT_Q5_0] = { { 32, 22, 32 }, q5_0 },
    [QUANT_Q5_1] = { { 32, 24, 32 }, q5_1 },
    [QUANT_Q2_K] = { { SUPER, 84, 16 }, q2_k },
    [QUANT_Q3_K] = { { SUPER, 110, 16 }, q3_k },
    [QUANT_Q4_K] = { { SUPER, 144, 32 }, q4_k },
    [QUANT_Q5_K] = { { SUPER, 176, 32 }, q5_k },
    [QUANT_Q6_K] = { { SUPER, 210, 16 }, q6_k },
    [QUANT_IQ4_NL] = { { 32, 18, 32 }, iq4_nl },
    [QUANT_IQ4_XS] = { { SUPER, 136, 32 }, iq4_xs },
    [QUANT_MXFP4] = { { 32, 17, 32 }, mxfp4 },
};

struct quant_type
quant_type(enum kern_quant t)
{
    return types[t].form;
}

void
quant_unpack(enum kern_quant t, const void *in, struct quant_parts *b)
{
    types[t].unpack(b, in);
}

void
quant_widen(enum kern_quant t, float *out, const void *in, size_t n)
{
    const struct quant_type form = types[t].form;
    const size_t groups = form.elements / form.group;
    const unsigned char *p = in;
    signed char q[SUPER];
    float d[SUPER / 16], m[SUPER / 16];

    assert(n % form.elements == 0);
    switch (t) {
    case QUANT_Q8_0: kern.widen_q8_0(out, in, n); return;
    case QUANT_Q4_0: kern.widen_q4_0(out, in, n); return;
    case QUANT_Q4_1: kern.widen_q4_1(out, in, n); return;
    default: break;
    }
    while (n > 0) {
        const size_t some = n < SUPER ? n : SUPER;
        size_t at = 0;

        for (size_t i = 0; i < some; i += form.elements, p += form.bytes) {
            struct quant_parts b;

            types[t].unpack(&b, p);
            memcpy(q + i, b.q, form.elements);
            for (size_t g = 0; g < groups; g++, at++) {
                d[at] = t == QUANT_MXFP4
                    ? quant_mxfp4_scale(*p)
                    : half_to_float(b.d) * (float)b.scale[g];
                m[at] = half_to_float(b.dmin) * (float)b.min[g];
            }
        }
        kern.scale_groups(out, q, some, form.group, d, m);
        out += some;
        n -= some;
    }
}

/* The bits of exponent and mantissa are those of a float whose exponent has
 * another bias: 127 in place of 7.  Numbers below the least normal one are then
 * denormal floats, and the product makes them what they are. */
void
quant_f8_widen(float *out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t i = 0; i < n; i++) {
        const uint32_t code = p[i] & 127;
        uint32_t bits = code << 20;
        float x;

        memcpy(&x, &bits, sizeof x);
        x = code == 127 ? NAN : x * 0x1p120f;
        out[i] = p[i] >> 7 ? -x : x;
    }
}
