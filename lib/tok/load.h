/* Filling a struct tokenizer from JSON; see tok.h. */
#ifndef TOK_LOAD_H
#define TOK_LOAD_H

#include "tok/tokenizer.h"

#include "format/json.h"

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

/* BOS, EOS and PAD: of the post-processor and a tokenizer_config.json or NULL
 * (first); ids that `file`, parsed or NULL, names; the usual names of an EOS
 * (last), special tokens only.  -1 and *e: one that is no token. */
int special_config(struct tokenizer *t, const json_t *config, struct err *e);
int special_ids(struct tokenizer *t, const json_t *j, const char *file,
    struct err *e);
void special_names(struct tokenizer *t);

/* Mistral's tekken.json as a tokenizer.json, the caller's; NULL and *e. */
json_t *tekken_load(const char *path, struct err *e);

/* ---- what the files that load have in common ---- */

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

/* The normalizer; the pre-tokenizer, which also tells whether symbols are bytes
 * or characters; the decoder, when all ids are known. */
int norm_load(struct tokenizer *t, const json_t *j, const char *path, int depth,
    struct err *e);
/* May its steps make a text much longer?  Then -1 and *e. */
int norm_check(const struct tokenizer *t, struct err *e);
int pre_load(struct tokenizer *t, const json_t *j, struct err *e);
int decoder_load(struct tokenizer *t, const json_t *j, struct err *e);

/* The vocabulary as the file has it, with an index of the texts. */
struct name {
    const char *s;  /* of the file or its tree: no NUL behind it */
    uint32_t n, id; /* UINT32_MAX: what is no id */
};
struct names {
    struct name *v; /* [n] in the order of the file */
    size_t n;
    uint64_t *slot; /* hash, its upper half | number + 1; 0: none */
    size_t mask;
    struct js_in in;
};
/* 0, or TOK_UNPLAIN; names_free in any case. */
int names_load(struct names *k, const struct tok_source *src);
void names_free(struct names *k);
/* The name, or NULL; its hash is vocab_hash. */
const struct name *names_find(const struct names *k, const char *s, size_t n,
    uint64_t hash);
/* Have memory fetched that names_find of that hash will look at: first with
 * step -1, then, when that has come, 0 and 1. */
static inline void
names_fetch(const struct names *k, uint64_t hash, int step)
{
    const uint64_t *const slot = &k->slot[hash & k->mask];

    if (step < 0)
        __builtin_prefetch(slot);
    else if (*slot)
        __builtin_prefetch(step == 0 ? (const char *)&k->v[(uint32_t)*slot - 1]
                                     : k->v[(uint32_t)*slot - 1].s);
}
/* Id of a text of the vocabulary: 0, or -1. */
int names_id(const struct names *k, const char *s, size_t n, uint32_t *id);

/* The merges, one by one. */
struct merges {
    const json_t *list; /* NULL: they are text */
    size_t i, n;        /* number of the next, of all */
    struct js_in in;
};
struct merge_parts { /* of a merge */
    const char *x, *y;
    size_t nx, ny;
};
/* 0, -1 and *e; merges_end after 0. */
int merges_begin(struct merges *m, const struct tok_source *src, struct err *e);
void merges_end(struct merges *m);
/* 1, 0 at the end, -1 and *e, or TOK_UNPLAIN. */
int merges_next(struct merges *m, struct merge_parts *p, struct err *e);

int vocab_load(struct tokenizer *t, const struct names *names, struct err *e);
/* The merges, and model.retort_ties, [[first, number], ...]: that many merges
 * from `first` on have one rank.  *pairs: malloc'd left << 32 | right of every
 * merge, the caller's.  0, -1 and *e, or TOK_UNPLAIN. */
int merges_load(struct tokenizer *t, const struct tok_source *src,
    const struct names *names, uint64_t **pairs, struct err *e);
/* GPT-2's visible letter of a byte, a code point below 512. */
uint32_t vocab_letter(unsigned b);
/* The text of id: n bytes at off of the pool. */
void vocab_set(struct tokenizer *t, size_t id, size_t off, size_t n);
/* Fill t->hash. */
void tok_hash_all(struct tokenizer *t, const uint64_t *pairs);

#endif
