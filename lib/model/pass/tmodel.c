/* The trained model's parameters and gradients; see tmodel.h. */
#include "model/pass/tmodel.h"
#include "base/mem.h"
#include "model/files/adapter.h"
#include "model/config/delta_config.h"
#include "model/files/open.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Give *w the shape of `like`, the floats at p as its data, and `add`, a number
 * added to each of them when they are used. */
static void
view_weight(struct weight *w, float *p, const struct weight *like, float add)
{
    *w = (struct weight){ .data = (const unsigned char *)p,
        .dtype = DT_F32,
        .rows = like->rows,
        .cols = like->cols,
        .stride = like->cols * sizeof(float),
        .add = add };
}

/* Fill p with the values as Hugging Face stores them (`add` subtracted), so
 * that the numbers that are trained are those written to checkpoints. */
static void
fill_groups(float *p, const struct weight *from, float add)
{
    const float less = add - from->add;

    weight_rows(from, 0, from->rows, p);
    for (size_t i = 0; less != 0.0f && i < from->cols; i++)
        p[i] -= less;
}

/* Return a mask with a bit for each number of a sparse matrix p[n], 1 if the
 * number is not zero; NULL if the arena only counts bytes. */
static unsigned char *
mask_zeros(const float *p, size_t n, struct arena *a)
{
    unsigned char *mask = arena_alloc(a, (n + 7) / 8, 1);

    for (size_t i = 0; mask != NULL && i < n; i++)
        if (p[i] != 0.0f)
            mask[i / 8] |= (unsigned char)(1u << i % 8);
    return mask;
}

/* A tmodel under construction. */
struct building {
    struct tmodel *t;
    const struct model *from;
    enum dtype grads;
    struct arena *a; /* for p, g, masks; may be planning */
};

/* Allocate a group's gradient sums.  room: the shared buffer for g if the sums
 * are in part_g or half; else NULL. */
static void
alloc_gradients(const struct building *m, struct group *g, enum dtype grads,
    float *room)
{
    g->g = room;
    if (m->t->share.n > 1)
        g->part_g = arena_alloc(m->a, g->own, sizeof *g->part_g);
    else if (grads == DT_BF16)
        g->half = arena_alloc(m->a, g->n, sizeof *g->half);
    else
        g->g = arena_alloc(m->a, g->n, sizeof *g->g);
}

/* Copy the group's nw tensors to p, one after another.  p NULL: only set their
 * shapes. */
static void
copy_values(const struct group *g, struct weight *to, const struct weight *from,
    size_t nw, const struct config *c, float *p)
{
    const float norm = from->rows == 1 ? family_norm_add(c, -1) : 0.0f;

    for (size_t k = 0; k < nw; k++) {
        const float add = nw == W_N ? family_norm_add(c, (int)k) : norm;

        if (p != NULL && from[k].data != NULL)
            fill_groups(p + g->at[k], &from[k], add);
        if (p != NULL && nw == W_N && c->delta.tiled)
            delta_untile(c, (int)k, p + g->at[k], from[k].rows, from[k].cols);
        view_weight(&to[k], p != NULL ? p + g->at[k] : NULL, &from[k], add);
    }
}

/* Set the masks of block i's sparse matrices from the group's values at p. */
static void
masks(const struct building *m, size_t i, const float *p)
{
    const struct block *b = &m->from->block[i];
    struct group *g = &m->t->group[i];

    for (int k = 0; k < W_N; k++)
        if (b->sparse >> k & 1)
            g->mask[k] = mask_zeros(p != NULL ? p + g->at[k] : NULL,
                b->w[k].rows * b->w[k].cols, m->a);
}

