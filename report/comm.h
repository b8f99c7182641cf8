/* Charts of collectives: how many, bytes and time, by powers of two of the
 * size. */
#ifndef REPORT_COMM_H
#define REPORT_COMM_H

#include "table.h"
#include "base/mem.h"

void charts_comm(struct buf *b, const struct table *t);

#endif
