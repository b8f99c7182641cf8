/* Measures the probability that a cut vocabulary loses on documents. */
#ifndef PRUNE_VOCAB_MASS_H
#define PRUNE_VOCAB_MASS_H

#include "vocab_ids.h"
#include "base/pool.h"

/* Append the TSV that prune-vocab(1) describes to *b.  m: the whole model;
 * small: m cut to the ids of v; addr: documents.  Dies. */
void vocab_mass(const struct vocab *v, const struct model *m,
    const struct model *small, const char *addr, const char *tokenizer,
    struct pool *pool, struct buf *b);

#endif
