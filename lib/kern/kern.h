/*
 * Kernels: the arithmetic of the models on plain arrays.  No I/O, no
 * allocation, no threads, no logging here; callers split the work.
 *
 * The table `kern` holds one version of each kernel: at the start the reference
 * version (plain C), after kern_init() the best version that the processor can
 * run, or the one that RETORT_KERNELS (retort(7)) names.  Versions agree to
 * rounding, not to the bit; each gives the same bits for the same arguments.
 * The main thread changes the table, while no other thread computes.
 *
 * All arrays are fp32 unless stated.  Vectors are contiguous.  Matrices are
 * row-major, with a leading dimension counted in elements.  Arguments that are
 * written must not overlap others, unless "may be" says so.  n may be any
 * number; alignment does not matter.  NaN in, NaN out, unless stated.
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <stddef.h>
#include <stdint.h>

struct loss_kern;
struct int_kern;

/* Rows of a weight as they are in a file, at any alignment.  half: 0 fp32, 1
 * bf16. mask: NULL, or the rows are 2:4 sparse (see spread).  Strides are in
 * bytes. */
struct kern_rows {
    const unsigned char *data, *mask;
    size_t stride, mask_stride;
    int half;
};

/* A factor b [k,n] that is scattered over pages of `deep` rows each.  Row l is
 * row l % deep of the page that begins page[l / deep] * bytes bytes after p.
 *   packed_along of struct kern is 0: a page is fp32 [deep,ld], ld >= n.
 *   Else a page is what kern.pack writes for n columns of depth `deep`, and
 *   deep is a multiple of PACKED_DEPTH, or all k rows are in one page.
 * The table may have more pages than k rows need; these may be prefetched. */
struct kern_pages {
    const void *p;
    const uint32_t *page; /* [pages] */
    size_t pages, bytes, deep, ld;
};

/* A factor b of gemm_packed, and the result c [m,n] with leading dimension ldc.
 * b: n columns of depth k, as kern.pack wrote them.  For a product over a part
 * of the depth, from a multiple l of PACKED_DEPTH on, b points to the copy of
 * depth l of the first column, l * PACKED_COLUMNS numbers of bfloat16 further,
 * and k stays. */
struct kern_packed {
    const void *b;
    size_t n, k;
    float *c;
    size_t ldc;
};
enum { PACKED_COLUMNS = 16, PACKED_DEPTH = 32 };

enum { GEMM_SET = 0, GEMM_ADD = 1, GEMM_DEEP = 768, DOTS_MOST = 4 };

/* A factor of gemm_double.  Element l (along k) of a's row i, or of b's column
 * i, is f[i * i_step + l * l_step]; if f is NULL, d takes its place.  Fast if
 * one of the steps is 1.  The caller owns the arrays. */
struct factor {
    const float *f;
    const double *d;
    size_t i_step, l_step;
};

/* xIELU (Huang and Schlag, arXiv:2411.13010), as transformers computes it:
 *     p x^2 + beta x                              x > 0
 *     n (exp(min(x,eps)) - 1 - x) + beta x        else
 * p is softplus(alpha_p), n is beta + softplus(alpha_n). */
struct xielu {
    float p, n, beta, eps;
};

struct kern {
    /* "ref", "avx2", "avx512" or "neon", with "+avx512bf16", "+amx" or
     * "+bfmmla" after it if products are in bfloat16.  Tables of the same name
     * give the same bits. */
    const char *name;
    size_t panels; /* bytes of the panels of each thread that multiplies */
    size_t chunk;  /* a product may be cut along k at multiples of this, and the
                    * parts added up, without changing a bit; 0: it may not */

