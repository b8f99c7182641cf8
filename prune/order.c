/* The order of groups and channels: see order.h. */
#include "order.h"
#include "hessian.h"
#include "judge.h"
#include "profile_read.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct valued {
    double v;
    size_t i;
};

static int
by_falling_value(const void *x, const void *y)
{
    const struct valued *a = x, *b = y;

    if (a->v != b->v)
        return a->v > b->v ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static int
by_index(const void *x, const void *y)
{
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;

    return a < b ? -1 : a > b;
}

void
order_values(const double *v, size_t n, size_t *order)
{
    struct valued *r = xreallocarray(NULL, n, sizeof(*r));

    for (size_t i = 0; i < n; i++)
        r[i] = (struct valued){ v[i], i };
    qsort(r, n, sizeof(*r), by_falling_value);
    for (size_t i = 0; i < n; i++)
        order[i] = r[i].i;
    free(r);
}

struct order *
orders_new(const struct model *m)
{
    struct order *r = xcalloc(m->c.L, sizeof(*r));

    for (size_t i = 0; i < m->c.L; i++) {
        const size_t g = m->block[i].groups, n = m->block[i].mlp;

        r[i].group = xcalloc(g, sizeof(size_t));
        r[i].chan = xcalloc(n, sizeof(size_t));
        r[i].group_energy = xcalloc(g + 1, sizeof(double));
        r[i].chan_energy = xcalloc(n + 1, sizeof(double));
    }
    return r;
}

void
orders_free(struct order *r, size_t L)
{
    for (size_t i = 0; r != NULL && i < L; i++) {
        free(r[i].group);
        free(r[i].chan);
        free(r[i].group_energy);
        free(r[i].chan_energy);
    }
    free(r);
}

/* list [n] = indices by falling key; energy [n+1] = running sums of v in that
 * order, divided by `stream`. */
static void
sort_energies(const double *key, const double *v, size_t n, double stream,
    size_t *list, double *energy)
{
    order_values(key, n, list);
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

/* Order block i's KV groups by the sum of key[0] over the group's columns of o,
 * and its MLP channels by key[1].  energy: energies of the same columns and
 * channels. */
static void
order_block(struct order *r, const struct judge *j, size_t i,
    double *const key[2], double *const energy[2])
{
    const struct block *b = &j->m->block[i];
    const struct measured *m = &j->at[i];
    double *by = groups_of(b, key[0]), *group = groups_of(b, energy[0]);

    sort_energies(by, group, b->groups, m->before_o, r->group, r->group_energy);
    sort_energies(key[1], energy[1], b->mlp, m->before_mlp, r->chan,
        r->chan_energy);
    free(by);
    free(group);
}

void
orders_measured(struct order *r, const struct judge *j, const struct conf *c)
{
    for (size_t i = 0; i < c->L; i++)
        if (conf_has(c, i)) {
            double *v[] = { j->at[i].o, j->at[i].chan };

            order_block(&r[i], j, i, v, v);
        }
}

/* Energies of the channels of an input, from a profile's sums.  They are scaled
 * to the number of tokens of the calibration data. */
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

/* Sums of |gradient times weight| for the channels of an input. */
static double *
profile_key(const struct judge *j, const struct profile *p, size_t i,
    enum fwd_input input)
{
    double *v = xcalloc(input_width(j->m, i, input), sizeof(*v));

    profile_gradient(p, i, input, v);
    return v;
}

void
orders_profile(struct order *r, const struct judge *j, const struct profile *p,
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

/* The first n indices of the list, sorted; the caller frees them. */
static size_t *
first_sorted(const size_t *list, size_t n)
{
    size_t *out = xcalloc(n, sizeof(*out));

    memcpy(out, list, n * sizeof(*out));
    qsort(out, n, sizeof(*out), by_index);
    return out;
}

void
order_choice(const struct order *r, const struct conf *c, const struct model *m,
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
        choice_set_groups(b, first_sorted(r[i].group, s->groups), s->groups,
            m->block[i].groups);
        choice_set_channels(b, first_sorted(r[i].chan, s->mlp), s->mlp,
            m->block[i].mlp);
        out->n++;
    }
}
