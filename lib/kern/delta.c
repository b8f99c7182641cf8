/* The gated delta rule in plain C; see delta.h. */
#include "kern/delta.h"

enum { N = DELTA_COLS };

void
delta_ref(float *s, const float *from, size_t dk, const float *q,
    const float *k, const float *v, float decay, float beta, float *r, float *o)
{
    float sum[N] = { 0 };

    for (size_t i = 0; i < dk; i++)
        for (size_t j = 0; j < N; j++)
            sum[j] += decay * from[i * N + j] * k[i];
    for (size_t j = 0; j < N; j++) {
        r[j] = v[j] - sum[j];
        sum[j] = 0.0f;
    }
    for (size_t i = 0; i < dk; i++)
        for (size_t j = 0; j < N; j++) {
            s[i * N + j] = decay * from[i * N + j] + k[i] * (beta * r[j]);
            sum[j] += q != 0 ? s[i * N + j] * q[i] : 0.0f;
        }
    for (size_t j = 0; q != 0 && j < N; j++)
        o[j] = sum[j];
}

void
delta_bwd_ref(float *ds, const float *from, size_t dk, const float *q,
    const float *k, const float *r, float decay, float beta, const float *dout,
    float *dq, float *dkey, float *dv, float rate[2])
{
    float dr[N] = { 0 };

    /* backward through o and S'', and to beta r */
    for (size_t i = 0; i < dk; i++)
        for (size_t j = 0; j < N; j++) {
            float *d = &ds[i * N + j];

            dq[i] += (decay * from[i * N + j] + k[i] * (beta * r[j])) * dout[j];
            *d += q[i] * dout[j];
            dr[j] += *d * k[i];
            dkey[i] += *d * (beta * r[j]);
        }
    for (size_t j = 0; j < N; j++) {
        rate[1] += dr[j] * r[j];
        dv[j] = dr[j] = beta * dr[j];
    }
    /* backward through r and S' */
    for (size_t i = 0; i < dk; i++)
        for (size_t j = 0; j < N; j++) {
            const float d = ds[i * N + j] - k[i] * dr[j];

            dkey[i] -= decay * from[i * N + j] * dr[j];
            rate[0] += d * from[i * N + j];
            ds[i * N + j] = decay * d;
        }
}
