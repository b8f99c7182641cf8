/* A page of texts, coloured by the models' loss at each token. */
#ifndef REPORT_LOSSES_H
#define REPORT_LOSSES_H

#include "base/err.h"
#include "base/mem.h"

/* Append the page of a file that evalppl --token-losses wrote.  -1 and *e. */
int losses_page(struct buf *b, const char *path, struct err *e);

#endif
