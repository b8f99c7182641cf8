/* Merging tensors; see mix.h. */
#include "mix.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
mix_average(float *const *x, size_t n, size_t size, float *out)
{
    for (size_t i = 0; i < size; i++) {
        double sum = 0.0;

        for (size_t k = 0; k < n; k++)
            sum += x[k][i];
        out[i] = (float)(sum / (double)n);
    }
}

void
mix_slerp(float *const *x, double t, size_t size, float *out)
{
    double aa = 0.0, bb = 0.0, ab = 0.0, cosine, s0 = 1.0 - t, s1 = t;

    for (size_t i = 0; i < size; i++) {
        aa += (double)x[0][i] * x[0][i];
        bb += (double)x[1][i] * x[1][i];
        ab += (double)x[0][i] * x[1][i];
    }
    cosine = aa > 0.0 && bb > 0.0 ? ab / sqrt(aa * bb) : 1.0;
    if (fabs(cosine) <= 0.9995) {
        const double angle = acos(cosine);

        s0 = sin(angle - angle * t) / sin(angle);
        s1 = sin(angle * t) / sin(angle);
    }
    for (size_t i = 0; i < size; i++)
        out[i] = (float)(s0 * x[0][i] + s1 * x[1][i]);
}

/* A number's magnitude and index; sorted by falling magnitude, then index. */
struct ranked {
    float size;
    size_t at;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->at > y->at) - (x->at < y->at);
}

/* Set all but the largest `keep` numbers of d [size] to 0.  r [size]: work
 * space. */
static void
keep_largest(float *d, size_t size, size_t keep, struct ranked *r)
{
    for (size_t i = 0; i < size; i++)
        r[i] = (struct ranked){ fabsf(d[i]), i };
    qsort(r, size, sizeof *r, compare_ranked);
    for (size_t i = keep; i < size; i++)
        d[r[i].at] = 0.0f;
}

/* Mean of those of the n numbers d[k][i] that have the sign of the sum of all
 * n; 0: none has that sign. */
static double
agreed_mean(float *const *d, size_t n, size_t i)
{
    double sum = 0.0, part = 0.0;
    size_t count = 0;

    for (size_t k = 0; k < n; k++)
        sum += d[k][i];
    for (size_t k = 0; k < n; k++)
        if (sum >= 0.0 ? d[k][i] > 0.0f : d[k][i] < 0.0f) {
            part += d[k][i];
            count++;
        }
    return count > 0 ? part / (double)count : 0.0;
}

void
mix_ties(float *const *x, size_t n, double density, size_t size, float *out)
{
    struct ranked *room = xcalloc(size, sizeof *room);
    float **d = xcalloc(n - 1, sizeof *d);

    for (size_t k = 0; k + 1 < n; k++) {
        d[k] = xcalloc(size, sizeof **d);
        for (size_t i = 0; i < size; i++)
            d[k][i] = x[k + 1][i] - x[0][i];
        keep_largest(d[k], size, (size_t)(density * (double)size), room);
    }
    for (size_t i = 0; i < size; i++)
        out[i] = (float)(x[0][i] + agreed_mean(d, n - 1, i));
    for (size_t k = 0; k + 1 < n; k++)
        free(d[k]);
    free(d);
    free(room);
}
