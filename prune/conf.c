/* Configurations; see search.h. */
#include "hessian.h"
#include "profile.h"
#include "search.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void
conf_init(struct conf *c, const struct model *m)
{
    c->L = m->c.L;
    c->b = xcalloc(c->L, sizeof(*c->b));
    model_shape(m, c->b);
}

void
conf_copy(struct conf *to, const struct conf *c)
{
    to->L = c->L;
    to->b = xcalloc(c->L, sizeof(*to->b));
    memcpy(to->b, c->b, c->L * sizeof(*to->b));
}

void
conf_release(struct conf *c)
{
    free(c->b);
    memset(c, 0, sizeof(*c));
}

int
conf_has(const struct conf *c, size_t block)
{
    return c->b[block].groups + c->b[block].mlp > 0;
}

int
conf_equal(const struct conf *a, const struct conf *b)
{
    return a->L == b->L && memcmp(a->b, b->b, a->L * sizeof(*a->b)) == 0;
}

size_t
conf_blocks(const struct conf *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->L; i++)
        n += conf_has(c, i);
    return n;
}

size_t
conf_width(const struct conf *c)
{
    size_t w = 0;

    for (size_t i = 0; i < c->L; i++)
        w = c->b[i].mlp > w ? c->b[i].mlp : w;
    return w;
}

void
conf_text(const struct conf *c, struct buf *b)
{
    const size_t before = b->n;

    for (size_t i = 0; i < c->L; i++) {
        const size_t from = i;

        if (!conf_has(c, i))
            continue;
        while (i + 1 < c->L && conf_has(c, i + 1))
            i++;
        buf_addf(b, "%s%zu", b->n > before ? "," : "", from);
        if (i > from)
            buf_addf(b, "-%zu", i);
    }
}

/* ---- which ones ---- */

struct valued {
    double v;
    size_t i;
};

