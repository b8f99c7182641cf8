/* A hash of options; see digest.h. */
#include "cli/digest.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

static int
is_unset(const struct opt *o)
{
    switch (o->kind) {
    case OPT_K_FLAG:
    case OPT_K_ENUM: return *(int *)o->dst == 0;
    case OPT_K_SIZE: return *(size_t *)o->dst == 0;
    case OPT_K_REAL:
    case OPT_K_COUNT:
    case OPT_K_TIME: return *(double *)o->dst == 0.0;
    case OPT_K_STR: return *(const char **)o->dst == NULL;
    case OPT_K_LIST: return ((struct opt_list *)o->dst)->n == 0;
    case OPT_K_END:
    case OPT_K_GROUP: break;
    }
    return 1;
}

static void
add_option(struct buf *b, const struct opt *o)
{
    const struct opt_list *l;

    buf_addf(b, "%s=", o->name);
    switch (o->kind) {
    case OPT_K_FLAG:
    case OPT_K_ENUM: buf_addf(b, "%d", *(int *)o->dst); break;
    case OPT_K_SIZE: buf_addf(b, "%zu", *(size_t *)o->dst); break;
    case OPT_K_REAL:
    case OPT_K_COUNT:
    case OPT_K_TIME: buf_addf(b, "%.17g", *(double *)o->dst); break;
    case OPT_K_STR: buf_addf(b, "+%s", *(const char **)o->dst); break;
    case OPT_K_LIST:
        l = o->dst;
        for (size_t i = 0; i < l->n; i++)
            buf_addf(b, "+%s", l->v[i]);
        break;
    case OPT_K_END:
    case OPT_K_GROUP: break;
    }
    buf_addc(b, '\0');
}

uint64_t
opt_digest(const struct opt *table, const char *const *aside)
{
    struct buf b = { 0 };
    uint64_t hash;

    for (; table->kind != OPT_K_END; table++) {
        int skip = !table->name || is_unset(table);

        for (size_t i = 0; aside[i] && !skip; i++)
            skip = strcmp(aside[i], table->name) == 0;
        if (!skip)
            add_option(&b, table);
    }
    hash = XXH3_64bits(b.p, b.n);
    buf_release(&b);
    return hash;
}
