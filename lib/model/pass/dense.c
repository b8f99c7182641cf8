/* The gated MLP, a feed-forward: down (act(gate x) * up x); see run.h. */
#include "kern/kern.h"
#include "model/pass/backward_block.h"
#include "model/pass/experts.h"

#include <string.h>

static int
dense_has(const struct config *c, const struct block_shape *b)
{
    return b->mlp > 0 && block_tensor_name(c, W_GATE) != NULL;
}

static void
dense_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    (void)c;
    raise_to(&w->gate, b->mlp);
    raise_to(&w->up, b->mlp);
}

static void
glu_row(struct run *u, const struct run_row *r)
{
    const size_t n = u->b->mlp, at = r->at * n;

    (u->f->family->gemma ? kern.gelu_mul : kern.silu_mul)(u->act + at,
        u->a.gate + at, u->a.up + at, n);
    if (u->scale != NULL)
        kern.mul(u->act + at, u->scale, n);
}

static void
dense_forward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const int alone = u->b->experts == 0;
    const struct product wide[] = { { W_GATE, in->xn, u->a.gate, n, NULL },
        { W_UP, in->xn, u->a.up, n, NULL } };
    const struct product down = { W_DOWN, u->act, in->out, d, NULL };

    if (alone)
        show_input(u, in, FWD_MLP, in->xn, d);
    stage_products(u, in, wide, 2, "forward gate, up")->glu = 1;
    stage_rows(u, in, glu_row, "forward silu", 3 * n)->exps = n;
    if (alone)
        show_input(u, in, FWD_DOWN, u->act, n);
    stage_products(u, in, &down, 1, "forward down");
}

/* Backward through the gate of the shared expert, for row `at`: act [mlp] and
 * the gradient there, dact, are multiplied by the gate. */
static void
shared_gate(struct run *u, const struct run_row *r, float *act, float *dact)
{
    const struct experts_grads *g = u->g->room[ROOM_EXPERTS];
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const float s =
        expert_shared_gate(u->vec[W_SHARED_GATE], r->in->xn + r->at * d, d);

    g->dshared[r->at] = (float)(kern.dot(dact, act, n) * s * (1.0f - s));
    kern.scale(act, s, n);
    kern.scale(dact, s, n);
}

/* Replace gate and up by the gradients at them, and the gradient at act by
 * act. */
static void
glu_row_back(struct run *u, const struct run_row *r)
{
    const size_t n = u->b->mlp;
    const int gelu = u->f->family->gemma;
    float *row = u->g->row + r->worker * u->g->widest;
    float *gate = u->a.gate + r->at * n, *up = u->a.up + r->at * n;
    float *act = u->act + r->at * n;

    (gelu ? kern.gelu_mul : kern.silu_mul)(row, gate, up, n);
    if (u->vec[W_SHARED_GATE] != NULL)
        shared_gate(u, r, row, act);
    (gelu ? kern.gelu_mul_bwd : kern.silu_mul_bwd)(gate, up, act, gate, up, n);
    memcpy(act, row, n * sizeof *row);
}

static void
dense_backward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const struct product down = { W_DOWN, u->act, in->d.out, d, u->act };
    const struct product wide[] = { { W_GATE, in->xn, u->a.gate, n, in->d.xn },
        { W_UP, in->xn, u->a.up, n, in->d.xn } };

    stage_back(u, in, &down, 1, "backward down");
    stage_rows(u, in, glu_row_back, "backward silu", 6 * n)->exps = 2 * n;
    stage_back(u, in, wide, 2, "backward gate, up");
}

const struct part part_dense = { dense_has, dense_widths, NULL, NULL,
    dense_forward, dense_backward };
