/* Files that tokenize writes beside its stream, a line for a document; each
 * gets its name when all input is done. */
#ifndef TOKENIZE_TEXT_FILE_H
#define TOKENIZE_TEXT_FILE_H

#include "docs/docs.h"

#include "base/io.h"

/* { 0 } is closed. */
struct text_file {
    struct io_out out;
    int open;
    struct buf line; /* not yet written */
};
/* path NULL: it stays closed.  All: 0, or -1 and *e. */
int text_file_begin(struct text_file *f, const char *path, struct err *e);
/* After lines were added to f->line: write them if they are many. */
int text_file_flush(struct text_file *f, struct err *e);
int text_file_end(struct text_file *f, struct err *e);
void text_file_release(struct text_file *f);

/* Add a line of JSON if f is open: where d comes from, its source, and text[n].
 * reason: why it was dropped, or NULL; value < 0: nothing was measured. */
int text_file_record(struct text_file *f, const struct doc *d,
    const char *source, const char *reason, double value, const char *text,
    size_t n, struct err *e);

#endif
