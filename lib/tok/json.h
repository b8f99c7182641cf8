/* Filling a struct tokenizer from a tokenizer.json; see tok.h. */
#ifndef TOK_JSON_H
#define TOK_JSON_H

#include "format/json_text.h"
#include "tok/tokenizer.h"

/* A tokenizer.json as a tree, in which the vocabulary and the merges may be
 * empty and left as text; and the tokenizer_config.json beside it. */
enum { PART_VOCAB, PART_MERGES, PARTS };
struct tok_source {
    const json_t *j;
    struct js_part part[PARTS]; /* n = 0: it is in j */
    const json_t *config;       /* NULL: there is none */
};

/* Fill *t (zeroed) from a tokenizer.json; tok_free(t) in any case.  -1 and *e;
 * or TOK_UNPLAIN: a part that was left as text is not what it should be, and
 * has to be read as a tree, which tells what is wrong. */
#define TOK_UNPLAIN (-2)
int tok_load(struct tokenizer *t, const struct tok_source *src, struct err *e);

/* -1 and *e "path in the JSON: why". */
int tok_bad(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* j must be an object with no other members than the words of `known`. */
int tok_members(const json_t *j, const char *path, const char *known,
    struct err *e);
/* The boolean j[key], or `otherwise` where it is not given; -1 and *e. */
int tok_flag(const json_t *j, const char *path, const char *key, int otherwise,
    struct err *e);
/* 0 where `key` of j is missing, null, "", false or 0; else -1 and *e "is not
 * implemented". */
int tok_off(const json_t *j, const char *path, const char *key, struct err *e);

#endif
