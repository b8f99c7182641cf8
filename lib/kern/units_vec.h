/* Units of MLPs, forward and backward; a part of rows_vec.h. */
static inline vf
v_sigmoid(vf x)
{
    const vf one = v_set1(1.0f);

    return v_div(one, v_add(one, v_exp(v_sub(v_set1(0.0f), x))));
}

static void
silu_mul(float *act, const float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(g, i, n);

        put(act, i, n, v_mul(v_mul(a, v_sigmoid(a)), get(u, i, n)));
    }
}

static void
silu_mul_bwd(float *dg, float *du, const float *dact, const float *g,
    const float *u, size_t n)
{
    const vf one = v_set1(1.0f);

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(g, i, n), b = get(u, i, n), d = get(dact, i, n);
        const vf sig = v_sigmoid(a), silu = v_mul(a, sig);

        put(dg, i, n, v_mul(v_mul(d, b), v_fma(silu, v_sub(one, sig), sig)));
        put(du, i, n, v_mul(d, silu));
    }
}

/* Returns 2 z of GELU's tanh form; *slope: the derivative of 2 z. */
static inline vf
gelu_z2(vf a, vf *slope)
{
    const vf z2 = v_set1(GELU_Z2), one = v_set1(1.0f);
    const vf sq = v_mul(a, a);

    *slope = v_mul(z2, v_fma(sq, v_set1(3.0f * GELU_CUBE), one));
    return v_mul(v_mul(z2, a), v_fma(sq, v_set1(GELU_CUBE), one));
}

static void
gelu_mul(float *act, const float *g, const float *u, size_t n)
{
    vf slope;

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(g, i, n);

        put(act, i, n,
            v_mul(v_mul(a, v_sigmoid(gelu_z2(a, &slope))), get(u, i, n)));
    }
}

static void
gelu_mul_bwd(float *dg, float *du, const float *dact, const float *g,
    const float *u, size_t n)
{
    const vf one = v_set1(1.0f);
    vf slope;

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(g, i, n), b = get(u, i, n), d = get(dact, i, n);
        const vf sig = v_sigmoid(gelu_z2(a, &slope)), gelu = v_mul(a, sig);

        put(dg, i, n,
            v_mul(v_mul(d, b),
                v_fma(v_mul(gelu, v_sub(one, sig)), slope, sig)));
        put(du, i, n, v_mul(d, gelu));
    }
}

/* Phi(x) of the normal distribution; *density: its derivative.  With z =
 * |x|/sqrt(2) and t = 1/(1 + z/2), erfc(z) exp(z^2) / t is a polynomial in t,
 * fitted to a relative error of 5e-8. */
static inline vf
v_phi(vf x, vf *density)
{
    const vf zero = v_set1(0.0f), one = v_set1(1.0f);
    const vf e = v_exp(v_mul(v_mul(x, x), v_set1(-0.5f)));
    const vf t =
        v_div(one, v_fma(v_max(x, v_sub(zero, x)), v_set1(0.35355339f), one));
    vf p = v_set1(-0.059386358f);

    p = v_fma(p, t, v_set1(0.28612351f));
    p = v_fma(p, t, v_set1(-0.49040562f));
    p = v_fma(p, t, v_set1(0.28173262f));
    p = v_fma(p, t, v_set1(-0.029148232f));
    p = v_fma(p, t, v_set1(0.20375247f));
    p = v_fma(p, t, v_set1(0.2428351f));
    p = v_fma(p, t, v_set1(0.28241211f));
    p = v_fma(p, t, v_set1(0.28208435f));
    p = v_mul(v_mul(v_mul(p, t), v_set1(0.5f)), e); /* Phi(-|x|) */
    *density = v_mul(e, v_set1(0.39894228f));
    return v_where(x, v_sub(one, p), p);
}

/* GELU is x v_gelu(x) and has this slope. */
static inline vf
v_gelu(vf x, int exact, vf *slope)
{
    vf share, turn;

    if (exact) {
        share = v_phi(x, &turn);
    } else {
        share = v_sigmoid(gelu_z2(x, &turn));
        turn = v_mul(turn, v_mul(share, v_sub(v_set1(1.0f), share)));
    }
    *slope = v_fma(x, turn, share);
    return share;
}

static void
gelu(float *act, const float *x, size_t n, int exact)
{
    vf slope;

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(x, i, n);

        put(act, i, n, v_mul(a, v_gelu(a, exact, &slope)));
    }
}

static void
gelu_bwd(float *dx, const float *dact, const float *x, size_t n, int exact)
{
    vf slope;

    for (size_t i = 0; i < n; i += VW) {
        const vf d = get(dact, i, n);

        v_gelu(get(x, i, n), exact, &slope);
        put(dx, i, n, v_mul(d, slope));
    }
}

/* exp(min(x,eps)) - 1 - x, which u.n multiplies in xIELU of x <= 0.  Set *e to
 * its derivative: exp(x) - 1 up to eps, -1 above. */
static inline vf
v_xielu_low(vf x, vf eps, vf *e)
{
    const vf m = v_expm1(v_min(eps, x));

    *e = v_where(v_sub(x, eps), v_set1(-1.0f), m);
    return v_sub(m, x);
}

static void
xielu(float *act, const float *x, size_t n, const struct xielu *u)
{
    const vf up = v_set1(u->p), un = v_set1(u->n), eps = v_set1(u->eps);
    const vf beta = v_set1(u->beta);
    vf e;

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(x, i, n);
        const vf low = v_mul(v_xielu_low(a, eps, &e), un);

        put(act, i, n, v_fma(beta, a, v_where(a, v_mul(v_mul(up, a), a), low)));
    }
}

static void
xielu_bwd(float *dx, const float *dact, const float *x, size_t n,
    const struct xielu *u, double sum[2])
{
    const vf up = v_set1(2.0f * u->p), un = v_set1(u->n);
    const vf eps = v_set1(u->eps), beta = v_set1(u->beta), none = v_set1(0.0f);
    vd pl = d_zero(), ph = d_zero(), nl = d_zero(), nh = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(x, i, n), d = get(dact, i, n);
        vf e, low = v_xielu_low(a, eps, &e), high = v_mul(a, a);

        low = v_where(a, none, low);
        high = v_where(a, high, none);
        pl = d_fma(d_lo(d), d_lo(high), pl);
        ph = d_fma(d_hi(d), d_hi(high), ph);
        nl = d_fma(d_lo(d), d_lo(low), nl);
        nh = d_fma(d_hi(d), d_hi(low), nh);
        e = v_where(a, v_mul(up, a), v_mul(un, e));
        put(dx, i, n, v_mul(d, v_add(e, beta)));
    }
    sum[0] = d_sum(d_add(pl, ph));
    sum[1] = d_sum(d_add(nl, nh));
}
