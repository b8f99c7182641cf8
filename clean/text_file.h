/* The files of lines that clean writes: documents kept, dropped and held out,
 * and reports.  Each gets its name when all input is done. */
#ifndef CLEAN_TEXT_FILE_H
#define CLEAN_TEXT_FILE_H

#include "base/io.h"
#include "base/mem.h"

/* { 0 }: closed; the functions below then do nothing. */
struct text_file {
    int open;
    int to_stdout;
    struct io_out out;
    struct buf line; /* lines not yet written */
};
/* Open the file; path NULL: it stays closed.  All functions that return int: 0,
 * or -1 and *e. */
int text_file_begin(struct text_file *f, const char *path, struct err *e);
/* Let f write to standard output.  If the reader of standard output has left,
 * the program ends as with out_put. */
void text_file_stdout(struct text_file *f);
/* Call after adding to f->line: writes the lines if enough have gathered. */
int text_file_flush(struct text_file *f, struct err *e);
int text_file_end(struct text_file *f, struct err *e);
void text_file_release(struct text_file *f);

#endif
