/* The trained model's parameters and gradients; see backward.h. */
#include "model/backward.h"
#include "model/open.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Give *w, of that shape, the floats at p, and what is left out of them. */
static void
view(struct weight *w, float *p, const struct weight *like, float add)
{
    *w = (struct weight){ .data = (const unsigned char *)p,
        .dtype = DT_F32,
        .rows = like->rows,
        .cols = like->cols,
        .stride = like->cols * sizeof(float),
        .add = add };
}

/* The values as Hugging Face stores them, so that what is trained is what a
 * checkpoint holds. */
static void
fill(float *p, const struct weight *from, float add)
{
    const float less = add - from->add;

    weight_rows(from, 0, from->rows, p);
    for (size_t i = 0; less != 0.0f && i < from->cols; i++)
        p[i] -= less;
}

/* The zeros of a sparse matrix p[n], or nothing while planning. */
static unsigned char *
mask_zeros(const float *p, size_t n, struct arena *a)
{
    unsigned char *mask = arena_alloc(a, (n + 7) / 8, 1);

    for (size_t i = 0; mask != NULL && i < n; i++)
        if (p[i] != 0.0f)
            mask[i / 8] |= (unsigned char)(1u << i % 8);
    return mask;
}

/* Parameters and gradients of one group: nw tensors one after another.  While
 * planning only the sizes are worked out.  room: what g is when the sums are
 * bf16, else NULL. */
static void
group(struct group *g, struct weight *to, const struct weight *from, size_t nw,
    const struct config *c, enum dtype grads, float *room, struct arena *a)
{
    const int block = nw == W_N;
    const float norm = from->rows == 1 ? family_norm_add(c, -1) : 0.0f;

    g->n = 0;
    for (size_t k = 0; k < nw; k++) {
        g->at[k] = g->n;
        g->n += from[k].rows * from[k].cols;
    }
    g->p = arena_alloc(a, g->n, sizeof *g->p);
    g->g = room;
    if (grads == DT_BF16)
        g->half = arena_alloc(a, g->n, sizeof *g->half);
    else
        g->g = arena_alloc(a, g->n, sizeof *g->g);
    if (g->p == NULL)
        return;
    for (size_t k = 0; k < nw; k++) {
        const float add = block ? family_norm_add(c, (int)k) : norm;

        if (from[k].data != NULL)
            fill(g->p + g->at[k], &from[k], add);
        view(&to[k], g->p + g->at[k], &from[k], add);
    }
}

/* Parameters of the largest block. */
static size_t
widest_block(const struct model *m)
{
    size_t most = 0;

    for (size_t i = 0; i < m->c.L; i++) {
        size_t n = 0;

        for (int k = 0; k < W_N; k++)
            n += m->block[i].w[k].rows * m->block[i].w[k].cols;
        most = n > most ? n : most;
    }
    return most;
}

static void
layout(struct tmodel *t, const struct model *from, enum dtype grads,
    struct arena *a)
{
    const size_t L = from->c.L;
    float *room = NULL;

    if (grads == DT_BF16)
        room = arena_alloc(a, widest_block(from), sizeof *room);
    for (size_t i = 0; i < L; i++) {
        struct group *g = &t->group[i];

        group(g, t->m.block[i].w, from->block[i].w, W_N, &from->c, grads, room,
            a);
        for (int k = 0; k < W_N; k++)
            if (from->block[i].sparse >> k & 1)
                g->mask[k] = mask_zeros(g->p + g->at[k],
                    from->block[i].w[k].rows * from->block[i].w[k].cols, a);
    }
    group(&t->group[L], &t->m.embed, &from->embed, 1, &from->c, DT_F32, NULL,
        a);
    group(&t->group[L + 1], &t->m.norm, &from->norm, 1, &from->c, DT_F32, NULL,
        a);
    if (!from->c.tied)
        group(&t->group[L + 2], &t->m.head, &from->head, 1, &from->c, DT_F32,
            NULL, a);
    else
        t->m.head = t->m.embed;
}

