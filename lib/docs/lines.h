/*
 * Lines of a file of prompts, pairs, items or texts, mostly a JSON object each.
 * The file may be compressed.  A byte order mark at its start, a CR at a line's
 * end and blank lines are skipped.
 */
#ifndef DOCS_LINES_H
#define DOCS_LINES_H

#include "base/err.h"

#include <stddef.h>

struct line_reader;
/* Open a file; "-" or NULL: standard input.  NULL and *e (EX_SYS, EX_INPUT). */
struct line_reader *lines_open(const char *path, struct err *e);
void lines_close(struct line_reader *l); /* may be NULL */
/* Read the next line.  1: *line has its n bytes and a NUL, valid until the next
 * call; 0: the end; -1 and *e, with file and line: the file cannot be read, or
 * the line has a NUL byte or is too long. */
int lines_next(struct line_reader *l, char **line, size_t *n, struct err *e);
/* lines_name: the file's name for messages.  lines_number: number of the line
 * that lines_next returned last, from 1; blank lines count. */
const char *lines_name(const struct line_reader *l);
size_t lines_number(const struct line_reader *l);

/* Number of lines of a regular file that lines_next would return, at most
 * `most`; 0: the file is no regular file, or it cannot be read. */
size_t lines_count(const char *path, size_t most);

#endif
