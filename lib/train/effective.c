/* Rounded and masked weights in training; see effective.h. */
#include "train/effective.h"
#include "model/files/export.h"
#include "model/config/family.h"
#include "model/files/mixture.h"
#include "model/files/sparse.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 16 }; /* tasks of a matrix */

const char *const rounding_names[] = { "none", "q4_0", "q8_0", "int8", "q4_k",
    "q4_k_m", "q5_k", "q5_k_m", "q6_k", NULL };

int
effective_searches(const struct effective *how)
{
    return how->file != NULL && how->file->most >= DT_Q2_K;
}

int
effective_parse(struct effective *how, int as, const char *mask, struct err *e)
{
    int r = 0;

    *how = (struct effective){ .file = mixture_of(rounding_names[as]) };
    how->as = how->file != NULL                   ? ROUND_FILE
        : strcmp(rounding_names[as], "int8") == 0 ? ROUND_INT8
                                                  : ROUND_NOT;
    if (mask != NULL)
        r = sparse_pattern(mask, &how->keep, &how->of, e);
    if (r == 0 && mask != NULL && how->of == 0)
        r = err_set(e, EX_INPUT, "'%s' is no pattern such as 2:4", mask);
    if (r == 0 && mask != NULL && effective_searches(how))
        r = err_set(e, EX_USAGE, "does not go with --qat %s: take q4_0 or q8_0",
            how->file->name);
    if (r < 0)
        e->code = EX_USAGE;
    return r < 0 ? err_prefix(e, "--mask") : 0;
}

/* A matrix W and its effective weights E. */
struct matrix {
    struct weight *w;
    const float *p;      /* [rows,cols] W */
    float *e;            /* [rows,cols] E */
    unsigned char *mask; /* group.mask of this matrix, or NULL */
    size_t wide;         /* columns in the file, where rows are padded with
                          * zeros */
    enum dtype as;       /* type in the file, if how is ROUND_FILE */
};

/* The number of places for matrices: W_N for each block, one each for embedding
 * and head. */
static size_t
places(const struct tmodel *t)
{
    return t->m.c.L * W_N + 2;
}

/* Set *x to the matrix at place i; x->e is NULL if it has no effective weights.
 * 0: there is no matrix. */
static int
matrix_at(struct tmodel *t, size_t i, struct matrix *x)
{
    const size_t L = t->m.c.L, k = i % W_N;
    const int inside = i < L * W_N;
    const struct group *g =
        &t->group[inside ? i / W_N : L + (i == L * W_N ? 0 : 2)];
    const size_t at = inside ? g->at[k] : 0;
    const struct block_shape whole =
        config_whole_block(&t->m.c, inside ? i / W_N : 0);
    size_t rows;

    x->w = inside      ? &t->m.block[i / W_N].w[k]
        : i == L * W_N ? &t->m.embed
                       : &t->m.head;
    if (g->n == 0 || x->w->rows == 0 || (inside && block_is_vector((int)k)))
        return 0;
    x->p = g->p + at;
    x->e = g->e != NULL ? g->e + at : NULL;
    x->mask = inside ? g->mask[k] : NULL;
    x->wide = x->w->cols;
    if (inside)
        block_dims(&t->m.c, (int)k, &whole, &rows, &x->wide);
    if (t->effective.file != NULL)
        x->as = mixture_type(t->effective.file, &t->m.c,
            inside             ? (int)k
                : i == L * W_N ? MATRIX_EMBED
                               : MATRIX_HEAD,
            i / W_N, x->wide, 0);
    return 1;
}

/* Round each number of x[n] to the nearest of 255 multiples, from -127 to 127,
 * of a scale. */
static void
round_int8(float *x, size_t n)
{
    float most = 0.0f, scale, inverse;

    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    scale = most / 127.0f;
    inverse = scale >= 0x1p-126f ? 1.0f / scale : 0.0f;
    for (size_t i = 0; i < n; i++)
        x[i] = roundf(x[i] * inverse) * scale;
}

/* Make row r of E. */
static void
make_row(const struct matrix *x, const struct effective *how, size_t r,
    float *room)
{
    const size_t cols = x->w->cols, first = r * cols;
    unsigned char *const bytes = (unsigned char *)(room + x->wide);

    memcpy(room, x->p + first, cols * sizeof *room);
    memset(room + cols, 0, (x->wide - cols) * sizeof *room);
    for (size_t i = 0, at = first; x->mask != NULL && i < cols; i++, at++)
        if ((x->mask[at / 8] >> at % 8 & 1) == 0)
            room[i] = 0.0f;
    if (how->as == ROUND_INT8) {
        round_int8(room, cols);
    } else if (how->as != ROUND_NOT) {
        weight_narrow(x->as, bytes, room, x->wide);
        weight_widen(room, x->as, bytes, x->wide);
    }
    memcpy(x->e + first, room, cols * sizeof *room);
}

