/* Reading an input: decompressing it, finding its members, and cutting them
 * into records. */
#ifndef DOCS_READER_H
#define DOCS_READER_H

#include "docs/inputs.h"

#include <stdatomic.h>

/* Where records come from: a file, or a member of an archive.  All documents
 * from it share one struct. */
struct origin {
    atomic_size_t refs; /* documents are freed by several threads; the rest
                         * does not change */
    char *name;         /* "file" or "archive/member" */
    size_t source;
    /* 1: its records are JSON, pages of a dump, or texts of WARC (warc.h) */
    int jsonl, wiki, warc;
    int documents; /* 1: it has documents that clean wrote (documents.h) */
};
struct origin *origin_ref(struct origin *o);
void origin_unref(struct origin *o); /* may be NULL */

/*
 * How long a record may be, in bytes of the input.  A longer one is an error,
 * except plain text with `split`: it is cut into records of at most `most`
 * bytes.  The cut is after the last blank line in these bytes; else after the
 * last end of line, else after the last blank, else after the last whole
 * character.  A cut does not depend on text before its record, so reading can
 * be resumed at any cut.
 */
struct doc_limit {
    size_t most; /* bytes, > 4 */
    int split;   /* 1: cut longer plain text */
};

struct reader;
/* Open input number `which`.  Compression (gzip, bzip2, xz, zstd, lz4), tar,
 * zip and Wikipedia dumps are recognised by the content.  *limit must outlive
 * the reader. */
struct reader *reader_open(const struct inputs *in, size_t which,
    enum split_by split, const struct doc_limit *limit, struct err *e);
/* Go to a place that reader_place gave for the same input.  0; -1 and *e. */
int reader_seek(struct reader *r, const struct doc_place *p, struct err *e);
/* Read the next record into *rec; *at: its offset in the file or member.
 * Returns 1; 0: the end of the input; -1 and *e. */
int reader_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);
/* reader_origin: the origin of the last record, owned by the reader.
 * reader_place: the place after that record. */
struct origin *reader_origin(const struct reader *r);
void reader_place(const struct reader *r, struct doc_place *p);
/* Bytes of the file read so far: of a compressed file, compressed bytes. */
double reader_done(const struct reader *r);
/* Members that were skipped; owned by the reader. */
const struct passed *reader_passed(const struct reader *r);
void reader_close(struct reader *r);

#endif
