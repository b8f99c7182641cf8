/* Units that a search can drop: a block, its attention, its MLP, one KV group,
 * or --multiple channels. */
#ifndef PRUNE_UNITS_H
#define PRUNE_UNITS_H

#include "conf.h"

struct search;

enum unit { /* bits of --units */
    UNIT_BLOCKS = 1,
    UNIT_ATTN = 2,
    UNIT_MLP = 4,
    UNIT_CHANNELS = 8,
    UNIT_GROUPS = 16
};
enum { UNITS = 5 };
/* piece: one unit in one block */
struct piece {
    enum unit unit;
    size_t block;
};
/* The words of --units, by bit; ends with NULL. */
extern const char *const unit_names[];
/* Index of the unit's bit. */
size_t unit_index(enum unit unit);
/* "attention of block", for a message. */
const char *unit_text(enum unit unit);

/* Can the piece be dropped from c? */
int piece_there(const struct search *s, const struct conf *c, struct piece p);
void piece_drop(const struct search *s, struct conf *c, struct piece p);
/* Can a dropped piece be restored in c? */
int piece_gone(const struct search *s, const struct conf *c, struct piece p);
void piece_restore(const struct search *s, struct conf *c, struct piece p);
/* 1 - cos(residual stream without the piece, stream with the piece): measured
 * by the judge, but for groups and channels computed from their energies. */
double piece_influence(const struct search *s, const struct conf *c,
    struct piece p);

#endif
