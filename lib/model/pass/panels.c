/* Copies of blocks' matrices in bfloat16, in the order in which products read
 * them; see panels.h. */
#include "model/pass/panels.h"
#include "base/profile.h"
#include "model/pass/forward_impl.h"

#include <string.h>

enum { COLUMNS = 4 * PACKED_COLUMNS }; /* columns of a task */

static const uint64_t multiplied = W_BIT(W_Q) | W_BIT(W_K) | W_BIT(W_V) |
    W_BIT(W_O) | W_BIT(W_GATE) | W_BIT(W_UP) | W_BIT(W_DOWN) |
    W_BIT(W_DELTA_MIX) | W_BIT(W_DELTA_Z) | W_BIT(W_DELTA_OUT) |
    W_BIT(W_MLA_QA) | W_BIT(W_MLA_QB) | W_BIT(W_MLA_KVA) | W_BIT(W_MLA_KVB) |
    W_BIT(W_SHORT_IN) | W_BIT(W_SHORT_OUT);

/* Is a matrix in memory as numbers that kern.pack reads? */
static int
is_plain(const struct weight *w)
{
    return weight_f32(w) != NULL || weight_halves(w, 0) != NULL;
}

/* Columns and depth of the factor that w is. */
static size_t
way_columns(const struct weight *w, int way)
{
    return way == PANELS_OUT ? w->rows : w->cols;
}

static size_t
way_depth(const struct weight *w, int way)
{
    return way == PANELS_OUT ? w->cols : w->rows;
}

/* Can a thread lay out w?  A matrix of another type is widened first, all of
 * its depth for PACKED_COLUMNS columns at least. */
static int
can_lay(const struct weight *w, int way)
{
    return w->rows > 0 && w->data != NULL &&
        (is_plain(w) ||
            (way == PANELS_OUT && PACKED_COLUMNS * w->cols <= WEIGHT_PIECE));
}

size_t
panels_bytes(const struct weight *w, int way, int k)
{
    return (multiplied & W_BIT(k)) && w->rows > 0
        ? kern.packed_bytes(way_columns(w, way), way_depth(w, way))
        : 0;
}

/* The bytes that block i takes, or (i = L) the largest matrix k of any. */
static size_t
room_bytes(const struct model *m, size_t i, int way, int k)
{
    size_t most = 0;

    if (i < m->c.L)
        return panels_bytes(&m->block[i].w[k], way, k);
    while (i-- > 0) {
        const size_t n = panels_bytes(&m->block[i].w[k], way, k);

        most = n > most ? n : most;
    }
    return most;
}

static void
lay(struct block_panels *p, const struct model *m, struct arena *a)
{
    const size_t n = p->slots * (size_t)p->ways;

    p->at = arena_alloc(a, n * W_N, sizeof *p->at);
    p->laid = arena_alloc(a, n, sizeof *p->laid);
    for (size_t s = 0; s < p->slots; s++)
        for (size_t k = 0; k < (size_t)p->ways * W_N; k++) {
            const size_t bytes = room_bytes(m, p->slots > 1 ? s : m->c.L,
                (int)(k / W_N), (int)(k % W_N));
            void *room = bytes > 0 ? arena_alloc(a, bytes, 1) : NULL;

            if (p->at != NULL)
                p->at[s * (size_t)p->ways * W_N + k] = room;
        }
}

void
panels_init(struct fwd *f, int ways, int all)
{
    struct block_panels *p = &f->panels;
    struct arena plan;

    panels_release(f);
    memset(p, 0, sizeof *p);
    if (kern.pack == NULL || f->B * f->T < PANELS_ROWS)
        return;
    p->ways = ways;
    p->slots = all ? f->m->c.L : 1;
    arena_plan(&plan);
    lay(p, f->m, &plan);
    arena_init(&p->arena, plan.used);
    lay(p, f->m, &p->arena);
}

void
panels_release(struct fwd *f)
{
    arena_release(&f->panels.arena);
}

static size_t
slot(const struct block_panels *p, size_t i)
{
    return p->slots > 1 ? i : 0;
}

/* The entry of block i for a way. */
static size_t
entry(const struct block_panels *p, size_t i, int way)
{
    return slot(p, i) * (size_t)p->ways + (size_t)way;
}

