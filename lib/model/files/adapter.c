/* Adapters: memory, initialisation and arithmetic; see adapter.h. */
#include "model/files/adapter.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "model/files/adapter_file.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "model/config/mla_config.h"
#include "model/files/open.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NORM_ROWS = 16 }; /* rows of W in a task of adapter_norms */

size_t
low_offset(const struct block *b, size_t k)
{
    size_t n = 0;

    for (size_t i = 0; i < k; i++)
        n += b->w[i].low != NULL ? b->w[i].low->rank : 0;
    return n;
}

size_t
low_width(const struct block *b)
{
    return low_offset(b, W_N);
}

size_t
low_widest(const struct model *m)
{
    size_t most = 0;

    for (size_t i = 0; i < m->c.L; i++) {
        const size_t n = low_width(&m->block[i]);

        most = n > most ? n : most;
    }
    return most;
}

void
low_down(const struct low_rank *l, size_t in, const float *x, size_t n,
    float *down, size_t ldd)
{
    if (n <= DOTS_MOST)
        kern.dots(n, l->rank, in, x, l->a, in, down, ldd);
    else
        kern.gemm_nt(n, l->rank, in, x, in, l->a, in, GEMM_SET, down, ldd);
    for (size_t t = 0; t < n; t++)
        kern.scale(down + t * ldd, l->scale, l->rank);
}

void
low_up(const struct low_rank *l, const float *down, size_t ldd, size_t n,
    size_t c0, size_t cols, float *y, size_t ldy)
{
    kern.gemm_nt(n, cols, l->rank, down, ldd, l->b + c0 * l->rank, l->rank,
        GEMM_ADD, y, ldy);
    for (size_t t = 0; t < n && l->by != NULL; t++)
        kern.mul(y + t * ldy, l->by + c0, cols);
}

void
low_embed(const struct weight *embed, size_t id, float *y)
{
    const struct low_rank *l = embed->low;

    for (size_t k = 0; l != NULL && k < l->rank; k++)
        kern.axpy(y, l->scale * l->b[id * l->rank + k], l->a + k * embed->cols,
            embed->cols);
}

/* The matrix whose rows come first in the stored tensor that has matrix k. */
static size_t
first_of(const struct model *m, size_t k)
{
    return (size_t)block_stored(&m->c, (int)k, 0).first;
}

static int
is_shared(const struct model *m, size_t k)
{
    return first_of(m, k) != k;
}

/* Lay out the numbers of block i; run twice, first to count. */
static void
lay_block(struct adapter *a, const struct model *m, size_t i,
    const size_t *rank, struct arena *arena)
{
    struct adapter_block *b = &a->block[i];

    b->n = 0;
    for (size_t k = 0; k < W_N; k++) {
        const struct weight *w = &m->block[i].w[k];
        const size_t r = rank[i * W_N + k];

        b->at[k] = b->n;
        b->n += r > 0 ? r * (w->cols + w->rows) + (a->dora ? w->rows : 0) : 0;
        a->unused += is_shared(m, k) ? r * w->cols : 0;
    }
    b->p = arena_alloc(arena, b->n, sizeof *b->p);
    for (size_t k = 0; k < W_N; k++) {
        const struct weight *w = &m->block[i].w[k];
        struct low_rank *l = &a->low[i * W_N + k];

        l->rank = rank[i * W_N + k];
        if (l->rank == 0)
            continue;
        if (a->dora)
            l->by = arena_alloc(arena, w->rows, sizeof *l->by);
        if (b->p == NULL)
            continue;
        l->a = is_shared(m, k) ? a->low[i * W_N + first_of(m, k)].a
                               : b->p + b->at[k];
        l->b = b->p + b->at[k] + l->rank * w->cols;
        l->m = a->dora ? l->b + l->rank * w->rows : NULL;
    }
}

