/*
 * Targets of distillation for given tokens: the answer to /v1/targets, for
 * those who train elsewhere.  It is one message of kind batch, see
 * retort-stream(5), with teacher.top and teacher.lse, as teacher(1) computes
 * them to the bit.  Each list of ids is a row with one piece.
 */
#ifndef SERVE_TEACH_H
#define SERVE_TEACH_H

#include "request.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

enum { TEACH_TOP = 1024 };

struct teach_request {
    struct tok_ids *row; /* [rows] */
    size_t rows, T;      /* T: tokens of the longest row */
    size_t k;            /* the most probable tokens of each prediction */
    double temperature;  /* of the second lse */
    /* results */
    uint32_t *ids; /* [rows,T,k] */
    float *logp;   /* [rows,T,k] */
    float *lse;    /* [rows,T,2] */
};
/* Read the members ids (a list of lists), top (default 64), temperature
 * (default 1).  longest: tokens of a row, at most; the rows are at most
 * b->texts.  0; -1 and *why.  The caller releases *q, also after an error. */
int teach_read(struct teach_request *q, const char *body, size_t n,
    size_t longest, const struct request_bounds *b, struct refusal *why);
void teach_release(struct teach_request *q);
/* Bytes of the request and its results. */
size_t teach_request_bytes(const struct teach_request *q);

struct teach;
/* Work space for rows of at most `longest` tokens; m and pool outlive it. */
struct teach *teach_new(const struct model *m, struct pool *pool,
    size_t longest);
void teach_free(struct teach *t);
size_t teach_bytes(const struct teach *t);
/* Compute row i.  -1: a logit is not finite. */
int teach_row(struct teach *t, struct teach_request *q, size_t i);
/* Append the message, when all rows are computed.  V: ids of the model. */
void teach_message(const struct teach_request *q, size_t V, struct buf *out);

#endif
