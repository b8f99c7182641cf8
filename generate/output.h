/* Where lines of generate run go: standard output, or a file that an earlier
 * run may have begun (--resume). */
#ifndef GENERATE_OUTPUT_H
#define GENERATE_OUTPUT_H

#include <jansson.h>

struct output;
/* path NULL: standard output.  made: how texts are made (made_with.h), which
 * outlives the result.  Dies on errors. */
struct output *output_open(const char *path, const json_t *made);
/* Call it for each text in order.  Does the file already have the text's line?
 * `known`: the members of the line that are known before the text is made.
 * Dies if the file has another text's line there, or if lines are missing and
 * FILE.options.json differs from `made`.  Removes an incomplete line. */
int output_has(struct output *o, const json_t *known);
/* Call it when output_has has returned 0, or there are no further texts.
 * Returns NULL if the file had no lines, or FILE.options.json exists and equals
 * `made`; dies if it differs.  If the file had lines but FILE.options.json does
 * not exist, returns the last line without newline: the caller makes its text
 * again and calls output_prove before it writes other lines. */
const char *output_unproven(struct output *o);
/* Die (EX_USAGE) unless `line` equals the result of output_unproven; write
 * FILE.options.json. */
void output_prove(struct output *o, const char *line);
/* Append a line; output_has has returned 0. */
void output_line(struct output *o, const char *line, size_t n);
/* Flush all lines.  Dies if the file has lines of further texts. */
void output_close(struct output *o);

#endif
