/*
 * Beside means over all predictions: by tokens of context, by class of token,
 * by confidence; entropy and calibration (detail.c).  Every prediction by
 * itself (tokens.c).  The documents that are worst off (worst.c).
 */
#ifndef DETAIL_H
#define DETAIL_H

#include "evalppl.h"

struct detail;
/* After the models are open; what it says goes to a file. */
struct detail *detail_new(const struct eval *e);
/* The predictions that have just been scored: j->h, j->pair. */
void detail_add(struct detail *d, const struct eval *e, const struct pack *p);
/* Append the tables as TSV. */
void detail_print(const struct detail *d, const struct eval *e, struct buf *b);
void detail_free(struct detail *d);

struct tokens;
/* Begin the file; dies on errors, as do all. */
struct tokens *tokens_begin(const struct eval *e, const char *path);
void tokens_add(struct tokens *t, const struct eval *e, const struct pack *p);
void tokens_end(struct tokens *t);

/* Append the n documents with the highest KL of the first model that is not the
 * base, or without a base the highest loss; units are joined. */
void worst_print(const struct eval *e, size_t n, enum format f, struct buf *b);

#endif
