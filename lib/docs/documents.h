/*
 * Documents as JSONL: the output of clean, which every program that reads text
 * recognises by the first line (clean(1), THE DOCUMENTS).  The first line lists
 * the sources; then each document is a line with its source, key and text; the
 * last line says that no document is missing.
 */
#ifndef DOCS_DOCUMENTS_H
#define DOCS_DOCUMENTS_H

#include "docs/place.h"

#include "base/err.h"
#include "base/mem.h"

/* The run of clean that wrote the documents: hashes of its options and inputs,
 * and the place where it began.  clean --resume compares them. */
struct documents_run {
    uint64_t options, inputs;
    struct doc_cursor from;
};

struct doc;
struct inputs;

/* Is p[n] the beginning of documents?  1: yes; 0: no; -1: p[n] is too short to
 * tell. */
int documents_begin(const char *p, size_t n);
/* Is p[n] the last line? */
int documents_end(const char *p, size_t n);

/* Append the first line, with *run and the sources of *in. */
void documents_put_head(struct buf *out, const struct inputs *in,
    const struct documents_run *run);
/* Append the beginning of a document's line, which says where d comes from. */
void documents_put_place(struct buf *out, const struct doc *d,
    const char *source);
/* Append the whole line of a document with UTF-8 text[n]. */
void documents_put(struct buf *out, const struct doc *d, const char *source,
    const char *text, size_t n);
/* Append the last line. */
void documents_put_end(struct buf *out);

/* Parse the first line p[n]: set *run, and add the line's sources to *in,
 * unless --lang is given.  0, or -1 and *e (EX_INPUT). */
int documents_read_head(const char *p, size_t n, struct inputs *in,
    struct documents_run *run, struct err *e);
/* Parse p[*n], a line of d->from.  The document's text is decoded in place, and
 * *text and *n are set to that text.  Sets d->key; d->source unless --lang is
 * given; d->next if in->from_clean.  0; -1 and d->e. */
int documents_read(struct doc *d, const struct inputs *in, char *p,
    const char **text, size_t *n);

/* Append text[n], which is UTF-8, as a JSON string in quotes. */
void documents_string(struct buf *out, const char *text, size_t n);

#endif
