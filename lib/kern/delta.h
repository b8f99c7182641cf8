/* The gated delta rule, one token at a time; see kern.h. */
#ifndef KERN_DELTA_H
#define KERN_DELTA_H

#include <stddef.h>

/*
 * A head's state is a matrix S [dk,dv].  Its columns do not depend on one
 * another, so a call of a kernel works on DELTA_COLS columns: s, from and ds
 * are [dk,DELTA_COLS]; v, r, o, dout and dv are [DELTA_COLS]; q, k, dq and dkey
 * are [dk].
 *   S' = decay S    r = v - S'^T k    S'' = S' + beta k r^T    o = S''^T q
 * Yang et al., arXiv:2412.06464, eq. 10.  Sums over dk are fp32, in an order
 * that depends on dk alone.
 *   delta_ref: reads S at `from`; writes r, o and, at s, S''.  s may be `from`.
 *   If q is NULL it does not write o.
 *   delta_bwd_ref: ds holds the gradient at S'' from later tokens; the gradient
 *   at S (`from`) replaces it.  r: as delta_ref wrote it.  dout: gradient at o.
 *   Adds to dq, dkey and, for decay and beta, to rate[0] and rate[1]; sets dv.
 */
enum { DELTA_COLS = 16 };
void delta_ref(float *s, const float *from, size_t dk, const float *q,
    const float *k, const float *v, float decay, float beta, float *r,
    float *o);
void delta_bwd_ref(float *ds, const float *from, size_t dk, const float *q,
    const float *k, const float *r, float decay, float beta, const float *dout,
    float *dq, float *dkey, float *dv, float rate[2]);

#endif
