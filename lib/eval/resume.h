/*
 * What models have said so far, in a file: --resume.  Only what they compute is
 * kept.  A run reads its input from the beginning and does with what is in the
 * file all that it does with what it computes, so its figures are the same.
 *
 * The file: the hash of what it was made with, then a record for each group of
 * rows that went through the models together: bytes, their hash, and the values
 * that were passed, as they lie in this machine's memory.  What follows the
 * last whole record is dropped.
 */
#ifndef EVALPPL_RESUME_H
#define EVALPPL_RESUME_H

#include "evalppl.h"

#include <stddef.h>

struct resume;
/* NULL: no path, nothing is kept; all below do nothing then.  Dies when the
 * file belongs to another run, or is none of evalppl's.  detail: values for
 * --detail are among what is kept.  Read after all models are open. */
struct resume *resume_open(const struct eval *e, const char *path, int detail);
void resume_close(struct resume *r);

/* A group of rows begins.  1: it is in the file, and need not be computed. */
int resume_begin(struct resume *r);
/* n bytes at p: from the file; or, when they have been computed, into it. */
void resume_pass(struct resume *r, void *p, size_t n);
/* What was computed, or is in the file, came of these bytes; else dies. */
void resume_same(struct resume *r, const void *p, size_t n);
void resume_end(struct resume *r);

#endif
