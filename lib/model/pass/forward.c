/*
 * A model's forward pass, from ids to final states; see forward.h.  head.c goes
 * on from there to logits.
 *
 *     x = embedding of the ids
 *     for each block
 *         x = x + mixer(norm(x))           attention.c, mla.c, delta.c,
 *                                          short.c
 *         x = x + feed-forward(norm(x))    dense.c, plain.c, experts.c
 *     or, if the family's blocks are parallel
 *         x = x + mixer(norm(x)) + feed-forward(norm(x))
 *     final states = norm(x)
 *
 * The blocks of generation, whose rows have their keys and values in a cache,
 * are run by the same functions (decode/forward_kv.c).
 */
#include "model/pass/forward.h"
#include "kern/kern.h"
#include "model/files/fetch.h"
#include "model/pass/attention.h"
#include "model/pass/run.h"

#include <assert.h>
#include <string.h>

int
row_live(const struct rows *r, size_t b, size_t t)
{
    return t < r->T && r->first[b * r->T + t] != UINT32_MAX;
}

size_t
tile_live(const struct rows *r, size_t b, size_t t0, size_t n)
{
    while (n > 0 && !row_live(r, b, t0 + n - 1))
        n--;
    return n;
}

/* Rows of a batch, CHUNK of which are a task. */
struct rowjob {
    struct fwd *f;
    const struct rows *r;
    const float *x;
    float *y;
};

static void
by_chunks(struct rowjob *j, void (*fn)(void *, size_t, size_t))
{
    assert(j->r->B <= j->f->B && j->r->T <= j->f->T);
    pool_run(j->f->pool, (j->r->B * j->r->T + CHUNK - 1) / CHUNK, fn, j);
}

/* ---- the embedding ---- */

void
embed_id(const struct fwd *f, uint32_t id, size_t position, float *y)
{
    const struct weight *embed = &f->m->embed;

    weight_rows(embed, id, 1, y);
    low_embed(embed, id, y);
    if (f->embed_scale != 1.0f)
        kern.scale(y, f->embed_scale, f->m->c.d);
    if (f->positions == NULL)
        return;
    /* programs refuse longer rows: config_check_positions */
    assert(position < f->m->c.max_pos);
    kern.add(y, y, f->positions + position * f->m->c.d, f->m->c.d);
}

static void
embed_task(void *ctx, size_t task, size_t worker)
{
    const struct rowjob *j = ctx;
    const size_t d = j->f->m->c.d, n = j->r->B * j->r->T;
    const size_t end = (task + 1) * CHUNK < n ? (task + 1) * CHUNK : n;

    (void)worker;
    for (size_t t = task * CHUNK; t < end; t++)
        if (j->r->first[t] == UINT32_MAX)
            memset(j->y + t * d, 0, d * sizeof *j->y);
        else
            embed_id(j->f, j->r->ids[t],
                position(j->f, j->r, t / j->r->T, t % j->r->T), j->y + t * d);
}

void
fwd_embed(struct fwd *f, const struct rows *r, float *x)
{
    const size_t L = f->m->c.L;
    struct rowjob j = { f, r, NULL, x };

    fetch_now(f->m, L);
    fetch_next(f->m, 0);
    fill_vectors(f);
    by_chunks(&j, embed_task);
    fetch_done(f->m, L);
}

/* ---- a block ---- */

void
stream_norm(const struct fwd *f, float *y, const float *x, const float *w,
    const float *bias)
{
    const size_t d = f->m->c.d;
    const float eps = (float)f->m->c.eps;

    if (f->family->layer_norm)
        kern.layernorm(y, x, w, bias, d, eps);
    else
        kern.rmsnorm(y, x, w, d, eps);
}

void
branch_norm(struct run *u, const struct run_row *r)
{
    const struct branch *in = r->in;
    const size_t d = u->f->m->c.d;
    const float *norm = u->vec[in->norm], *x = in->x + r->tok * d;
    float *xn = in->xn + r->at * d;

    if (!r->live)
        memset(xn, 0, d * sizeof *xn);
    else if (norm != NULL)
        stream_norm(u->f, xn, x, norm, u->vec[in->norm_bias]);
    else
        memcpy(xn, x, d * sizeof *xn);
}

