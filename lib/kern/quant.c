/*
 * The block types of GGUF beyond the simplest: five and six bits, and the "K"
 * types with scales of scales.  Plain C; a block is unpacked into small
 * numbers, which then are scaled, so that compilers make vectors of both steps.
 * Every value is formed as gguf-py forms it, so the bits are the same.
 */
#include "kern/kern.h"
#include "kern/kern_impl.h"

#include <assert.h>
#include <string.h>

enum { SUPER = 256 };

static float
half_at(const unsigned char *p)
{
    return half_to_float(load16(p));
}

/* out = d * q - m of n elements */
static void
scaled(float *restrict out, const signed char *restrict q, size_t n, float d,
    float m)
{
    for (size_t i = 0; i < n; i++)
        out[i] = d * (float)q[i] - m;
}

/* out = d * q, whose zeros keep their sign */
static void
times(float *restrict out, const signed char *restrict q, size_t n, float d)
{
    for (size_t i = 0; i < n; i++)
        out[i] = d * (float)q[i];
}

/* 2n numbers of 4 bits: all low halves, then all high ones. */
static void
nibbles(signed char *restrict q, const unsigned char *restrict p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        q[i] = (signed char)(p[i] & 15);
        q[i + n] = (signed char)(p[i] >> 4);
    }
}

/* The fifth bits of 32 numbers. */
static void
fifth(signed char *q, const unsigned char *p)
{
    for (size_t i = 0; i < 32; i++)
        q[i] = (signed char)(q[i] | (p[i / 8] >> i % 8 & 1) << 4);
}

static void
q5_0(float *out, const unsigned char *p)
{
    signed char q[32];

    nibbles(q, p + 6, 16);
    fifth(q, p + 2);
    for (size_t i = 0; i < 32; i++)
        q[i] = (signed char)(q[i] - 16);
    times(out, q, 32, half_at(p));
}

static void
q5_1(float *out, const unsigned char *p)
{
    signed char q[32];

    nibbles(q, p + 8, 16);
    fifth(q, p + 4);
    scaled(out, q, 32, half_at(p), -half_at(p + 2));
}

/* Numbers of 2 bits of half a super-block: 4 rows of 32. */
static void
pairs(signed char *restrict q, const unsigned char *restrict p)
{
    for (size_t i = 0; i < 128; i++)
        q[i] = (signed char)(p[i % 32] >> i / 32 * 2 & 3);
}

/* scales[16] of 4 and 4 bits, q[64], d, dmin */
static void
q2_k(float *out, const unsigned char *p)
{
    const float d = half_at(p + 80), min = half_at(p + 82);
    signed char q[SUPER];

    pairs(q, p + 16);
    pairs(q + 128, p + 48);
    for (size_t g = 0; g < 16; g++)
        scaled(out + 16 * g, q + 16 * g, 16, d * (float)(p[g] & 15),
            min * (float)(p[g] >> 4));
}

/* third bits[32], q[64], scales[12] of 6 bits, d */
static void
q3_k(float *out, const unsigned char *p)
{
    const unsigned char *s = p + 96;
    const float d = half_at(p + 108);
    signed char q[SUPER];

    pairs(q, p + 32);
    pairs(q + 128, p + 64);
    for (size_t i = 0; i < SUPER; i++)
        q[i] = (signed char)(q[i] - (p[i % 32] >> i / 32 & 1 ? 0 : 4));
    for (size_t g = 0; g < 16; g++) {
        const int low = s[g % 8] >> g / 8 * 4 & 15;
        const int high = s[8 + g % 4] >> g / 4 * 2 & 3;

        times(out + 16 * g, q + 16 * g, 16,
            d * (float)((low | high << 4) - 32));
    }
}

/* Scale and minimum, 6 bits each, of group g of 8. */
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

/* d, dmin, scales[12], then q as 8 groups of 32 */
static void
eight_groups(float *out, const unsigned char *p, const signed char *q)
{
    const float d = half_at(p), min = half_at(p + 2);

    for (size_t g = 0; g < 8; g++) {
        int s, m;

        scale_min(p + 4, g, &s, &m);
        scaled(out + 32 * g, q + 32 * g, 32, d * (float)s, min * (float)m);
    }
}

static void
q4_k(float *out, const unsigned char *p)
{
    signed char q[SUPER];

    for (size_t k = 0; k < 4; k++)
        nibbles(q + 64 * k, p + 16 + 32 * k, 32);
    eight_groups(out, p, q);
}

/* as Q4_K, with fifth bits[32] before q */
static void
q5_k(float *out, const unsigned char *p)
{
    signed char q[SUPER];

    for (size_t k = 0; k < 4; k++)
        nibbles(q + 64 * k, p + 48 + 32 * k, 32);
    for (size_t i = 0; i < SUPER; i++)
        q[i] = (signed char)(q[i] | (p[16 + i % 32] >> i / 32 & 1) << 4);
    eight_groups(out, p, q);
}

/* q[128] low 4 bits, [64] high 2 bits, scales[16] of 8 bits, d */
static void
q6_k(float *out, const unsigned char *p)
{
    const float d = half_at(p + 208);
    signed char q[SUPER], high[SUPER];

    nibbles(q, p, 64);
    nibbles(q + 128, p + 64, 64);
    pairs(high, p + 128);
    pairs(high + 128, p + 160);
    for (size_t i = 0; i < SUPER; i++)
        q[i] = (signed char)((q[i] | high[i] << 4) - 32);
    for (size_t g = 0; g < 16; g++)
        times(out + 16 * g, q + 16 * g, 16, d * (float)(signed char)p[192 + g]);
}

/* What the 16 codes of the IQ4 types stand for. */
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
iq4_nl(float *out, const unsigned char *p)
{
    signed char q[32];

    iq4(q, p + 2);
    times(out, q, 32, half_at(p));
}

/* d, scales' high 2 bits[2], low 4 bits[4], q[128] */
static void
iq4_xs(float *out, const unsigned char *p)
{
    const float d = half_at(p);
    const unsigned high = load16(p + 2);
    signed char q[32];

    for (size_t g = 0; g < 8; g++) {
        const int low = p[4 + g / 2] >> g % 2 * 4 & 15;

        iq4(q, p + 8 + 16 * g);
        times(out + 32 * g, q, 32,
            d * (float)((low | (int)(high >> 2 * g & 3) << 4) - 32));
    }
}

static const struct {
    size_t elements, bytes; /* of a block */
    void (*widen)(float *out, const unsigned char *p);
} types[QUANT_N] = {
    [QUANT_Q5_0] = { 32, 22, q5_0 },
    [QUANT_Q5_1] = { 32, 24, q5_1 },
    [QUANT_Q2_K] = { SUPER, 84, q2_k },
    [QUANT_Q3_K] = { SUPER, 110, q3_k },
    [QUANT_Q4_K] = { SUPER, 144, q4_k },
    [QUANT_Q5_K] = { SUPER, 176, q5_k },
    [QUANT_Q6_K] = { SUPER, 210, q6_k },
    [QUANT_IQ4_NL] = { 32, 18, iq4_nl },
    [QUANT_IQ4_XS] = { SUPER, 136, iq4_xs },
};

void
quant_widen(enum kern_quant t, float *out, const void *in, size_t n)
{
    const unsigned char *p = in;
    const size_t k = types[t].elements;

    assert(n % k == 0);
    for (size_t i = 0; i < n; i += k, p += types[t].bytes)
        types[t].widen(out + i, p);
}