/* Set which elements of group i this process keeps. */
static void
own_part(const struct tmodel *t, size_t i)
{
    const int staged = stages_any(&t->stages);
    const size_t rank = staged ? t->stages.rank : t->share.rank;
    const size_t n = staged ? t->stages.n : t->share.n;
    struct group *g = &t->group[i];

    g->first = n <= 1 ? 0 : tmodel_cut(t, i, rank, n);
    g->own = (n <= 1 ? g->n : tmodel_cut(t, i, rank + 1, n)) - g->first;
}

/* Is the group small, so that every process has all of it? */
static int
stays_whole(size_t L, size_t i)
{
    return i == L + OUTER_NORM || i > L + OUTER_HEAD;
}

/* Allocate and fill parameters and gradients of group i; while planning only
 * count them.  If this process keeps a part of the parameters, all are first
 * written to `room`, the shared buffer for gradients. */
static void
alloc_group(const struct building *m, size_t i, struct weight *to,
    const struct weight *from, float *room)
{
    const struct share *s = &m->t->share;
    const size_t L = m->from->c.L, nw = i < L ? W_N : 1;
    const int part = s->n > 1 && s->params && !stays_whole(L, i);
    struct group *g = &m->t->group[i];

    g->n = 0;
    for (size_t k = 0; k < W_N; k++) {
        g->at[k] = g->n;
        g->n += k < nw ? from[k].rows * from[k].cols : 0;
    }
    own_part(m->t, i);
    if (!tmodel_has(m->t, i)) {
        copy_values(g, to, from, nw, &m->from->c, NULL);
        return;
    }
    if (part)
        g->part_p = arena_alloc(m->a, g->own, sizeof *g->p);
    g->p = part ? room : arena_alloc(m->a, g->n, sizeof *g->p);
    alloc_gradients(m, g, i < L ? m->grads : DT_F32, room);
    if (g->p != NULL)
        copy_values(g, to, from, nw, &m->from->c, g->p);
    if (i < L)
        masks(m, i, g->p);
    if (part && g->p != NULL) {
        memcpy(g->part_p, g->p + g->first, g->own * sizeof *g->p);
        memset(g->p, 0, g->n * sizeof *g->p);
    }
}

/* The number of parameters of the largest block. */
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

enum { ROOMS_SHARED = 6 };

/* Allocate the shared gradient buffers: at[0] for blocks, at[1] for embedding
 * and head, at[2] for the norm, at[3] for its bias, at[4] for positions, at[5]
 * for the head's bias.  at[i] NULL: each of these groups has a g of its own. */
static void
alloc_rooms(const struct share *s, const struct model *from, enum dtype grads,
    struct arena *a, float *at[ROOMS_SHARED])
{
    const struct config *c = &from->c;
    const int shared = s->n > 1;
    const int bias = family_has_outer(c, OUTER_NORM_BIAS);
    const int learned = family_has_outer(c, OUTER_POSITIONS);
    const int head_bias = family_has_outer(c, OUTER_HEAD_BIAS);
    const size_t n[ROOMS_SHARED] = { shared || grads == DT_BF16
            ? widest_block(from)
            : 0,
        shared ? c->V * c->d : 0, shared ? c->d : 0, shared && bias ? c->d : 0,
        shared && learned ? c->max_pos * c->d : 0,
        shared && head_bias ? c->V : 0 };

    for (int i = 0; i < ROOMS_SHARED; i++)
        at[i] = n[i] > 0 ? arena_alloc(a, n[i], sizeof **at) : NULL;
}

static void
lay_tmodel(struct tmodel *t, const struct model *from, enum dtype grads,
    struct arena *a)
{
    const struct building m = { t, from, grads, a };
    const size_t L = from->c.L;
    float *room[ROOMS_SHARED];

