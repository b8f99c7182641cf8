/* Ids that `prune vocab` keeps, in the order that prune-vocab(1) describes. */
#ifndef PRUNE_VOCAB_IDS_H
#define PRUNE_VOCAB_IDS_H

#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

#define VOCAB_GONE UINT32_MAX

/* Reasons to keep an id. */
enum why {
    WHY_NOT,
    WHY_NAMED,  /* the configuration, the chat template or a file names it */
    WHY_ADDED,  /* an added token, such as special ones, tabs, <b> */
    WHY_BYTE,   /* a single byte */
    WHY_SCRIPT, /* one character of a script that the corpus uses */
    WHY_USED,   /* the corpus uses it */
    WHY_PART,   /* the merges of another kept token pass through it */
    WHY_FILL,   /* there was room */
    WHY_N
};

/* A choice among the ids of a tokenizer. */
struct vocab {
    const struct tokenizer *t;
    size_t n;             /* ids of the tokenizer */
    size_t rows;          /* rows of the model; ids past them are not kept */
    uint64_t *count;      /* [n] uses in the corpus */
    uint64_t total;       /* uses of all ids */
    unsigned char *why;   /* [n] enum why; WHY_NOT: not kept */
    size_t kept;          /* number of kept ids */
    size_t left;          /* used ids that had no room */
    uint64_t left_uses;   /* uses of these */
    uint32_t *to;         /* [n] new ids, VOCAB_GONE: dropped; vocab_number */
    uint32_t *from;       /* [kept] old ids; vocab_number */
    struct tok_ids parts; /* work space */
};
void vocab_init(struct vocab *v, const struct tokenizer *t, size_t rows);
void vocab_release(struct vocab *v);

/* Count the ids of a stream of documents or batches.  Dies on damage, and if
 * the stream has another tokenizer than the one at path `tokenizer`. */
void vocab_count(struct vocab *v, const char *addr, const char *tokenizer);
/* Count each id that a file lists as used once.  Dies. */
void vocab_list(struct vocab *v, const char *file);

/* Keep id for that reason, and the tokens that its merges pass through.  0:
 * more than `size` ids would be kept, and nothing was done.  1 otherwise, also
 * for an id without a token or without a row in the model, which is not
 * kept. */
int vocab_add(struct vocab *v, uint32_t id, enum why why, size_t size);

/* Keep id, however many there are; one that is negative or none is ignored. */
void vocab_must(struct vocab *v, int64_t id, enum why why);

/* Choose at most `size` ids (0: those that are used) beside those that v keeps
 * already.  reserved: keep special tokens without a meaning too; scripts: keep
 * the characters of the scripts that are used too.  -1 and *e (EX_USAGE): more
 * than `size` ids must be kept. */
int vocab_choose(struct vocab *v, size_t size, int reserved, int scripts,
    struct err *e);

/* Fill to and from: new ids in the order of the old. */
void vocab_number(struct vocab *v);

/* Append the report of prune-vocab(1). */
void vocab_tsv(const struct vocab *v, struct buf *b);

#endif
