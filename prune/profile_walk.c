/*
 * The walk of `prune profile`: all rows pass through a block before the next
 * block begins.  So memory holds the Hessians and the full range of bins of
 * only one block, but the residual stream of all tokens.
 */
#include "profile_walk.h"
#include "hess_walk.h"
#include "profile_write.h"
#include "base/note.h"
#include "base/profile.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "kern/kern.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 }; /* tokens of a task */

struct walk {
    struct hess_walk on;
    float *H[FWD_INPUTS];    /* Hessians of the present block, in all_H; NULL:
                              * none */
    float *mid;              /* [chunk,T,d] residual stream before the MLP */
    double (*turn)[TURNS];   /* [chunk*T] turns of each token */
    size_t *width;           /* [L,FWD_INPUTS] channels of each input */
    float *all_H;            /* memory for a block's Hessians; NULL: none */
    struct io_out out;       /* the file of Hessians */
    struct block_sums *sums; /* sums of the present block */
    int seen_mid;            /* mid was set for the present rows */
};

/* ---- angle between input and output of a block ---- */

/* 1 - cos of states x and y, given their dot product and their sums of squares
 * (ShortGPT, arXiv:2403.03853, eq. 1). */
static double
turn_of_sums(double xy, double xx, double yy)
{
    const double n = sqrt(xx * yy);

    return n > 0.0 ? 1.0 - xy / n : 0.0;
}

/* Argument of turn_task. */
struct turn_job {
    const struct walk *w;
    const struct rows *r;
    const float *x, *y; /* [B,T,d] input and output of the block */
};

static void
turn_task(void *ctx, size_t task, size_t worker)
{
    const struct turn_job *j = ctx;
    const double begin = profile_begin();
    const size_t d = j->w->on.m->c.d, n = j->r->B * j->r->T;
    const size_t end = (task + 1) * CHUNK < n ? (task + 1) * CHUNK : n;

    (void)worker;
    for (size_t t = task * CHUNK; t < end; t++) {
        const float *x = j->x + t * d, *y = j->y + t * d;
        const float *mid = j->w->seen_mid ? j->w->mid + t * d : y;
        const double xx = kern.sumsq(x, d), yy = kern.sumsq(y, d);
        const double mm = kern.sumsq(mid, d);
        double *turn = j->w->turn[t];

        turn[TURN_BLOCK] = turn_of_sums(kern.dot(x, y, d), xx, yy);
        turn[TURN_ATTN] = turn_of_sums(kern.dot(x, mid, d), xx, mm);
        turn[TURN_MLP] = turn_of_sums(kern.dot(mid, y, d), mm, yy);
        turn[NORM_IN] = sqrt(xx);
        turn[NORM_OUT] = sqrt(yy);
    }
    profile_end("turns of blocks", begin, 0.0, 0.0);
}

static void
add_turns(struct walk *w, const struct rows *r, const float *x)
{
    struct turn_job j = { w, r, x, w->on.y };
    const size_t n = r->B * r->T;

    pool_run(w->on.pool, (n + CHUNK - 1) / CHUNK, turn_task, &j);
    for (size_t t = 0; t < n; t++) {
        const int first = r->first[t] == t % r->T;

        for (size_t k = 0; k < TURNS && r->first[t] != UINT32_MAX; k++)
            w->sums->turn[first ? CLASS_FIRST : CLASS_REST][k] += w->turn[t][k];
    }
}

/* ---- a block ---- */

static void
tap_input(void *ctx, const struct fwd_tapped *t)
{
    struct walk *w = ctx;

    if (t->input == FWD_MLP) {
        memcpy(w->mid, t->stream,
            t->r->B * t->r->T * w->on.m->c.d * sizeof *w->mid);
        w->seen_mid = 1;
    }
    sums_tap(&w->sums->in[t->input], w->on.pool, t);
    if (w->all_H != NULL)
        hess_tap(w->on.pool, (struct hess_sum){ .f = w->H[t->input] }, t);
}

/* Finish the Hessians of the present block; returns the largest hess_off. */
static double
finish_hessians(const struct walk *w)
{
    double most = 0.0;

    for (size_t k = 0; k < FWD_INPUTS; k++) {
        hess_finish(w->on.pool, (struct hess_sum){ .f = w->H[k] },
            w->sums->in[k].n);
        most = fmax(most, hess_off(w->H[k], &w->sums->in[k]));
    }
    return most;
}

static void
begin_block(struct walk *w, struct profile_sums *s, size_t i)
{
    const size_t *n = w->width + i * FWD_INPUTS;
    float *h = w->all_H;

    w->sums = &s->b[i];
    if (h != NULL)
        memset(h, 0, hess_floats(n) * sizeof *h);
    for (size_t k = 0; k < FWD_INPUTS; k++) {
        sums_init(&w->sums->in[k], n[k]);
        w->H[k] = h;
        if (h != NULL)
            h += n[k] * n[k];
    }
}

/* Finish the Hessians of block i, and write them. */
static void
end_hessians(struct walk *w, struct profile_sums *s, size_t i, double tolerance)
{
    const double off = finish_hessians(w);
    struct err e;

    if (!(off <= tolerance))
        die(EX_NUM,
            "%s: block %zu: a Hessian's diagonal is off by %.2g from the sum "
            "of squares",
            w->on.m->path, i, off);
    s->hess_off = fmax(s->hess_off, off);
    if (io_out_write(&w->out, w->all_H,
            hess_floats(w->width + i * FWD_INPUTS) * sizeof(float), &e) < 0)
        die_err(&e);
}

