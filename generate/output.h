/* Where lines of generate run go: standard output, or a file that an earlier
 * run may have begun (--resume). */
#ifndef GENERATE_OUTPUT_H
#define GENERATE_OUTPUT_H

#include <jansson.h>

struct output;
/* path NULL: standard output.  Dies on errors. */
struct output *output_open(const char *path);
/* Call it for each text in order.  Does the file already have the text's line?
 * `known`: the members of the line that are known before the text is made.
 * Dies if the file has another text's line there.  Removes an incomplete
 * line. */
int output_has(struct output *o, const json_t *known);
/* Append a line; output_has has returned 0. */
void output_line(struct output *o, const char *line, size_t n);
/* Flush all lines.  Dies if the file has lines of further texts. */
void output_close(struct output *o);

#endif
