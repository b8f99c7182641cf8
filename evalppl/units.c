/* Units and their sums; see units.h. */
#include "units.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

size_t
units_add(struct units *u, size_t source, uint64_t key)
{
    if (u->n == u->cap) {
        u->cap = u->cap > 0 ? 2 * u->cap : 1024;
        u->unit = xreallocarray(u->unit, u->cap, sizeof(*u->unit));
        u->sum = xreallocarray(u->sum, u->cap, u->models * sizeof(*u->sum));
    }
    u->unit[u->n] = (struct unit){ .key = key, .source = source };
    memset(units_sums(u, u->n, 0), 0, u->models * sizeof(*u->sum));
    return u->n++;
}

struct sums *
units_sums(const struct units *u, size_t unit, size_t model)
{
    return u->sum + unit * u->models + model;
}

int
units_count(const struct units *u, size_t unit, size_t source)
{
    return u->unit[unit].n > 0 &&
        (source == NONE || u->unit[unit].source == source);
}

size_t
units_of(const struct units *u, size_t source)
{
    size_t n = 0;

    for (size_t i = 0; i < u->n; i++)
        n += (size_t)units_count(u, i, source);
    return n;
}

/* Sort key that puts the units of one document together. */
struct unit_key {
    size_t source;
    uint64_t key;
    size_t at;
};

static int
unit_order(const void *x, const void *y)
{
    const struct unit_key *a = x, *b = y;

    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Add unit `from` to unit `to`, and empty `from`. */
static void
merge_pair(struct units *all, size_t to, size_t from)
{
    struct unit *const u = &all->unit[to], *const v = &all->unit[from];

    u->n += v->n;
    u->weight += v->weight;
    u->bytes += v->bytes;
    u->words += v->words;
    v->n = v->bytes = v->words = 0;
    v->weight = 0.0;
    for (size_t i = 0; i < all->models; i++) {
        struct sums *t = units_sums(all, to, i), *f = units_sums(all, from, i);

        for (int q = 0; q < Q_N; q++)
            t->v[q] += f->v[q];
        memset(f, 0, sizeof(*f));
    }
}

void
units_merge(struct units *u)
{
    struct unit_key *k = xreallocarray(NULL, u->n + 1, sizeof(*k));
    size_t first = 0;

    for (size_t i = 0; i < u->n; i++)
        k[i] = (struct unit_key){ u->unit[i].source, u->unit[i].key, i };
    qsort(k, u->n, sizeof(*k), unit_order);
    for (size_t i = 1; i < u->n; i++) {
        if (k[i].source != k[first].source || k[i].key != k[first].key)
            first = i;
        else
            merge_pair(u, k[first].at, k[i].at);
    }
    free(k);
}

void
units_release(struct units *u)
{
    free(u->unit);
    free(u->sum);
}
