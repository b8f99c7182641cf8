/*
 * Checkpoint directories: RUN/step-N holds a model and the state to continue
 * it, and manifest.json names every file with its size and XXH3-128.
 *
 * A checkpoint's files are written to RUN/step-N.tmp and fsynced, then its
 * manifest is written; then the directory is renamed and RUN fsynced.  There is
 * no `latest` file: the newest directory whose manifest verifies is the newest
 * checkpoint.  Layout: retort-checkpoint(5).
 */
#ifndef FORMAT_CKPT_H
#define FORMAT_CKPT_H

#include "base/dir.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A place in a stream: the last message that was consumed whole before the
 * state was saved.  The next batch has the number seq + 1, and its field
 * `chain` holds this chain. */
struct position {
    uint64_t seq;
    char chain[33]; /* hash chain H(seq), 32 hex digits */
    char *cursor;   /* the stream's cursor in that message, malloc'd; NULL: the
                     * message had none */
};
void position_release(struct position *p);

/* XXH3-128 of n bytes, or of a regular file, as 32 hex digits. */
void ckpt_hash_bytes(const void *p, size_t n, char hex[33]);
int ckpt_hash(const char *path, char hex[33], struct err *e);
/* Hash the model or adapter at path, of which all bytes are read.  The hash of
 * a file is that of its bytes; of a split GGUF, that of its parts' hashes; of a
 * folder, that of the hashes and names of its config.json, adapter_config.json
 * and safetensors files. */
int ckpt_hash_model(const char *path, char hex[33], struct err *e);

/* Make the folder RUN/step-N.tmp (d->tmp), in which the caller writes files;
 * see dir_new_begin, and dir_new_abort to give up. */
int ckpt_begin(struct dir_new *d, const char *run, uint64_t step,
    struct err *e);
/* Hash and fsync the files in d->tmp, write manifest.json with the position,
 * commit, then call ckpt_remove_old, unless keep is 0. */
int ckpt_commit(struct dir_new *d, const char *run, uint64_t step,
    const struct position *p, size_t keep, struct err *e);

/* Of the checkpoints up to `step`, remove all but the `keep` >= 1 newest and
 * that of step `spare` (0: none).  The checkpoint of `step` has just been
 * written and is read back before an older one is removed.  Checkpoints newer
 * than `step` are damaged (the run continued from an older one); they are not
 * counted, and stay until their step is written again. */
int ckpt_remove_old(const char *run, uint64_t step, size_t keep, uint64_t spare,
    struct err *e);

/* Check every file against the manifest; fills *p and *step (either may be
 * NULL).  -1, EX_INPUT: a file is wrong.  -1, EX_SYS: a file cannot be read.
 * *e names the file. */
int ckpt_verify(const char *dir, uint64_t *step, struct position *p,
    struct err *e);

/* Find the newest valid checkpoint of RUN; *dir: its path, malloc'd.  Damaged
 * newer ones are skipped with a warning on stderr.
 * 1: found.
 * 0: RUN does not exist or has no step-N.
 * -1, EX_INPUT: none of its checkpoints verifies.
 * -1, EX_SYS: RUN, or a checkpoint newer than any valid one, cannot be read. */
int ckpt_newest(const char *run, char **dir, uint64_t *step, struct position *p,
    struct err *e);
/* Does RUN have checkpoints, valid or not?  1, 0, or -1: RUN cannot be read. */
int ckpt_any(const char *run, struct err *e);

#endif
