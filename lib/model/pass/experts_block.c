/* Experts as part of a block, a feed-forward; see run.h and experts.h. */
#include "kern/kern.h"
#include "model/pass/backward_block.h"
#include "model/pass/dense.h"

#include <string.h>

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
    struct fwd *f = u->f;
    struct expert_rows r = { f->expert_row, 0, NULL, 0 };
    const size_t t0 = u->tile0 * u->c.tile, t1 = t0 + u->tiles * u->c.tile;

    show_input(u, in, FWD_MLP, in->xn, f->m->c.d);
    if (u->b->mlp > 0)
        dense_forward(u, in);
    run_stages(u);
    for (size_t k = 0; k < u->r->B; k++)
        for (size_t t = t0; t < t1; t++)
            if (row_live(u->r, k, t))
                f->expert_row[r.n++] = k * u->c.Tp + t;
    experts_forward(&f->experts, &b, &r, in->xn, u->a.route, u->b->mlp == 0,
        in->out);
}

/* Add to the gradient at in->xn what comes through the shared expert's gate. */
static void
add_shared(struct run *u, const struct branch *in, const struct expert_rows *r)
{
    const size_t d = u->f->m->c.d;

    for (size_t i = 0; i < r->n; i++)
        kern.axpy(in->d.xn + r->row[i] * d, u->g->dshared[r->row[i]],
            u->vec[W_SHARED_GATE], d);
}

/* Run the experts backward, some sequences at a time. */
static void
experts_back(struct run *u, const struct branch *in)
{
    const struct expert_block b = experts_of_run(u);
    const size_t E = u->b->experts;
    struct fwd *f = u->f;

    for (size_t k = 0, k0 = 0; k < u->r->B; k0 = k) {
        struct expert_rows r = { f->expert_row, 0, f->expert_seq, 0 };

        for (; k < u->r->B && r.n + u->r->T <= f->experts.tokens; k++) {
            for (size_t t = 0; t < u->r->T; t++)
                if (row_live(u->r, k, t))
                    f->expert_row[r.n++] = k * u->c.Tp + t;
            f->expert_seq[0] = 0;
            f->expert_seq[++r.nseq] = r.n;
        }
        experts_backward(&f->experts, &b, &r, in->xn, u->a.route, in->d.out,
            u->g->dp != NULL ? u->g->dp + k0 * E : NULL, in->d.xn, u->g->dz,
            u->g->group);
        if (b.shared != NULL)
            add_shared(u, in, &r);
    }
}

static void
experts_block_backward(struct run *u, const struct branch *in)
{
    const size_t E = u->b->experts, rows = u->r->B * u->c.Tp;

    if (u->b->mlp > 0)
        dense_backward(u, in);
    run_stages(u);
    if (u->b->mlp == 0)
        memset(in->d.xn, 0, rows * u->f->m->c.d * sizeof(float));
    memset(u->g->dz, 0, rows * E * sizeof(float));
    experts_back(u, in);
    sum_matrix(u, W_ROUTER, u->g->dz, E, in->xn);
    if (u->vec[W_SHARED_GATE] != NULL)
        sum_matrix(u, W_SHARED_GATE, u->g->dshared, 1, in->xn);
    if (u->vec[W_ROUTER_BIAS] != NULL)
        sum_bias(u, W_ROUTER_BIAS, u->g->dz, E);
}

const struct part part_experts = { experts_block_forward,
    experts_block_backward };