    /*
     * Matrix products: c[m,n] = or += the product, on the caller's thread.  In
     * bfloat16 (kern_compute) both factors are rounded, sums are fp32.
     *   nt: a[m,k] b[n,k]^T     y = x W^T
     *   nn: a[m,k] b[k,n]       dx = dy W
     *   tn: a[k,m]^T b[k,n]     dW = dy^T x
     * An element's bits depend only on k, its row of a, its column of b and its
     * old value.  A product of depth k is cut along k into products of depth
     * GEMM_DEEP (the last may be less deep), and has the bits of these added
     * one after another.
     */
    void (*gemm_nt)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);
    void (*gemm_nn)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);
    void (*gemm_tn)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);

    /* gemm_nn for b in pages, with the bits of gemm_nn but without its copies.
     * NULL: there is no such version. */
    void (*gemm_paged)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const struct kern_pages *b, int add, float *c, size_t ldc);

    /* c[m,n] += a[m,k] b[k,n], all in double, whatever kern_compute set.  An
     * element's bits depend only on k, its row of a, its column of b and its
     * old value. */
    void (*gemm_double)(size_t m, size_t n, size_t k, struct factor a,
        struct factor b, double *c, size_t ldc);

    /* y[i*ldy + j] = x_i . w_j for few rows of x [m,k] and weights w [n,ldw],
     * with the bits of gemm_nt but without its copies, which pay off only for
     * many rows (more than DOTS_MOST). */
    void (*dots)(size_t m, size_t n, size_t k, const float *x, const float *w,
        size_t ldw, float *y, size_t ldy);
    /* dots for weights as they lie in a file, fp32, bf16 or 2:4, with the bits
     * of dots of w widened and spread.  The rows that follow these n are
     * prefetched, so w should be read in order.  NULL: there is no such
     * version. */
    void (*dots_stored)(size_t m, size_t n, size_t k, const float *x,
        const struct kern_rows *w, float *y, size_t ldy);

    /* c [m,n] = or (add) += a [m,k] b, where b [k,n] holds bfloat16 numbers at
     * any address: element (l,j) is number l * l_step + j * j_step from b on,
     * and one of the steps is 1.  The bits are those of gemm_nt and gemm_nn
     * with b widened.  NULL: there is no such version, as always when products
     * are in fp32. */
    void (*gemm_half)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const unsigned char *b, size_t j_step, size_t l_step, int add, float *c,
        size_t ldc);

    /* A factor that is used in many products is rounded and laid out once.
     * packed_bytes: the bytes that b [k,n] takes so, in memory aligned to 64.
     * pack: lay out n columns of depth k, whose element (l,j) is number l *
     * l_step + j * j_step from b on, fp32 or (half) bfloat16; one of the steps
     * is 1.  Columns may be laid out apart from one another: packed_bytes(j, k)
     * bytes after the first comes column j, if j % PACKED_COLUMNS is 0.
     * gemm_packed: multiply a [m,k] by nb such factors, with the bits of
     * gemm_nt and gemm_nn.
     * packed_along: see kern_packed_place, which needs it.
     * NULL, 0: there is no such version, as always when products are in fp32.
     */
    size_t (*packed_bytes)(size_t n, size_t k);
    void (*pack)(void *out, size_t n, size_t k, const void *b, int half,
        size_t j_step, size_t l_step);
    void (*gemm_packed)(size_t m, size_t k, const float *a, size_t lda,
        const struct kern_packed *b, size_t nb, int add);
    size_t packed_along;

    /* dots for m <= DOTS_MOST and a weight in bfloat16 as it lies in a file:
     * row j is at w + j * stride bytes.  n % 16 and k % 32 are 0.  NULL: there
     * is no such version, as always when products are in fp32. */
    void (*dots_bf16)(size_t m, size_t n, size_t k, const float *x,
        const unsigned char *w, size_t stride, float *y, size_t ldy);

    /* Widen n elements to fp32, exactly but for the sum in q4_1, which is
     * rounded; every version gives the same bits.  Quantised rows consist of
     * GGUF's blocks (a scale in half precision, for q4_1 a minimum too, then 32
     * elements), so n % 32 == 0. */
    void (*widen_bf16)(float *out, const void *in, size_t n);
    void (*widen_f16)(float *out, const void *in, size_t n);
    void (*widen_q8_0)(float *out, const void *in, size_t n);
    void (*widen_q4_0)(float *out, const void *in, size_t n);
    void (*widen_q4_1)(float *out, const void *in, size_t n);
    /* out[i] = d[i/group] * q[i] - m[i/group], rounded twice: the last step of
     * quant_widen.  group: 16 or 32. */
    void (*scale_groups)(float *out, const signed char *q, size_t n,
        size_t group, const float *d, const float *m);
    /* Spread the numbers of in, in order, over out [n]: of each four neighbours
     * two get a number, the others 0.  Column c gets a number if bit c % 8 of
     * mask[c / 8] is set.  `in` has n/2 numbers; if n is no multiple of 4, it
     * has two numbers for the incomplete last four. */
    void (*spread)(float *out, const float *in, const unsigned char *mask,
        size_t n);
    /* fp32 to bf16, round to nearest even; NaN stays NaN. */
    void (*narrow_bf16)(uint16_t *out, const float *in, size_t n);
    /* Stochastic rounding to bf16: chance[i] is added to the 32 bits of in[i],
     * then the lower 16 are cut off.  With uniform chances the mean is kept.  A
     * finite number never becomes infinite. */
    void (*chance_bf16)(uint16_t *out, const float *in, const uint16_t *chance,
        size_t n);
    /* fp32 to half precision, rounded as by narrow_bf16; 65520 and more become
     * infinite. */
    void (*narrow_f16)(uint16_t *out, const float *in, size_t n);

    /* y = x * rstd * w, rstd = 1 / sqrt(mean(x^2) + eps); y may be x.
     * Zhang and Sennrich, arXiv:1910.07467, eq. 4. */
    void (*rmsnorm)(float *y, const float *x, const float *w, size_t n,
        float eps);
    /* dx = res + the gradient at x.  dy: the gradient at rmsnorm's output.  res
     * may be NULL (zero) or dx; dx may be dy.  Returns rstd. */
    float (*rmsnorm_bwd)(float *dx, const float *dy, const float *x,
        const float *w, size_t n, float eps, const float *res);

    /* LayerNorm: y [n] = (x - mean) * rstd * w + b, where mean is that of x and
     * rstd = 1 / sqrt(variance of x + eps); b NULL: no bias; y may be x.  Ba
     * and others, arXiv:1607.06450, eq. 4. */
    void (*layernorm)(float *y, const float *x, const float *w, const float *b,
        size_t n, float eps);
    /* As rmsnorm_bwd, for layernorm; *mean becomes the mean of x. */
    float (*layernorm_bwd)(float *dx, const float *dy, const float *x,
        const float *w, size_t n, float eps, const float *res, float *mean);

    /* Rotate one head's vector x[n] by the angles of its position: the pair
     * (x[i], x[i+n/2]) turns by angle i (rotate-half, as Hugging Face stores
     * weights).  cs: n/2 cosines, then n/2 sines.  dir 1 rotates, -1 rotates
     * back (backward pass). */
    void (*rope)(float *x, const float *cs, size_t n, int dir);

    /* act = silu(g) * u, silu(g) = g / (1 + exp(-g)); act may be g or u. */
    void (*silu_mul)(float *act, const float *g, const float *u, size_t n);
    /* From dact, the gradient of act, compute dg and du, the gradients of g and
     * u. dg may be g or dact, du may be u. */
    void (*silu_mul_bwd)(float *dg, float *du, const float *dact,
        const float *g, const float *u, size_t n);

    /* act = gelu(g) * u and its backward pass; arguments as of silu_mul.
     * gelu(g) = g / (1 + exp(-2 z)), z = sqrt(2/pi) (g + 0.044715 g^3): the
     * approximation by tanh. */
    void (*gelu_mul)(float *act, const float *g, const float *u, size_t n);
    void (*gelu_mul_bwd)(float *dg, float *du, const float *dact,
        const float *g, const float *u, size_t n);

    /* gelu: act [n] = x Phi(x) of x [n], where Phi is the normal distribution
     * (exact 1), or its approximation by tanh as in gelu_mul (exact 0); act may
     * be x.  gelu_bwd: dx [n] = the gradient of x, given dact [n], the gradient
     * of act; dx may be x or dact. */
    void (*gelu)(float *act, const float *x, size_t n, int exact);
    void (*gelu_bwd)(float *dx, const float *dact, const float *x, size_t n,
        int exact);

    /* xielu: act [n] = xIELU(x [n]) with the constants *u; act may be x.
     * xielu_bwd: dx [n] = the gradient of x, given dact [n], the gradient of
     * act; sum = the gradients of u->p and u->n.  dx may be x or dact. */
    void (*xielu)(float *act, const float *x, size_t n, const struct xielu *u);
    void (*xielu_bwd)(float *dx, const float *dact, const float *x, size_t n,
        const struct xielu *u, double sum[2]);

    /* softcap: z = cap tanh(z/cap).  softcap_bwd: dz *= 1 - (z/cap)^2, which
     * turns the gradient of softcap's output z into the gradient of its
     * input. */
    void (*softcap)(float *z, float cap, size_t n);
    void (*softcap_bwd)(float *dz, const float *z, float cap, size_t n);

    /* add: y = a + b (y may be a or b).  axpy: y += a x.  scale: y *= a.  mul:
     * y *= x. */
    void (*add)(float *y, const float *a, const float *b, size_t n);
    void (*axpy)(float *y, float a, const float *x, size_t n);
    void (*scale)(float *y, float a, size_t n);
    void (*mul)(float *y, const float *x, size_t n);
    /* y += (a x) * z: a norm's weight gradient from one token */
    void (*axmul)(float *y, float a, const float *x, const float *z, size_t n);

    /* Sums in double.  dot: a.b.  sumsq: |a|^2.  sqdist: |a - b|^2. */
    double (*dot)(const float *a, const float *b, size_t n);
    double (*sumsq)(const float *a, size_t n);
    double (*sqdist)(const float *a, const float *b, size_t n);
    /* a.b in fp32, for one row of a matrix times a vector */
    float (*dotf)(const float *a, const float *b, size_t n);

    /* Moments of the columns of x, t rows of n with leading dimension ld.  Adds
     * to sum [5,n], in double, the sums of |x|, x, x^2, x^3, x^4.  Raises top
     * [n] to the largest |x| (NaN may be ignored). */
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
    /* Sums over the unnormalised p_i = exp((zp_i - m) * s), in double: returns
     * sum p_i; *w = sum p_i (zp_i - zq_i). */
    double (*kl_sums)(const float *zp, const float *zq, size_t n, float m,
        float s, double *w);
    /* Attention's backward pass on one row of scores: s becomes p = exp(s -
     * lse), dp becomes ds = p (dp - delta). */
    void (*attn_ds)(float *s, float *dp, size_t n, float lse, float delta);

    /* The gated delta rule, a token at a time; delta.h describes the
     * arguments. */
    void (*delta)(float *s, const float *from, size_t dk, const float *q,
        const float *k, const float *v, float decay, float beta, float *r,
        float *o);
    void (*delta_bwd)(float *ds, const float *from, size_t dk, const float *q,
        const float *k, const float *r, float decay, float beta,
        const float *dout, float *dq, float *dkey, float *dv, float rate[2]);

    const struct loss_kern *loss; /* kernels of losses and AdamW: loss.h */
    const struct fit_kern *fit;   /* scales of quantised groups: quant_fit.h */
    const struct int_kern *ints;  /* products in 8-bit integers: int.h */
};

