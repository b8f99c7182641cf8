/* Reading JSON without building a tree, and large members of it as text. */
#ifndef FORMAT_JSON_TEXT_H
#define FORMAT_JSON_TEXT_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * JSON read without a tree: js_in_begin, then strings, values and the marks
 * between them in the order in which they should come.  White space is passed
 * over.  Each function returns 1, or 0 when something else is there; then why
 * says what is wrong at p, which for what a string or number means is where
 * that begins (not of js_in_mark, which leaves p where it is).
 */
struct js_in {
    const char *p, *end;
    const char *why;
    char *text; /* of js_in_text; malloc'd */
    size_t used;
};
/* The n bytes between the quotes of a string, as they stand. */
struct js_string {
    const char *p;
    size_t n;
    int escapes; /* it has some, all right */
};
void js_in_begin(struct js_in *in, const char *p, size_t n);
void js_in_end(struct js_in *in);
int js_in_mark(struct js_in *in, char c);
/* A string, which need not be UTF-8; the same and a colon. */
int js_in_string(struct js_in *in, struct js_string *s);
int js_in_name(struct js_in *in, struct js_string *s);
/* A string without escapes, which is UTF-8 and holds no NUL: *s, *n lives in
 * the text that is read or until js_in_end. */
int js_in_text(struct js_in *in, const char **s, size_t *n);
/* A whole number of at most 15 digits and no sign. */
int js_in_number(struct js_in *in, uint64_t *v);
/* Any value: if it is a string, that is *text, else text->p = NULL; if it is an
 * object or an array, that has *count members. */
int js_in_value(struct js_in *in, struct js_string *text, size_t *count);
/* Nothing follows. */
int js_in_done(struct js_in *in);

/* Bytes at the beginning of p[n] that stand for themselves in a string of JSON:
 * all but control characters, the quote and the backslash. */
size_t js_plain(const char *p, size_t n);
/* The escape in a string of JSON whose backslash stands before p: its character
 * as UTF-8 to `to`, which has room for 4 bytes and may be that backslash's
 * place, and *len, the escape's bytes from p on.  The character's length; 0: it
 * is no escape, or half of a surrogate pair. */
size_t js_escape(const char *p, const char *end, char *to, size_t *len);
/* The text of a string whose escapes are right, p[n] as it stands, to `to`,
 * which may be p; returns its length, n at most. */
size_t js_unescape(const char *p, size_t n, char *to);

/*
 * Large members as text: js_parse_parts is js_parse, but for each part that
 * the text has once, as an object or a list, the tree holds an empty one, and
 * p[n] is its text, of `count` members.  n = 0: the tree has all of it.
 */
struct js_part {
    const char *path; /* such as "model.vocab"; of 2 names at most */
    char open;        /* '{' or '[' */
    const char *p;
    size_t n, count;
};
json_t *js_parse_parts(const char *text, size_t n, struct js_part *part,
    size_t nparts, struct err *e);

#endif
