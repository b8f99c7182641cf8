/* Cutting content into records. */
#ifndef DOCS_CUT_H
#define DOCS_CUT_H

#include "docs/reader.h"

/* Append the next record of the member that r reads to *rec; *at is its offset
 * in the content.  Returns 1; 0 at the end of the member; -1 and *e. */
int cut_record(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);

#endif
