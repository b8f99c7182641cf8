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
#ifndef EVAL_RESUME_H
#define EVAL_RESUME_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct resume;
/* with: all that the figures depend on but the input, such as options and
 * models_hash.  NULL and *e: EX_SYS; EX_USAGE, the file was made with something
 * else; EX_INPUT, it is no file of --resume.  The path outlives the result. */
struct resume *resume_open(const char *path, const struct buf *with,
    struct err *e);
void resume_close(struct resume *r);

/* All below do nothing for r NULL: nothing is kept. */

/* A group of rows begins.  1: it is in the file, and need not be computed; -1
 * and *e. */
int resume_begin(struct resume *r, struct err *e);
/* n bytes at p: from the file; or, when they have been computed, into it.  They
 * become zeros if the file does not have them, and resume_end fails. */
void resume_pass(struct resume *r, void *p, size_t n);
/* The group depends on these n bytes at p; if the file's depends on others,
 * resume_end fails. */
void resume_same(struct resume *r, const void *p, size_t n);
/* The group is over.  -1 and *e: EX_SYS; EX_USAGE, the file was made of another
 * input, and what was passed since resume_begin means nothing. */
int resume_end(struct resume *r, struct err *e);

#endif