/* Choose the mask of row r. */
static void
choose_kept(const struct matrix *x, const struct effective *how, size_t r,
    float *room)
{
    const size_t cols = x->w->cols;
    const float *p = x->p + r * cols;

    (void)room;
    for (size_t i = 0; x->mask != NULL && i < cols; i++) {
        const size_t from = i - i % how->of, at = r * cols + i;
        const unsigned bit = 1u << at % 8;
        size_t before = 0; /* how many of the `of` are kept rather than i */

        for (size_t k = from; k < from + how->of; k++)
            before += fabsf(p[k]) > fabsf(p[i]) ||
                (fabsf(p[k]) == fabsf(p[i]) && k > i);
        x->mask[at / 8] = (unsigned char)((x->mask[at / 8] & ~bit) |
            (before < how->keep ? bit : 0));
    }
}

struct job {
    struct tmodel *t;
    /* room [2 wide]: scratch */
    void (*row)(const struct matrix *x, const struct effective *how, size_t r,
        float *room);
};

/* The first row of piece k: a multiple of 8, so that no two pieces share a byte
 * of a mask. */
static size_t
piece_row(size_t rows, size_t k)
{
    return k < PIECES ? rows * k / PIECES / 8 * 8 : rows;
}

static void
effective_piece(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const size_t k = task % PIECES;
    struct matrix x;
    float *room;

    (void)worker;
    if (!matrix_at(j->t, task / PIECES, &x) || x.e == NULL)
        return;
    room = xcalloc(2 * x.wide, sizeof *room);
    for (size_t r = piece_row(x.w->rows, k); r < piece_row(x.w->rows, k + 1);
         r++)
        j->row(&x, &j->t->effective, r, room);
    free(room);
}

void
effective_choose(struct tmodel *t, struct pool *pool)
{
    if (t->effective.of > 0)
        pool_run(pool, places(t) * PIECES, effective_piece,
            &(struct job){ t, choose_kept });
}

void
effective_make(struct tmodel *t, struct pool *pool)
{
    if (effective_bytes(t) > 0)
        pool_run(pool, places(t) * PIECES, effective_piece,
            &(struct job){ t, make_row });
}

/* Allocate E and masks; while planning they are NULL. */
static void
lay_effective(struct tmodel *t, struct arena *a)
{
    const int outside = t->effective.as == ROUND_FILE;
    const size_t L = t->m.c.L;

    for (size_t i = 0; i < t->ngroup; i++) {
        struct group *g = &t->group[i];

        if (g->n > 0 && (i < L || (outside && (i == L || i == L + OUTER_HEAD))))
            g->e = arena_alloc(a, g->n, sizeof *g->e);
        for (size_t k = 0; i < L && t->effective.of > 0 && k < W_N; k++) {
            const struct weight *w = &t->m.block[i].w[k];

            if (!block_is_vector((int)k) && w->rows > 0)
                g->mask[k] = arena_alloc(a, (w->rows * w->cols + 7) / 8, 1);
        }
    }
}

int
effective_begin(struct tmodel *t, const struct effective *how, struct err *e)
{
    struct arena plan;
    struct matrix x;

    if (how->as == ROUND_NOT && how->of == 0)
        return 0;
    for (size_t i = 0; how->of > 0 && i < t->m.c.L * W_N; i++)
        if (matrix_at(t, i, &x) && x.w->cols % how->of != 0)
            return err_set(e, EX_USAGE,
                "%s%zu.%s: rows of %zu are no multiple of %zu",
                family_blocks(&t->m.c), i / W_N,
                block_tensor_name(&t->m.c, (int)(i % W_N)), x.w->cols, how->of);
    assert(how->of == 0 || t->group[0].half == NULL);
    t->effective = *how;
    arena_plan(&plan);
    lay_effective(t, &plan);
    arena_init(&t->effective_arena, plan.used);
    lay_effective(t, &t->effective_arena);
    for (size_t i = 0; i < places(t); i++)
        if (matrix_at(t, i, &x) && x.e != NULL)
            x.w->data = (const unsigned char *)x.e;
    if (t->m.c.tied)
        t->m.head = t->m.embed;
    model_set_bias(&t->m);
    for (size_t i = 0; how->of > 0 && i < t->m.c.L; i++)
        t->m.block[i].sparse = 0;
    return 0;
}

void
effective_end(struct tmodel *t)
{
    char text[48];

    if (t->effective.of == 0)
        return;
    snprintf(text, sizeof text, "%zu:%zu", t->effective.keep, t->effective.of);
    snprintf(t->m.c.sparse, sizeof t->m.c.sparse, "%.15s", text);
    for (size_t i = 0; i < t->m.c.L * W_N; i++)
        if (t->group[i / W_N].mask[i % W_N] != NULL)
            t->m.block[i / W_N].sparse |= W_BIT(i % W_N);
}

size_t
effective_bytes(const struct tmodel *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->ngroup; i++)
        n += t->group[i].e != NULL ? t->group[i].n : 0;
    return n * sizeof(float);
}

void
effective_master(const struct tmodel *t, struct model *m)
{
    const size_t L = t->m.c.L;

    *m = t->m;
    m->block = xcalloc(L, sizeof *m->block);
    for (size_t i = 0; i < L; i++) {
        m->block[i] = t->m.block[i];
        for (size_t k = 0; k < W_N; k++)
            m->block[i].w[k].data =
                (const unsigned char *)(t->group[i].p + t->group[i].at[k]);
    }
    m->embed.data = (const unsigned char *)t->group[L].p;
    m->head.data =
        m->c.tied ? m->embed.data : (const unsigned char *)t->group[L + 2].p;
}
