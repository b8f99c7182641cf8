/*
 * Parts of `prune vocab`: which ids are kept (vocab_ids.c), the tokenizer's
 * files with new ids (vocab_files.c), and what the model loses by it
 * (vocab_mass.c).
 */
#ifndef PRUNE_VOCAB_H
#define PRUNE_VOCAB_H

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* ---- vocab_ids.c ---- */

#define VOCAB_GONE UINT32_MAX

/* Why an id is kept. */
enum why {
    WHY_NOT,
    WHY_NAMED, /* by the configuration, the chat template, ... */
    WHY_ADDED, /* an added token, such as special ones, tabs, <b> */
    WHY_BYTE,
    WHY_SCRIPT, /* one character of a script that is used */
    WHY_USED,
    WHY_PART, /* merging another passes through it */
    WHY_FILL,
    WHY_N
};

/* A choice among the ids of a tokenizer. */
struct vocab {
    const struct tokenizer *t;
    size_t n;           /* ids of the tokenizer */
    size_t rows;        /* of the model: an id of so many or more is not kept */
    uint64_t *count;    /* [n] uses in the corpus */
    uint64_t total;     /* ... of all */
    unsigned char *why; /* [n] enum why; WHY_NOT: not kept */
    size_t kept;        /* how many are */
    size_t left;        /* ids used that had no room */
    uint64_t left_uses; /* ... and their uses */
    uint32_t *to;       /* [n] the new id, VOCAB_GONE; of vocab_number */
    uint32_t *from;     /* [kept] the old one; of vocab_number */
    struct tok_ids parts; /* scratch */
};
void vocab_init(struct vocab *v, const struct tokenizer *t, size_t rows);
void vocab_release(struct vocab *v);

/* Count the ids of a stream of documents or batches.  Dies on damage, or when
 * `tokenizer` (a path) is another than the stream's. */
void vocab_count(struct vocab *v, const char *addr, const char *tokenizer);
/* Count the ids that a file lists as used once.  Dies. */
void vocab_list(struct vocab *v, const char *file);

/* Keep id for that reason, and what it is made of, unless there would be more
 * than `size` then: 0.  An id without a token, or without a row in the model,
 * is not kept: 1. */
int vocab_add(struct vocab *v, uint32_t id, enum why why, size_t size);

/* Choose at most `size` (0: no more than are used) in the order that
 * prune-vocab(1) describes; what is in v is kept already.  reserved: special
 * tokens without a meaning are kept too; scripts: so are their characters.
 * -1 and *e (EX_USAGE): what must be kept is more than `size`. */
int vocab_choose(struct vocab *v, size_t size, int reserved, int scripts,
    struct err *e);

/* Fill to and from: new ids in the order of the old. */
void vocab_number(struct vocab *v);

/* Append the report. */
void vocab_tsv(const struct vocab *v, struct buf *b);

/* ---- vocab_files.c ---- */

/* The tokenizer's files in a folder that tokenizer_export has written. */
struct vocab_files {
    const char *dir;
    json_t *tok, *config, *gen; /* tokenizer.json, and where there are such
                                 * tokenizer_config.json and
                                 * generation_config.json */
    char *chat;                 /* chat_template.jinja, or NULL */
};
/* -1 and *e; vocab_files_release in any case. */
int vocab_files_open(struct vocab_files *f, const char *dir, struct err *e);
void vocab_files_release(struct vocab_files *f);
/* Keep in v what the files name by id or spell in the chat template. */
void vocab_files_named(const struct vocab_files *f, struct vocab *v);
/* Write them with the ids of v, once; what else holds old ids is removed. */
int vocab_files_cut(struct vocab_files *f, const struct vocab *v,
    struct err *e);
/* Has the tokenizer at dir the ids of v?  Compares text and kind of each, and
 * the ids of each one's text.  -1 and *e (EX_INPUT): it has not. */
int vocab_files_check(const struct vocab *v, const char *dir, struct err *e);

/* ---- vocab_mass.c ---- */

/* What is lost on documents: the TSV that prune-vocab(1) describes goes to *b.
 * m: the whole model; small: cut to the ids of v.  Dies. */
void vocab_mass(const struct vocab *v, const struct model *m,
    const struct model *small, const char *addr, const char *tokenizer,
    struct pool *pool, struct buf *b);

#endif
