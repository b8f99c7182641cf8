/*
 * Checkpoint directories: RUN/step-N holds a model and the state to continue
 * it, and manifest.json names every file with its size and XXH3-128.
 *
 * A checkpoint is written as RUN/step-N.tmp, every file fsynced, then the
 * manifest, then renamed and RUN fsynced.  There is no `latest` file: the
 * newest directory whose manifest verifies is the newest checkpoint.  Layout:
 * retort-checkpoint(5).
 */
#ifndef FORMAT_CKPT_H
#define FORMAT_CKPT_H

#include "base/dir.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Where in a stream the state was taken: the last message that was consumed
 * whole.  The successor's batch has seq + 1 and chain as its `chain`. */
struct position {
    uint64_t seq;
    char chain[33]; /* H(seq), 32 hex digits */
    char *cursor;   /* the stream's cursor in that message; malloc'd,
                             * NULL if there was none */
};
void position_release(struct position *p);

/* XXH3-128 of a regular file, as 32 hex digits. */
int ckpt_hash(const char *path, char hex[33], struct err *e);
/* Hash of a model: of that file, or of config.json and the safetensors files in
 * that folder, with their names. */
int ckpt_hash_model(const char *path, char hex[33], struct err *e);

/* Begin RUN/step-N.tmp, d->tmp, into which the caller writes files; see
 * dir_new_begin, and dir_new_abort to give up. */
int ckpt_begin(struct dir_new *d, const char *run, uint64_t step,
    struct err *e);
/* Hash and fsync what is there, write manifest.json with the position, commit,
 * then remove all but the `keep` newest checkpoints that verify (keep >= 1; 0:
 * remove none). */
int ckpt_commit(struct dir_new *d, const char *run, uint64_t step,
    const struct position *p, size_t keep, struct err *e);

/* Remove old checkpoints as ckpt_commit does, without a commit, but keep that
 * of step `spare` (0: none).  The checkpoint of `step` has just been written:
 * it is read back before an older one goes.  Newer ones are damaged, for the
 * run went on from an older one; they are not counted, and stay until their
 * step is written again. */
int ckpt_remove_old(const char *run, uint64_t step, size_t keep, uint64_t spare,
    struct err *e);

/* Every file as the manifest says?  Fills *p and *step (either may be NULL).
 * -1 with EX_INPUT names the file and what is wrong; with EX_SYS one that
 * cannot be read. */
int ckpt_verify(const char *dir, uint64_t *step, struct position *p,
    struct err *e);

/* Newest valid checkpoint of RUN: *dir malloc'd path.  1: found; 0: none at
 * all (no RUN, or no step-N in it); -1: there are some but none verifies, or
 * (EX_SYS) RUN or one that may be the newest cannot be read.  Damaged newer
 * ones are passed over with a warning on stderr. */
int ckpt_newest(const char *run, char **dir, uint64_t *step, struct position *p,
    struct err *e);
/* Does RUN hold checkpoints, valid or not?  1, 0, -1. */
int ckpt_any(const char *run, struct err *e);

#endif
