/* Kernels against golden values of PyTorch in double (tests/golden/kern). */
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "format/safetensors.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "kern/quant_out.h"
#include "kern/rope.h"

#include <stdlib.h>
#include <string.h>

struct file {
    struct io_map map;
    struct st st;
};

static void
file_open(struct file *f, const char *name)
{
    const char *top = getenv("RETORT_TOP");
    char *path = xasprintf("%s/tests/golden/kern/%s.safetensors",
        top != NULL ? top : ".", name);
    struct err e;

    memset(f, 0, sizeof *f);
    if (io_map(&f->map, path, &e) != 0 ||
        st_parse(&f->st, f->map.p, f->map.n, &e) != 0)
        die_err(&e);
    free(path);
}

static void
file_close(struct file *f)
{
    st_release(&f->st);
    io_unmap(&f->map);
}

static const struct st_tensor *
tensor(const struct file *f, const char *pre, const char *name)
{
    char *full = xasprintf("%s%s", pre, name);
    const struct st_tensor *t = st_find(&f->st, full);

    if (t == NULL)
        die(EX_INPUT, "golden tensor %s is missing", full);
    free(full);
    return t;
}

static const void *
data(const struct file *f, const char *pre, const char *name)
{
    return tensor(f, pre, name)->data;
}

/* The largest |got - want| / (1e-3 scale + |want|), where scale is the largest
 * |want|; infinite if there is a NaN. */
static double
worst(const float *got, const double *want, size_t n)
{
    double w = 0.0, scale = 1e-300;

    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        const double e =
            fabs(got[i] - want[i]) / (1e-3 * scale + fabs(want[i]));

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    return w;
}

static void
test_norm(const char *isa)
{
    static const size_t sizes[] = { 1, 3, 17, 64, 129 };
    struct file f;
    double wy = 0.0, wx = 0.0, wg = 0.0;

    file_open(&f, "norm");
    for (size_t s = 0; s < 5; s++) {
        const size_t n = sizes[s];
        char pre[20];
        float y[129], dg[129] = { 0 };

        snprintf(pre, sizeof pre, "%zu.", n);
        for (size_t r = 0; r < 4; r++) {
            const float *x = (const float *)data(&f, pre, "x") + r * n;
            const float *dy = (const float *)data(&f, pre, "dy") + r * n;
            const float *g = data(&f, pre, "g");
            float rstd;

            kern.rmsnorm(y, x, g, n, 1e-5f);
            wy = fmax(wy,
                worst(y, (const double *)data(&f, pre, "y") + r * n, n));
            rstd = kern.rmsnorm_bwd(y, dy, x, g, n, 1e-5f, NULL);
            /* for n = 1 the gradient is what cancellation leaves */
            if (n > 1)
                wx = fmax(wx,
                    worst(y, (const double *)data(&f, pre, "dx") + r * n, n));
            kern.axmul(dg, rstd, x, dy, n);
        }
        wg = fmax(wg, worst(dg, data(&f, pre, "dg"), n));
    }
    ok(wy <= 1e-6, "%s norm y (%.2g)", isa, wy);
    ok(wx <= 1e-4, "%s norm dx (%.2g)", isa, wx);
    ok(wg <= 1e-5, "%s norm dg (%.2g)", isa, wg);
    file_close(&f);
}

static void
test_rope(const char *isa)
{
    static const char *const cases[] = { "10000.2.", "10000.6.", "10000.10.",
        "10000.64.", "100000.2.", "100000.6.", "100000.10.", "100000.64." };
    struct file f;
    double w = 0.0, freq[64];

    file_open(&f, "rope");
    for (size_t k = 0; k < 8; k++) {
        const int32_t *pos = data(&f, "", "positions");
        const struct st_tensor *x = tensor(&f, cases[k], "x");
        const size_t D = x->shape[1];
        const struct kern_rope_opt o = { .theta = k < 4 ? 1e4 : 1e5 };

        rope_freq(freq, D, &o, 1);
        for (size_t p = 0; p < x->shape[0]; p++) {
            float cs[64], y[64];

            rope_table(cs, freq, D, (size_t)pos[p], 1, 1.0);
            memcpy(y, (const float *)x->data + p * D, D * sizeof *y);
            kern.rope(y, cs, D, 1);
            w = fmax(w,
                worst(y, (const double *)data(&f, cases[k], "y") + p * D, D));
            memcpy(y, (const float *)data(&f, cases[k], "dy") + p * D,
                D * sizeof *y);
            kern.rope(y, cs, D, -1);
            w = fmax(w,
                worst(y, (const double *)data(&f, cases[k], "dx") + p * D, D));
        }
    }
    ok(w <= 5e-5, "%s rope forward and backward (%.2g)", isa, w);
    for (size_t k = 0; k < 2; k++) {
        const float *want = data(&f, "freq.", k == 0 ? "linear" : "llama3");
        const struct kern_rope_opt o = { .kind = k == 0 ? KERN_ROPE_LINEAR
                                                        : KERN_ROPE_LLAMA3,
            .theta = 500000.0,
            .factor = k == 0 ? 4.0 : 8.0,
            .low = 1.0,
            .high = 4.0,
            .orig = 8192.0 };

        w = 0.0;
        rope_freq(freq, 128, &o, 1);
        for (size_t i = 0; i < 64; i++)
            w = fmax(w, fabs(freq[i] / want[i] - 1.0));
        ok(w <= 1e-6, "%s rope, %s (%.2g)", isa, k == 0 ? "linear" : "llama3",
            w);
    }
    file_close(&f);
}

