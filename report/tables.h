/* The tables of a run, for its page and for a terminal. */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H

#include "grid.h"
#include "run.h"
#include "base/mem.h"

enum {
    T_MODELS,
    T_PAIRS,
    T_ABLE,
    T_SOURCES,
    T_RUNS,
    T_HELD_OUT,
    T_PRUNING,
    T_TOKENS,
    T_SCALING,
    NTABLE
};
/* Make table `which` (T_...), without rows if the run has none; the caller
 * releases it by grid_release. */
void table_make(struct grid *g, int which, const struct run *r);
/* What the columns of T_MODELS mean, in lines for a terminal. */
extern const char models_note[];
/* Append all tables for a terminal; notes explain columns of the first two. */
void terminal(struct buf *b, const struct run *r);

#endif
