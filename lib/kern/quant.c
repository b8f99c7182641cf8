/*
 * GGUF's other block types: those of five bits, the "K" types with scales of
 * scales, and IQ4.  A block is unpacked into small integers, by loops over
 * bytes that compilers vectorise; then a kernel scales these.  Every value is
 * computed as gguf-py computes it, so the bits are the same.  For types without
 * a minimum 0 is subtracted, which changes no number.
 */
#include "kern/quant.h"
#include "kern/kern.h"
#include "kern/rows_ref.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SUPER = 256 };

static float
half_at(const unsigned char *p)
{
    return half_to_float(load16(p));
}

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

/* Flip the bits `turn` of each of 32 numbers whose bit in p is set.  Eight
 * numbers at a time: a byte of p is copied eight times, and each copy keeps the
 * bit of its own number. */
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

static void
q5_0(signed char *q, float *d, float *m, const unsigned char *p)
{
    nibbles(q, p + 6, 16);
    for (size_t i = 0; i < 32; i++)
        q[i] = (signed char)(q[i] - 16); /* sets the upper four bits */
    fifth(q, p + 2, 0xf0);
    *d = half_at(p);
    *m = 0.0f;
}

static void
q5_1(signed char *q, float *d, float *m, const unsigned char *p)
{
    nibbles(q, p + 8, 16);
    fifth(q, p + 4, 0x10);
    *d = half_at(p);
    *m = -half_at(p + 2);
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
q2_k(signed char *q, float *d, float *m, const unsigned char *p)
{
    const float scale = half_at(p + 80), min = half_at(p + 82);

    pairs_of_nibbles(q, p + 16);
    pairs_of_nibbles(q + 128, p + 48);
    for (size_t g = 0; g < 16; g++) {
        d[g] = scale * (float)(p[g] & 15);
        m[g] = min * (float)(p[g] >> 4);
    }
}

/* A block: third bits[32], q[64], scales[12] (16 scales of 6 bits), d. */
static void
q3_k(signed char *q, float *d, float *m, const unsigned char *p)
{
    const unsigned char *s = p + 96;
    const float scale = half_at(p + 108);

    pairs_of_nibbles(q, p + 32);
    pairs_of_nibbles(q + 128, p + 64);
    for (int k = 0; k < 8; k++)
        for (size_t i = 0; i < 32; i++)
            q[32 * k + i] =
                (signed char)(q[32 * k + i] - 4 + (p[i] >> k & 1) * 4);
    for (size_t g = 0; g < 16; g++) {
        const int low = s[g % 8] >> g / 8 * 4 & 15;
        const int high = s[8 + g % 4] >> g / 4 * 2 & 3;

        d[g] = scale * (float)((low | high << 4) - 32);
        m[g] = 0.0f;
    }
}

/* Unpack the scale and the minimum, 6 bits each, of group g < 8. */
static void
scale_min(const unsigned char *s, size_t g, int *scale, int *min)
{
    if (g < 4) {
        *scale = s[g] & 63;
        *min = s[g + 4] & 63;
    } else {
        *scale = (s[g + 4] & 15) | (s[g - 4] >> 2 & 48);
        *min = s[g + 4] >> 4 | (s[g] >> 2 & 48);
    }
}

/* Set d and m of 8 groups of 32.  A block begins with d, dmin and scales[12] (8
 * scales and 8 minima of 6 bits). */
static void
eight_groups(float *d, float *m, const unsigned char *p)
{
    const float scale = half_at(p), min = half_at(p + 2);

    for (size_t g = 0; g < 8; g++) {
        int s, n;

        scale_min(p + 4, g, &s, &n);
        d[g] = scale * (float)s;
        m[g] = min * (float)n;
    }
}

/* A block: d, dmin, scales[12], q[128]. */
static void
q4_k(signed char *q, float *d, float *m, const unsigned char *p)
{
    eight_groups(d, m, p);
    for (size_t k = 0; k < 4; k++)
        nibbles(q + 64 * k, p + 16 + 32 * k, 32);
}

/* A block: as of Q4_K, with fifth bits[32] before q. */
static void
q5_k(signed char *q, float *d, float *m, const unsigned char *p)
{
    eight_groups(d, m, p);
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
q6_k(signed char *q, float *d, float *m, const unsigned char *p)
{
    const float scale = half_at(p + 208);
    signed char high[SUPER];

    nibbles(q, p, 64);
    nibbles(q + 128, p + 64, 64);
    pairs_of_nibbles(high, p + 128);
    pairs_of_nibbles(high + 128, p + 160);
    for (size_t i = 0; i < SUPER; i++)
        q[i] = (signed char)((q[i] | high[i] << 4) - 32);
    for (size_t g = 0; g < 16; g++) {
        d[g] = scale * (float)(signed char)p[192 + g];
        m[g] = 0.0f;
    }
}

/* The values of the 16 codes of the IQ4 types. */
static const signed char iq4_value[16] = { -127, -104, -83, -65, -49, -35, -22,
    -10, 1, 13, 25, 38, 53, 69, 89, 113 };

static void
iq4(signed char *q, const unsigned char *p)
{
    nibbles(q, p, 16);
    for (size_t i = 0; i < 32; i++)
        q[i] = iq4_value[q[i]];
}

static void
iq4_nl(signed char *q, float *d, float *m, const unsigned char *p)
{
    iq4(q, p + 2);
    *d = half_at(p);
    *m = 0.0f;
}

/* A block: d, the scales' high 2 bits[2], their low 4 bits[4], q[128]. */
static void
iq4_xs(signed char *q, float *d, float *m, const unsigned char *p)
{
    const float scale = half_at(p);
    const unsigned high = load16(p + 2);

    for (size_t g = 0; g < 8; g++) {
        const int low = p[4 + g / 2] >> g % 2 * 4 & 15;

        iq4(q + 32 * g, p + 8 + 16 * g);
        d[g] = scale * (float)((low | (int)(high >> 2 * g & 3) << 4) - 32);
        m[g] = 0.0f;
    }
}

static const struct {
    size_t elements, bytes; /* of a block */
    size_t group;           /* elements that share a scale */
    /* Set q [elements], and scale d and minimum m of each group, from the block
     * p. */
    void (*unpack)(signed char *q, float *d, float *m, const unsigned char *p);
} types[QUANT_N] = {
    [QUANT_Q8_0] = { 32, 34, 32, NULL }, /* by kernels of their own */
    [QUANT_Q4_0] = { 32, 18, 32, NULL },
    [QUANT_Q4_1] = { 32, 20, 32, NULL },
    [QUANT_Q5_0] = { 32, 22, 32, q5_0 },
    [QUANT_Q5_1] = { 32, 24, 32, q5_1 },
    [QUANT_Q2_K] = { SUPER, 84, 16, q2_k },
    [QUANT_Q3_K] = { SUPER, 110, 16, q3_k },
    [QUANT_Q4_K] = { SUPER, 144, 32, q4_k },
    [QUANT_Q5_K] = { SUPER, 176, 32, q5_k },
    [QUANT_Q6_K] = { SUPER, 210, 16, q6_k },
    [QUANT_IQ4_NL] = { 32, 18, 32, iq4_nl },
    [QUANT_IQ4_XS] = { SUPER, 136, 32, iq4_xs },
};

size_t
quant_block(enum kern_quant t)
{
    return types[t].elements;
}

size_t
quant_bytes(enum kern_quant t)
{
    return types[t].bytes;
}

void
quant_widen(enum kern_quant t, float *out, const void *in, size_t n)
{
    const size_t k = types[t].elements, group = types[t].group;
    const unsigned char *p = in;
    signed char q[SUPER];
    float d[SUPER / 16], m[SUPER / 16];

    assert(n % k == 0);
    switch (t) {
    case QUANT_Q8_0: kern.widen_q8_0(out, in, n); return;
    case QUANT_Q4_0: kern.widen_q4_0(out, in, n); return;
    case QUANT_Q4_1: kern.widen_q4_1(out, in, n); return;
    default: break;
    }
    while (n > 0) {
        const size_t some = n < SUPER ? n : SUPER;

        for (size_t i = 0; i < some; i += k, p += types[t].bytes)
            types[t].unpack(q + i, d + i / group, m + i / group, p);
        kern.scale_groups(out, q, some, group, d, m);
        out += some;
        n -= some;
    }
}
