/* Scoring models against the logits of a base model in a file of llama.cpp's
 * format (--read-base), a few rows at a time, and writing such a file.  If the
 * file is damaged, each function prints an error and ends the program. */
#ifndef EVALPPL_BASE_SCORE_H
#define EVALPPL_BASE_SCORE_H

#include "pack.h"

/* Open the file as the base of e. */
void base_score_open(struct eval *e, const char *path);
/* Score all models against the next rows of e->kld.in: a row for each
 * prediction of p. */
void base_score_rows(struct eval *e, const struct pack *p);
/* Begin e->kld.out with the text's n tokens. */
void base_write_begin(struct eval *e, const uint32_t *ids, size_t n);
/* Append a row for each prediction of p: the logits of the base or, without
 * one, of the only model. */
void base_write_rows(struct eval *e, const struct pack *p);
/* Give the file e->kld.out its name. */
void base_write_end(struct eval *e);
void base_score_close(struct eval *e);

#endif
