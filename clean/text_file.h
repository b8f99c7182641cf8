/* Files of lines that clean writes: the documents, what it drops or holds out,
 * reports.  A file gets its name when all input is done. */
#ifndef CLEAN_TEXT_FILE_H
#define CLEAN_TEXT_FILE_H

#include "base/io.h"
#include "base/mem.h"

/* { 0 } is closed, and then the functions below do nothing. */
struct text_file {
    int open;
    int to_stdout;
    struct io_out out;
    struct buf line; /* not yet written */
};
/* path NULL: it stays closed.  All: 0, or -1 and *e. */
int text_file_begin(struct text_file *f, const char *path, struct err *e);
/* Open it as standard output, whose reader may leave: then the program ends, as
 * out_put does. */
void text_file_stdout(struct text_file *f);
/* After lines were added to f->line: write them if they are many. */
int text_file_flush(struct text_file *f, struct err *e);
int text_file_end(struct text_file *f, struct err *e);
void text_file_release(struct text_file *f);

#endif
