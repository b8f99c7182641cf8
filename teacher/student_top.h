/* The most probable tokens in the student's ids, from a teacher of another
 * tokenizer. */
#ifndef TEACHER_STUDENT_TOP_H
#define TEACHER_STUDENT_TOP_H

#include "student_tokenizer.h"
#include "base/err.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

/* Results for the n tokens of the teacher's batch (model/head_top.h). */
struct student_told {
    const uint32_t *ids;    /* [n,k] numbers of pairs (student_tokenizer_shared)
                             * by falling probability */
    const float *logp;      /* [n,k] their log-probabilities */
    const float *next_logp; /* [n] that of the teacher's next token */
};

struct student_top;
/* k: tokens of a prediction; half: 1: send log-probabilities in half precision.
 * s must outlive the result.  Dies if the vocabularies share fewer than k. */
struct student_top *student_top_new(const struct student_tokenizer *s, size_t k,
    int half);
void student_top_free(struct student_top *t);
/* Keep the names of the stream's sources for student_top_tell, unless some are
 * kept already. */
void student_top_sources(struct student_top *t, const struct stream_info *i);
/* Announce the tensors of B rows of T tokens of the student in the message o,
 * and send them.  Return as st_out_tensor and msg_send. */
void student_top_begin(const struct student_top *t, struct st_out *o, size_t B,
    size_t T);
int student_top_send(struct student_top *t, const struct student_told *told,
    struct msg_out *w, struct err *e);
/* Print notes of what was compared, a line for each source. */
void student_top_tell(const struct student_top *t);

#endif
