/* Configurations: see conf.h. */
#include "conf.h"

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
conf_of_choice(struct conf *c, const struct choice *of, const struct model *m)
{
    c->L = m->c.L;
    c->b = xcalloc(c->L, sizeof(*c->b));
    model_shape(m, c->b);
    for (size_t i = 0; i < c->L; i++)
        c->b[i].groups = c->b[i].mlp = 0;
    for (size_t i = 0; i < of->n; i++) {
        c->b[of->b[i].block].groups = of->b[i].ngroups;
        c->b[of->b[i].block].mlp = of->b[i].nchan;
    }
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
