/* Reference log probabilities of pairs, computed once and kept in a file. */
#ifndef STUDENT_PAIR_REFERENCES_H
#define STUDENT_PAIR_REFERENCES_H

#include "pairs.h"
#include "reference.h"
#include "dist/dist.h"

/* Set ref[0] and ref[1] to the log probabilities, in nats, that the reference
 * gives to the two completions of a batch's row.  logp [b->T] is scratch. */
void pair_references_row(struct reference *r, const struct pair_batch *b,
    size_t row, float *logp, double ref[2]);
/* Set `reference` of all pairs, whose records p has, and write the records with
 * it, a JSON line each, to the file at `path`.  Each rank of g computes a part;
 * rank 0 writes.  Dies on errors. */
void pair_references_write(struct pairs *p, struct reference *r,
    const struct dist_group *g, const char *path);

#endif