    alloc_rooms(&t->share, from, grads, a, room);
    for (size_t i = 0; i < L; i++)
        alloc_group(&m, i, t->m.block[i].w, from->block[i].w, room[0]);
    alloc_group(&m, L, &t->m.embed, &from->embed, room[1]);
    alloc_group(&m, L + 1, &t->m.norm, &from->norm, room[2]);
    if (family_has_outer(&from->c, OUTER_NORM_BIAS))
        alloc_group(&m, L + OUTER_NORM_BIAS, &t->m.norm_bias, &from->norm_bias,
            room[3]);
    if (family_has_outer(&from->c, OUTER_POSITIONS))
        alloc_group(&m, L + OUTER_POSITIONS, &t->m.positions, &from->positions,
            room[4]);
    if (!from->c.tied)
        alloc_group(&m, L + 2, &t->m.head, &from->head, room[1]);
    else
        t->m.head = t->m.embed;
    if (family_has_outer(&from->c, OUTER_HEAD_BIAS))
        alloc_group(&m, L + OUTER_HEAD_BIAS, &t->m.head_bias, &from->head_bias,
            room[5]);
    model_set_bias(&t->m);
}

/* tmodel_cut if ranks each have a part of every group. */
static size_t
part_cut(const struct group *g, size_t r, size_t n)
{
    const size_t even = g->n / n * r + g->n % n * r / n;
    size_t k = 0, end, at;

    if (even >= g->n)
        return g->n;
    while (k + 1 < W_N && g->at[k + 1] <= even)
        k++;
    end = k + 1 < W_N ? g->at[k + 1] : g->n;
    at =
        g->at[k] + (even - g->at[k] + GROUP_SPAN - 1) / GROUP_SPAN * GROUP_SPAN;
    return at < end ? at : end;
}

/* Tensors of block i that have numbers, as W_BIT. */
static uint64_t
block_tensors(const struct model *m, size_t i)
{
    uint64_t all = 0;

    for (int k = 0; k < W_N; k++)
        all |= m->block[i].w[k].rows > 0 ? W_BIT(k) : 0;
    return all;
}

char *
tmodel_name(const struct config *c, size_t group, int t)
{
    return group < c->L
        ? xasprintf("%s%zu.%s", family_blocks(c), group,
              block_tensor_name(c, t))
        : xstrdup(family_outer_name(c, (enum outer_tensor)(group - c->L), 0));
}

void
tmodel_freeze(struct tmodel *t,
    double (*rate)(const void *ctx, const char *name), const void *ctx)
{
    const size_t L = t->m.c.L;

    for (size_t i = 0; i < t->ngroup; i++)
        for (int k = 0; k < (i < L ? W_N : 1); k++) {
            char *name;

            if (i < L && t->m.block[i].w[k].rows == 0)
                continue;
            name = tmodel_name(&t->m.c, i, k);
            if (rate(ctx, name) == 0.0)
                t->group[i].frozen |= W_BIT(k);
            free(name);
        }
    /* a rank of a stage knows only its own blocks */
    while (!stages_any(&t->stages) && t->group[L].frozen &&
        (L + OUTER_POSITIONS >= t->ngroup ||
            t->group[L + OUTER_POSITIONS].frozen) &&
        t->lowest < L &&
        t->group[t->lowest].frozen == block_tensors(&t->m, t->lowest))
        t->lowest++;
}

int
tmodel_has(const struct tmodel *t, size_t group)
{
    const struct pipeline *s = &t->stages;
    const size_t L = t->m.c.L;
    const int twice = (group == L && t->m.c.tied) || group == L + OUTER_NORM ||
        group == L + OUTER_NORM_BIAS || group == L + OUTER_HEAD_BIAS;

    return !stages_any(s) || s->rank == stages_owner(s, L, group) ||
        (twice && (s->rank == 0 || stages_last(s)));
}

size_t
tmodel_cut(const struct tmodel *t, size_t group, size_t r, size_t n)
{
    const struct group *g = &t->group[group];

    if (!stages_any(&t->stages))
        return part_cut(g, r, n);
    assert(n == t->stages.n);
    return r <= stages_owner(&t->stages, t->m.c.L, group) ? 0 : g->n;
}