int
panels_have(const struct fwd *f, size_t i, int way, int k)
{
    const struct block_panels *p = &f->panels;

    return kern.pack != NULL && way < p->ways &&
        (p->laid[entry(p, i, way)] & W_BIT(k)) != 0;
}

static void *
room_of(const struct block_panels *p, size_t i, int way, int k)
{
    return p->at[entry(p, i, way) * W_N + (size_t)k];
}

struct fill_job {
    struct fwd *f;
    size_t i;
    struct {
        int way, k;
        size_t columns, first; /* of a task; the first task */
    } of[PANELS_WAYS * W_N];
    size_t n, tasks;
};

static void
lay_columns(const struct fill_job *j, int way, int k, size_t j0, size_t n,
    size_t worker)
{
    const struct weight *w = &j->f->m->block[j->i].w[k];
    const size_t depth = way_depth(w, way);
    const float *p = weight_f32(w);
    const unsigned char *half = weight_halves(w, 0);
    const size_t ld = p != NULL ? w->cols : w->stride / 2;
    const size_t across = way == PANELS_OUT ? ld : 1;
    const size_t along = way == PANELS_OUT ? 1 : ld;
    void *out = (unsigned char *)room_of(&j->f->panels, j->i, way, k) +
        kern.packed_bytes(j0, depth);

    if (p != NULL) {
        kern.pack(out, n, depth, p + j0 * across, 0, across, along);
    } else if (half != NULL) {
        kern.pack(out, n, depth, half + 2 * j0 * across, 1, across, along);
    } else {
        float *wide = j->f->wide[worker];

        weight_rows(w, j0, n, wide);
        kern.pack(out, n, depth, wide, 0, w->cols, 1);
    }
}

static void
fill_task(void *ctx, size_t task, size_t worker)
{
    const struct fill_job *j = ctx;
    const double t = profile_begin();
    const struct weight *w;
    size_t m = j->n - 1, j0, n;

    while (j->of[m].first > task)
        m--;
    w = &j->f->m->block[j->i].w[j->of[m].k];
    j0 = (task - j->of[m].first) * j->of[m].columns;
    n = way_columns(w, j->of[m].way) - j0;
    n = n < j->of[m].columns ? n : j->of[m].columns;
    lay_columns(j, j->of[m].way, j->of[m].k, j0, n, worker);
    profile_end("laying out weights", t, 0.0,
        6.0 * (double)(n * way_depth(w, j->of[m].way)));
}

/* Add the tasks of matrix k. */
static void
add_matrix(struct fill_job *j, const struct weight *w, int way, int k)
{
    const size_t room =
        WEIGHT_PIECE / w->cols / PACKED_COLUMNS * PACKED_COLUMNS;
    const size_t n = is_plain(w) || room > COLUMNS ? COLUMNS : room;

    j->of[j->n].way = way;
    j->of[j->n].k = k;
    j->of[j->n].columns = n;
    j->of[j->n++].first = j->tasks;
    j->tasks += (way_columns(w, way) + n - 1) / n;
}

void
panels_fill(struct fwd *f, size_t i, unsigned ways)
{
    struct block_panels *p = &f->panels;
    struct fill_job j = { .f = f, .i = i };

    if (kern.pack == NULL)
        return;
    if (p->slots == 1)
        memset(p->laid, 0, (size_t)p->ways * sizeof *p->laid);
    for (int way = 0; way < p->ways; way++)
        for (int k = 0; (ways >> way & 1) && k < W_N; k++) {
            const struct weight *w = &f->m->block[i].w[k];

            if (room_of(p, i, way, k) == NULL || panels_have(f, i, way, k) ||
                !can_lay(w, way))
                continue;
            add_matrix(&j, w, way, k);
            p->laid[entry(p, i, way)] |= W_BIT(k);
        }
    pool_run(f->pool, j.tasks, fill_task, &j);
}

struct kern_packed
panels_factor(const struct fwd *f, size_t i, int way, int k, size_t j0,
    size_t n, float *c, size_t ldc)
{
    const unsigned char *p = room_of(&f->panels, i, way, k);
    const size_t depth = way_depth(&f->m->block[i].w[k], way);

    return (struct kern_packed){ p + kern.packed_bytes(j0, depth), n, depth, c,
        ldc };
}
