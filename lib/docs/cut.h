/* Cutting content into records. */
#ifndef DOCS_CUT_H
#define DOCS_CUT_H

#include "docs/reader.h"

/* Read the next record of r's current member into *rec, which is empty.  *at:
 * at the call r's place in the member's content; becomes the record's offset.
 * Returns 1; 0 at the end of the member; -1 and *e. */
int cut_record(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);

/* Functions that warc.c shares with cut_record.
 * Append the bytes before the next byte c to *rec (rec NULL: nowhere), and skip
 * c; c == -1: append all bytes of the member.  at: offset of *rec, for errors.
 * 1: c was found; or *rec has limit.most + 1 bytes, and --split-long allows to
 *    cut it.
 * 0: the member ended first.
 * -1 and *e. */
int cut_until(struct reader *r, int c, struct buf *rec, uint64_t at,
    struct err *e);
/* Set *e: the document at offset `at` is longer than the limit.  Returns -1. */
int cut_too_long(const struct reader *r, uint64_t at, struct err *e);

#endif
