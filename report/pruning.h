/* Charts of pruning: the search, the profile of a model, sparse layers. */
#ifndef REPORT_PRUNING_H
#define REPORT_PRUNING_H

#include "run.h"
#include "base/mem.h"

void charts_pruning(struct buf *b, const struct run *r);

#endif