/* y = to + by * norm(output + bias); bias, norm and factor only where the
 * family has them. */
static void
branch_sum(struct run *u, const struct run_row *r)
{
    const struct branch *in = r->in;
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;
    const float by = factor_of(c->residual_scale);
    float *out = u->f->out + r->at * d, *y = in->y + r->tok * d;

    if (!r->live) {
        if (r->t < u->r->T)
            memset(y, 0, d * sizeof *y);
        return;
    }
    if (u->vec[in->bias] != NULL)
        kern.add(out, out, u->vec[in->bias], d);
    if (u->vec[in->after] != NULL)
        kern.rmsnorm(out, in->out + r->at * d, u->vec[in->after], d,
            (float)c->eps);
    if (by != 1.0f)
        kern.scale(out, by, d);
    kern.add(y, in->to + r->tok * d, out, d);
}

static void
branch_forward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d;

    stage_rows(u, in, branch_norm, "forward norm", 2 * d);
    in->part->forward(u, in);
    if (u->f->sum != NULL) { /* over the shares of a model */
        run_stages(u);
        u->f->sum(u->f->sum_ctx, u->f->out, u->r->B * u->c.Tp * d);
    }
    stage_rows(u, in, branch_sum, "forward add", 3 * d);
}

/* y = x, for a block without branches */
static void
pass_row(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;
    float *y = r->in->y + r->tok * d;

    if (!r->live && r->t < u->r->T)
        memset(y, 0, d * sizeof *y);
    else if (r->live && r->in->y != r->in->x)
        memcpy(y, r->in->x + r->tok * d, d * sizeof *y);
}

void
block_forward(struct run *u)
{
    if (u->mixer.part != NULL)
        branch_forward(u, &u->mixer);
    if (u->ffn.part != NULL)
        branch_forward(u, &u->ffn);
    if (u->mixer.part == NULL && u->ffn.part == NULL)
        stage_rows(u, &u->ffn, pass_row, "forward copy", 2 * u->f->m->c.d);
    run_stages(u);
}

void
fwd_block_part(struct fwd *f, size_t i, const struct rows *r, const float *x,
    float *y, const struct fwd_part *part)
{
    struct run u;

    block_now(f, i, 1 << PANELS_OUT);
    if (i + 1 < f->m->c.L)
        fetch_next(f->m, i + 1);
    run_init(&u, f, i, r, NULL);
    u.a = f->a;
    u.a.x2 = y;
    if (part != NULL) {
        u.mixer.part = part->no_attn ? NULL : u.mixer.part;
        u.ffn.part = part->no_mlp ? NULL : u.ffn.part;
        u.group = part->group;
        u.scale = part->chan;
    }
    run_streams(&u, x, y);
    block_forward(&u);
    fetch_done(f->m, i);
}

void
fwd_block(struct fwd *f, size_t i, const struct rows *r, const float *x,
    float *y)
{
    fwd_block_part(f, i, r, x, y, NULL);
}

/* ---- the final states ---- */

static void
norm_task(void *ctx, size_t task, size_t worker)
{
    const struct rowjob *j = ctx;
    const struct config *c = &j->f->m->c;
    const size_t n = j->r->B * j->r->T;
    const size_t end = (task + 1) * CHUNK < n ? (task + 1) * CHUNK : n;

    (void)worker;
    for (size_t t = task * CHUNK; t < end; t++) {
        if (j->r->first[t] == UINT32_MAX)
            memset(j->y + t * c->d, 0, c->d * sizeof *j->y);
        else
            stream_norm(j->f, j->y + t * c->d, j->x + t * c->d, j->f->norm,
                j->f->norm_bias);
    }
}

void
fwd_norm(struct fwd *f, const struct rows *r, const float *x, float *y)
{
    struct rowjob j = { f, r, x, y };

    by_chunks(&j, norm_task);
}

void
fwd_states(struct fwd *f, const struct rows *r, float *x)
{
    fwd_embed(f, r, x);
    for (size_t i = 0; i < f->m->c.L; i++)
        fwd_block(f, i, r, x, x);
    fwd_norm(f, r, x, x);
}
