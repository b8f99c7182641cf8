/* Tokens of the teacher: the most probable ones, and tokens drawn by chance. */
#ifndef TEACHER_TOP_H
#define TEACHER_TOP_H

#include "base/err.h"
#include "base/pool.h"
#include "dist/dist.h"
#include "model/forward.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

struct top_opt {
    size_t k;      /* most probable tokens of each prediction; 0: none */
    int half;      /* send their log-probabilities in half precision */
    size_t draws;  /* tokens drawn for each prediction; 0: none */
    uint64_t seed; /* of the draws, with a token's document and place */
    double tau;    /* temperature of the student */
};
struct top;
/* m and pool outlive it.  Dies if k is more than the vocabulary. */
struct top *top_new(const struct model *m, struct pool *pool,
    const struct top_opt *o);
void top_free(struct top *t);
/* Announce the tensors of B rows of T tokens in the message o. */
void top_begin(const struct top *t, struct st_out *o, size_t B, size_t T);
/* After the tensors before them are sent, make and send those of b, whose final
 * states are x [B,T,d].  Each rank of team looks at its tokens
 * at[rank]..at[rank+1] alone; the rank that sends has w, w of the others is
 * NULL.  Returns as msg_send; -1 and EX_NUM: a logit is not finite. */
int top_send(struct top *t, struct fwd *f, const float *x,
    const struct batch *b, const struct dist_group *team, const size_t *at,
    struct msg_out *w, struct err *e);
/* Note how much of the distributions the tokens held. */
void top_tell(const struct top *t);
/* Bytes of memory for n tokens. */
size_t top_bytes(const struct top *t, size_t n);

#endif
