/* Charts of collectives: number, bytes and time, by size in powers of two. */
#ifndef REPORT_COMM_H
#define REPORT_COMM_H

#include "table.h"
#include "base/mem.h"

void charts_comm(struct buf *b, const struct table *t);

#endif
