/*
 * The gated short convolution of LFM2, a mixer (run.h).  W_SHORT_IN gives three
 * vectors b, c and x of each token; the output is
 *   W_SHORT_OUT (c * convolution(b * x))
 * with products of elements; conv.h has the convolution.
 */
#include "kern/kern.h"
#include "model/config/short_config.h"
#include "model/pass/backward_block.h"
#include "model/pass/conv.h"

#include <assert.h>
#include <string.h>

static int
short_has(const struct config *c, const struct block_shape *b)
{
    return b->linear && config_has_short(c);
}

static void
short_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    (void)b;
    raise_to(&w->qkv, 3 * c->d);
    raise_to(&w->att, c->d);
    raise_to(&w->gated, c->d);
}

/* The convolution's inputs b * x, f->room[ROOM_SHORT]. */
struct short_room {
    float *bx; /* [B,Tp,d] */
};

static void
short_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    struct short_room *s = room_make(&f->room[ROOM_SHORT], sizeof *s);

    (void)parts;
    conv_lay(f, a);
    s->bx = arena_alloc(a, rows * f->m->c.d, sizeof *s->bx);
}

static float *
inputs(const struct run *u)
{
    const struct short_room *s = u->f->room[ROOM_SHORT];

    return s->bx;
}

/* b * x of a row */
static void
short_input_row(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    const float *row = u->a.qkv + r->at * u->qkv;
    float *bx = inputs(u) + r->at * d;

    memcpy(bx, row, d * sizeof *bx);
    kern.mul(bx, row + 2 * d, d);
}

/* gated = c * att */
static void
short_gate(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    float *gated = u->f->gated + r->at * d;

    memcpy(gated, u->a.qkv + r->at * u->qkv + d, d * sizeof *gated);
    kern.mul(gated, u->a.att + r->at * d, d);
}

/* att = the convolution, 0 in rows of padding; then gated = c * att. */
static void
short_row(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    float *att = u->a.att + r->at * d;

    if (r->live)
        conv_row(u, r, att);
    else
        memset(att, 0, d * sizeof *att);
    short_gate(u, r);
}

static void
short_forward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d;
    const struct product wide = { W_SHORT_IN, in->xn, u->a.qkv, u->qkv, NULL };
    const struct product out = { W_SHORT_OUT, u->f->gated, in->out, d, NULL };

    conv_take(u, inputs(u), d);
    stage_products(u, in, &wide, 1, "forward qkv");
    stage_rows(u, in, short_input_row, "forward gate", 2 * d);
    conv_stage(u, in, short_row);
    stage_products(u, in, &out, 1, "forward o");
}

/* From datt, the gradient of gated, compute that of c, and let datt be that of
 * the convolution; compute gated and the convolution's inputs again. */
static void
short_row_back(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    float *datt = u->g->datt + r->at * d;
    float *dc = u->g->dqkv + r->at * u->qkv + d;

    memcpy(dc, datt, d * sizeof *dc);
    kern.mul(dc, u->a.att + r->at * d, d);
    kern.mul(datt, u->a.qkv + r->at * u->qkv + d, d);
    short_gate(u, r);
    short_input_row(u, r);
}

/* The gradients of b and x. */
static void
short_input_back(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    const float *row = u->a.qkv + r->at * u->qkv;
    float *db = u->g->dqkv + r->at * u->qkv, *dx = db + 2 * d;

    if (!r->live) {
        memset(db, 0, u->qkv * sizeof *db);
        return;
    }
    conv_back_row(u, r, u->g->datt, db);
    memcpy(dx, db, d * sizeof *dx);
    kern.mul(dx, row, d);
    kern.mul(db, row + 2 * d, d);
}

static void
short_backward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d;
    const struct product out = { W_SHORT_OUT, u->f->gated, in->d.out, d,
        u->g->datt };
    const struct product wide = { W_SHORT_IN, in->xn, u->g->dqkv, u->qkv,
        in->d.xn };

    assert(u->f->stem == NULL);
    conv_take(u, inputs(u), d);
    stage_back(u, in, &out, 1, "backward o");
    stage_rows(u, in, short_row_back, "backward gate", 6 * d);
    run_stages(u);
    conv_back_taps(u, u->g->datt);
    stage_rows(u, in, short_input_back, "backward convolution",
        (u->f->m->c.conv + 3) * d);
    stage_back(u, in, &wide, 1, "backward qkv");
}

const struct part part_short = { short_has, short_widths, short_lay, NULL,
    short_forward, short_backward };
