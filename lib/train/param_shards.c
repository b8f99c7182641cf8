/* Parameters that ranks have parts of; see param_shards.h. */
#include "train/param_shards.h"
#include "base/mem.h"
#include "dist/ahead.h"
#include "model/files/fetch.h"

#include <assert.h>
#include <stdlib.h>

struct param_shards {
    struct tmodel *t;
    struct ahead *ahead;
    struct fetch fetch;
};

static void
parts_now(void *ctx, size_t group)
{
    struct param_shards *p = ctx;

    tmodel_place(p->t, group, ahead_now(p->ahead, group));
}

static void
parts_next(void *ctx, size_t group)
{
    ahead_next(((struct param_shards *)ctx)->ahead, group);
}

static void
parts_done(void *ctx, size_t group)
{
    ahead_done(((struct param_shards *)ctx)->ahead, group);
}

struct param_shards *
param_shards_new(struct tmodel *t, const struct adamw *a,
    const struct dist_group *g)
{
    enum { BLOCK, EMBED, KINDS };
    static const size_t buffers[KINDS] = { [BLOCK] = 2, [EMBED] = 1 };
    struct ahead_array *array = xcalloc(t->ngroup, sizeof *array);
    struct param_shards *p = xcalloc(1, sizeof *p);

    assert(t->share.params && t->share.n == g->n && adamw_in_parts(a));
    for (size_t i = 0; i < t->ngroup; i++)
        if (t->group[i].part_p != NULL)
            array[i] = (struct ahead_array){ t->group[i].part_p,
                adamw_part(a, i), i < t->m.c.L ? BLOCK : EMBED };
    p->t = t;
    p->ahead = ahead_new(g, array, t->ngroup, sizeof(float), buffers, KINDS);
    p->fetch = (struct fetch){ parts_now, parts_next, parts_done, p };
    t->m.fetch = &p->fetch;
    free(array);
    return p;
}

void
param_shards_keep(struct param_shards *p, const struct dist_group *node)
{
    ahead_keep(p->ahead, node);
}

void
param_shards_free(struct param_shards *p)
{
    if (p == NULL)
        return;
    p->t->m.fetch = NULL;
    ahead_free(p->ahead);
    free(p);
}

size_t
param_shards_bytes(const struct param_shards *p)
{
    return p != NULL ? ahead_bytes(p->ahead) : 0;
}

void
param_shards_changed(struct param_shards *p)
{
    if (p != NULL)
        ahead_changed(p->ahead);
}
