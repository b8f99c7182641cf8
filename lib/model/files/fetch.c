/* Weights that are in memory only while they are read; see fetch.h. */
#include "model/files/fetch.h"

static int
fetched(const struct model *m, size_t group)
{
    return m->fetch != NULL && group != m->c.L + OUTER_NORM &&
        group <= m->c.L + OUTER_HEAD;
}

void
fetch_now(const struct model *m, size_t group)
{
    if (fetched(m, group))
        m->fetch->now(m->fetch->ctx, group);
}

void
fetch_next(const struct model *m, size_t group)
{
    if (fetched(m, group))
        m->fetch->next(m->fetch->ctx, group);
}

void
fetch_done(const struct model *m, size_t group)
{
    if (fetched(m, group))
        m->fetch->done(m->fetch->ctx, group);
}

size_t
fetch_head(const struct model *m)
{
    return m->c.L + (m->c.tied ? 0 : 2);
}

void
fetch_each(const struct model *m)
{
    const size_t L = m->c.L;

    for (size_t i = 0; i < L + 3; i++) {
        const size_t group = i == 0 ? L : i <= L ? i - 1 : i;

        if (group == L + 2 && m->c.tied)
            break;
        fetch_now(m, group);
        fetch_done(m, group);
    }
}
