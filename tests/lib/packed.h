/* A batch of several tiles: rows of one document, of two and of three, and a
 * row of four documents that ends in padding. */
#ifndef TESTS_LIB_PACKED_H
#define TESTS_LIB_PACKED_H

#include "base/mem.h"
#include "base/rng.h"
#include "model/pass/backward.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PACKED_B = 4, PACKED_T = 600 };

/* Set ids [B,T] to random ids below V, and first [B,T] as in struct rows, with
 * padding where a row's documents end early. */
static inline void
packed_rows(uint32_t *ids, uint32_t *first, size_t V)
{
    static const size_t len[PACKED_B][4] = { { 600 }, { 240, 360 },
        { 2, 128, 470 }, { 200, 100, 60, 40 } };

    for (size_t b = 0; b < PACKED_B; b++) {
        size_t t = 0;

        for (size_t k = 0; k < 4; k++) {
            const size_t t0 = t;

            for (; t < t0 + len[b][k]; t++)
                first[b * PACKED_T + t] = (uint32_t)t0;
        }
        for (; t < PACKED_T; t++)
            first[b * PACKED_T + t] = UINT32_MAX;
    }
    for (size_t i = 0; i < PACKED_B * PACKED_T; i++)
        ids[i] = (uint32_t)(rng_u64(8, i) % V);
}

struct packed_sum {
    const float *weight;
    size_t row, n, d; /* first row of the call, number of rows, width */
};

static inline void
packed_add(void *ctx, size_t i, float *dx)
{
    const struct packed_sum *s = ctx;
    const size_t row = PACKED_T * s->d;
    const float *w = s->weight + ((i + 1) * PACKED_B + s->row) * row;

    for (size_t k = 0; k < s->n * row; k++)
        dx[k] += w[k];
}

/* The gradients of the sum of weight [1+L,B,T,d] * (final states, outputs of
 * blocks), computed n rows at a time, with the option `how` of bwd_new: a
 * malloc'd array, one group after another. */
static inline float *
packed_gradient(struct tmodel *t, const uint32_t *ids, const uint32_t *first,
    const float *weight, size_t threads, size_t n, int how)
{
    struct pool *p = pool_new(threads, NULL);
    struct bwd *b = bwd_new(t, p, n, PACKED_T, how);
    float *g = xmalloc(t->nparam * sizeof *g);
    const size_t d = t->m.c.d;
    size_t at = 0;

    tmodel_zero_grad(t);
    for (size_t row = 0; row < PACKED_B; row += n) {
        const size_t k = row + n <= PACKED_B ? n : PACKED_B - row;
        const size_t t0 = row * PACKED_T;
        const struct rows r = { k, PACKED_T, ids + t0, first + t0 };
        struct packed_sum s = { weight, row, k, d };

        bwd_forward(b, &r);
        memcpy(bwd_final(b), weight + t0 * d, k * PACKED_T * d * sizeof *g);
        bwd_backward(b, &r, packed_add, &s);
    }
    bwd_flush(b);
    for (size_t i = 0; i < t->ngroup; i++) {
        if (t->group[i].n > 0)
            memcpy(g + at, t->group[i].g, t->group[i].n * sizeof *g);
        at += t->group[i].n;
    }
    bwd_free(b);
    pool_free(p);
    return g;
}

#endif
