/*
 * Documents as JSONL, which clean writes and every program that reads text
 * recognises by the first line (clean(1), THE DOCUMENTS).  The first line
 * names the sources; a line for each document says what its source and key
 * are; the last line says that none is missing.
 */
#ifndef DOCS_DOCUMENTS_H
#define DOCS_DOCUMENTS_H

#include "docs/place.h"

#include "base/err.h"
#include "base/mem.h"

/* Where the documents come from, which clean --resume compares: hashes of
 * clean's options and inputs, and the place where it began to write. */
struct documents_run {
    uint64_t options, inputs;
    struct doc_cursor from;
};

struct doc;
struct inputs;

/* Does text p[n] begin as the first line does?  1; 0; -1: it is too short to
 * tell. */
int documents_begin(const char *p, size_t n);
/* Is p[n] the last line? */
int documents_end(const char *p, size_t n);

/* Append the first line, with the sources of in; the beginning of a line, which
 * says where d comes from; a document's whole line, with the text text[n]; the
 * last line. */
void documents_put_head(struct buf *out, const struct inputs *in,
    const struct documents_run *run);
void documents_put_place(struct buf *out, const struct doc *d,
    const char *source);
void documents_put(struct buf *out, const struct doc *d, const char *source,
    const char *text, size_t n);
void documents_put_end(struct buf *out);

/* Read the first line p[n]: its sources are added to in, unless --lang names
 * one for all, the rest goes to *run.  -1 and *e (EX_INPUT). */
int documents_read_head(const char *p, size_t n, struct inputs *in,
    struct documents_run *run, struct err *e);
/* The text of the line p[*n] of d->from, which is decoded in place, and the
 * document's source, key and next place.  0; -1 and d->e. */
int documents_read(struct doc *d, const struct inputs *in, char *p,
    const char **text, size_t *n);

/* Append text[n], which is UTF-8, as a JSON string in quotes. */
void documents_string(struct buf *out, const char *text, size_t n);

#endif
