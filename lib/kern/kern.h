/*
 * Kernels: the arithmetic of the models on plain arrays.  No I/O, no
 * allocation, no threads, no logging here; callers split the work.
 *
 * The table `kern` holds one version of each kernel.  It starts as the
 * reference version (plain C); kern_init() sets the best versions that the
 * processor can run, or those that RETORT_KERNELS (ref, avx2, avx512) names.
 * The versions agree to rounding, not to the bit; one version gives the same
 * bits for the same arguments.
 *
 * All arrays are fp32 unless stated, vectors are contiguous, matrices are
 * row-major with a leading dimension counted in elements.  Arguments that are
 * written must not overlap others, unless "may be" says so.  n may be any
 * number; alignment does not matter.  NaN and infinity in, NaN out.
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <stddef.h>
#include <stdint.h>

struct loss_kern;

/* Rows of a weight as in files: fp32 or bf16 (half is set), of any alignment,
 * and 2:4 if mask is not NULL (see spread).  Strides are in bytes. */
struct kern_rows {
    const unsigned char *data, *mask;
    size_t stride, mask_stride;
    int half;
};

enum { GEMM_SET = 0, GEMM_ADD = 1, GEMM_DEEP = 768 };

/* A factor of gemm_double: row (of a) or column (of b) i at depth l is element
 * i * i_step + l * l_step of f, or, if f is NULL, of d.  Fast if one of the
 * steps is 1.  The caller owns the arrays. */
struct factor {
    const float *f;
    const double *d;
    size_t i_step, l_step;
};

struct kern {
    /* "ref", "avx2" or "avx512", with "+avx512bf16" or "+amx" after it if
     * products are in bfloat16.  Tables of the same name give the same bits. */
    const char *name;
    size_t panels; /* bytes of panels of each thread that multiplies */

