/*
 * Choices: the blocks, key-value groups and MLP channels to keep of a model.
 * prune-cut(1) describes the file, which `prune search` writes, `prune cut`
 * reads and a person can edit.
 */
#ifndef PRUNE_CHOICE_H
#define PRUNE_CHOICE_H

#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* The parts of a block to keep.  Indices ascend and count from 0 in the model
 * that is cut.  The list is NULL if it names all; an array, and n 0, if it
 * names none. */
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

/* Everything of m. */
void choice_whole(struct choice *c, const struct model *m);
/* *to, which need not be initialised, = a copy of all lists. */
void choice_copy(struct choice *to, const struct choice *c);
void choice_release(struct choice *c);

/* Set the list of b to list[n], ascending indices below `all`, which b owns
 * from here on. */
void choice_set_groups(struct choice_block *b, size_t *list, size_t n,
    size_t all);
void choice_set_channels(struct choice_block *b, size_t *list, size_t n,
    size_t all);

/* Read a file of at most 64 MB.  -1 and *e (EX_INPUT, "FILE: line N: why"), *c
 * empty: it is not a choice, or names parts that m has not, or a block of which
 * nothing is kept. */
int choice_read(struct choice *c, const char *file, const struct model *m,
    struct err *e);
/* Append the text of such a file.  Equal choices have equal texts. */
void choice_write(const struct choice *c, struct buf *b);
/* Append the choice as one word, for a column of a table:
 * BLOCK:GROUPS:CHANNELS, as in the file, separated by semicolons. */
void choice_write_word(const struct choice *c, struct buf *b);

/* The member m.origin of a model that c has cut (model/origin.h): a new
 * reference. */
json_t *choice_kept(const struct choice *c, const struct model *m);

/* XXH3-64 of the text of the file: equal for equal choices. */
uint64_t choice_key(const struct choice *c);

#endif
