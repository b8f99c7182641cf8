/* Several predictions: a row for each combination of values of keys, or changes
 * to a job beside it. */
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

/* Set the keys that have one value; 0, or -1 and *e. */
int ranges_set(struct job *j, const struct range *range, size_t n,
    struct err *e);
/* The first key with several values; NULL: there is none. */
const struct range *ranges_first(const struct range *range, size_t n);

/*
 * Append a row for each combination of the ranges with several values: these
 * values, then the figures of `columns` ("a,b"; NULL: the usual ones), among
 * which may be "efficiency": speed.rank over that of the first row.  A note
 * names a combination that cannot be laid out.  -1 and *e: a column of no
 * figure.
 */
int sweep_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, const char *columns, int format, struct err *e);

/* Append the job's figures beside those with each of the changes
 * "key=value,...", and the ratio of each to the job's.  -1 and *e. */
int what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format, struct err *e);

#endif
