/* The experts of a block in its passes; see experts_block.h. */
#include "model/pass/experts_block.h"
#include "kern/kern.h"

#include <string.h>

static struct expert_block
experts_of_run(const struct run *u)
{
    return (struct expert_block){ u->b->w, u->vec[W_SHARED_GATE],
        u->vec[W_ROUTER_BIAS], u->vec[W_ROUTER_SHIFT], u->f->pool, u->f->wide,
        u->f->routed, u->f->routed_ctx, (size_t)(u->b - u->f->m->block) };
}

void
experts_block_forward(struct run *u)
{
    const struct expert_block b = experts_of_run(u);
    struct fwd *f = u->f;
    struct expert_rows r = { f->expert_row, 0, NULL, 0 };
    const size_t t0 = u->tile0 * u->c.tile, t1 = t0 + u->tiles * u->c.tile;

    for (size_t k = 0; k < u->r->B; k++)
        for (size_t t = t0; t < t1; t++)
            if (row_live(u->r, k, t))
                f->expert_row[r.n++] = k * u->c.Tp + t;
    experts_forward(&f->experts, &b, &r, f->xn, u->a.route, u->b->mlp == 0,
        f->out);
}

/* Add to dxn the gradient through the shared expert's gate. */
static void
add_shared(struct run *u, const struct expert_rows *r)
{
    const size_t d = u->f->m->c.d;

    for (size_t i = 0; i < r->n; i++)
        kern.axpy(u->g->dxn + r->row[i] * d, u->g->dshared[r->row[i]],
            u->vec[W_SHARED_GATE], d);
}

void
experts_block_backward(struct run *u)
{
    const struct expert_block b = experts_of_run(u);
    const size_t E = u->b->experts, d = u->f->m->c.d, B = u->r->B;
    struct fwd *f = u->f;

    if (u->b->mlp == 0)
        memset(u->g->dxn, 0, B * u->c.Tp * d * sizeof(float));
    memset(u->g->dz, 0, B * u->c.Tp * E * sizeof(float));
    for (size_t k = 0, k0 = 0; k < B; k0 = k) {
        struct expert_rows r = { f->expert_row, 0, f->expert_seq, 0 };

        for (; k < B && r.n + u->r->T <= f->experts.tokens; k++) {
            for (size_t t = 0; t < u->r->T; t++)
                if (row_live(u->r, k, t))
                    f->expert_row[r.n++] = k * u->c.Tp + t;
            f->expert_seq[0] = 0;
            f->expert_seq[++r.nseq] = r.n;
        }
        experts_backward(&f->experts, &b, &r, f->xn, u->a.route, u->g->ddown,
            u->g->dp != NULL ? u->g->dp + k0 * E : NULL, u->g->dxn, u->g->dz,
            u->g->group);
        if (b.shared != NULL)
            add_shared(u, &r);
    }
}
