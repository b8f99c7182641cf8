/* The page of a run: a self-contained HTML file. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "run.h"
#include "base/mem.h"

/* Append the page; parts that the run lacks are left out. */
void page(struct buf *b, const struct run *r);

#endif
