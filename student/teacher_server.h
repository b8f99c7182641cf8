/* A teacher behind a server: the most probable tokens of each prediction, from
 * the path /v1/targets of serve(1). */
#ifndef STUDENT_TEACHER_SERVER_H
#define STUDENT_TEACHER_SERVER_H

#include "format/targets.h"
#include "model/pass/forward.h"
#include "msg/http.h"

#include <stddef.h>
#include <stdint.h>

struct teacher_server {
    const char *url;
    struct http_server http;
    size_t V;          /* ids of the server's model */
    char hash[33];     /* hash of model, adapter and arithmetic, reported by the
                        * server; "": the server reports none */
    size_t k;          /* number of tokens that a prediction's targets have */
    double tau;        /* temperature of the second log-sum-exp */
    size_t most;       /* most rows that teacher_server_score may be given */
    size_t cap;        /* tokens of a row, at most */
    uint32_t *ids;     /* [rows,T,k] */
    float *logp, *lse; /* [rows,T,k] and [rows,T,2], as TARGETS_TOP has */
};

/* Is `model` the address of a server (1), or the path of a model (0)? */
int teacher_server_is(const char *model);
/* Ask the server at `url` for its model, which must have the tokenizer with
 * this hash (tok_hash); make room for `most` rows of `longest` tokens.  Dies on
 * errors. */
void teacher_server_open(struct teacher_server *t, const char *url,
    const char *tokenizer, size_t k, double tau, size_t most, size_t longest);
void teacher_server_close(struct teacher_server *t);
/* Bytes of memory, including an answer's. */
size_t teacher_server_bytes(const struct teacher_server *t);
/* Ask the server for the targets of the rows r, each of which is one text, and
 * store them in *t, to which the parts of *y (TARGETS_TOP) must point; sets
 * y->T.  A server that does not answer, or is busy or broken, is asked again,
 * three times.  -1 and *e "--score-with URL: why". */
int teacher_server_score(struct teacher_server *t, const struct rows *r,
    struct targets *y, struct err *e);

#endif