    /*
     * Matrix products, one call on one thread: c[m,n] = or += the product.
     * In bfloat16 (kern_compute) both factors are rounded, sums are fp32.
     *   nt: a[m,k] b[n,k]^T     y = x W^T
     *   nn: a[m,k] b[k,n]       dx = dy W
     *   tn: a[k,m]^T b[k,n]     dW = dy^T x
     * An element's bits depend only on k, its row of a, its column of b and its
     * old value.  A product of depth k has the bits of products of depth
     * GEMM_DEEP, and of the rest, added one after another.
     */
    void (*gemm_nt)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);
    void (*gemm_nn)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);
    void (*gemm_tn)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);

    /* c[m,n] += a[m,k] b[k,n] in double, regardless of kern_compute; c is
     * double.  An element's bits depend only on k, its row of a, its column of
     * b and its old value. */
    void (*gemm_double)(size_t m, size_t n, size_t k, struct factor a,
        struct factor b, double *c, size_t ldc);

    /* Few rows of x [m,k] times weights w [n,k]: y[i*ldy + j] = x_i . w_j,
     * without gemm_nt's copies, which pay off only for many rows.  An element's
     * bits depend only on k, its row of x and its row of w. */
    void (*dots)(size_t m, size_t n, size_t k, const float *x, const float *w,
        float *y, size_t ldy);
    /* dots for weights in bf16, or 2:4: gives the bits of dots with w widened
     * and spread. */
    void (*dots_stored)(size_t m, size_t n, size_t k, const float *x,
        const struct kern_rows *w, float *y, size_t ldy);

    /* Widen n elements to fp32.  Quantised rows have GGUF's blocks (a scale in
     * half precision, then 32 elements), so n % 32 == 0.  Exact, and the same
     * bits in every version. */
    void (*widen_bf16)(float *out, const void *in, size_t n);
    void (*widen_f16)(float *out, const void *in, size_t n);
    void (*widen_q8_0)(float *out, const void *in, size_t n);
    void (*widen_q4_0)(float *out, const void *in, size_t n);
    void (*widen_q4_1)(float *out, const void *in, size_t n);
    /* out[i] = d[i/group] * q[i] - m[i/group], in two roundings: the last step
     * of quant_widen.  group: 16 or 32. */
    void (*scale_groups)(float *out, const signed char *q, size_t n,
        size_t group, const float *d, const float *m);
    /* Spread in [n/2] to two of each four neighbours in out [n], in order; the
     * others are 0.  Column c gets a number if bit c % 8 of mask[c / 8] is set.
     * If n is no multiple of 4, in has two more. */
    void (*spread)(float *out, const float *in, const unsigned char *mask,
        size_t n);
    /* fp32 to bf16, round to nearest even; NaN stays NaN. */
    void (*narrow_bf16)(uint16_t *out, const float *in, size_t n);
    /* Stochastic rounding to bf16: chance[i] is added to the lower 16 bits,
     * then these are cut off.  With uniform chances the mean is kept.  A finite
     * number never becomes infinite. */
    void (*chance_bf16)(uint16_t *out, const float *in, const uint16_t *chance,
        size_t n);
    /* fp32 to half precision, as narrow_bf16: 65520 and more become
     * infinite. */
    void (*narrow_f16)(uint16_t *out, const float *in, size_t n);

    /* y = x * rstd * w, rstd = 1 / sqrt(mean(x^2) + eps); y may be x.
     * Zhang and Sennrich, arXiv:1910.07467, eq. 4. */
    void (*rmsnorm)(float *y, const float *x, const float *w, size_t n,
        float eps);
    /* dx = res + the gradient at x, given dy, the gradient at rmsnorm's output;
     * res may be NULL (zero) or dx; dx may be dy.  Returns rstd. */
    float (*rmsnorm_bwd)(float *dx, const float *dy, const float *x,
        const float *w, size_t n, float eps, const float *res);

    /* Rotate one head's vector x[n] by the angles of its position: the pair
     * (x[i], x[i+n/2]) turns by angle i (rotate-half, as Hugging Face stores
     * weights).  cs: n/2 cosines, then n/2 sines.  dir 1 rotates, -1 rotates
     * back (backward pass). */
    void (*rope)(float *x, const float *cs, size_t n, int dir);

    /* act = silu(g) * u, silu(g) = g / (1 + exp(-g)); act may be g or u. */
    void (*silu_mul)(float *act, const float *g, const float *u, size_t n);
    /* dg, du from dact.  dg may be g or dact, du may be u. */
    void (*silu_mul_bwd)(float *dg, float *du, const float *dact,
        const float *g, const float *u, size_t n);

    /* act = gelu(g) * u and its backward pass, as silu_mul; gelu(g) = g / (1
     * + exp(-2 z)), z = sqrt(2/pi) (g + 0.044715 g^3): the approximation by
     * tanh. */
    void (*gelu_mul)(float *act, const float *g, const float *u, size_t n);
    void (*gelu_mul_bwd)(float *dg, float *du, const float *dact,
        const float *g, const float *u, size_t n);

    /* y = a + b (y may be a or b);  y += a x;  y *= a;  y *= x */
    void (*add)(float *y, const float *a, const float *b, size_t n);
    void (*axpy)(float *y, float a, const float *x, size_t n);
    void (*scale)(float *y, float a, size_t n);
    void (*mul)(float *y, const float *x, size_t n);
    /* y += (a x) * z: a norm's weight gradient from one token */
    void (*axmul)(float *y, float a, const float *x, const float *z, size_t n);

    /* Sums in double: a.b;  |a|^2;  |a - b|^2 */
    double (*dot)(const float *a, const float *b, size_t n);
    double (*sumsq)(const float *a, size_t n);
    double (*sqdist)(const float *a, const float *b, size_t n);
    /* a.b in fp32, for one row of a matrix times a vector */
    float (*dotf)(const float *a, const float *b, size_t n);

    /* Moments of the columns of t rows x [t,n] with ld: adds to sum [5,n], in
     * double, sums of |x|, x, x^2, x^3, x^4, and raises top [n] to the largest
     * |x| (NaN may be ignored). */
    void (*powers)(double *sum, float *top, const float *x, size_t t, size_t ld,
        size_t n);

    /* Largest element; -INFINITY if n = 0.  NaN may be ignored: the sum of
     * exponentials that comes next shows it. */
    float (*max)(const float *x, size_t n);
    /* expsum: sum of exp((x - m) * s), in double.  exp: also writes the terms
     * to out, which may be x. */
    double (*expsum)(const float *x, size_t n, float m, float s);
    double (*exp)(float *out, const float *x, size_t n, float m, float s);
    /* out = or += c * exp((x - m) * s): one term of a softmax gradient */
    void (*exp_mul)(float *out, const float *x, size_t n, float m, float s,
        float c, int add);
    /* Expectation under the unnormalised p_i = exp((zp_i - m) * s): returns
     * sum p_i, and *w = sum p_i (zp_i - zq_i), both in double. */
    double (*kl_sums)(const float *zp, const float *zq, size_t n, float m,
        float s, double *w);
    /* Attention's backward pass on one row of scores: s becomes p = exp(s -
     * lse), dp becomes ds = p (dp - delta). */
    void (*attn_ds)(float *s, float *dp, size_t n, float lse, float delta);

    const struct loss_kern *loss; /* kernels of losses and AdamW: loss.h */
};

extern struct kern kern;

/* Choose the versions.  Returns NULL, or why it failed, a text that stays
 * valid.  Later calls return the same as the first. */
const char *kern_init(void);
const char *kern_name(void); /* name of the table in use */
/* For tests and benchmarks: choose this table, again at any time; kern_init
 * then leaves it in use. */
const char *kern_force(const char *name);

/*
 * Set the number format of all threads' matrix products from now on: "f32"
 * (after kern_init), or factors rounded to bfloat16 and products summed as by
 * one of two instructions, "avx512bf16" (VDPBF16PS) or "amx" (TDPBF16PS).  Each
 * gives the same bits on every processor, by the fastest way there: the
 * instruction, fused multiply-adds (avx512bf16 only; nearly fp32's rate), or
 * plain C (kern_slow()).  "bf16" is amx if the processor has AMX, else
 * avx512bf16.  No product may be running; kern_init must have succeeded.
 */
enum kern_bf16 { KERN_BF16_AVX512, KERN_BF16_AMX };
void kern_compute(const char *name);
int kern_slow(void);

#endif