static void
copy_heads(float *out, size_t ld, const float *in, size_t T, size_t n)
{
    for (size_t t = 0; t < T; t++)
        memcpy(out + t * ld, in + t * n, n * sizeof *out);
}

static double
worst_heads(const float *got, size_t ld, const double *want, size_t T, size_t n)
{
    float *flat = xmalloc(T * n * sizeof *flat);
    double w;

    for (size_t t = 0; t < T; t++)
        memcpy(flat + t * n, got + t * ld, n * sizeof *flat);
    w = worst(flat, want, T * n);
    free(flat);
    return w;
}

static void
test_attn(const char *isa, const char *pre)
{
    struct file f;
    struct attn a = { 0 };
    float *qkv, *g, *dout, *dkh, *dvh, *scratch;
    uint32_t *first;
    size_t nq, nk;
    double w;

    file_open(&f, "attn");
    a.T = tensor(&f, pre, "q")->shape[0];
    a.H = tensor(&f, pre, "q")->shape[1];
    a.D = tensor(&f, pre, "q")->shape[2];
    a.KV = tensor(&f, pre, "k")->shape[1];
    a.Tp = (a.T + 63) / 64 * 64;
    nq = a.ldo = a.H * a.D;
    nk = a.KV * a.D;
    a.ld = nq + 2 * nk;
    qkv = xcalloc(a.Tp * a.ld, sizeof *qkv);
    g = xcalloc(a.Tp * a.ld, sizeof *g);
    dout = xcalloc(a.Tp * nq, sizeof *dout);
    a.out = xcalloc(a.Tp * nq, sizeof *a.out);
    a.lse = xcalloc(a.Tp * a.H, sizeof *a.lse);
    dkh = xcalloc(a.Tp * a.D, sizeof *dkh);
    dvh = xcalloc(a.Tp * a.D, sizeof *dvh);
    first = xcalloc(a.T, sizeof *first);
    scratch = xmalloc(attn_scratch(&a) * sizeof *scratch);
    a.q = qkv;
    a.k = qkv + nq;
    a.v = qkv + nq + nk;
    a.first = first;
    copy_heads(qkv, a.ld, data(&f, pre, "q"), a.T, nq);
    copy_heads(qkv + nq, a.ld, data(&f, pre, "k"), a.T, nk);
    copy_heads(qkv + nq + nk, a.ld, data(&f, pre, "v"), a.T, nk);
    copy_heads(dout, nq, data(&f, pre, "dout"), a.T, nq);
    for (size_t p = 0, t = 0; t < a.T; p++) {
        const struct st_tensor *len = tensor(&f, pre, "pieces");
        const size_t n =
            p < len->n ? (size_t)((const int32_t *)len->data)[p] : a.T - t;

        for (size_t i = 0; i < n; i++)
            first[t + i] = p < len->n ? (uint32_t)t : UINT32_MAX;
        t += n;
    }
    for (size_t h = 0; h < a.KV; h++)
        for (size_t t = 0; t < a.Tp / ATTN_TILE; t++)
            attn_fwd(&a, h, t, scratch);
    for (size_t h = 0; h < a.H; h++) {
        const size_t at = nq + h / (a.H / a.KV) * a.D;

        attn_bwd(&a, h, dout, g, dkh, dvh, scratch);
        for (size_t t = 0; t < a.T; t++) {
            kern.axpy(g + t * a.ld + at, 1.0f, dkh + t * a.D, a.D);
            kern.axpy(g + t * a.ld + at + nk, 1.0f, dvh + t * a.D, a.D);
        }
    }
    w = worst(a.out, data(&f, pre, "out"), a.T * nq);
    ok(w <= 2e-4, "%s attention %s out (%.2g)", isa, pre, w);
    w = worst_heads(a.lse, a.Tp, data(&f, pre, "lse"), a.H, a.T);
    ok(w <= 1e-4, "%s attention %s lse (%.2g)", isa, pre, w);
    w = worst_heads(g, a.ld, data(&f, pre, "dq"), a.T, nq);
    ok(w <= 1e-3, "%s attention %s dq (%.2g)", isa, pre, w);
    w = worst_heads(g + nq, a.ld, data(&f, pre, "dk"), a.T, nk);
    ok(w <= 1e-3, "%s attention %s dk (%.2g)", isa, pre, w);
    w = worst_heads(g + nq + nk, a.ld, data(&f, pre, "dv"), a.T, nk);
    ok(w <= 1e-3, "%s attention %s dv (%.2g)", isa, pre, w);
    free(qkv);
    free(g);
    free(dout);
    free(a.out);
    free(a.lse);
    free(dkh);
    free(dvh);
    free(first);
    free(scratch);
    file_close(&f);
}

