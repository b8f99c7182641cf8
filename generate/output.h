/* Where lines of generate run go: standard output, or a file that an earlier
 * run may have begun (--resume). */
#ifndef GENERATE_OUTPUT_H
#define GENERATE_OUTPUT_H

#include <jansson.h>

struct output;
/* path NULL: standard output.  made: how texts are made (made_with.h), which
 * outlives the result.  Dies on errors. */
struct output *output_open(const char *path, const json_t *made);
enum output_answer {
    OUTPUT_END,  /* the file has no further lines */
    OUTPUT_LINE, /* it has the text's line */
    OUTPUT_OTHER /* its next line is of another text, so this one has none */
};
/* Does the file already have this text's line?  Call it for each text in order.
 * known: what written_known returns for the text.  gaps: 1 if texts may have no
 * line, as with --best-of.
 * Dies if the next line is another text's and gaps is 0, and, after the last
 * line, if FILE.options.json differs from `made`.  An incomplete last line is
 * removed. */
enum output_answer output_look(struct output *o, const json_t *known, int gaps);
/* The next line that the file already has, without newline; valid until the
 * next call.  NULL: there are no further lines.  For callers that cannot list
 * the texts in order, as output_look requires. */
const char *output_next(struct output *o);
/* If the file had lines but FILE.options.json is missing, returns the last line
 * without newline: the caller makes this line's text again and calls
 * output_prove, before it writes any line.  Else returns NULL.  Call it once
 * all lines of the file have been looked at.  Dies if FILE.options.json differs
 * from `made`. */
const char *output_unproven(struct output *o);
/* Die (EX_USAGE) unless `line` equals the result of output_unproven; write
 * FILE.options.json. */
void output_prove(struct output *o, const char *line);
/* Append a line; output_look has returned OUTPUT_END. */
void output_line(struct output *o, const char *line, size_t n);
/* Flush all lines.  Dies if the file has lines of further texts. */
void output_close(struct output *o);

#endif
