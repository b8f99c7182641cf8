/* Cutting content into records. */
#ifndef DOCS_CUT_H
#define DOCS_CUT_H

#include "docs/reader.h"

/* Read the next record of r's current member into *rec, which is empty.  *at:
 * at the call r's place in the member's content; becomes the record's offset.
 * Returns 1; 0 at the end of the member; -1 and *e. */
int cut_record(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);

#endif
