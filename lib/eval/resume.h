/* --resume: results of models, saved in a file.  A resumed run reads its input
 * from the beginning.  Results that the file has are not computed again but
 * read, so the figures are the same as of an uninterrupted run.
 *
 * The file begins with a hash of what results depend on, see resume_open.  A
 * record follows for each group of rows that went through the models together:
 * size, hash, and the values of resume_pass and hashes of resume_same, as bytes
 * of this machine's memory.  Bytes after the last complete record are dropped.
 */
#ifndef EVAL_RESUME_H
#define EVAL_RESUME_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct resume;
/* Open or begin the file.  with: all that results depend on except the input,
 * such as options and models_hash.  NULL and *e: EX_SYS; EX_USAGE: the file was
 * made with other models or options; EX_INPUT: it is no file of --resume.  The
 * path must outlive the result. */
struct resume *resume_open(const char *path, const struct buf *with,
    struct err *e);
void resume_close(struct resume *r);

/* The functions below do nothing and return 0 if r is NULL. */

/* Begin a group of rows.  1: its results are in the file, and need not be
 * computed; 0: they are not; -1 and *e. */
int resume_begin(struct resume *r, struct err *e);
/* If the group is in the file, read the next n bytes of its results into p;
 * else add p[n] to the file's next record.  If the record in the file is
 * shorter, p becomes zeros, and resume_end fails. */
void resume_pass(struct resume *r, void *p, size_t n);
/* Note that the group depends on the n bytes at p; if the group in the file
 * depends on other bytes, resume_end fails. */
void resume_same(struct resume *r, const void *p, size_t n);
/* End the group.  -1 and *e: EX_SYS; EX_USAGE: the file was made from another
 * input, and the bytes that resume_pass has read must not be used. */
int resume_end(struct resume *r, struct err *e);

#endif
