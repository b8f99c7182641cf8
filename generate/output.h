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
 * Dies if the file has another text's line there, or needs further lines and
 * was made otherwise.  Removes an incomplete line. */
int output_has(struct output *o, const json_t *known);
/* Call it when output_has has returned 0, or there are no further texts.  The
 * last line that the file had, without newline, if no FILE.options.json says
 * how it was made; else NULL.  Before other lines are written, its text has to
 * be made again, and given to output_prove. */
const char *output_unproven(struct output *o);
/* Die (EX_USAGE) unless line is that of output_unproven. */
void output_prove(struct output *o, const char *line);
/* Append a line; output_has has returned 0. */
void output_line(struct output *o, const char *line, size_t n);
/* Flush all lines.  Dies if the file has lines of further texts, or was made
 * otherwise. */
void output_close(struct output *o);

#endif
