/*
 * Parts of vectors, for the end of a row, and the exponential.  Used by the
 * templates of row kernels and of losses.
 */
/* Load a vector of p's elements i, i+1, ...; elements from n on are zeros. */
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

/* Vector a has elements i, i+1, ...: return a with element n and all later ones
 * set to zero. */
static inline vf
keep(vf a, size_t i, size_t n)
{
    return n - i >= VW ? a : v_keep(a, n - i);
}

/*
 * Exponentials.  x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 is in two
 * parts; exp(r) = 1 + r + r^2 p, where p is a polynomial (Cephes expf) and is
 * returned.  x is clamped to the range outside of which the result is 0 or
 * infinity.  NaN must be min's and max's second operand, to stay.
 */
static inline vf
v_exp_parts(vf x, vf *n, vf *r)
{
    vf p;

    x = v_min(v_set1(89.0f), v_max(v_set1(-104.0f), x));
    *n = v_round(v_mul(x, v_set1(1.44269504088896341f)));
    *r = v_fnma(*n, v_set1(0.693359375f), x);
    *r = v_fnma(*n, v_set1(-2.12194440e-4f), *r);
    p = v_set1(1.9875691500e-4f);
    p = v_fma(p, *r, v_set1(1.3981999507e-3f));
    p = v_fma(p, *r, v_set1(8.3334519073e-3f));
    p = v_fma(p, *r, v_set1(4.1665795894e-2f));
    p = v_fma(p, *r, v_set1(1.6666665459e-1f));
    return v_fma(p, *r, v_set1(5.0000001201e-1f));
}

/* exp(x), relative error below 1e-7. */
static inline vf
v_exp(vf x)
{
    vf n, r, p = v_exp_parts(x, &n, &r);

    p = v_fma(p, v_mul(r, r), v_add(r, v_set1(1.0f)));
    return v_scalef(p, n);
}

/* exp(x) - 1 for x <= 0, relative error below 3e-7. */
static inline vf
v_expm1(vf x)
{
    vf n, r, p = v_exp_parts(x, &n, &r);
    const vf one = v_set1(1.0f), s = v_scalef(one, n);

    p = v_fma(p, v_mul(r, r), r);
    return v_fma(p, s, v_sub(s, one));
}