float *
group_p(const struct group *g, size_t at)
{
    return g->part_p != NULL ? g->part_p + (at - g->first) : g->p + at;
}

float *
group_g(const struct group *g, size_t at)
{
    return g->part_g != NULL ? g->part_g + (at - g->first) : g->g + at;
}

size_t
tmodel_weight_bytes(const struct tmodel *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->ngroup; i++)
        if (tmodel_has(t, i))
            n += t->group[i].part_p != NULL ? t->group[i].own : t->group[i].n;
    return n * sizeof(float);
}

size_t
tmodel_grad_bytes(const struct tmodel *t)
{
    size_t n = t->group[0].half != NULL ? widest_block(&t->m) * 4 : 0;

    for (size_t i = 0; i < t->ngroup; i++) {
        const struct group *g = &t->group[i];

        if (tmodel_has(t, i))
            n += g->part_g != NULL ? 4 * g->own
                                   : (g->half != NULL ? 2 : 4) * g->n;
    }
    return n;
}

size_t
tmodel_room_bytes(const struct tmodel *t)
{
    struct arena plan;
    float *at[ROOMS_SHARED];

    arena_plan(&plan);
    alloc_rooms(&t->share, &t->m, DT_F32, &plan, at);
    return plan.used;
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

/* Blocks, embedding, norm, head (empty if it is tied), and other outer tensors
 * up to the last one that the model has. */
static size_t
group_count(const struct config *c)
{
    size_t n = OUTER_HEAD + 1;

    for (enum outer_tensor k = OUTER_EMBED; k < OUTER_N; k++)
        if (family_has_outer(c, k) && k + 1 > n)
            n = k + 1;
    return c->L + n;
}

static void
init(struct tmodel *t, const struct model *from, enum dtype grads,
    const struct share *share, const struct pipeline *stages)
{
    const size_t L = from->c.L;
    struct arena plan;

    memset(t, 0, sizeof *t);
    t->share = *share;
    t->stages = *stages;
    t->ngroup = group_count(&from->c);
    t->group = xcalloc(t->ngroup, sizeof *t->group);
    t->m.c = from->c;
    t->m.c.delta.tiled = 0;
    t->m.path = from->path != NULL ? xstrdup(from->path) : NULL;
    t->m.origin = json_incref(from->origin);
    t->m.block = xcalloc(L, sizeof *t->m.block);
    for (size_t i = 0; i < L; i++) {
        const struct block_shape is = block_shape(&from->block[i]);

        block_set_shape(&t->m.block[i], &is);
        t->m.block[i].sparse = from->block[i].sparse;
    }
    arena_plan(&plan);
    lay_tmodel(t, from, grads, &plan);
    arena_init(&t->arena, plan.used);
    lay_tmodel(t, from, grads, &t->arena);
    for (size_t i = 0; i < t->ngroup; i++)
        t->nparam += t->group[i].n;
}

/* Make the groups of an adapter: parameters are where the adapter has them. */
static void
lay_adapter(struct tmodel *t, struct arena *a)
{
    for (size_t i = 0; i < t->m.c.L; i++) {
        const struct adapter_block *b = &t->adapter->block[i];
        struct group *g = &t->group[i];

        g->p = b->p;
        g->n = g->own = b->n;
        memcpy(g->at, b->at, sizeof g->at);
        g->g = arena_alloc(a, g->n, sizeof *g->g);
    }
}

static const struct share whole = { 0, 1, 0 };
static const struct pipeline single = { 0, 1, 1 };

void
tmodel_init(struct tmodel *t, const struct model *from)
{
    init(t, from, DT_F32, &whole, &single);
}

void
tmodel_init_as(struct tmodel *t, const struct model *from, enum dtype grads)
{
    init(t, from, grads, &whole, &single);
}

void
tmodel_init_share(struct tmodel *t, const struct model *from,
    const struct share *share)
{
    init(t, from, DT_F32, share, &single);
}

void
tmodel_init_stages(struct tmodel *t, const struct model *from,
    const struct pipeline *stages)
{
    init(t, from, DT_F32, &whole, stages);
}

void
tmodel_init_adapter(struct tmodel *t, const struct model *from,
    struct adapter *a)
{
    const size_t L = from->c.L;
    struct arena plan;

    memset(t, 0, sizeof *t);
    t->share = whole;
    t->stages = single;
    t->adapter = a;
    t->ngroup = group_count(&from->c);
    t->group = xcalloc(t->ngroup, sizeof *t->group);
    t->m = *from;
    t->m.own = NULL;
    t->m.path = from->path != NULL ? xstrdup(from->path) : NULL;
    t->m.origin = json_incref(from->origin);
    t->m.block = xreallocarray(NULL, L, sizeof *t->m.block);
    memcpy(t->m.block, from->block, L * sizeof *t->m.block);
    arena_plan(&plan);
    lay_adapter(t, &plan);
    arena_init(&t->arena, plan.used);
    lay_adapter(t, &t->arena);
    t->nparam = adapter_params(a);
}

void
tmodel_layout(struct tmodel *t, const struct config *c,
    const struct block_shape *shape, enum dtype grads)
{
    const struct weight matrix = { .rows = c->V, .cols = c->d };
    struct model m = { .c = *c, .embed = matrix, .head = matrix };

    m.norm = (struct weight){ .rows = 1, .cols = c->d };
    if (family_has_outer(c, OUTER_NORM_BIAS))
        m.norm_bias = m.norm;
    if (family_has_outer(c, OUTER_POSITIONS))
        m.positions = (struct weight){ .rows = c->max_pos, .cols = c->d };
    if (family_has_outer(c, OUTER_HEAD_BIAS))
        m.head_bias = (struct weight){ .rows = 1, .cols = c->V };
    m.block = xcalloc(c->L, sizeof *m.block);
    for (size_t i = 0; i < c->L; i++) {
        struct block *b = &m.block[i];

        struct block_shape is =
            shape != NULL ? shape[i] : config_whole_block(c, i);

        is.source = i;
        block_set_shape(b, &is);
        for (int k = 0; k < W_N; k++)
            block_dims(c, k, &is, &b->w[k].rows, &b->w[k].cols);
    }
    init(t, &m, grads, &whole, &single);
    free(m.block);
}

void
tmodel_place(struct tmodel *t, size_t group, float *p)
{
    const size_t L = t->m.c.L, nw = group < L ? W_N : 1;
    struct group *g = &t->group[group];
    struct weight *const outer[OUTER_N] = { &t->m.embed, &t->m.norm, &t->m.head,
        &t->m.norm_bias, &t->m.positions, &t->m.head_bias };
    struct weight *w = group < L ? t->m.block[group].w : outer[group - L];

    g->p = p;
    for (size_t k = 0; k < nw; k++)
        w[k].data = (const unsigned char *)(p + g->at[k]);
    if (group == L && t->m.c.tied)
        t->m.head = t->m.embed;
    model_set_bias(&t->m);
}

void
tmodel_release(struct tmodel *t)
{
    arena_release(&t->arena);
    arena_release(&t->effective_arena);
    free(t->group);
    free(t->m.block);
    free(t->m.path);
    json_decref(t->m.origin);
    memset(t, 0, sizeof *t);
}

void
tmodel_zero_grad(struct tmodel *t)
{
    for (size_t i = 0; i < t->ngroup; i++) {
        const struct group *g = &t->group[i];

        if (g->half != NULL)
            memset(g->half, 0, g->n * sizeof *g->half);
        else if (g->part_g != NULL)
            memset(g->part_g, 0, g->own * sizeof *g->part_g);
        else if (g->n > 0 && tmodel_has(t, i))
            memset(g->g, 0, g->n * sizeof *g->g);
    }
}
