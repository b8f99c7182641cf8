/* Tokens that the teacher sends for each prediction: the most probable ones,
 * and samples. */
#ifndef TEACHER_TOP_H
#define TEACHER_TOP_H

#include "student_tokenizer.h"
#include "base/err.h"
#include "base/pool.h"
#include "dist/dist.h"
#include "model/pass/forward.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

struct top_opt {
    size_t k;      /* most probable tokens of each prediction; 0: none */
    int half;      /* 1: send log-probabilities in half precision */
    size_t draws;  /* tokens drawn for each prediction; 0: none */
    uint64_t seed; /* seed of the draws */
    double tau;    /* temperature that the student will use */
    /* NULL: the student has the teacher's tokenizer; else draws is 0, tau 1 */
    const struct student_tokenizer *student;
};
struct top;
/* m, pool and o->student must outlive the result.  Dies if k is above the
 * vocabulary. */
struct top *top_new(const struct model *m, struct pool *pool,
    const struct top_opt *o);
void top_free(struct top *t);
/* Copy from the `stream` message the names that notes need. */
void top_stream(struct top *t, const struct stream_info *i);
/* Announce the tensors of B rows of T tokens (the student's) in the message
 * o. */
void top_begin(const struct top *t, struct st_out *o, size_t B, size_t T);
/* Compute the announced tensors, and send them; tensors announced before them
 * must have been sent.  b: the batch that the model runs; x [B,T,d]: its final
 * states.  Each rank of the team computes tokens at[rank] to at[rank+1]-1.  w:
 * on the rank that sends; NULL on others.  Returns as msg_send; -1 and *e
 * (EX_NUM): a logit is not finite. */
int top_send(struct top *t, struct fwd *f, const float *x,
    const struct batch *b, const struct dist_group *team, const size_t *at,
    struct msg_out *w, struct err *e);
/* Print a note of how much of the distributions was sent. */
void top_tell(const struct top *t);
/* Bytes of memory that n tokens need. */
size_t top_bytes(const struct top *t, size_t n);

#endif
