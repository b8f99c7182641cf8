/* Several predictions: sweeps, with a row for each combination of values of
 * keys, and what-ifs, which compare a job with changes to it.  All of these
 * functions die (EX_USAGE) if a key, a value or a name is wrong. */
#ifndef PLAN_SWEEP_H
#define PLAN_SWEEP_H

#include "figures.h"
#include "job.h"
#include "table.h"

/* Keys, and the values that each takes in turn. */
struct range {
    const struct key *key;
    char **value; /* [n], owned */
    size_t n;
};
struct ranges {
    struct range *v; /* [n], owned */
    size_t n;
};

/* Parse n operands key=value, key=a,b,c or key=a..b (a, 2a, 4a, ... up to b)
 * into *r, which the caller gives to ranges_free. */
void ranges_read(struct ranges *r, char **operand, size_t n);
void ranges_free(struct ranges *r);
/* Set each key of *j that has exactly n values in *r to its value[which]. */
void ranges_set(struct job *j, const struct ranges *r, size_t n, size_t which);
/* The first key with several values; NULL: there is none. */
const struct key *ranges_swept(const struct ranges *r);

/*
 * Append a table with a row for each combination of values of the keys that
 * have several.  A row has these values, then the figures named in `columns`
 * ("a,b"; NULL: the usual ones).  The column "efficiency" is speed.rank divided
 * by that of the first row.  A note names each combination that cannot be laid
 * out.
 */
void sweep_put(struct buf *b, const struct job *j, const struct ranges *r,
    const char *columns, int format);

/* Add a cell to *t for each name in columns, "a,b": the value of that figure,
 * with its unit in FORMAT_TEXT; f NULL: its name. */
void sweep_columns(struct table *t, const char *columns,
    const struct figures *f, int format);

/* Change *j by "key=value,...", the argument of an option, and check that the
 * job can be laid out. */
void job_change(struct job *j, const char *option, const char *change);

/* Append the job's figures and, for each of n changes "key=value,...", the
 * figures with that change and their ratios to the job's. */
void what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format);

#endif
