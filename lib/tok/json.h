/* Filling a struct tokenizer from a tokenizer.json; see tok.h. */
#ifndef TOK_JSON_H
#define TOK_JSON_H

#include "format/json_text.h"
#include "tok/tokenizer.h"

/* A tokenizer.json as a tree, and the tokenizer_config.json beside it.
 * Vocabulary and merges may have been left as text, in `part`; then these
 * members of the tree are empty. */
enum { PART_VOCAB, PART_MERGES, PARTS };
struct tok_source {
    const json_t *j;
    struct js_part part[PARTS]; /* text of the part; n = 0: the part is in j */
    const json_t *config;       /* NULL: there is none */
};

/* Fill *t (zeroed) from a tokenizer.json; tok_free(t) in any case.
 * 0: done.
 * -1 and *e: refused.
 * TOK_UNPLAIN: a part that was left as text is not in the usual form.  The
 * caller must parse it as a tree, to read it or to find what is wrong. */
#define TOK_UNPLAIN (-2)
int tok_load(struct tokenizer *t, const struct tok_source *src, struct err *e);

/* Set *e to "path in the JSON: why" and return -1. */
int tok_bad(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Check that j is an object whose members are all among the words of `known`.
 * 0; -1 and *e. */
int tok_members(const json_t *j, const char *path, const char *known,
    struct err *e);
/* The boolean j[key], or `otherwise` if j[key] is missing and `otherwise` is
 * not -1; -1 and *e. */
int tok_flag(const json_t *j, const char *path, const char *key, int otherwise,
    struct err *e);
/* Check that `key` of j is missing, null, "", false or 0; else -1 and *e "is
 * not implemented". */
int tok_off(const json_t *j, const char *path, const char *key, struct err *e);

#endif
