/* Reading vocabulary and merges of a tokenizer.json. */
#ifndef TOK_VOCAB_JSON_H
#define TOK_VOCAB_JSON_H

#include "tok/json.h"

/* A text of the vocabulary and its id, as in the file. */
struct name {
    const char *s;  /* [n], points into the file or its tree, not terminated */
    uint32_t n, id; /* id UINT32_MAX: the value is no id */
};
/* The vocabulary as in the file, with a hash table of its texts. */
struct names {
    struct name *v; /* [n] in the order of the file */
    size_t n;
    uint64_t *slot; /* [mask + 1] upper half of the hash | index + 1; 0:
                     * empty */
    size_t mask;
    struct js_in in;
};
/* Read the vocabulary.  0, or TOK_UNPLAIN; call names_free in any case. */
int names_load(struct names *k, const struct tok_source *src);
void names_free(struct names *k);
/* Find a name, or NULL; hash: vocab_hash of it. */
const struct name *names_find(const struct names *k, const char *s, size_t n,
    uint64_t hash);
/* Prefetch what names_find with that hash will read.  Call it three times, some
 * time apart: with step -1 (the slot), 0 (the name), 1 (its text). */
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
/* Set *id to the id of a text; -1: the vocabulary does not have it. */
int names_id(const struct names *k, const char *s, size_t n, uint32_t *id);

/* An iterator over the merges. */
struct merges {
    const json_t *list; /* NULL: the merges are text */
    size_t i, n;        /* index of the next merge, number of merges */
    struct js_in in;
};
struct merge_parts { /* the two parts of a merge */
    const char *x, *y;
    size_t nx, ny;
};
/* Begin to read the merges.  0: the caller must call merges_end; -1 and *e. */
int merges_begin(struct merges *m, const struct tok_source *src, struct err *e);
void merges_end(struct merges *m);
/* Read the next merge.  1: read; 0: the end; -1 and *e; or TOK_UNPLAIN. */
int merges_next(struct merges *m, struct merge_parts *p, struct err *e);

#endif
