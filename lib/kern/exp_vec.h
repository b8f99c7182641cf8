/*
 * Parts of vectors at the end of a row, and the exponential: for the templates
 * of row kernels and of losses.
 */
/* Load elements i.. of p[n]: a whole vector, or the last ones and zeros. */
static inline vf
get(const float *p, size_t i, size_t n)
{
    return n - i >= VW ? v_load(p + i) : v_load_part(p + i, n - i, 0.0f);
}

static inline void
put(float *p, size_t i, size_t n, vf a)
{
    if (n - i >= VW)
        v_store(p + i, a);
    else
        v_store_part(p + i, n - i, a);
}

/* a, elements from i on, with those from n on set to zero */
static inline vf
keep(vf a, size_t i, size_t n)
{
    return n - i >= VW ? a : v_keep(a, n - i);
}

/*
 * exp(x), relative error below 1e-7.  x = n ln 2 + r with |r| <= ln 2 / 2;
 * exp(r) by a polynomial (Cephes expf); ln 2 in two parts.  x is clamped to
 * where the result is 0 or infinity anyway; NaN stays, being the second
 * operand.
 */
static inline vf
v_exp(vf x)
{
    vf n, r, p;

    x = v_min(v_set1(89.0f), v_max(v_set1(-104.0f), x));
    n = v_round(v_mul(x, v_set1(1.44269504088896341f)));
    r = v_fnma(n, v_set1(0.693359375f), x);
    r = v_fnma(n, v_set1(-2.12194440e-4f), r);
    p = v_set1(1.9875691500e-4f);
    p = v_fma(p, r, v_set1(1.3981999507e-3f));
    p = v_fma(p, r, v_set1(8.3334519073e-3f));
    p = v_fma(p, r, v_set1(4.1665795894e-2f));
    p = v_fma(p, r, v_set1(1.6666665459e-1f));
    p = v_fma(p, r, v_set1(5.0000001201e-1f));
    p = v_fma(p, v_mul(r, r), v_add(r, v_set1(1.0f)));
    return v_scalef(p, n);
}
