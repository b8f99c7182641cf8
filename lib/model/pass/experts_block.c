/* Experts as part of a block, a feed-forward; see run.h and experts.h. */
#include "kern/kern.h"
#include "model/pass/backward_block.h"
#include "model/pass/dense.h"
#include "model/pass/experts.h"

#include <string.h>

static int
experts_has(const struct config *c, const struct block_shape *b)
{
    (void)c;
    return b->experts > 0;
}

static void
experts_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    part_dense.widths(c, b, w);
    raise_to(&w->route, b->experts);
}

/* Allocate room for AT_ONCE tokens, or a sequence if that is longer; more would
 * cost memory and gain nothing. */
static void
experts_room_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    enum { AT_ONCE = 1024 };
    const size_t most = f->T > AT_ONCE ? f->T : AT_ONCE, all = f->B * f->T;
    struct experts *x = room_make(&f->room[ROOM_EXPERTS], sizeof *x);

    (void)rows;
    experts_lay(x, &f->m->c, all < most ? all : most, parts & FWD_TRAIN, a);
    x->row = arena_alloc(a, all, sizeof *x->row);
    x->seq = arena_alloc(a, f->B + 1, sizeof *x->seq);
}

static void
experts_lay_back(struct grads *grads, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a)
{
    struct experts_grads *g = room_make(&grads->room[ROOM_EXPERTS], sizeof *g);

    (void)tokens;
    g->dz = arena_alloc(a, rows * f->m->c.router.n, sizeof(float));
    g->dshared = arena_alloc(a, rows, sizeof(float));
}

static struct expert_block
experts_of_run(const struct run *u)
{
    return (struct expert_block){ u->b->w, u->vec[W_SHARED_GATE],
        u->vec[W_ROUTER_BIAS], u->vec[W_ROUTER_SHIFT], u->f->pool, u->f->wide,
        u->f->routed, u->f->routed_ctx, u->i };
}

/* in->out = the shared expert's output, if there is one, plus the other
 * experts'.  The router's logits are kept in a.route. */
static void
experts_block_forward(struct run *u, const struct branch *in)
{
    const struct expert_block b = experts_of_run(u);
    struct experts *x = u->f->room[ROOM_EXPERTS];
    struct expert_rows r = { x->row, 0, NULL, 0 };
    const size_t t0 = u->tile0 * u->c.tile, t1 = t0 + u->tiles * u->c.tile;

    show_input(u, in, FWD_MLP, in->xn, u->f->m->c.d);
    if (u->b->mlp > 0)
        dense_forward(u, in);
    run_stages(u);
    for (size_t k = 0; k < u->r->B; k++)
        for (size_t t = t0; t < t1; t++)
            if (row_live(u->r, k, t))
                x->row[r.n++] = k * u->c.Tp + t;
    experts_forward(x, &b, &r, in->xn, u->a.route, u->b->mlp == 0, in->out);
}

/* Add to the gradient at in->xn what comes through the shared expert's gate. */
static void
add_shared(struct run *u, const struct branch *in, const struct expert_rows *r)
{
    const struct experts_grads *g = u->g->room[ROOM_EXPERTS];
    const size_t d = u->f->m->c.d;

    for (size_t i = 0; i < r->n; i++)
        kern.axpy(in->d.xn + r->row[i] * d, g->dshared[r->row[i]],
            u->vec[W_SHARED_GATE], d);
}

/* Run the experts backward, some sequences at a time. */
static void
experts_back(struct run *u, const struct branch *in)
{
    const struct expert_block b = experts_of_run(u);
    const struct experts_grads *g = u->g->room[ROOM_EXPERTS];
    const size_t E = u->b->experts;
    struct experts *x = u->f->room[ROOM_EXPERTS];

    for (size_t k = 0, k0 = 0; k < u->r->B; k0 = k) {
        struct expert_rows r = { x->row, 0, x->seq, 0 };

        for (; k < u->r->B && r.n + u->r->T <= x->tokens; k++) {
            for (size_t t = 0; t < u->r->T; t++)
                if (row_live(u->r, k, t))
                    x->row[r.n++] = k * u->c.Tp + t;
            x->seq[0] = 0;
            x->seq[++r.nseq] = r.n;
        }
        experts_backward(x, &b, &r, in->xn, u->a.route, in->d.out,
            u->g->dp != NULL ? u->g->dp + k0 * E : NULL, in->d.xn, g->dz,
            u->g->group);
        if (b.shared != NULL)
            add_shared(u, in, &r);
    }
}

static void
experts_block_backward(struct run *u, const struct branch *in)
{
    const struct experts_grads *g = u->g->room[ROOM_EXPERTS];
    const size_t E = u->b->experts, rows = u->r->B * u->c.Tp;

    if (u->b->mlp > 0)
        dense_backward(u, in);
    run_stages(u);
    if (u->b->mlp == 0)
        memset(in->d.xn, 0, rows * u->f->m->c.d * sizeof(float));
    memset(g->dz, 0, rows * E * sizeof(float));
    experts_back(u, in);
    sum_matrix(u, W_ROUTER, g->dz, E, in->xn);
    if (u->vec[W_SHARED_GATE] != NULL)
        sum_matrix(u, W_SHARED_GATE, g->dshared, 1, in->xn);
    if (u->vec[W_ROUTER_BIAS] != NULL)
        sum_bias(u, W_ROUTER_BIAS, g->dz, E);
}

const struct part part_experts = { experts_has, experts_widths,
    experts_room_lay, experts_lay_back, experts_block_forward,
    experts_block_backward };
