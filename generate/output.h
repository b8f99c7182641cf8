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
/* Call it for each text in order.  Does the file already have the text's line?
 * `known`: members of the line that are known before the text is made.  gaps 1:
 * there may be texts without a line.  Dies if the file has another text's line
 * there and gaps is 0, or if lines are missing and FILE.options.json differs
 * from `made`.  Removes an incomplete line. */
enum output_answer output_look(struct output *o, const json_t *known, int gaps);
/* The next line that the file already has, without newline, for a caller that
 * does not know all texts in order; valid until the next call.  NULL: there is
 * none, as when output_look returns OUTPUT_END. */
const char *output_next(struct output *o);
/* Call it when output_look has returned OUTPUT_END, or there are no further
 * texts.
 * Returns NULL if the file had no lines, or FILE.options.json exists and equals
 * `made`; dies if it differs.  If the file had lines but FILE.options.json does
 * not exist, returns the last line without newline: the caller makes its text
 * again and calls output_prove before it writes other lines. */
const char *output_unproven(struct output *o);
/* Die (EX_USAGE) unless `line` equals the result of output_unproven; write
 * FILE.options.json. */
void output_prove(struct output *o, const char *line);
/* Append a line; output_look has returned OUTPUT_END. */
void output_line(struct output *o, const char *line, size_t n);
/* Flush all lines.  Dies if the file has lines of further texts. */
void output_close(struct output *o);

#endif