static void
test_glu(const char *isa, const char *name,
    void (*fn)(float *, const float *, const float *, size_t),
    void (*bwd)(float *, float *, const float *, const float *, const float *,
        size_t))
{
    static const char *const pre[] = { "1.", "7.", "37.", "96." };
    struct file f;
    double wa = 0.0, wg = 0.0;

    file_open(&f, name);
    for (size_t k = 0; k < 4; k++) {
        const size_t n = tensor(&f, pre[k], "g")->n;
        const float *g = data(&f, pre[k], "g"), *u = data(&f, pre[k], "u");
        float y[96], z[96];

        fn(y, g, u, n);
        wa = fmax(wa, worst(y, data(&f, pre[k], "act"), n));
        bwd(y, z, data(&f, pre[k], "dact"), g, u, n);
        wg = fmax(wg, worst(y, data(&f, pre[k], "dg"), n));
        wg = fmax(wg, worst(z, data(&f, pre[k], "du"), n));
    }
    ok(wa <= 1e-6, "%s %s (%.2g)", isa, name, wa);
    ok(wg <= 1e-4, "%s %s gradients (%.2g)", isa, name, wg);
    file_close(&f);
}

/* The kernels that a loss is made of: log sum exp, KL by kl_sums, gradients by
 * exp_mul. */
static void
test_loss(const char *isa)
{
    enum { R = 5, V = 61 };
    struct file f;
    const float *zs, *zt;
    double wl = 0.0, wk = 0.0, wg = 0.0, same = 1.0;

    file_open(&f, "loss");
    zs = data(&f, "", "zs");
    zt = data(&f, "", "zt");
    for (size_t r = 0; r < R; r++, zs += V, zt += V) {
        const float ms = kern.max(zs, V), mt = kern.max(zt, V);
        const double lse = ms + log(kern.expsum(zs, V, ms, 1.0f));

        wl = fmax(wl, fabs(lse - ((const double *)data(&f, "", "lse"))[r]));
        for (int tau = 1; tau <= 3; tau += 2) {
            const char *pre = tau == 1 ? "1." : "3.";
            const float s = 1.0f / (float)tau;
            const double ss = kern.expsum(zs, V, ms, s);
            double dif, kl;
            const double st = kern.kl_sums(zt, zs, V, mt, s, &dif);
            float g[V];

            kl = dif / st / tau - (mt / (double)tau + log(st)) +
                (ms / (double)tau + log(ss));
            wk = fmax(wk, fabs(kl - ((const double *)data(&f, pre, "kl"))[r]));
            if (r == 3)
                same = kl;
            kern.exp_mul(g, zs, V, ms, s, (float)(tau / ss), 0);
            kern.exp_mul(g, zt, V, mt, s, (float)(-tau / st), 1);
            if (r != 3)
                wg = fmax(wg,
                    worst(g, (const double *)data(&f, pre, "dtau2kl") + r * V,
                        V));
        }
    }
    ok(wl <= 1e-6, "%s log sum exp (%.2g)", isa, wl);
    ok(wk <= 2e-6, "%s KL (%.2g)", isa, wk);
    ok(same == 0.0, "%s KL(p,p) is 0 (%.2g)", isa, same);
    ok(wg <= 1e-4, "%s KL gradient (%.2g)", isa, wg);
    file_close(&f);
}

