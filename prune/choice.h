/*
 * Choices: the blocks, KV groups and MLP channels of a model to keep.
 * prune-cut(1) describes the file of a choice, which `prune search` writes,
 * `prune cut` reads and a person can edit.
 */
#ifndef PRUNE_CHOICE_H
#define PRUNE_CHOICE_H

#include "base/err.h"
#include "base/mem.h"
#include "model/files/model.h"

#include <stddef.h>
#include <stdint.h>

/* Parts of a block to keep.  Indices are in the model to be cut: from 0,
 * ascending.  A list is NULL if all parts of its kind are kept, or the block
 * has none.  If all of them are cut, the list has length 0, but is not NULL. */
struct choice_block {
    size_t block;           /* index of the block */
    size_t ngroups, *group; /* KV groups: their K and V heads, and the query
                             * heads that use them; none: no attention */
    size_t nchan, *chan;    /* MLP channels; none: no MLP */
};

/* { 0 } is valid and empty. */
struct choice {
    size_t n;
    struct choice_block *b; /* [n] ascending; malloc'd, as all lists are */
};

/* *to = a copy of c and its lists; *to need not be initialised. */
void choice_copy(struct choice *to, const struct choice *c);
void choice_release(struct choice *c);

/* Set b's groups, or channels, to list[n]: ascending, all of them below `all`.
 * b takes ownership of the list. */
void choice_set_groups(struct choice_block *b, size_t *list, size_t n,
    size_t all);
void choice_set_channels(struct choice_block *b, size_t *list, size_t n,
    size_t all);

/* Read a file of at most 64 MB.  -1 and *e (EX_INPUT, "FILE: line N: why"), *c
 * empty: the file is no choice, names a part that m does not have, or lists a
 * block of which nothing is kept. */
int choice_read(struct choice *c, const char *file, const struct model *m,
    struct err *e);
/* Append the text of the choice's file.  Equal choices have equal texts. */
void choice_write(const struct choice *c, struct buf *b);
/* Append the choice as one word, for a column of a table: each kept block as
 * BLOCK:GROUPS:CHANNELS, with semicolons between blocks. */
void choice_write_word(const struct choice *c, struct buf *b);

/* Return the member `origin` (model/files/origin.h) of the model that c makes
 * of m; the caller owns the reference. */
json_t *choice_kept(const struct choice *c, const struct model *m);

/* XXH3-64 of the text of the file: equal for equal choices. */
uint64_t choice_key(const struct choice *c);

#endif
