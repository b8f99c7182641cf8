/* Vocabulary and merges as a tokenizer.json has them. */
#ifndef TOK_VOCAB_JSON_H
#define TOK_VOCAB_JSON_H

#include "tok/json.h"

/* The vocabulary as the file has it, with an index of the texts. */
struct name {
    const char *s;  /* of the file or its tree: no NUL behind it */
    uint32_t n, id; /* UINT32_MAX: what is no id */
};
struct names {
    struct name *v; /* [n] in the order of the file */
    size_t n;
    uint64_t *slot; /* hash, its upper half | number + 1; 0: none */
    size_t mask;
    struct js_in in;
};
/* 0, or TOK_UNPLAIN; names_free in any case. */
int names_load(struct names *k, const struct tok_source *src);
void names_free(struct names *k);
/* The name, or NULL; its hash is vocab_hash. */
const struct name *names_find(const struct names *k, const char *s, size_t n,
    uint64_t hash);
/* Have memory fetched that names_find of that hash will look at: first with
 * step -1, then, when that has come, 0 and 1. */
static inline void
names_fetch(const struct names *k, uint64_t hash, int step)
{
    const uint64_t *const slot = &k->slot[hash & k->mask];

    if (step < 0)
        __builtin_prefetch(slot);
    else if (*slot)
        __builtin_prefetch(step == 0 ? (const char *)&k->v[(uint32_t)*slot - 1]
                                     : k->v[(uint32_t)*slot - 1].s);
}
/* Id of a text of the vocabulary: 0, or -1. */
int names_id(const struct names *k, const char *s, size_t n, uint32_t *id);

/* The merges, one by one. */
struct merges {
    const json_t *list; /* NULL: they are text */
    size_t i, n;        /* number of the next, of all */
    struct js_in in;
};
struct merge_parts { /* of a merge */
    const char *x, *y;
    size_t nx, ny;
};
/* 0, -1 and *e; merges_end after 0. */
int merges_begin(struct merges *m, const struct tok_source *src, struct err *e);
void merges_end(struct merges *m);
/* 1, 0 at the end, -1 and *e, or TOK_UNPLAIN. */
int merges_next(struct merges *m, struct merge_parts *p, struct err *e);

#endif
