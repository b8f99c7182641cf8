/* The most probable tokens in the student's ids, if the teacher has another
 * tokenizer. */
#ifndef TEACHER_STUDENT_TOP_H
#define TEACHER_STUDENT_TOP_H

#include "student_tokenizer.h"
#include "base/err.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

/* Targets for the n tokens of the teacher's batch (model/pass/head_top.h). */
struct student_told {
    const uint32_t *ids;    /* [n,k] indices of pairs
                             * (student_tokenizer_shared), by falling
                             * probability */
    const float *logp;      /* [n,k] log-probabilities of these pairs */
    const float *next_logp; /* [n] log-probability of the teacher's next
                             * token */
};

struct student_top;
/* k: tokens sent for a prediction.  half: 1: send log-probabilities in half
 * precision.  s must outlive the result.  Dies if the vocabularies share fewer
 * than k tokens. */
struct student_top *student_top_new(const struct student_tokenizer *s, size_t k,
    int half);
void student_top_free(struct student_top *t);
/* Copy the names of the stream's sources for student_top_tell, unless there are
 * names already. */
void student_top_sources(struct student_top *t, const struct stream_info *i);
/* student_top_begin: announce the tensors for B rows of T tokens of the student
 * in the message o.  student_top_send: then send them; returns as msg_send. */
void student_top_begin(const struct student_top *t, struct st_out *o, size_t B,
    size_t T);
int student_top_send(struct student_top *t, const struct student_told *told,
    struct msg_out *w, struct err *e);
/* For each source print a note of the kinds of its targets. */
void student_top_tell(const struct student_top *t);

#endif
