/* Golden files for unit programs: a safetensors file, mapped and parsed. */
#ifndef TESTS_LIB_GOLDEN_H
#define TESTS_LIB_GOLDEN_H

#include "base/io.h"
#include "base/mem.h"
#include "format/safetensors.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
    struct io_map map;
    struct st st;
};

static inline void
golden_open(struct golden *g, const char *path)
{
    struct err e;

    if (io_map(&g->map, path, &e) < 0 ||
        st_parse(&g->st, g->map.p, g->map.n, &e) < 0) {
        printf("Bail out! %s: %s\n", path, e.msg);
        exit(1);
    }
}

static inline void
golden_close(struct golden *g)
{
    st_release(&g->st);
    io_unmap(&g->map);
}

static inline const struct st_tensor *
golden_get(const struct golden *g, const char *name)
{
    const struct st_tensor *t = st_find(&g->st, name);

    if (t == NULL) {
        printf("Bail out! no golden tensor %s\n", name);
        exit(1);
    }
    return t;
}

/* Element i of a tensor of F32 or F64, as double; another type ends the
 * test. */
static inline double
golden_at(const struct st_tensor *t, size_t i)
{
    const unsigned char *p = t->data;
    double d;
    float f;

    if (t->dtype == DT_F64) {
        memcpy(&d, p + 8 * i, 8);
        return d;
    }
    if (t->dtype == DT_F32) {
        memcpy(&f, p + 4 * i, 4);
        return f;
    }
    printf("Bail out! %s is neither F32 nor F64\n", t->name);
    exit(1);
}

/* All elements as floats; the caller frees them. */
static inline float *
golden_floats(const struct golden *g, const char *name)
{
    const struct st_tensor *t = golden_get(g, name);
    float *x = xreallocarray(NULL, t->n, sizeof *x);

    for (size_t i = 0; i < t->n; i++)
        x[i] = (float)golden_at(t, i);
    return x;
}

static inline double *
golden_doubles(const struct golden *g, const char *name)
{
    const struct st_tensor *t = golden_get(g, name);
    double *x = xreallocarray(NULL, t->n, sizeof *x);

    for (size_t i = 0; i < t->n; i++)
        x[i] = golden_at(t, i);
    return x;
}

/* The largest difference between got and a tensor, relative to the tensor's
 * largest element. */
static inline double
golden_off(const float *got, const struct st_tensor *want)
{
    double most = 0.0, top = 1e-30;

    for (size_t i = 0; i < want->n; i++) {
        top = fmax(top, fabs(golden_at(want, i)));
        most = farther(most, fabs(got[i] - golden_at(want, i)));
    }
    return most / top;
}

#endif
