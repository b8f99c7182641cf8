/* Several predictions: sweeps, with a row for each combination of values of
 * keys, and what-ifs, which compare a job with changes to it. */
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

/* Parse n operands key=value, key=a,b,c or key=a..b (a, 2a, 4a, ... up to b)
 * into range [n], which the caller gives to ranges_free.  0, or -1 and *e
 * (EX_USAGE). */
int ranges_read(struct range *range, char **operand, size_t n, struct err *e);
void ranges_free(struct range *range, size_t n);

/* Set the keys that have one value; 0, or -1 and *e. */
int ranges_set(struct job *j, const struct range *range, size_t n,
    struct err *e);
/* The first key with several values; NULL: there is none. */
const struct range *ranges_first(const struct range *range, size_t n);

/*
 * Append a table with a row for each combination of values of the keys that
 * have several.  A row has these values, then the figures named in `columns`
 * ("a,b"; NULL: the usual ones).  The column "efficiency" is speed.rank divided
 * by that of the first row.  A note names each combination that cannot be laid
 * out.  -1 and *e: a name in `columns` is no figure.
 */
int sweep_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, const char *columns, int format, struct err *e);

/* Change *j by "key=value,...", the argument of an option, and check that the
 * job can be laid out.  -1 and *e. */
int job_change(struct job *j, const char *option, const char *change,
    struct err *e);

/* Append the job's figures and, for each of n changes "key=value,...", the
 * figures with that change and their ratios to the job's.  0, or -1 and *e. */
int what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format, struct err *e);

#endif
