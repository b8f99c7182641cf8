/* Charts of models by source, and of training. */
#ifndef REPORT_CHARTS_H
#define REPORT_CHARTS_H

#include "run.h"
#include "base/mem.h"

void charts_sources(struct buf *b, const struct eval *v);
void charts_training(struct buf *b, const struct run *r);

#endif
