/* Calibration data: the batches that a model is judged on, in memory. */
#ifndef PRUNE_CALIB_H
#define PRUNE_CALIB_H

#include "base/pool.h"
#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

struct calib {
    size_t R, T;           /* rows, and tokens a row */
    uint32_t *ids, *first; /* [R,T] as in struct rows */
    size_t n;              /* scored predictions, in order of place */
    size_t *at;            /* [n] place in [R,T] */
    uint32_t *target;      /* [n] */
    size_t ntok;           /* tokens without padding */
    char *tokenizer;       /* hash of the stream's tokenizer; NULL: unknown */
    /* [R] weight of a row's predictions, and of its tokens; the mean over all
     * predictions, and over all tokens, is 1 */
    double *weight, *token_weight;
};
/* Read up to `rows` rows of batches (0: all), of weight 1.  Dies on damage, and
 * on ids of another tokenizer than the one at path `tokenizer`. */
void calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer);
/*
 * Read n sets, each "NAME=WEIGHT:ADDRESS": the mean of a set counts by the
 * set's weight, however many rows it has.  Rows of the sets are mixed evenly,
 * so that the first quarter of all is about the first quarter of each.  Dies
 * (EX_USAGE) on another text.
 */
void calib_sets(struct calib *c, char *const *sets, size_t n, size_t rows,
    const struct model *m, const char *tokenizer);
void calib_release(struct calib *c);
/* Say what --compute changes in m's losses on the first row. */
void calib_tell(const struct calib *c, const struct model *m, struct pool *pool,
    int compute);
/* Number of scored predictions in the first `rows` rows. */
size_t calib_scored(const struct calib *c, size_t rows);
/* Number of rows, about 4096 tokens, that a pass takes at a time. */
size_t calib_chunk(const struct calib *c);
/* Rows from r0 on, at most n. */
struct rows calib_rows(const struct calib *c, size_t r0, size_t n);

#endif
