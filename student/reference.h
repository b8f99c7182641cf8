/* A frozen model, for the log probabilities that it gives to completions. */
#ifndef STUDENT_REFERENCE_H
#define STUDENT_REFERENCE_H

#include "base/pool.h"
#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

struct reference;
/* Map the model at `path`, which must have V ids, for rows of at most T tokens.
 * Dies on errors. */
struct reference *reference_open(const char *path, size_t V, size_t T,
    struct pool *pool);
void reference_close(struct reference *r);
/* Bytes of memory without the mapped weights. */
size_t reference_bytes(const struct reference *r);
/*
 * Write to logp [T] the log probability of token i + 1 of a row at temperature
 * tau, for each i with scored[i], else 0.  `row` is one row (B = 1).
 * Bits are those of a step's log probabilities (train/step.h) while the
 * student's parameters are those of the file.
 */
void reference_row(struct reference *r, const struct rows *row,
    const uint8_t *scored, double tau, float *logp);

#endif
