/*
 * Many predictions: of every combination of several values of keys, of changes
 * to one job beside it, of the layouts that a search tries.
 */
#ifndef PLAN_SWEEP_H
#define PLAN_SWEEP_H

#include "figures.h"
#include "job.h"

/* A key and the values it takes in turn. */
struct range {
    const struct key *key;
    char **value; /* [n], owned */
    size_t n;
};

/* Operands key=value, key=a,b,c or key=a..b (doubled from a to b at most).
 * *range [n] is the caller's, to be given to ranges_free.  -1 and *e
 * (EX_USAGE). */
int ranges_read(struct range *range, char **operand, size_t n, struct err *e);
void ranges_free(struct range *range, size_t n);

/* Set what has one value; 0, or -1 and *e. */
int ranges_set(struct job *j, const struct range *range, size_t n,
    struct err *e);

/*
 * A row for each combination of the ranges with several values: these, then the
 * figures of `columns` ("a,b"; NULL: the usual ones), "efficiency" among them:
 * speed.rank over that of the first row.  A combination that cannot be laid out
 * is told (note) and left out.  -1 and *e: a column of no figure.
 */
int sweep_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, const char *columns, int format, struct err *e);

/* The job's figures beside those with each of the changes "key=value,...", and
 * what of the first they are.  -1 and *e. */
int what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format, struct err *e);

/*
 * The `best` fastest layouts that fit into memory, at the job's batch and
 * number of ranks, over tensor, pipeline, virtual, context, expert, shard,
 * recompute and micro where the ranges do not set them.  Returns how many were
 * tried.
 */
size_t search_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, size_t best, int format);

#endif