void
adapter_alloc(struct adapter *a, const struct model *m, const size_t *rank,
    int dora)
{
    struct arena plan;

    memset(a, 0, sizeof *a);
    a->L = m->c.L;
    a->dora = dora;
    a->low = xcalloc(a->L * W_N, sizeof *a->low);
    a->block = xcalloc(a->L, sizeof *a->block);
    arena_plan(&plan);
    for (size_t i = 0; i < a->L; i++)
        lay_block(a, m, i, rank, &plan);
    a->unused = 0; /* lay_block counts it again */
    arena_init(&a->arena, plan.used > 0 ? plan.used : 1);
    for (size_t i = 0; i < a->L; i++)
        lay_block(a, m, i, rank, &a->arena);
}

void
adapter_close(struct adapter *a)
{
    arena_release(&a->arena);
    free(a->low);
    free(a->block);
    free(a->embed.a);
    free(a->embed.b);
    json_decref(a->config);
    if (a->map.p != NULL)
        io_unmap(&a->map);
    memset(a, 0, sizeof *a);
}

void
adapter_attach(const struct adapter *a, struct model *m)
{
    assert(a->L == m->c.L);
    for (size_t i = 0; i < a->L * W_N; i++)
        m->block[i / W_N].w[i % W_N].low =
            a->low[i].rank > 0 ? &a->low[i] : NULL;
    m->embed.low = a->embed.rank > 0 ? &a->embed : NULL;
}

size_t
adapter_params(const struct adapter *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->L; i++)
        n += a->block[i].n;
    return n - a->unused;
}

void
adapter_join(const struct adapter *a, const struct model *m, size_t i, float *g)
{
    const size_t *at = a->block[i].at;

    for (size_t k = 0; k < W_N; k++) {
        const size_t n = a->low[i * W_N + k].rank * m->block[i].w[k].cols;
        float *from = g + at[k], *to = g + at[first_of(m, k)];

        if (n == 0 || !is_shared(m, k))
            continue;
        kern.add(to, to, from, n);
        memset(from, 0, n * sizeof *from);
    }
}

/* ---- DoRA's factors ---- */

struct norm_job {
    const struct low_rank *l;
    const struct weight *w;
    float *room; /* [workers][NORM_ROWS,in] */
    int begin;   /* 1: first set the magnitudes to the rows' lengths */
};

static void
norm_task(void *ctx, size_t task, size_t worker)
{
    const struct norm_job *j = ctx;
    const struct low_rank *l = j->l;
    const size_t in = j->w->cols, r0 = task * NORM_ROWS;
    const size_t left = j->w->rows - r0;
    const size_t n = left < NORM_ROWS ? left : NORM_ROWS;
    float *w = j->room + worker * NORM_ROWS * in;

    weight_rows(j->w, r0, n, w);
    for (size_t i = 0; i < n; i++) {
        const float *b = l->b + (r0 + i) * l->rank;
        float length;

        for (size_t k = 0; k < l->rank; k++)
            kern.axpy(w + i * in, l->scale * b[k], l->a + k * in, in);
        length = (float)sqrt(kern.sumsq(w + i * in, in));
        if (j->begin)
            l->m[r0 + i] = length;
        l->by[r0 + i] = l->m[r0 + i] / length;
    }
}

/* Set the factors of all matrices.  begin 1: first set the magnitudes to the
 * lengths of the rows. */
static void
all_norms(struct adapter *a, const struct model *m, struct pool *pool,
    int begin)
{
    for (size_t i = 0; i < a->L * W_N; i++) {
        const size_t tasks =
            (m->block[i / W_N].w[i % W_N].rows + NORM_ROWS - 1) / NORM_ROWS;
        struct norm_job j = { &a->low[i], &m->block[i / W_N].w[i % W_N], NULL,
            begin };

        if (a->low[i].by == NULL)
            continue;
        j.room = xreallocarray(NULL,
            (pool != NULL ? pool_size(pool) : 1) * NORM_ROWS * j.w->cols,
            sizeof *j.room);
        for (size_t t = 0; t < tasks && pool == NULL; t++)
            norm_task(&j, t, 0);
        if (pool != NULL)
            pool_run(pool, tasks, norm_task, &j);
        free(j.room);
    }
}

void
adapter_norms(struct adapter *a, const struct model *m, struct pool *pool)
{
    all_norms(a, m, pool, 0);
}

/* ---- a new adapter ---- */

