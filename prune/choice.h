/*
 * What is kept of a model: blocks, key-value groups and MLP channels.  A file
 * that a person can read and edit, which prune-cut(1) describes: `prune search`
 * writes it and `prune cut` reads it.
 */
#ifndef PRUNE_CHOICE_H
#define PRUNE_CHOICE_H

#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* A block that is kept, and what of it.  Indices are ascending and count from
 * 0 in the model that is cut.  A list that names all has no array: NULL and the
 * number there is; one that names none is an array and 0. */
struct choice_block {
    size_t block;
    size_t ngroups, *group; /* KV groups: their heads of K and V, and the
                             * query heads that use them; none: no attention */
    size_t nchan, *chan;    /* channels of the MLP; none: no MLP */
};

/* { 0 } is valid and empty. */
struct choice {
    size_t n;
    struct choice_block *b; /* [n] ascending; malloc'd, as all lists are */
};

/* All of m. */
void choice_whole(struct choice *c, const struct model *m);
/* *to, which need not be initialised, = a copy of all lists. */
void choice_copy(struct choice *to, const struct choice *c);
void choice_release(struct choice *c);

/* A list as struct choice_block has it, of indices below `all`: list[n],
 * ascending, which it takes over or frees. */
void choice_set_groups(struct choice_block *b, size_t *list, size_t n,
    size_t all);
void choice_set_channels(struct choice_block *b, size_t *list, size_t n,
    size_t all);

/* Read a file of at most 64 MB.  -1 and *e (EX_INPUT, "FILE: line N: why"), and
 * *c is empty: it is no such file, or not one for m: each block, group and
 * channel must be there, and a block keep something. */
int choice_read(struct choice *c, const char *file, const struct model *m,
    struct err *e);
/* Append the text of such a file.  Equal choices have equal texts. */
void choice_write(const struct choice *c, struct buf *b);
/* Append it as one word, for a column of a table: BLOCK:GROUPS:CHANNELS, as in
 * the file, separated by semicolons. */
void choice_write_word(const struct choice *c, struct buf *b);

/* For m.kept of a model cut so (model/origin.h): a new reference. */
json_t *choice_kept(const struct choice *c, const struct model *m);

int choice_equal(const struct choice *x, const struct choice *y);
/* XXH3-64 of the text of its file. */
uint64_t choice_key(const struct choice *c);

/* Parameters of m cut so: what model_params will say. */
size_t choice_params(const struct model *m, const struct choice *c);
/* KV groups that block i of m has. */
size_t choice_all_groups(const struct model *m, size_t i);

#endif