static void
end_block(struct walk *w, struct profile_sums *s, size_t i, double tolerance)
{
    for (size_t k = 0; k < FWD_INPUTS; k++)
        if (!sums_finite(&w->sums->in[k]))
            die(EX_NUM, "%s: what %s of block %zu reads is not finite",
                w->on.m->path, profile_inputs[k], i);
    if (w->all_H != NULL)
        end_hessians(w, s, i, tolerance);
    for (size_t k = 0; k < FWD_INPUTS; k++)
        sums_trim(&w->sums->in[k]);
}

static void
profile_block(struct walk *w, struct profile_sums *s, size_t i,
    double tolerance)
{
    const size_t R = w->on.c->R, td = w->on.c->T * w->on.m->c.d;

    begin_block(w, s, i);
    for (size_t r0 = 0; r0 < R; r0 += w->on.chunk) {
        const struct rows r = calib_rows(w->on.c, r0, w->on.chunk);
        float *x = w->on.x + r0 * td;

        w->seen_mid = 0;
        fwd_block(w->on.f, i, &r, x, w->on.y);
        add_turns(w, &r, x);
        memcpy(x, w->on.y, r.B * td * sizeof *x);
        profile_step(r.B * r.T);
        progress_at((double)i + (double)(r0 + r.B) / (double)R, NULL);
    }
    end_block(w, s, i, tolerance);
}

/* ---- memory ---- */

/* Octaves that the values of an input are assumed to cover. */
enum { OCTAVES = 16 };

/* Number of floats in the largest block's Hessians. */
static size_t
most_floats(const struct walk *w)
{
    size_t most = 0;

    for (size_t i = 0; i < w->on.m->c.L; i++) {
        const size_t floats = hess_floats(w->width + i * FWD_INPUTS);

        most = floats > most ? floats : most;
    }
    return most;
}

/* Bytes of memory beside the model. */
static size_t
walk_bytes(const struct walk *w, int hessian)
{
    const size_t L = w->on.m->c.L, T = w->on.c->T;
    size_t bins = 0, stored = 0;

    for (size_t i = 0; i < L; i++) {
        const size_t *n = w->width + i * FWD_INPUTS;
        size_t all = 0;

        for (size_t k = 0; k < FWD_INPUTS; k++) {
            all += sums_bytes(n[k], SKETCH_BINS);
            stored += sums_bytes(n[k], OCTAVES * SKETCH_STEPS);
        }
        bins = all > bins ? all : bins;
    }
    return hess_walk_bytes(w->on.m, w->on.c) +
        w->on.chunk * T * (w->on.m->c.d * sizeof *w->mid + sizeof *w->turn) +
        fwd_bytes(w->on.f) + bins + stored +
        (hessian ? most_floats(w) * sizeof(float) : 0);
}

static void
refuse_walk(const struct walk *w, const struct walk_opt *o)
{
    const double need = (double)walk_bytes(w, o->hessian);

    if (need > (double)o->limit)
        die(EX_SYS,
            "%.1f MB are needed for %zu rows of %zu tokens%s and there are "
            "%.1f MB: use fewer --calib-rows, and --add for the parts",
            need * 1e-6, w->on.c->R, w->on.c->T,
            o->hessian ? " and one block's Hessians" : "",
            (double)o->limit * 1e-6);
    vnote("%.1f MB", need * 1e-6);
}

static void
walk_init(struct walk *w, const struct model *m, const struct calib *c,
    struct pool *pool)
{
    const size_t rows = calib_chunk(c) * c->T;

    memset(w, 0, sizeof *w);
    hess_walk_init(&w->on, m, c, pool);
    w->mid = xreallocarray(NULL, rows * m->c.d, sizeof *w->mid);
    w->turn = xreallocarray(NULL, rows, sizeof *w->turn);
    w->width = xcalloc(m->c.L * FWD_INPUTS, sizeof *w->width);
    for (size_t i = 0; i < m->c.L * FWD_INPUTS; i++)
        w->width[i] = input_width(m, i / FWD_INPUTS, i % FWD_INPUTS);
}

static void
count_tokens(struct profile_sums *s, const struct calib *c)
{
    s->rows = c->R;
    for (size_t t = 0; t < c->R * c->T; t++)
        s->tokens[CLASS_FIRST] += c->first[t] == t % c->T;
    s->tokens[CLASS_REST] = c->ntok - s->tokens[CLASS_FIRST];
    if (c->ntok > UINT32_MAX)
        die(EX_USAGE, "%zu tokens: at most 2^32 - 1 can be counted", c->ntok);
}

/* Begin the file of Hessians in folder dir. */
static void
begin_file(struct walk *w, const char *dir)
{
    char *path = xasprintf("%s/hessian.safetensors", dir);
    struct err e;

    w->all_H = xreallocarray(NULL, most_floats(w), sizeof *w->all_H);
    if (hess_out_begin(&w->out, path, w->width, w->on.m->c.L, &e) < 0)
        die_err(&e);
    free(path);
}

void
profile_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool, const struct walk_opt *o,
    const char *dir)
{
    struct walk w;
    struct err e;

    profile_sums_init(s, m->c.L);
    count_tokens(s, c);
    walk_init(&w, m, c, pool);
    refuse_walk(&w, o);
    if (o->hessian)
        begin_file(&w, dir);
    progress_begin("profiling", (double)m->c.L, "blocks");
    hess_walk_begin(&w.on);
    fwd_tap(w.on.f, tap_input, &w);
    for (size_t i = 0; i < m->c.L; i++)
        profile_block(&w, s, i, o->tolerance);
    if (o->hessian && io_out_commit(&w.out, &e) < 0)
        die_err(&e);
    progress_end();
    hess_walk_release(&w.on);
    free(w.all_H);
    free(w.mid);
    free(w.turn);
    free(w.width);
}