static int
falling(const void *x, const void *y)
{
    const struct valued *a = x, *b = y;

    if (a->v != b->v)
        return a->v > b->v ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static int
rising(const void *x, const void *y)
{
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;

    return a < b ? -1 : a > b;
}

void
rank_values(const double *v, size_t n, size_t *order)
{
    struct valued *r = xreallocarray(NULL, n, sizeof(*r));

    for (size_t i = 0; i < n; i++)
        r[i] = (struct valued){ v[i], i };
    qsort(r, n, sizeof(*r), falling);
    for (size_t i = 0; i < n; i++)
        order[i] = r[i].i;
    free(r);
}

struct rank *
ranks_new(const struct model *m)
{
    struct rank *r = xcalloc(m->c.L, sizeof(*r));

    for (size_t i = 0; i < m->c.L; i++) {
        const size_t g = m->block[i].groups, n = m->block[i].mlp;

        r[i].group = xcalloc(g, sizeof(size_t));
        r[i].chan = xcalloc(n, sizeof(size_t));
        r[i].group_energy = xcalloc(g + 1, sizeof(double));
        r[i].chan_energy = xcalloc(n + 1, sizeof(double));
    }
    return r;
}

struct rank *
ranks_copy(const struct rank *r, const struct model *m)
{
    struct rank *to = ranks_new(m);

    for (size_t i = 0; i < m->c.L; i++) {
        const size_t g = m->block[i].groups, n = m->block[i].mlp;

        memcpy(to[i].group, r[i].group, g * sizeof(size_t));
        memcpy(to[i].chan, r[i].chan, n * sizeof(size_t));
        memcpy(to[i].group_energy, r[i].group_energy, (g + 1) * sizeof(double));
        memcpy(to[i].chan_energy, r[i].chan_energy, (n + 1) * sizeof(double));
    }
    return to;
}

void
ranks_free(struct rank *r, size_t L)
{
    for (size_t i = 0; r != NULL && i < L; i++) {
        free(r[i].group);
        free(r[i].chan);
        free(r[i].group_energy);
        free(r[i].chan_energy);
    }
    free(r);
}

/* Order n by key, and sum what they add, v, over that of the stream. */
static void
order(const double *key, const double *v, size_t n, double stream, size_t *list,
    double *energy)
{
    rank_values(key, n, list);
    for (size_t i = 0; i < n; i++)
        energy[i + 1] = energy[i] + (stream > 0.0 ? v[list[i]] / stream : 0.0);
}

static double *
groups_of(const struct block *b, const double *o)
{
    const size_t per = b->groups > 0 ? b->w[W_O].cols / b->groups : 1;
    double *group = xcalloc(b->groups, sizeof(*group));

    for (size_t k = 0; k < b->groups * per; k++)
        group[k / per] += o[k];
    return group;
}

/* Of block i: by keys of the channels of o's and down's inputs, of which these
 * are the energies. */
static void
order_block(struct rank *r, const struct judge *j, size_t i,
    double *const key[2], double *const energy[2])
{
    const struct block *b = &j->m->block[i];
    const struct measured *m = &j->at[i];
    double *by = groups_of(b, key[0]), *group = groups_of(b, energy[0]);

    order(by, group, b->groups, m->before_o, r->group, r->group_energy);
    order(key[1], energy[1], b->mlp, m->before_mlp, r->chan, r->chan_energy);
    free(by);
    free(group);
}

void
ranks_energy(struct rank *r, const struct judge *j, const struct conf *c)
{
    for (size_t i = 0; i < c->L; i++)
        if (conf_has(c, i)) {
            double *v[] = { j->at[i].o, j->at[i].chan };

            order_block(&r[i], j, i, v, v);
        }
}

/* Energies of one input, as they would be of the calibration's tokens. */
static double *
profile_energy(const struct judge *j, const struct profile *p, size_t i,
    enum fwd_input input)
{
    const struct weight *w = &j->m->block[i].w[input == FWD_O ? W_O : W_DOWN];
    const double n = (double)p->tokens[CLASS_REST];
    double *v = xcalloc(w->cols, sizeof(*v));

    if (w->cols == 0)
        return v;
    profile_sum_sq(p, i, input, CLASS_REST, v);
    judge_weigh(w, v);
    for (size_t c = 0; c < w->cols; c++)
        v[c] *= n > 0.0 ? (double)j->c->ntok / n : 0.0;
    return v;
}

/* |gradient times weight| of the same channels. */
static double *
profile_key(const struct judge *j, const struct profile *p, size_t i,
    enum fwd_input input)
{
    double *v = xcalloc(input_width(j->m, i, input), sizeof(*v));

    profile_gradient(p, i, input, v);
    return v;
}

void
ranks_profile(struct rank *r, const struct judge *j, const struct profile *p,
    int gradient)
{
    static const enum fwd_input input[] = { FWD_O, FWD_DOWN };

    for (size_t i = 0; i < j->m->c.L; i++) {
        double *v[2], *key[2];

        for (size_t k = 0; k < 2; k++) {
            v[k] = profile_energy(j, p, i, input[k]);
            key[k] = gradient ? profile_key(j, p, i, input[k]) : v[k];
        }
        order_block(&r[i], j, i, key, v);
        for (size_t k = 0; k < 2; k++) {
            free(v[k]);
            if (gradient)
                free(key[k]);
        }
    }
}

/* The first n of the order, ascending. */
static size_t *
first_of(const size_t *list, size_t n)
{
    size_t *out = xcalloc(n, sizeof(*out));

    memcpy(out, list, n * sizeof(*out));
    qsort(out, n, sizeof(*out), rising);
    return out;
}

void
conf_choice(const struct conf *c, const struct model *m, const struct rank *r,
    struct choice *out)
{
    out->n = 0;
    out->b = xcalloc(c->L, sizeof(*out->b));
    for (size_t i = 0; i < c->L; i++) {
        const struct block_shape *s = &c->b[i];
        struct choice_block *b = &out->b[out->n];

        if (!conf_has(c, i))
            continue;
        b->block = i;
        choice_set_groups(b, first_of(r[i].group, s->groups), s->groups,
            m->block[i].groups);
        choice_set_channels(b, first_of(r[i].chan, s->mlp), s->mlp,
            m->block[i].mlp);
        out->n++;
    }
}
