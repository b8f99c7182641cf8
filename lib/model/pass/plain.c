/*
 * The plain MLP, a feed-forward without a gate: down unit(up x + bias); see
 * run.h.  The unit is xIELU, whose numbers alpha_p and alpha_n are trained
 * (beta and eps get no gradient, so they stay), or GELU.
 */
#include "kern/kern.h"
#include "model/pass/backward_block.h"

#include <math.h>
#include <string.h>

enum { ALPHAS = 2 };

struct plain_grads {
    float *alpha; /* [B,Tp,ALPHAS] each token's term for alpha_p, alpha_n;
                   * NULL: the unit has no such numbers */
};

static int
plain_has(const struct config *c, const struct block_shape *b)
{
    return b->mlp > 0 && block_tensor_name(c, W_GATE) == NULL;
}

static void
plain_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    (void)c;
    raise_to(&w->up, b->mlp);
}

static void
plain_lay_back(struct grads *grads, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a)
{
    struct plain_grads *g = room_make(&grads->room[ROOM_PLAIN], sizeof *g);

    (void)tokens;
    if (block_tensor_name(&f->m->c, W_XIELU_P) != NULL)
        g->alpha = arena_alloc(a, rows * ALPHAS, sizeof(float));
}

static double
softplus(double x)
{
    return x > 30.0 ? x : log1p(exp(x));
}

static struct xielu
xielu_of(const struct run *u)
{
    const float beta = *u->vec[W_XIELU_BETA];

    return (struct xielu){ (float)softplus(*u->vec[W_XIELU_P]),
        (float)(beta + softplus(*u->vec[W_XIELU_N])), beta,
        *u->vec[W_XIELU_EPS] };
}

/* act [n] = the unit of x [n] */
static void
unit(const struct run *u, float *act, const float *x, size_t n)
{
    struct xielu how;

    if (u->vec[W_XIELU_P] == NULL) {
        kern.gelu(act, x, n, u->f->m->c.exact_gelu);
        return;
    }
    how = xielu_of(u);
    kern.xielu(act, x, n, &how);
}

/* dx [n] = the gradient of x [n], given dact [n], that of the unit; dx may be
 * x.  alpha [ALPHAS]: this token's terms for alpha_p and alpha_n. */
static void
unit_back(const struct run *u, float *dx, const float *dact, const float *x,
    size_t n, float *alpha)
{
    double sum[ALPHAS];
    struct xielu how;

    if (u->vec[W_XIELU_P] == NULL) {
        kern.gelu_bwd(dx, dact, x, n, u->f->m->c.exact_gelu);
        return;
    }
    how = xielu_of(u);
    kern.xielu_bwd(dx, dact, x, n, &how, sum);
    for (int i = 0; i < ALPHAS; i++) /* the slope of softplus */
        alpha[i] = (float)(sum[i] / (1.0 + exp(-*u->vec[W_XIELU_P + i])));
}

static void
plain_row(struct run *u, const struct run_row *r)
{
    const size_t n = u->b->mlp;
    float *up = u->a.up + r->at * n, *act = u->act + r->at * n;

    if (!r->live) { /* the unit of 0 is not 0 */
        memset(act, 0, n * sizeof *act);
        return;
    }
    if (u->vec[W_BUP] != NULL)
        kern.add(up, up, u->vec[W_BUP], n);
    unit(u, act, up, n);
    if (u->scale != NULL)
        kern.mul(act, u->scale, n);
}

static void
plain_forward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const struct product up = { W_UP, in->xn, u->a.up, n, NULL };
    const struct product down = { W_DOWN, u->act, in->out, d, NULL };

    show_input(u, in, FWD_MLP, in->xn, d);
    stage_products(u, in, &up, 1, "forward up");
    stage_rows(u, in, plain_row, "forward unit", 2 * n)->exps = n;
    show_input(u, in, FWD_DOWN, u->act, n);
    stage_products(u, in, &down, 1, "forward down");
}

/* Replace up by the gradient there, and the gradient at act by act. */
static void
plain_row_back(struct run *u, const struct run_row *r)
{
    const size_t n = u->b->mlp;
    float *row = u->g->row + r->worker * u->g->widest;
    float *up = u->a.up + r->at * n, *act = u->act + r->at * n;
    const struct plain_grads *g = u->g->room[ROOM_PLAIN];

    if (!r->live) {
        memset(up, 0, n * sizeof *up);
        memset(act, 0, n * sizeof *act);
        return;
    }
    unit(u, row, up, n);
    unit_back(u, up, act, up, n,
        g->alpha != NULL ? g->alpha + r->at * ALPHAS : NULL);
    memcpy(act, row, n * sizeof *row);
}

static void
plain_backward(struct run *u, const struct branch *in)
{
    const struct plain_grads *g = u->g->room[ROOM_PLAIN];
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const struct product down = { W_DOWN, u->act, in->d.out, d, u->act };
    const struct product up = { W_UP, in->xn, u->a.up, n, in->d.xn };

    stage_back(u, in, &down, 1, "backward down");
    stage_rows(u, in, plain_row_back, "backward unit", 5 * n)->exps = 2 * n;
    stage_back(u, in, &up, 1, "backward up");
    for (int i = 0; g->alpha != NULL && i < ALPHAS; i++)
        sum_bias(u, W_XIELU_P + i, g->alpha + i, ALPHAS);
    if (u->vec[W_BUP] != NULL)
        sum_bias(u, W_BUP, u->a.up, n);
}

const struct part part_plain = { plain_has, plain_widths, NULL, plain_lay_back,
    plain_forward, plain_backward };
