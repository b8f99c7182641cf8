/* A new model with random weights; see random.h. */
#include "model/random.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An fp32 matrix in the arena; deviation 0 asks for ones. */
static struct weight
matrix(struct arena *a, size_t rows, size_t cols, double dev, uint64_t key)
{
    float *p = arena_alloc(a, rows * cols, sizeof(float));

    for (size_t i = 0; p != NULL && i < rows * cols; i++)
        p[i] = dev > 0.0 ? (float)(dev * rng_normal(key, i)) : 1.0f;
    return (struct weight){
        .data = (const unsigned char *)p, .dtype = DT_F32, .rows = rows,
        .cols = cols, .stride = cols * sizeof(float),
    };
}

static void
fill(struct model *m, uint64_t seed, struct arena *a)
{
    const struct config *c = &m->c;
    const double dev = c->init_range > 0.0 ? c->init_range : 0.02;
    const double out = dev / sqrt(2.0 * (double)c->L);

    m->embed = matrix(a, c->V, c->d, dev, rng_key(seed, 1));
    m->norm = matrix(a, 1, c->d, 0.0, 0);
    m->head = c->tied ? m->embed
        : matrix(a, c->V, c->d, dev, rng_key(seed, 2));
    for (size_t i = 0; i < c->L; i++) {
        const size_t q = c->H * c->D, kv = c->KV * c->D, d = c->d;
        const size_t rows[W_N] = { 1, q, kv, kv, d, 1, c->mlp, c->mlp, d };
        const size_t cols[W_N] = { d, d, d, d, q, d, d, d, c->mlp };
        struct block *b = &m->block[i];

        b->mlp = c->mlp;
        b->source = i;
        for (size_t w = 0; w < W_N; w++)
            b->w[w] = matrix(a, rows[w], cols[w], rows[w] == 1 ? 0.0
                : w == W_O || w == W_DOWN ? out : dev,
                rng_key(rng_key(seed, 16 + i), w));
    }
}

void
model_random(struct model *m, const struct config *c, uint64_t seed,
    struct arena *a)
{
    struct arena plan;

    memset(m, 0, sizeof(*m));
    m->c = *c;
    m->block = xcalloc(c->L, sizeof(*m->block));
    arena_plan(&plan);
    fill(m, seed, &plan);
    arena_init(a, plan.used);
    fill(m, seed, a);
}

void
model_random_free(struct model *m)
{
    free(m->block);
    memset(m, 0, sizeof(*m));
}