int
adapter_fits(const struct model *m, struct err *e)
{
    const struct model_source *s = m->own;
    const struct renamed *as = s != NULL ? s->as : NULL;

    if (as != NULL)
        return err_set(e, EX_USAGE,
            "adapters of a %s are not supported: convert the model first, "
            "which makes it a %s",
            as->type, as->is);
    if (config_has_mla(&m->c))
        return err_set(e, EX_USAGE,
            "adapters of the family %s are not supported", m->c.arch);
    return 0;
}

int
adapter_trains(const struct model *m, double dropout, struct err *e)
{
    if (family_of(&m->c)->fused && dropout > 0.0)
        return err_set(e, EX_USAGE,
            "the matrices of a %s that have one A would drop different inputs: "
            "train its adapter without lora_dropout",
            m->c.arch);
    return 0;
}

int
adapter_targets(const struct config *c, size_t k, const char *targets)
{
    size_t n;
    const char *name = adapter_module(c, k, &n);

    if (name == NULL || strcmp(targets, "all-linear") == 0)
        return name != NULL;
    for (const char *p = targets; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return 1;
    }
    return 0;
}

/* The names of the matrices of blocks: "q_proj,k_proj". */
static char *
target_names(const struct config *c)
{
    struct buf all = { 0 };

    for (size_t k = 0; k < W_N; k++) {
        size_t n, first = 0;
        const char *name = adapter_module(c, k, &n);
        char *word = name != NULL ? xasprintf("%.*s", (int)n, name) : NULL;

        while (word != NULL && !adapter_targets(c, first, word))
            first++;
        if (word != NULL && first == k)
            buf_addf(&all, "%s%s", all.n > 0 ? "," : "", word);
        free(word);
    }
    return all.p;
}

/* Check that each name in the list names a matrix of m's blocks. */
static int
check_targets(const struct model *m, const char *targets, struct err *e)
{
    char *list = xstrdup(targets), *save = NULL, *names = NULL;
    int r = 0;

    for (char *p = strtok_r(list, ",", &save); p != NULL && r == 0;
         p = strtok_r(NULL, ",", &save)) {
        size_t k = 0;

        while (k < W_N && !adapter_targets(&m->c, k, p))
            k++;
        if (k == W_N)
            r = err_set(e, EX_USAGE,
                "'%s' is no matrix of this model's blocks: take all-linear, or "
                "some of %s",
                p, names = target_names(&m->c));
    }
    free(names);
    free(list);
    return r;
}

/* Fill A of the i-th matrix as PyTorch's kaiming_uniform_(a = sqrt(5)) does. */
static void
fill_uniform(const struct low_rank *l, size_t in, uint64_t seed, size_t i)
{
    const uint64_t key = rng_key(rng_key(seed, 'A'), i);
    const double most = 1.0 / sqrt((double)in);

    for (size_t j = 0; j < l->rank * in; j++)
        l->a[j] = (float)((2.0 * rng_unit(key, j) - 1.0) * most);
}

int
adapter_new(struct adapter *a, const struct adapter_opt *o, struct model *m,
    struct pool *pool, struct err *e)
{
    const double r = (double)o->rank;
    size_t *rank;

    if (adapter_fits(m, e) < 0 || adapter_trains(m, o->dropout, e) < 0 ||
        check_targets(m, o->targets, e) < 0)
        return -1;
    rank = xcalloc(m->c.L * W_N, sizeof *rank);
    for (size_t i = 0; i < m->c.L * W_N; i++)
        if (m->block[i / W_N].w[i % W_N].rows > 0 &&
            adapter_targets(&m->c, i % W_N, o->targets))
            rank[i] = o->rank;
    adapter_alloc(a, m, rank, o->dora);
    free(rank);
    a->dropout = o->dropout;
    for (size_t i = 0; i < a->L * W_N; i++) {
        struct low_rank *l = &a->low[i];

        l->scale = (float)(o->alpha / (o->rs ? sqrt(r) : r));
        if (l->rank > 0 && !is_shared(m, i % W_N))
            fill_uniform(l, m->block[i / W_N].w[i % W_N].cols, o->seed, i);
    }
    all_norms(a, m, pool, 1);
    a->config = adapter_config(o, m);
    adapter_attach(a, m);
    return 0;
}
