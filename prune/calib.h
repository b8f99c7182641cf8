/* Calibration data: the batches, in memory, on which a model is evaluated. */
#ifndef PRUNE_CALIB_H
#define PRUNE_CALIB_H

#include "base/pool.h"
#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

struct calib {
    size_t R, T;           /* number of rows, and of tokens in a row */
    uint32_t *ids, *first; /* [R,T] token ids, piece starts: see struct rows */
    size_t n;              /* number of scored predictions */
    size_t *at;            /* [n] index into [R,T] of each prediction, rising */
    uint32_t *target;      /* [n] the id to predict */
    size_t ntok;           /* tokens without padding */
    char *tokenizer;       /* hash of the stream's tokenizer; NULL: unknown */
    /* [R] weight of a row's predictions, and of its tokens.  Over all
     * predictions `weight` has the mean 1; over all tokens token_weight has. */
    double *weight, *token_weight;
};
/* Read up to `rows` rows of batches (0: all), with weight 1.  Dies if the
 * stream is damaged, or not made with the tokenizer at path `tokenizer`. */
void calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer);
/*
 * Read n sets, each "NAME=WEIGHT:ADDRESS", up to `rows` rows of each (0: all).
 * A mean over all rows weighs each set's own mean by its WEIGHT, however many
 * rows the set has.  The rows of the sets are interleaved evenly: the first
 * quarter of all rows has about the first quarter of each set.  Dies (EX_USAGE)
 * if a text has another form.
 */
void calib_sets(struct calib *c, char *const *sets, size_t n, size_t rows,
    const struct model *m, const char *tokenizer);
/* Set *first to the first `rows` rows (0: all) of c, which calib_read has read.
 * It shares c's arrays, and is not released.  Dies if none of these rows has a
 * scored token. */
void calib_first(const struct calib *c, size_t rows, struct calib *first);
void calib_release(struct calib *c);
/* Note how --compute changes m's losses on the first row. */
void calib_note(const struct calib *c, const struct model *m, struct pool *pool,
    int compute);
/* Number of scored predictions in the first `rows` rows. */
size_t calib_scored(const struct calib *c, size_t rows);
/* Number of rows that a pass computes at a time: together at most 4096 tokens,
 * or one longer row. */
size_t calib_chunk(const struct calib *c);
/* Rows from r0 on, at most n. */
struct rows calib_rows(const struct calib *c, size_t r0, size_t n);

#endif
