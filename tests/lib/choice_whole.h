/* The choice of all parts of a model. */
#ifndef TESTS_LIB_CHOICE_WHOLE_H
#define TESTS_LIB_CHOICE_WHOLE_H

#include "base/mem.h"
#include "prune/choice.h"

static inline void
choice_whole(struct choice *c, const struct model *m)
{
    c->n = m->c.L;
    c->b = xcalloc(c->n, sizeof *c->b);
    for (size_t i = 0; i < c->n; i++)
        c->b[i] = (struct choice_block){ .block = i,
            .ngroups = m->block[i].groups,
            .nchan = m->block[i].mlp };
}

#endif