size_t
tmodel_grad_bytes(const struct tmodel *t)
{
    size_t n = t->group[0].half != NULL ? widest_block(&t->m) * 4 : 0;

    for (size_t i = 0; i < t->ngroup; i++)
        n += t->group[i].n * (t->group[i].half != NULL ? 2 : 4);
    return n;
}

size_t
group_mask_bytes(const struct group *g, int k)
{
    const size_t end = k + 1 < W_N ? g->at[k + 1] : g->n;

    return g->mask[k] != NULL ? (end - g->at[k] + 7) / 8 : 0;
}

size_t
tmodel_mask_bytes(const struct tmodel *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->m.c.L; i++)
        for (int k = 0; k < W_N; k++)
            n += group_mask_bytes(&t->group[i], k);
    return n;
}

int
tmodel_init(struct tmodel *t, const struct model *from, struct err *e)
{
    return tmodel_init_as(t, from, DT_F32, e);
}

int
tmodel_init_as(struct tmodel *t, const struct model *from, enum dtype grads,
    struct err *e)
{
    const size_t L = from->c.L;
    struct arena plan;

    (void)e; /* memory alone can fail, and that dies */
    memset(t, 0, sizeof *t);
    t->ngroup = L + 3;
    t->group = xcalloc(t->ngroup, sizeof *t->group);
    t->m.c = from->c;
    t->m.path = from->path != NULL ? xstrdup(from->path) : NULL;
    t->m.block = xcalloc(L, sizeof *t->m.block);
    for (size_t i = 0; i < L; i++) {
        t->m.block[i].groups = from->block[i].groups;
        t->m.block[i].mlp = from->block[i].mlp;
        t->m.block[i].source = from->block[i].source;
        t->m.block[i].sparse = from->block[i].sparse;
    }
    arena_plan(&plan);
    layout(t, from, grads, &plan);
    arena_init(&t->arena, plan.used);
    layout(t, from, grads, &t->arena);
    for (size_t i = 0; i < t->ngroup; i++)
        t->nparam += t->group[i].n;
    return 0;
}

void
tmodel_layout(struct tmodel *t, const struct config *c,
    const struct block_shape *shape, enum dtype grads)
{
    const struct weight matrix = { .rows = c->V, .cols = c->d };
    struct model m = { .c = *c, .embed = matrix, .head = matrix };

    m.norm = (struct weight){ .rows = 1, .cols = c->d };
    m.block = xcalloc(c->L, sizeof *m.block);
    for (size_t i = 0; i < c->L; i++) {
        struct block *b = &m.block[i];

        b->groups = shape != NULL ? shape[i].groups : c->KV;
        b->mlp = shape != NULL ? shape[i].mlp : c->mlp;
        b->source = i;
        for (int k = 0; k < W_N; k++)
            block_dims(c, k, shape != NULL ? &shape[i] : NULL, &b->w[k].rows,
                &b->w[k].cols);
    }
    tmodel_init_as(t, &m, grads, NULL);
    free(m.block);
}

void
tmodel_place(struct tmodel *t, size_t group, float *p)
{
    const size_t L = t->m.c.L, nw = group < L ? W_N : 1;
    struct group *g = &t->group[group];
    struct weight *w = group < L ? t->m.block[group].w
        : group == L             ? &t->m.embed
        : group == L + 1         ? &t->m.norm
                                 : &t->m.head;

    g->p = p;
    for (size_t k = 0; k < nw; k++)
        w[k].data = (const unsigned char *)(p + g->at[k]);
    if (group == L && t->m.c.tied)
        t->m.head = t->m.embed;
}

void
tmodel_release(struct tmodel *t)
{
    arena_release(&t->arena);
    free(t->group);
    free(t->m.block);
    free(t->m.path);
    memset(t, 0, sizeof *t);
}

void
tmodel_zero_grad(struct tmodel *t)
{
    for (size_t i = 0; i < t->ngroup; i++) {
        if (t->group[i].half != NULL)
            memset(t->group[i].half, 0, t->group[i].n * sizeof(uint16_t));
        else if (t->group[i].n > 0)
            memset(t->group[i].g, 0, t->group[i].n * sizeof(float));
    }
}
