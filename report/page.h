/*
 * What is shown of a run: a page of HTML that needs nothing else, and tables
 * for a terminal.  Everything only appends to a buffer, and puts nothing where
 * the run has nothing of it.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "grid.h"
#include "run.h"
#include "base/mem.h"

extern const char style[]; /* the page's CSS */

void page(struct buf *b, const struct run *r);
void terminal(struct buf *b, const struct run *r);

/* The tables of both; the caller releases them. */
enum {
    T_MODELS,
    T_PAIRS,
    T_SOURCES,
    T_RUNS,
    T_HELD_OUT,
    T_PRUNING,
    T_TOKENS,
    T_SCALING,
    NTABLE
};
void table_make(struct grid *g, int which, const struct run *r);

/* Charts of the page. */
void charts_sources(struct buf *b, const struct eval *v);
void charts_training(struct buf *b, const struct run *r);
void charts_pruning(struct buf *b, const struct run *r);
/* Collectives by powers of two of their size: how many, bytes, time. */
void charts_comm(struct buf *b, const struct table *t);
/* A sweep of plan: its table and charts over the first column. */
void predictions(struct buf *b, const struct table *t);

#endif
