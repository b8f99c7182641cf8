/* A process as one of several ranks; a process alone is rank 0. */
#ifndef STUDENT_RANK_H
#define STUDENT_RANK_H

#include "base/err.h"

#include <stddef.h>

struct student;
/* Join the other ranks, if a launcher has started this process.  Ranks other
 * than 0 print errors only, with their number. */
void rank_begin(struct student *s);
/* Write the logs of ranks, at the end. */
void rank_end(struct student *s);
/* Path of the newest checkpoint, as rank 0 finds it, malloc'd, and s->at; NULL:
 * there is none. */
char *rank_newest(struct student *s);
/* After alike_inputs: set which rows of a message this rank has, by the first
 * one, which has `rows` rows.  An input made by stream --rank has this rank's
 * rows alone; of another a rank has rows r, r+n, ... of each message. */
void rank_rows(struct student *s, size_t rows);
/* Where each rank has all parameters, are they the same to the bit?  -1 and *e
 * (EX_RANK) on all ranks: the message names those that differ from most. */
int rank_same(const struct student *s, struct err *e);
/* Where each rank updates a part of the parameters, a bit that flips in that
 * part would go to all.  rank_keep hashes it after an update; rank_unchanged
 * compares before the next one: -1 and *e (EX_RANK), on this rank alone. */
void rank_keep(struct student *s);
int rank_unchanged(const struct student *s, struct err *e);
/* Agree on r, 1, 0 or -1 and *e: returns -1 on all ranks where they differ.
 * Sets s->stop. */
int rank_agree(struct student *s, int r, struct err *e);
#endif
