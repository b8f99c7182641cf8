/* tokenize --stats: how well a tokenizer does, by source. */
#ifndef TOKENIZE_STATS_H
#define TOKENIZE_STATS_H

#include "clean.h"
#include "encode.h"

#include <stdio.h>

/*
 * A word is what stands between white space, in the text that the ids decode
 * to; it is split where more than one token has a part of it.  A token
 * is a fallback if it is <0xNN>, the unknown token, or no whole characters.
 */
struct stats;
/* in and by must stay. */
struct stats *stats_new(const struct inputs *in, const struct encoder *by);
void stats_free(struct stats *s);
/* A put function of struct docs_opts; ctx: struct stats. */
int stats_put(void *ctx, const struct doc *d, struct err *e);
/* The table: TSV, or JSON.  clean says what was dropped. */
void stats_print(const struct stats *s, FILE *f, const struct clean *clean,
    int json);

#endif
