/*
 * JSON from outside (config.json, tokenizer.json, an index): jansson behind
 * the rules every parser here has.  Input is bounded in size and depth,
 * a key given twice is refused (readers differ in which one they take), and
 * an error names file and offset, or the path of the member that is wrong.
 *
 * What reads members without building a tree is in json_text.c.
 */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define JS_MAX ((size_t)256 << 20) /* bytes of one file, by default */
#define JS_DEPTH 64                /* arrays and objects, nested */

/* Whole numbers beyond 64 bits become reals (transformers writes such).  A byte
 * order mark is passed over; offsets count from behind it.
 * Parse n bytes of text / a whole file of at most max bytes.  The value is
 * the caller's (json_decref).  NULL and *e: "offset N: why"; js_load puts
 * "path: " in front. */
json_t *js_parse(const char *text, size_t n, struct err *e);
json_t *js_load(const char *path, size_t max, struct err *e);

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

/* Write j as UTF-8 text, indented by 2, with a newline at the end, keys in
 * the order they were set; the file appears whole or not at all. */
int js_save(const json_t *j, const char *path, struct err *e);

/* Append s as a JSON string, quoted; bytes >= 0x80 are taken as they are. */
void js_quote(struct buf *b, const char *s);

/* Member of an object by a path such as "rope_parameters.rope_theta"; NULL
 * when a part of it is missing, null, or no object.  Names are < 80 bytes. */
const json_t *js_get(const json_t *j, const char *path);

/* The text of member `key` of an object, or "". */
const char *js_text_of(const json_t *j, const char *key);

/*
 * Typed members: 1 and *r set; 0 when missing or null (*r untouched); -1 and
 * *e "path: why" when of another type or outside [lo,hi].  A size must be
 * written as a whole number; a real may be.
 */
int js_size(const json_t *j, const char *path, size_t lo, size_t hi, size_t *r,
    struct err *e);
int js_real(const json_t *j, const char *path, double lo, double hi, double *r,
    struct err *e);
int js_bool(const json_t *j, const char *path, int *r, struct err *e);
/* *r points into j. */
int js_str(const json_t *j, const char *path, const char **r, struct err *e);

#endif
