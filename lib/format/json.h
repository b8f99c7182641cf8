/*
 * JSON from other programs (config.json, tokenizer.json, an index), parsed by
 * jansson under the rules that all parsers of retort keep.  Size and depth of
 * the input are bounded.  A duplicate key is refused, as readers differ in
 * which one they take.  An error names file and offset, or the path of the
 * wrong member.
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

/* Parse n bytes of text (js_parse), or a whole file of at most max bytes
 * (js_load).  If a whole number is beyond 64 bits (transformers writes such),
 * all whole numbers of 19 digits or more become reals.  A byte order mark is
 * skipped; offsets count from after it.  The caller frees the value
 * (json_decref).  NULL and *e: "offset N: why", with "path: " before it from
 * js_load. */
json_t *js_parse(const char *text, size_t n, struct err *e);
json_t *js_load(const char *path, size_t max, struct err *e);

/* json_dumps with the fewest digits that read back as the same real numbers:
 * 0.7, not 0.69999999999999996.  The caller frees the text. */
char *js_dumps(const json_t *j, size_t flags);
/* Write j as UTF-8 text, indented by 2, with a newline at the end, keys in
 * the order they were set; the file appears whole or not at all. */
int js_save(const json_t *j, const char *path, struct err *e);

/* Append s as a quoted JSON string; bytes >= 0x80 are copied unchanged. */
void js_quote(struct buf *b, const char *s);

/* Member of an object by a path such as "rope_parameters.rope_theta"; NULL
 * when a part of it is missing, null, or no object.  Names are < 80 bytes. */
const json_t *js_get(const json_t *j, const char *path);

/* The text of member `key` of an object, or "". */
const char *js_text_of(const json_t *j, const char *key);

/*
 * Typed members.  A size must be a whole number; a real may be any number.
 * 1: *r is set.
 * 0: it is missing or null; *r is unchanged.
 * -1 and *e "path: why": it has another type or is outside [lo,hi].
 */
int js_size(const json_t *j, const char *path, size_t lo, size_t hi, size_t *r,
    struct err *e);
int js_real(const json_t *j, const char *path, double lo, double hi, double *r,
    struct err *e);
int js_bool(const json_t *j, const char *path, int *r, struct err *e);
/* *r points into j. */
int js_str(const json_t *j, const char *path, const char **r, struct err *e);

#endif
