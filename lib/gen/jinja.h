/*
 * Jinja templates, as far as the chat templates of published models need them.
 * Templates are not trusted: memory, output, nesting and work are bounded, and
 * a template reaches nothing but its variables and the time that it is given.
 *
 * Statements: for (with if, else), if, set (also of a namespace's member, and
 * of a block, with filters), with, macro, call, filter, raw, break, continue,
 * generation.  Expressions: all operators, slices, calls, filters, tests;
 * jinja_names.h lists the filters, tests, methods and functions.  The text is
 * that of jinja2 3.1 as transformers 5.24 sets it up: trim_blocks,
 * lstrip_blocks, the immutable sandbox, its tojson and namespace.
 * scripts/oracle/jinja.py compares the two.
 *
 * Differences from jinja2.  jinja_parse refuses, by name and line:
 * - other statements; recursive loops;
 * - other filters and tests; inside an if, jinja_render refuses them when they
 *   are evaluated, as jinja2 does with names that it does not know;
 * - a macro inside another macro, a loop, or a with, call, filter, set or
 *   generation block; generation inside a macro, or a call, filter, set or
 *   generation block;
 * - numbers with exponents, _, or another base than 10; names
 *   outside ASCII; the escapes \N and \0 to \7 in texts;
 * - targets in brackets, or with members beside others; *args and **kwargs, and
 *   more than 16 arguments or 64 parameters; varargs, kwargs.
 * jinja_render refuses, when the template evaluates them:
 * - other methods and functions, also as values; members of loop besides
 *   index, index0, first, last, length, revindex, revindex0, previtem,
 *   nextitem;
 * - printing a list, object, macro or method; tojson prints lists and objects;
 * - upper, lower, capitalize, title, and sorting without regard to case, of a
 *   text with letters outside ASCII that they would change;
 * - whole numbers of more than 64 bits, powers that are complex;
 * - members of an object whose names are not texts; objects made of anything
 *   but named values;
 * - % of a text; fields of format besides {}, {0} and {name}; separators and
 *   indents above 16 of tojson; split at white space a number of times; map by
 *   a filter with arguments; sort by several attributes; unique of tuples;
 *   int to another base, or of a text with digits outside ASCII;
 * - a call block for a macro with 16 arguments; `caller`, called after the call
 *   statement has ended.
 * jinja_render renders otherwise than jinja2:
 * - ranges, generators, and the keys, values and items of objects are lists:
 *   they can be read twice, have a length, elements and an order, and may equal
 *   a list;
 * - attributes of numbers (real, imag, methods) are undefined;
 * - a whole number beyond 2^53 is rounded to a double before a division by /
 *   and before a comparison with a number that is not whole;
 * - a macro that is called before the template sets one of its caller's
 *   variables sees the caller's value, which is undefined in jinja2.
 */
#ifndef GEN_JINJA_H
#define GEN_JINJA_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>
#include <time.h>

struct jinja;

/* Bounds of a rendering, which takes some seconds and 512 MiB at most, whatever
 * the template: scripts/oracle/jinja_bounds.py searches for a template that
 * takes more.  JINJA_WORK: steps, each of which visits a value, 16 bytes of
 * text or 4 names.  JINJA_MEMORY: bytes of all values that are made.
 * JINJA_TEXT: bytes of the printed text and of the texts being made. */
#define JINJA_WORK ((size_t)32 << 20)
#define JINJA_MEMORY ((size_t)256 << 20)
#define JINJA_TEXT ((size_t)64 << 20)

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
 * 0; -1 and *e: EX_INPUT and "line N: why", or the text alone that the template
 * gives to raise_exception; EX_USAGE: the template calls strftime_now, and
 * `now` is NULL.
 */
int jinja_render(const struct jinja *t, const json_t *variables,
    const struct tm *now, struct jinja_out *out, struct err *e);
void jinja_out_release(struct jinja_out *out);

#endif
