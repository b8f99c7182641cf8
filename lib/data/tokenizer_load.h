/* Filling a struct tokenizer from JSON; see tokenizer.h. */
#ifndef DATA_TOKENIZER_LOAD_H
#define DATA_TOKENIZER_LOAD_H

#include "data/tokenizer_impl.h"

#include <jansson.h>

/* Fill *t (zeroed) from a tokenizer.json.  After -1 what is there can be
 * released. */
int tok_load(struct tokenizer *t, const json_t *j, struct err *e);

/* Mistral's tekken.json as a tokenizer.json, the caller's; NULL and *e. */
json_t *tekken_load(const char *path, struct err *e);

/* Its parts; -1 and *e "path in the JSON: why". */
int tok_bad(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* j must be an object with no other members than the words of `known`. */
int tok_members(const json_t *j, const char *path, const char *known,
    struct err *e);
/* The text j[key], or "". */
const char *tok_text_of(const json_t *j, const char *key);
/* The boolean j[key], or `otherwise` where it is not given; -1 and *e. */
int tok_flag(const json_t *j, const char *path, const char *key,
    int otherwise, struct err *e);
/* Where `key` of j stands, it must be null (or "", false or 0). */
int tok_off(const json_t *j, const char *path, const char *key,
    struct err *e);

/* Normalizer, pre-tokenizer, which says what symbols are, and, when all ids
 * are known, the decoder. */
int norm_load(struct tokenizer *t, const json_t *j, const char *path,
    int depth, struct err *e);
int pre_load(struct tokenizer *t, const json_t *j, struct err *e);
int decoder_load(struct tokenizer *t, const json_t *j, struct err *e);

int vocab_load(struct tokenizer *t, const json_t *vocab, struct err *e);
/* model.merges, and model.retort_ties, [[first, number], ...]: that many merges
 * from `first` on have one rank.  *pairs: malloc'd left << 32 | right of every
 * merge, the caller's. */
int merges_load(struct tokenizer *t, const json_t *model, uint64_t **pairs,
    struct err *e);
/* Id of a text of the vocabulary: 0, or -1. */
int vocab_id(const json_t *vocab, const char *s, uint32_t *id);
/* The text of id: n bytes at off of the pool. */
void vocab_set(struct tokenizer *t, size_t id, size_t off, size_t n);
/* Fill t->hash. */
void tok_hash_all(struct tokenizer *t, const uint64_t *pairs);

#endif
