/* --detail: tables of means by source, tokens of context, class of token and
 * confidence, with entropy and calibration. */
#ifndef EVALPPL_DETAIL_H
#define EVALPPL_DETAIL_H

#include "pack.h"

struct detail;
/* Make empty tables for the open models of e. */
struct detail *detail_new(const struct eval *e);
/* Add the predictions of p, which have just been scored (e->j: h, pair). */
void detail_add(struct detail *d, const struct eval *e, const struct pack *p);
/* Append the tables as TSV. */
void detail_print(const struct detail *d, const struct eval *e, struct buf *b);
void detail_free(struct detail *d);

#endif
