/* tokenize --stats: how well a tokenizer does, by source. */
#ifndef TOKENIZE_STATS_H
#define TOKENIZE_STATS_H

#include "encode.h"

#include <stdio.h>

/*
 * Words are separated by white space in the text that the ids decode to.  A
 * word is split if it spans more than one token.  A token is a fallback if it
 * is <0xNN>, the unknown token, or does not hold whole characters.
 */
struct stats;
/* in and by must outlive the result. */
struct stats *stats_new(const struct inputs *in, const struct encoder *by);
void stats_free(struct stats *s);
/* A put function of struct docs_opts; ctx: struct stats. */
int stats_put(void *ctx, const struct doc *d, struct err *e);
enum stats_format { STATS_TSV, STATS_JSON };
extern const char *const stats_formats[]; /* their names; ends with NULL */
void stats_print(const struct stats *s, FILE *f, enum stats_format format);

#endif
