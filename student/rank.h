/* A process as one of several ranks; a process alone is rank 0. */
#ifndef STUDENT_RANK_H
#define STUDENT_RANK_H

#include "base/err.h"

#include <stddef.h>

struct student;
/* Join the other ranks, if a launcher has started this process.  Ranks other
 * than 0 print errors only, with their number. */
void rank_begin(struct student *s);
/* Die if this rank is to read standard input (input NULL or "-") and mpirun has
 * given that to rank 0. */
void rank_check_input(const struct student *s, const char *input);
/* Write the logs of ranks.  Call it at the end. */
void rank_end(struct student *s);
/* Returns the path (malloc'd) of the newest checkpoint that rank 0 finds, and
 * sets s->at; NULL: there is none. */
char *rank_newest(struct student *s);
/* Set the rows of a batch that this rank trains on, from s->in.  If the input
 * has the rows of all ranks, rank r of n takes rows r, r+n, ... of each batch
 * (with --stages: all rows).  Call it after depends_alike. */
void rank_rows(struct student *s);
/* If each rank has all parameters, check that they are bitwise equal.  -1 and
 * *e (EX_RANK) on all ranks: the message names the ranks that differ from the
 * majority. */
int rank_same(const struct student *s, struct err *e);
/* If each rank updates a part of the parameters, a bit flip in that part would
 * spread to all ranks.  After an update rank_keep hashes the part; before the
 * next update rank_unchanged compares the part with that hash.  -1 and *e
 * (EX_RANK), on this rank only: the part has changed. */
void rank_keep(struct student *s);
int rank_unchanged(const struct student *s, struct err *e);
/* Agree on a result; this rank's is r: 1, 0, or -1 and *e.  Returns r if all
 * ranks have the same; else -1 and *e on all ranks.  Sets s->stop to the signal
 * that any rank got. */
int rank_agree(struct student *s, int r, struct err *e);
#endif
