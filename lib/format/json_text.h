/* Reading JSON without building a tree, and large members of it as text. */
#ifndef FORMAT_JSON_TEXT_H
#define FORMAT_JSON_TEXT_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A reader of JSON without a tree: call js_in_begin; then, for each string,
 * value or punctuation mark that should be next, call the function that reads
 * it.  White space is skipped.  Each function returns 1, or 0 if something else
 * is next.  After a 0, `why` says what is wrong at p; if a string or number is
 * well formed but not allowed, p is its start.  Only js_in_mark, when it
 * returns 0, sets no `why`; it has then skipped white space alone.
 */
struct js_in {
    const char *p, *end;
    const char *why;
    char *text; /* buffer of js_in_text, malloc'd */
    size_t used;
};
/* The n bytes between the quotes of a string, as in the text. */
struct js_string {
    const char *p;
    size_t n;
    int escapes; /* 1: the string has escapes, all of them valid */
};
void js_in_begin(struct js_in *in, const char *p, size_t n);
void js_in_end(struct js_in *in);
int js_in_mark(struct js_in *in, char c);
/* Read a string, which need not be UTF-8; js_in_name: and a colon after it. */
int js_in_string(struct js_in *in, struct js_string *s);
int js_in_name(struct js_in *in, struct js_string *s);
/* Read a string as UTF-8 without NUL, escapes resolved: *n bytes at *s, in the
 * text that is read or in a buffer that lives until js_in_end. */
int js_in_text(struct js_in *in, const char **s, size_t *n);
/* Read a whole number of at most 15 digits and no sign. */
int js_in_number(struct js_in *in, uint64_t *v);
/* Read any value.  *text: the string; its p is NULL if the value is no string.
 * *count: the number of members, if the value is an object or array. */
int js_in_value(struct js_in *in, struct js_string *text, size_t *count);
/* Check that nothing follows. */
int js_in_done(struct js_in *in);

/* The number of bytes at the start of p[n] that need no escape in a JSON
 * string: all but control characters, the quote and the backslash. */
size_t js_plain(const char *p, size_t n);
/* Copy the first js_plain(p, n) bytes of p to `to`; returns how many.  May
 * overwrite up to n bytes of `to`, which must not overlap p[n] or must begin at
 * least 16 bytes before p. */
size_t js_copy_plain(char *to, const char *p, size_t n);
/* Decode an escape of a JSON string; p is behind its backslash.  Writes the
 * escape's character as UTF-8 to `to`, which has room for 4 bytes and may be
 * the place of the backslash; *len: the escape's bytes from p on.  Returns the
 * bytes written; 0: no valid escape, or half of a surrogate pair. */
size_t js_escape(const char *p, const char *end, char *to, size_t *len);
/* Write the text of the JSON string p[n], whose escapes are valid, to `to`,
 * which may be p; returns its length, at most n. */
size_t js_unescape(const char *p, size_t n, char *to);

/*
 * Large members left as text.  js_parse_parts parses as js_parse does, but
 * leaves parts out: the tree has an empty object or list instead of a part, and
 * p[n] is the part's text, with `count` members.  n = 0: the part is in the
 * tree as usual, because its value does not begin with `open` or because some
 * part occurs twice.
 */
struct js_part {
    const char *path; /* path of a member, such as "model.vocab"; at most 2
                       * names */
    char open;        /* '{' or '[' */
    const char *p;
    size_t n, count;
};
json_t *js_parse_parts(const char *text, size_t n, struct js_part *part,
    size_t nparts, struct err *e);

#endif
