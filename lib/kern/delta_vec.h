/* The gated delta rule over the vector operations of rows_vec.h, which includes
 * this file; delta.h says what it computes. */
#include "kern/delta.h"

enum { DELTA_VECS = DELTA_COLS / VW, DELTA_SUMS = 4 };

/* Vector c of the sums over all rows, from DELTA_SUMS partial sums over a
 * fourth of the rows each. */
static inline vf
delta_total(vf sum[DELTA_SUMS][DELTA_VECS], size_t c)
{
    return v_add(v_add(sum[0][c], sum[1][c]), v_add(sum[2][c], sum[3][c]));
}

/* Set the vectors to zero. */
static inline void
delta_zero(vf sum[DELTA_SUMS][DELTA_VECS])
{
    for (size_t p = 0; p < DELTA_SUMS; p++)
        for (size_t c = 0; c < DELTA_VECS; c++)
            sum[p][c] = v_set1(0.0f);
}

static void
delta_token(float *s, const float *from, size_t dk, const float *q,
    const float *k, const float *v, float decay, float beta, float *r, float *o)
{
    const vf by = v_set1(decay);
    vf sum[DELTA_SUMS][DELTA_VECS], d[DELTA_VECS];

    delta_zero(sum);
    for (size_t i = 0; i < dk; i++)
        for (size_t c = 0; c < DELTA_VECS; c++)
            sum[i % DELTA_SUMS][c] =
                v_fma(v_mul(by, v_load(from + i * DELTA_COLS + c * VW)),
                    v_set1(k[i]), sum[i % DELTA_SUMS][c]);
    for (size_t c = 0; c < DELTA_VECS; c++) {
        const vf left = v_sub(v_load(v + c * VW), delta_total(sum, c));

        v_store(r + c * VW, left);
        d[c] = v_mul(v_set1(beta), left);
    }
    delta_zero(sum);
    for (size_t i = 0; i < dk; i++)
        for (size_t c = 0; c < DELTA_VECS; c++) {
            const size_t at = i * DELTA_COLS + c * VW;
            const vf x =
                v_fma(v_set1(k[i]), d[c], v_mul(by, v_load(from + at)));

            v_store(s + at, x);
            if (q != NULL)
                sum[i % DELTA_SUMS][c] =
                    v_fma(x, v_set1(q[i]), sum[i % DELTA_SUMS][c]);
        }
    for (size_t c = 0; q != NULL && c < DELTA_VECS; c++)
        v_store(o + c * VW, delta_total(sum, c));
}

/* The sum of the numbers of all vectors. */
static inline float
delta_hsum(const vf x[DELTA_VECS])
{
    vf sum = x[0];

    for (size_t c = 1; c < DELTA_VECS; c++)
        sum = v_add(sum, x[c]);
    return v_hsum(sum);
}

/* Backward through o and S'': dr is the gradient at beta r. */
static inline void
delta_bwd_output(float *ds, const float *from, size_t dk, const float *q,
    const float *k, const float *r, float decay, float beta, const float *dout,
    float *dq, float *dkey, vf dr[DELTA_VECS])
{
    vf sum[DELTA_SUMS][DELTA_VECS];

    delta_zero(sum);
    for (size_t i = 0; i < dk; i++) {
        const vf vk = v_set1(k[i]), vq = v_set1(q[i]);
        vf forq[DELTA_VECS], fork[DELTA_VECS];

        for (size_t c = 0; c < DELTA_VECS; c++) {
            const size_t at = i * DELTA_COLS + c * VW;
            const vf put = v_mul(v_set1(beta), v_load(r + c * VW));
            const vf dy = v_load(dout + c * VW);
            const vf d = v_fma(vq, dy, v_load(ds + at));
            const vf x =
                v_fma(vk, put, v_mul(v_set1(decay), v_load(from + at)));

            forq[c] = v_mul(x, dy);
            fork[c] = v_mul(d, put);
            sum[i % DELTA_SUMS][c] = v_fma(d, vk, sum[i % DELTA_SUMS][c]);
            v_store(ds + at, d);
        }
        dq[i] += delta_hsum(forq);
        dkey[i] += delta_hsum(fork);
    }
    for (size_t c = 0; c < DELTA_VECS; c++)
        dr[c] = delta_total(sum, c);
}

static void
delta_token_bwd(float *ds, const float *from, size_t dk, const float *q,
    const float *k, const float *r, float decay, float beta, const float *dout,
    float *dq, float *dkey, float *dv, float rate[2])
{
    vf dr[DELTA_VECS], forb[DELTA_VECS], fora[DELTA_VECS], fork[DELTA_VECS];

    delta_bwd_output(ds, from, dk, q, k, r, decay, beta, dout, dq, dkey, dr);
    for (size_t c = 0; c < DELTA_VECS; c++) {
        forb[c] = v_mul(dr[c], v_load(r + c * VW));
        dr[c] = v_mul(v_set1(beta), dr[c]);
        v_store(dv + c * VW, dr[c]);
        fora[c] = v_set1(0.0f);
    }
    rate[1] += delta_hsum(forb);
    for (size_t i = 0; i < dk; i++) {
        for (size_t c = 0; c < DELTA_VECS; c++) {
            const size_t at = i * DELTA_COLS + c * VW;
            const vf was = v_load(from + at);
            const vf d = v_fnma(v_set1(k[i]), dr[c], v_load(ds + at));

            fork[c] = v_mul(was, dr[c]);
            fora[c] = v_fma(d, was, fora[c]);
            v_store(ds + at, v_mul(v_set1(decay), d));
        }
        dkey[i] -= decay * delta_hsum(fork);
    }
    rate[0] += delta_hsum(fora);
}
