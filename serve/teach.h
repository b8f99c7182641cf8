/*
 * Targets of distillation for given tokens: the answer to /v1/targets, for
 * clients that train elsewhere.  The answer is one message of kind batch, see
 * retort-stream(5).  Its teacher.top and teacher.lse have the bits that
 * teacher(1) computes.  Each list of ids is a row with one piece.
 */
#ifndef SERVE_TEACH_H
#define SERVE_TEACH_H

#include "request.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/files/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

enum { TEACH_TOP = 1024 }; /* largest `top` of a request */

struct teach_request {
    struct tok_ids *row; /* [rows] */
    size_t rows, T;      /* T: tokens of the longest row */
    size_t k;            /* number of top tokens of each prediction */
    double temperature;  /* temperature of the second lse */
    /* results, see teacher.top and teacher.lse; NULL before the first row */
    uint32_t *ids; /* [rows,T,k] */
    float *logp;   /* [rows,T,k] */
    float *lse;    /* [rows,T,2] */
};
/* Read the members ids (a list of lists), top (default 64) and temperature
 * (default 1) of body[n].  A row has at most `longest` tokens, and a request at
 * most b->texts rows.  0, or -1 and *why.  The caller releases *q, also after
 * an error. */
int teach_read(struct teach_request *q, const char *body, size_t n,
    size_t longest, const struct request_bounds *b, struct refusal *why);
void teach_release(struct teach_request *q);
/* Bytes of the request and its results. */
size_t teach_request_bytes(const struct teach_request *q);

struct teach;
/* Make work space for rows of at most `longest` tokens.  *m and *pool must
 * outlive the work space. */
struct teach *teach_new(const struct model *m, struct pool *pool,
    size_t longest);
void teach_free(struct teach *t);
/* Bytes of memory that the work space and the head take at most. */
size_t teach_bytes(const struct teach *t);
/* Compute the results of row i.  -1: a logit is not finite. */
int teach_row(struct teach *t, struct teach_request *q, size_t i);
/* Append the message once all rows are computed.  V: number of the model's ids.
 */
void teach_message(const struct teach_request *q, size_t V, struct buf *out);

#endif
