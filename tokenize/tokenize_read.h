/* Reading an input: what compresses it and packs it is taken away, and it is
 * cut into records. */
#ifndef TOKENIZE_READ_H
#define TOKENIZE_READ_H

#include "tokenize_in.h"

#include <stdatomic.h>

/* Where records come from: a file, or a member of an archive.  Shared by all
 * documents of it. */
struct origin {
    atomic_size_t refs;
    char *name;             /* "file" or "archive/member" */
    size_t source;
    int jsonl, wiki;        /* what its records are */
};
struct origin *origin_ref(struct origin *o);
void origin_unref(struct origin *o);        /* may be NULL */

/* A place between two records of an input. */
struct place {
    size_t entry;           /* members before this one, 0 without archive */
    uint64_t record;        /* records of it before this place */
    uint64_t at;            /* bytes of its content before this place */
};

/*
 * How a long record is read in sections: as soon as `size` bytes of its text
 * are there, what is before the last place where cut(ctx, text, n) allows it.
 * Where that allows none in `most` bytes, all the rest is cut where part(ctx,
 * text, n) allows it.  In lines of JSON that is the text of member `field`,
 * where nothing before it is rare (tokenize_record.h) or longer.  Pages of a
 * dump are read whole.
 */
struct sections {
    size_t size;            /* 0: records are read whole */
    size_t most;
    size_t (*cut)(const void *ctx, const char *text, size_t n);
    size_t (*part)(const void *ctx, const char *text, size_t n);
    const void *ctx;
    const char *field;
    int strict;             /* of JSON: what is not UTF-8 is an error */
};
/* The string that stands for the text in reader_frame. */
#define SECTION_TEXT "(text read in sections)"

struct reader;
/* Open input number `which`; what compresses it is seen in its content (gzip,
 * bzip2, xz, zstd, lz4), and so are tar, zip and a Wikipedia dump.  *s must
 * stay. */
struct reader *reader_open(const struct inputs *in, size_t which,
    enum split_by split, const struct sections *s, struct err *e);
/* Go to a place that reader_place of the same input has told. */
int reader_seek(struct reader *r, const struct place *p, struct err *e);
/* Append the next record, or a section of it, to *rec (cleared first); *at is
 * its offset in the content (of JSON, that of the record).  1; 0 at the end;
 * -1 and *e. */
int reader_next(struct reader *r, struct buf *rec, uint64_t *at,
    struct err *e);
/* Of what was read last: it is a section that is not the first; not the
 * last. */
int reader_middle(const struct reader *r);
int reader_more(const struct reader *r);
/* ... it, or one before it, was cut by part. */
int reader_parted(const struct reader *r);
/* Of the last section of a line of JSON: the line, with SECTION_TEXT for its
 * text, which took *gap bytes more and begins at *from; else NULL. */
const struct buf *reader_frame(const struct reader *r, size_t *from,
    size_t *gap);
/* Of the record read last: its origin, owned by the reader; its number and
 * the place after it. */
struct origin *reader_origin(const struct reader *r);
void reader_place(const struct reader *r, struct place *p);
/* Bytes of the file (compressed) read so far. */
double reader_done(const struct reader *r);
/* Members that are no text and were passed over. */
uint64_t reader_skipped(const struct reader *r);
void reader_close(struct reader *r);

#endif
