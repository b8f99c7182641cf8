/*
 * Alignment by bytes: one text in the tokens of the student's tokenizer and in
 * those of the teacher's.  It finds the teacher's predictions that give the
 * probability of the student's next token.
 */
#ifndef TEACHER_ALIGN_H
#define TEACHER_ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of targets, as in the tensor teacher.kind (retort-stream(5)). */
enum align_kind { ALIGN_NONE, ALIGN_WHOLE, ALIGN_TOKEN };

/* A piece, that is the part of one document in one row, in one tokenizer's
 * tokens.  ids [n]; end [n]: bytes of the piece up to the end of each token;
 * never falling. */
struct align_side {
    const uint32_t *ids, *end;
    size_t n;
};

/* Targets of the prediction made at a token of the student. */
struct align_target {
    enum align_kind kind;
    /* unless NONE: tokens [at+1, at+n] of the teacher spell the student's next
     * token; their predictions are those of its tokens [at, at+n-1]; n is 1 if
     * WHOLE */
    uint32_t at, n;
    uint32_t next; /* id of the student's next token */
};

/*
 * Set target [student.n].  twin: for each of the student's ids, the teacher's
 * id with the same bytes, or a number that is no id.
 *   WHOLE  the teacher's next token is the twin of the student's
 *   TOKEN  one or more next tokens of the teacher have the bytes of the
 *          student's next token, from its first to its last
 *   NONE   otherwise, also for a next token without bytes and at the last token
 */
void align_piece(const struct align_side *student,
    const struct align_side *teacher, const uint32_t *twin,
    struct align_target *target);

#endif
