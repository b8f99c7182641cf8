/*
 * Configurations: how many KV groups and MLP channels each block keeps. order.h
 * says which ones.
 */
#ifndef PRUNE_CONF_H
#define PRUNE_CONF_H

#include "choice.h"
#include "base/mem.h"
#include "model/files/model.h"

#include <stddef.h>

struct conf {
    struct block_shape *b; /* [L]; groups and mlp 0: the block is dropped */
    size_t L;              /* number of blocks of the whole model */
};
/* Keep all of m.  Free with conf_release. */
void conf_init(struct conf *c, const struct model *m);
/* Set *c to the numbers of groups and channels that the choice `of` keeps of
 * m. */
void conf_of_choice(struct conf *c, const struct choice *of,
    const struct model *m);
/* *to = a copy of c; *to need not be initialised. */
void conf_copy(struct conf *to, const struct conf *c);
void conf_release(struct conf *c);
/* Does c keep any part of the block? */
int conf_has(const struct conf *c, size_t block);
int conf_equal(const struct conf *a, const struct conf *b);
/* Number of blocks that c keeps a part of. */
size_t conf_blocks(const struct conf *c);
/* Number of channels of the widest MLP. */
size_t conf_width(const struct conf *c);
/* Append the list of blocks that c keeps a part of, such as "0-3,5". */
void conf_text(const struct conf *c, struct buf *b);

#endif