/* Rounding to bf16, f16, Q8_0 and Q4_0 gives the oracle's bits. */
static void
test_narrowed(const char *isa, const struct file *f)
{
    const size_t n = tensor(f, "", "narrowed")->n;
    const size_t rows = tensor(f, "", "f32")->n;
    float x[256];
    uint16_t half[256];
    unsigned char q[8 * 34];

    memcpy(x, data(f, "", "narrowed"), n * sizeof *x);
    kern.narrow_bf16(half, x, n);
    ok(memcmp(half, data(f, "", "narrowed.bf16"), n * sizeof *half) == 0,
        "%s narrowed to bf16", isa);
    quant_encode(QUANT_Q8_0, q, x, NULL, n);
    ok(memcmp(q, data(f, "", "narrowed.q8_0"), n / 32 * 34) == 0,
        "%s narrowed to q8_0", isa);
    for (size_t i = 0; i < n; i++)
        x[i] = fminf(fmaxf(x[i], -65000.0f), 65000.0f);
    kern.narrow_f16(half, x, n);
    ok(memcmp(half, data(f, "", "narrowed.f16"), n * sizeof *half) == 0,
        "%s narrowed to f16", isa);
    memcpy(x, data(f, "", "f32"), rows * sizeof *x);
    quant_encode(QUANT_Q8_0, q, x, NULL, rows);
    ok(memcmp(q, data(f, "", "q8_0"), rows / 32 * 34) == 0, "%s rows to q8_0",
        isa);
    quant_encode(QUANT_Q4_0, q, x, NULL, rows);
    ok(memcmp(q, data(f, "", "q4_0"), rows / 32 * 18) == 0, "%s rows to q4_0",
        isa);
    quant_encode(QUANT_Q4_0, q, (const float *)data(f, "", "edge"), NULL, 256);
    ok(memcmp(q, data(f, "", "edge.q4_0"), 8 * 18) == 0,
        "%s halves between two steps of q4_0, nearly", isa);
}

static void
test_widen(const char *isa)
{
    static const char *const name[] = { "f16", "bf16", "q8_0", "q4_0", "q4_1",
        "q8_0.any", "q4_0.any", "q4_1.any" };
    void (*const fn[])(float *, const void *, size_t) = { kern.widen_f16,
        kern.widen_bf16, kern.widen_q8_0, kern.widen_q4_0, kern.widen_q4_1,
        kern.widen_q8_0, kern.widen_q4_0, kern.widen_q4_1 };
    struct file f;
    uint16_t bf[64];

    file_open(&f, "widen");
    for (size_t k = 0; k < 8; k++) {
        const struct st_tensor *want = tensor(&f, name[k], ".value");
        float *got = xmalloc(want->n * sizeof *got);
        int good = 1;

        fn[k](got, data(&f, "", name[k]), want->n);
        for (size_t i = 0; i < want->n; i++)
            good &= got[i] == ((const float *)want->data)[i];
        ok(good, "%s widens %s exactly", isa, name[k]);
        free(got);
    }
    kern.narrow_bf16(bf, data(&f, "", "narrow"), tensor(&f, "", "narrow")->n);
    ok(memcmp(bf, data(&f, "", "narrow.bf16"),
           tensor(&f, "", "narrow")->n * sizeof *bf) == 0,
        "%s narrows to bf16 exactly", isa);
    test_narrowed(isa, &f);
    file_close(&f);
}

/* Block types that every kernel set widens in plain C, to the bit. */
static void
test_quant(void)
{
    static const char *const name[QUANT_N] = { [QUANT_Q5_0] = "q5_0",
        [QUANT_Q5_1] = "q5_1",
        [QUANT_Q2_K] = "q2_k",
        [QUANT_Q3_K] = "q3_k",
        [QUANT_Q4_K] = "q4_k",
        [QUANT_Q5_K] = "q5_k",
        [QUANT_Q6_K] = "q6_k",
        [QUANT_IQ4_NL] = "iq4_nl",
        [QUANT_IQ4_XS] = "iq4_xs",
        [QUANT_MXFP4] = "mxfp4" };
    struct file f;

    file_open(&f, "quant");
    for (int k = QUANT_Q5_0; k < QUANT_N; k++) {
        const struct st_tensor *want = tensor(&f, name[k], ".value");
        float *got = xmalloc(want->n * sizeof *got);

        quant_widen(k, got, data(&f, "", name[k]), want->n);
        ok(memcmp(got, want->data, want->n * sizeof *got) == 0,
            "%s is widened exactly", name[k]);
        free(got);
    }
    file_close(&f);
}

int
main(void)
{
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        test_norm(kern_sets[i]);
        test_rope(kern_sets[i]);
        test_attn(kern_sets[i], "a.");
        test_attn(kern_sets[i], "b.");
        test_glu(kern_sets[i], "swiglu", kern.silu_mul, kern.silu_mul_bwd);
        test_glu(kern_sets[i], "geglu", kern.gelu_mul, kern.gelu_mul_bwd);
        test_loss(kern_sets[i]);
        test_widen(kern_sets[i]);
    }
    test_quant();
    return done_testing();
}
