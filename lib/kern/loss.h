/*
 * Kernels of the fused losses and of AdamW.  The losses' kernels work on slices
 * of a row of logits, cut at fixed borders of the vocabulary, so that the
 * number of threads cannot change the order of sums.
 *
 * The `_ref` versions (loss_ref.c) define the results, in double.  The other
 * versions are one template (loss_vec.h) over an instruction set's vectors, and
 * agree to rounding.  Arguments must not overlap unless stated.
 */
#ifndef KERN_LOSS_H
#define KERN_LOSS_H

#include <stddef.h>

/* A slice's part of a row's softmax: max, and sum of exp(x - max). */
struct lse_part {
    float max;
    double sum; /* 0 if there are no elements, else >= 1 or NaN */
};

/* Log-sum-exps of a whole row, for the gradient of one slice. */
struct row_lse {
    float s1;     /* student, temperature 1 */
    float st, tt; /* student and teacher, temperature tau */
};

/* A slice's sums, with p the teacher's and q the student's probabilities at
 * tau, and m = beta p + (1 - beta) q:
 *   p, q   sum of p, of q: over a row 1, but for rounding of log-sum-exps
 *   kl     sum of p log(p/m), nats
 *   own    sum of q log(q/m), nats
 * Dividing a row's kl and own by its p and q removes that rounding error. */
struct mix_part {
    double p, q, kl, own;
};

struct adamw_k {
    float scale;               /* factor of gradient sums, clipping included */
    float decay;               /* 1 - lr * weight decay */
    float beta2, rest1, rest2; /* rest1: 1 - beta1, rest2: 1 - beta2 */
    float step;                /* lr / (1 - beta1^t) */
    float root;                /* 1 / sqrt(1 - beta2^t) */
    float eps;
};

struct loss_kern {
    /* The slice's part of the softmax of z[n] * inv_tau. */
    struct lse_part (*lse)(const float *restrict z, size_t n, float inv_tau);
    /*
     * Gradient of w_ce CE + w_kl tau^2 KL at the logits, except the term -w_ce
     * at the target, which the caller adds:
     *   z[v] <- w_ce exp(z[v] - s1)
     *           + w_kl tau (exp(z[v]/tau - st) - exp(zt[v]/tau - tt))
     * z [n]: in: student's logits, out: gradient; zt [n]: teacher's logits.
     * Returns this slice's part of KL(teacher || student; tau), in nats, not
     * times tau^2 (Hinton et al., arXiv:1503.02531, section 2).
     */
    double (*kd_grad)(float *restrict z, const float *restrict zt, size_t n,
        float tau, struct row_lse l, float w_ce, float w_kl);
    /*
     * Reverse KL (beta 1) and generalised Jensen-Shannon divergence (0 < beta
     * < 1; Agarwal et al., arXiv:2306.13649, equation 1): js_sums returns this
     * slice's sums; js_grad, with own = KL(q || m) of the whole row, the
     * gradient:
     *   z[v] <- w_ce exp(z[v] - s1) + w q_v (log(q_v / m_v) - own)
     * where w = w_kl tau (1 - beta), or w_kl tau for beta 1.
     */
    struct mix_part (*js_sums)(const float *restrict z,
        const float *restrict zt, size_t n, float tau, struct row_lse l,
        float beta);
    void (*js_grad)(float *restrict z, const float *restrict zt, size_t n,
        float tau, struct row_lse l, float beta, float own, float w_ce,
        float w);
    /* Without a teacher: z[v] <- w_ce exp(z[v] - s1). */
    void (*ce_grad)(float *restrict z, size_t n, float s1, float w_ce);
    /* With a teacher's top tokens: the gradient in a slice at all other tokens,
     * which make up the rest.  The caller overwrites the numbers at the top
     * tokens.
     *   z[v] <- w_ce exp(z[v] - s1) + b exp(z[v] / tau - rest)
     * rest: the student's log-sum-exp at tau over the whole rest. */
    void (*top_grad)(float *restrict z, size_t n, float s1, float w_ce,
        float tau, float rest, float b);
    /* Sum of squares of x[n], in double. */
    double (*sumsq)(const float *restrict x, size_t n);
    /* Decoupled AdamW (Loshchilov & Hutter, arXiv:1711.05101, as in PyTorch) on
     * n parameters p with gradient sums g and moments m and v; sets g to
     * zero. */
    void (*adamw)(float *restrict p, float *restrict g, float *restrict m,
        float *restrict v, size_t n, const struct adamw_k *k);
    /* num += |a-b|^2 and den += |b|^2 over n elements. */
    void (*ratio)(const float *restrict a, const float *restrict b, size_t n,
        double *num, double *den);
    /* dx[i] += c * (a[i] - b[i]) */
    void (*diff_add)(float *restrict dx, const float *restrict a,
        const float *restrict b, size_t n, float c);
};

extern const struct loss_kern loss_kern_ref, loss_kern_avx2, loss_kern_avx512,
    loss_kern_neon;

/* The set that kern_init chose. */
const struct loss_kern *loss_kern(void);

/* Combine n parts, `stride` apart, in index order.  Returns the log of the
 * whole sum.  A part without elements is { -INFINITY, 0 }; if no part has
 * elements, the result is -INFINITY. */
double lse_join(const struct lse_part *part, size_t n, size_t stride);

#endif
