/* A new model with random weights; see random.h. */
#include "model/files/random.h"
#include "base/rng.h"
#include "model/config/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An fp32 matrix in the arena. */
static struct weight
random_matrix(struct arena *a, size_t rows, size_t cols, double dev,
    uint64_t key)
{
    float *p = arena_alloc(a, rows * cols, sizeof(float));

    for (size_t i = 0; p != NULL && i < rows * cols; i++)
        p[i] = (float)(dev * rng_normal(key, i));
    return (struct weight){
        .data = (const unsigned char *)p,
        .dtype = DT_F32,
        .rows = rows,
        .cols = cols,
        .stride = cols * sizeof(float),
    };
}

/* A norm whose values in use are 1 (1 - add is stored), or a bias of zeros. */
static struct weight
random_vectors(struct arena *a, size_t rows, size_t n, float add, int bias)
{
    float *p = arena_alloc(a, rows * n, sizeof(float));

    for (size_t i = 0; p != NULL && i < rows * n; i++)
        p[i] = bias ? 0.0f : 1.0f - add;
    return (struct weight){
        .data = (const unsigned char *)p,
        .dtype = DT_F32,
        .rows = rows,
        .cols = n,
        .stride = n * sizeof(float),
        .add = add,
    };
}

/* A vector of a `linear` block: taps and decays are random, all others are 1,
 * as transformers initialises Qwen 3.5. */
static struct weight
random_delta(struct arena *a, int t, size_t n, uint64_t key)
{
    struct weight w = random_vectors(a, 1, n, 0.0f, 0);
    float *p = (float *)(uintptr_t)w.data;

    for (size_t i = 0; p != NULL && i < n && t == W_CONV; i++)
        p[i] = (float)(0.5 * (2.0 * rng_unit(key, i) - 1.0));
    for (size_t i = 0; p != NULL && i < n && t == W_DELTA_LOG; i++)
        p[i] = (float)log(0.01 + 15.99 * rng_unit(key, i));
    return w;
}

/* A number of xIELU, as transformers initialises Apertus: softplus(alpha_p) and
 * beta + softplus(alpha_n) are both 0.8. */
static struct weight
random_xielu(struct arena *a, int t)
{
    static const double alpha = 0.8, beta = 0.5, eps = -1e-6;
    struct weight w = random_vectors(a, 1, 1, 0.0f, 0);
    float *p = (float *)(uintptr_t)w.data;

    if (p != NULL)
        *p = (float)(t == W_XIELU_P ? log(expm1(alpha))
                : t == W_XIELU_N    ? log(expm1(alpha - beta))
                : t == W_XIELU_BETA ? beta
                                    : eps);
    return w;
}

static void
fill_random(struct model *m, const struct block_shape *shape, uint64_t seed,
    struct arena *a)
{
    const struct config *c = &m->c;
    const double dev = c->init_range > 0.0 ? c->init_range : 0.02;
    const double out = dev / sqrt(2.0 * (double)c->L);

    m->embed = random_matrix(a, c->V, c->d, dev, rng_key(seed, 1));
    m->norm = random_vectors(a, 1, c->d, family_norm_add(c, -1), 0);
    if (family_has_outer(c, OUTER_NORM_BIAS))
        m->norm_bias = random_vectors(a, 1, c->d, 0.0f, 1);
    if (family_has_outer(c, OUTER_POSITIONS))
        m->positions =
            random_matrix(a, c->max_pos, c->d, dev, rng_key(seed, 3));
    m->head = c->tied ? m->embed
                      : random_matrix(a, c->V, c->d, dev, rng_key(seed, 2));
    if (family_has_outer(c, OUTER_HEAD_BIAS))
        m->head_bias = random_vectors(a, 1, c->V, 0.0f, 1);
    model_set_bias(m);
    for (size_t i = 0; i < c->L; i++) {
        const struct block_shape is =
            shape ? shape[i] : config_whole_block(c, i);
        struct block *b = &m->block[i];
        size_t rows, cols;

        block_set_shape(b, &is);
        for (int w = 0; w < W_N; w++) {
            block_dims(c, w, &is, &rows, &cols);
            if (rows > 0 && block_is_delta(w) && block_is_vector(w))
                b->w[w] = random_delta(a, w, cols,
                    rng_key(rng_key(seed, 16 + i), (uint64_t)w));
            else if (rows > 0 && block_is_xielu(w))
                b->w[w] = random_xielu(a, w);
            else if (rows > 0 && (block_is_vector(w) || block_is_bias(w)))
                b->w[w] = random_vectors(a, rows, cols, family_norm_add(c, w),
                    block_is_bias(w) || w == W_SINKS);
            else if (rows > 0)
                b->w[w] = random_matrix(a, rows, cols,
                    w == W_O || w == W_DOWN || w == W_EXPERT_DOWN ||
                            w == W_DELTA_OUT || w == W_SHORT_OUT
                        ? out
                        : dev,
                    rng_key(rng_key(seed, 16 + i), (uint64_t)w));
        }
    }
}

void
model_random(struct model *m, const struct config *c,
    const struct block_shape *b, uint64_t seed, struct arena *a)
{
    struct arena plan;

    memset(m, 0, sizeof(*m));
    m->c = *c;
    m->block = xcalloc(c->L, sizeof(*m->block));
    arena_plan(&plan);
    fill_random(m, b, seed, &plan);
    arena_init(a, plan.used);
    fill_random(m, b, seed, a);
}

void
model_random_free(struct model *m)
{
    free(m->block);
    memset(m, 0, sizeof(*m));
}
