/*
 * --student-tokenizer: converts batches of the student's tokens to the
 * teacher's tokens, and finds the tokens that both vocabularies share.
 */
#ifndef TEACHER_STUDENT_TOKENIZER_H
#define TEACHER_STUDENT_TOKENIZER_H

#include "align.h"
#include "msg/batch.h"

#include <stddef.h>
#include <stdint.h>

struct student_tokenizer;
/* Open the student's tokenizer at path, and the tokenizer of the teacher's
 * model, which has V ids.  NULL: they are the same.  Dies if they cannot be
 * used. */
struct student_tokenizer *student_tokenizer_new(const char *path,
    const char *model, size_t V);
void student_tokenizer_free(struct student_tokenizer *s);
/* Hashes of the student's and of the teacher's tokenizer, 32 hex digits. */
const char *student_tokenizer_hash(const struct student_tokenizer *s);
const char *student_tokenizer_teacher_hash(const struct student_tokenizer *s);
/* Number of the student's ids. */
size_t student_tokenizer_vocab(const struct student_tokenizer *s);
/* Tokens that both vocabularies have, as *n pairs: the teacher's ids in
 * *teacher, the student's ids, rising, in *student.  s owns the arrays. */
void student_tokenizer_shared(const struct student_tokenizer *s,
    const uint32_t **teacher, const uint32_t **student, size_t *n);
/* Convert the rows of `from` to the teacher's tokens in *to.  Only B, T, ids,
 * first and ntok are set; T is the longest row's length.  *to is { 0 } at
 * first; its memory is reused.  `from` must stay as it is until the next
 * call. */
void student_tokenizer_batch(struct student_tokenizer *s,
    const struct batch *from, struct batch *to);
/* The `from` of the last student_tokenizer_batch, and the targets [B,T] of its
 * tokens; `at` of a target is an index in the ids [B,T] of *to. */
const struct batch *student_tokenizer_from(const struct student_tokenizer *s);
const struct align_target *student_tokenizer_targets(
    const struct student_tokenizer *s);

#endif
