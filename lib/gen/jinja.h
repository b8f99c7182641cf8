/*
 * Jinja templates, as far as the chat templates of published models need them.
 * A template is text of somebody else: memory, output, nesting and work are
 * bounded, and nothing outside the template and its variables can be reached.
 *
 * Statements: for (with if, else), if, set (also of a namespace's member, and
 * with a block), macro, break, continue, generation.  Expressions: all
 * operators, slices, calls, filters, tests; jinja_names.h lists the filters,
 * tests, methods and functions.  White space is treated as transformers sets
 * jinja2: trim_blocks and lstrip_blocks.  Everything else is refused by name
 * and line: a statement, filter or test by jinja_parse, a method or function
 * when it is reached.
 *
 * Where it differs from Python: a list or object is printed only by tojson;
 * upper, lower and capitalize take ASCII letters only; whole numbers have 64
 * bits.
 */
#ifndef GEN_JINJA_H
#define GEN_JINJA_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>
#include <time.h>

struct jinja;

/* Bytes [from,to) of the output. */
struct jinja_span {
    size_t from, to;
};
struct jinja_out {
    struct buf text;         /* UTF-8 */
    struct jinja_span *span; /* [nspan] what generation blocks printed */
    size_t nspan;
};

/* Parse a template, n bytes of UTF-8, which are copied.
 * NULL and *e (EX_INPUT): "line N: why". */
struct jinja *jinja_parse(const char *text, size_t n, struct err *e);
void jinja_free(struct jinja *t);
/* Does the template have a generation block? */
int jinja_marks(const struct jinja *t);

/*
 * Render a template with the members of the object `variables`.  *now is the
 * time that strftime_now formats.  *out is overwritten; the caller releases it,
 * also after an error.  Several threads may render a template at the same time.
 * 0; -1 and *e (EX_INPUT): "line N: why"; EX_USAGE: the template calls
 * strftime_now, and `now` is NULL.  If the template itself refuses the
 * variables, by raise_exception, the error is its text.
 */
int jinja_render(const struct jinja *t, const json_t *variables,
    const struct tm *now, struct jinja_out *out, struct err *e);
void jinja_out_release(struct jinja_out *out);

#endif