extern struct kern kern;

/* The index of element (l,j) among the bfloat16 numbers that kern.pack writes
 * for columns of depth k.  kern.packed_along, 2 or 4, consecutive elements of a
 * column are adjacent; they are followed by those of the next column. */
static inline size_t
kern_packed_place(size_t l, size_t j, size_t k)
{
    const size_t along = kern.packed_along, in = l & (along - 1);
    const size_t depth = (k + PACKED_DEPTH - 1) / PACKED_DEPTH * PACKED_DEPTH;

    return j / PACKED_COLUMNS * PACKED_COLUMNS * depth +
        (l - in) * PACKED_COLUMNS + j % PACKED_COLUMNS * along + in;
}

/* Choose the versions.  Returns NULL, or why it failed: a text that stays
 * valid.  Later calls return what the first did. */
const char *kern_init(void);
const char *kern_name(void); /* name of the table in use */
/* For tests and benchmarks: use the table of that name.  It may be called at
 * any time, and a later kern_init keeps that table. */
const char *kern_force(const char *name);

/*
 * Set the number format of all threads' matrix products from now on; kern_init
 * must have succeeded, and no product may be running.
 *   "f32": factors are not rounded.
 *   "avx512bf16", "amx", "bfmmla": factors are rounded to bfloat16, and
 *     products summed as by the instruction VDPBF16PS, TDPBF16PS, BFMMLA.
 *   "bf16": the fastest.  With the kernels avx512 on a processor with AMX it is
 *     amx, with the kernels neon on one with BFMMLA it is bfmmla; else it is
 *     avx512bf16.
 * A format gives the same bits on every processor.  Products are computed by
 * the instruction itself.  Where VDPBF16PS is missing or slow, products of
 * avx512bf16 are computed by fused multiply-adds of vectors, at nearly fp32's
 * rate.  Where neither exists, plain C computes them, and kern_slow() is 1.
 */
enum kern_bf16 { KERN_BF16_AVX512, KERN_BF16_AMX, KERN_BF16_BFMMLA };
void kern_compute(const char *name);
/* Return the number format whose products are fastest on this machine: "amx" if
 * it has AMX; "avx512bf16" if products are computed by VDPBF16PS; else "f32",
 * also on Arm, where the speed of BFMMLA has not been measured. */
const char *kern_fastest(void);
int kern_slow(void);
/* 1: products are of numbers rounded to bfloat16. */
int kern_rounds(void);

/* Sums over a vocabulary of V ids are made slice by slice: returns the width of
 * a slice; the last one may be narrower.  Log probabilities of trainer and
 * generation have the same bits because both add the same slices. */
size_t kern_slice(size_t V);

#endif
