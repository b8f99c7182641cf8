/* Reading an input: it is decompressed, its members are found, and it is cut
 * into records. */
#ifndef DOCS_READER_H
#define DOCS_READER_H

#include "docs/inputs.h"

#include <stdatomic.h>

/* Where records come from: a file, or a member of an archive.  Shared by all
 * documents of it. */
struct origin {
    atomic_size_t refs;
    char *name; /* "file" or "archive/member" */
    size_t source;
    int jsonl, wiki; /* what its records are */
    int documents;   /* lines that clean has written */
};
struct origin *origin_ref(struct origin *o);
void origin_unref(struct origin *o); /* may be NULL */

/*
 * How long a record may be, in bytes as it stands in the input.  A longer one
 * is an error; with `split`, plain text is cut into records of at most `most`
 * bytes: behind the last blank line that leaves one so short, else behind the
 * last end of line, the last blank, or before the last character.  A cut
 * depends on nothing before its record, so reading can go on at any of them.
 */
struct doc_limit {
    size_t most; /* > 4 */
    int split;
};

struct reader;
/* Open input number `which`; what compresses it is seen in its content (gzip,
 * bzip2, xz, zstd, lz4), and so are tar, zip and a Wikipedia dump.  *limit
 * must stay. */
struct reader *reader_open(const struct inputs *in, size_t which,
    enum split_by split, const struct doc_limit *limit, struct err *e);
/* Go to a place that reader_place of the same input has told. */
int reader_seek(struct reader *r, const struct doc_place *p, struct err *e);
/* Append the next record to *rec (cleared first); *at is its offset in the
 * content.  1; 0 at the end; -1 and *e. */
int reader_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);
/* The record read last: its origin, owned by the reader; its number and
 * the place after it. */
struct origin *reader_origin(const struct reader *r);
void reader_place(const struct reader *r, struct doc_place *p);
/* Bytes of the file (compressed) read so far. */
double reader_done(const struct reader *r);
/* Members that were passed over; the reader's. */
const struct passed *reader_passed(const struct reader *r);
void reader_close(struct reader *r);

#endif
