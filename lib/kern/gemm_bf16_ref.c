/*
 * Products in bfloat16 in plain C: the definition, bit by bit, of the results
 * of the dot-product instructions of AVX512-BF16, AMX and BFMMLA.  The
 * arithmetic of one instruction was derived from results of processors, of
 * BFMMLA from Arm's manual (tests/golden/kern/bf16.safetensors has results of
 * all); blocks are cut as gemm_bf16.h says.
 */
#include "kern/bf16.h"
#include "kern/gemm_bf16.h"
#include "kern/gemm_ways_vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* x; if it is denormal, zero with its sign. */
static float
flush_denormal(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

float
bf16_round(float x)
{
    uint32_t u;

    x = flush_denormal(x);
    memcpy(&u, &x, sizeof u);
    if (isnan(x))
        u |= 0x400000;
    else
        u += 0x7fff + (u >> 16 & 1);
    u &= 0xffff0000;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* a b + c, rounded once, with zero in place of a tiny result.  A result is tiny
 * if it is below the smallest normal number when rounded with an unbounded
 * exponent; fmaf may have rounded it up to that number. */
static float
multiply_add(float a, float b, float c)
{
    float r;

    a = flush_denormal(a);
    b = flush_denormal(b);
    c = flush_denormal(c);
    r = flush_denormal(fmaf(a, b, c));
    if (fabsf(r) == FLT_MIN &&
        fabs(fma(a, b, c)) < FLT_MIN * (1.0 - FLT_EPSILON / 4))
        return copysignf(0.0f, r);
    return r;
}

float
bf16_vdp(float c, const float a[2], const float b[2])
{
    return multiply_add(a[0], b[0], multiply_add(a[1], b[1], c));
}

float
bf16_tdp(float c, const float a[BF16_CHUNK], const float b[BF16_CHUNK])
{
    float even = 0.0f, odd = 0.0f;

    for (size_t l = 0; l < BF16_CHUNK; l += 2) {
        even = multiply_add(a[l], b[l], even);
        odd = multiply_add(a[l + 1], b[l + 1], odd);
    }
    return flush_denormal(flush_denormal(c) + flush_denormal(even + odd));
}

/* high + low rounded to a float by "round to odd": if the sum lies between two
 * floats, the result is the one of them whose last bit is 1.  |low| is at most
 * half a unit in the last place of high. */
static float
round_odd(double high, double low)
{
    const double big = fabs(high);
    float r = (float)big;
    uint32_t u;

    if (isnan(high) || isinf(high))
        return (float)high;
    if (high < 0.0)
        low = -low;
    if ((double)r > big || ((double)r == big && low < 0.0))
        r = nextafterf(r, 0.0f);
    memcpy(&u, &r, sizeof u);
    u |= (double)r != big || low != 0.0;
    memcpy(&r, &u, sizeof r);
    r = big >= 0x1p128 ? INFINITY : flush_denormal(r);
    return copysignf(r, (float)high);
}

static float
odd_add(double a, double b)
{
    const double s = a + b, t = s - a; /* TwoSum: s and the error of s */

    return round_odd(s, isinf(s) ? 0.0 : (a - (s - t)) + (b - t));
}

float
bf16_mmla(float c, const float a[4], const float b[4])
{
    float p[4];

    for (size_t l = 0; l < 4; l++)
        p[l] = round_odd((double)flush_denormal(a[l]) *
                (double)flush_denormal(b[l]),
            0.0);
    c = odd_add(flush_denormal(c), odd_add(p[0], p[1]));
    return odd_add(c, odd_add(p[2], p[3]));
}

/* s plus the products of a chunk of a block. */
static float
vdp_chunk(float s, const float *a, const float *b)
{
    for (size_t l = 0; l < BF16_CHUNK; l += 2)
        s = bf16_vdp(s, a + l, b + l);
    return s;
}

static float
mmla_chunk(float s, const float *a, const float *b)
{
    for (size_t l = 0; l < BF16_CHUNK; l += 4)
        s = bf16_mmla(s, a + l, b + l);
    return s;
}

/* The instruction of gemm_bf16_ref's last call, before threads start. */
static enum kern_bf16 set;

/* Round the numbers at depths l0 to `end` - 1, at most BF16_CHUNK; zeros
 * follow them. */
static void
round_chunk(const float *a, size_t step, size_t l0, size_t end,
    float x[BF16_CHUNK])
{
    for (size_t i = 0; i < BF16_CHUNK; i++)
        x[i] = l0 + i < end ? bf16_round(a[(l0 + i) * step]) : 0.0f;
}

/* An element of c by AMX.  At depth l, a is a[l * ca] and b is b[l * cb]. */
static float
amx_element(size_t k, const float *a, size_t ca, const float *b, size_t cb,
    float c, int add)
{
    float s = add ? c : 0.0f, x[BF16_CHUNK], y[BF16_CHUNK];

    for (size_t l = 0; l < k; l += BF16_CHUNK) {
        round_chunk(a, ca, l, k, x);
        round_chunk(b, cb, l, k, y);
        s = bf16_tdp(s, x, y);
    }
    return s;
}

/* An element of c by AVX512-BF16 or BFMMLA, as amx_element. */
static float
block_element(size_t k, const float *a, size_t ca, const float *b, size_t cb,
    float c, int add)
{
    for (size_t l0 = 0, n; l0 < k; l0 += n, add = 1) {
        const size_t at = l0 % GEMM_DEEP;
        const size_t deep =
            k - (l0 - at) < GEMM_DEEP ? k - (l0 - at) : GEMM_DEEP;
        float s = 0.0f;

        n = bf16_block(set, deep);
        n = deep - at < n ? deep - at : n;
        for (size_t i = l0; i < l0 + n; i += BF16_CHUNK) {
            float x[BF16_CHUNK], y[BF16_CHUNK];

            round_chunk(a, ca, i, l0 + n, x);
            round_chunk(b, cb, i, l0 + n, y);
            s = set == KERN_BF16_BFMMLA ? mmla_chunk(s, x, y)
                                        : vdp_chunk(s, x, y);
        }
        c = add ? c + s : s;
    }
    return add ? c : 0.0f;
}

static void
gemm(size_t m, size_t n, size_t k, struct operand a, struct operand b, int add,
    float *c, size_t ldc)
{
    float (*const element)(size_t, const float *, size_t, const float *, size_t,
        float, int) = set == KERN_BF16_AMX ? amx_element : block_element;

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = element(k, a.p + i * a.i_step, a.l_step,
                b.p + j * b.i_step, b.l_step, c[i * ldc + j], add);
}

void
gemm_bf16_ref(struct kern *k, enum kern_bf16 by)
{
    set = by;
    put_gemm(k);
    k->gemm_half = NULL;
    k->packed_bytes = NULL;
    k->pack = NULL;
    k->gemm_packed = NULL;
    k->gemm_paged = NULL;
    k->packed_along = 0;
    k->chunk = bf16_cut(by);
}
