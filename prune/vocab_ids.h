/* Chooses the ids that `prune vocab` keeps, in the order that prune-vocab(1)
 * describes. */
#ifndef PRUNE_VOCAB_IDS_H
#define PRUNE_VOCAB_IDS_H

#include "base/err.h"
#include "base/mem.h"
#include "model/files/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

#define VOCAB_GONE UINT32_MAX

/* Why an id is kept. */
enum why {
    WHY_NOT,
    WHY_NAMED,  /* the configuration, the chat template or a file names it */
    WHY_ADDED,  /* an added token: a special one, or text such as <b> */
    WHY_BYTE,   /* a single byte */
    WHY_SCRIPT, /* a character of a script that the corpus uses */
    WHY_USED,   /* the corpus uses it */
    WHY_PART,   /* merges make a kept token from it */
    WHY_FILL,   /* --size left room for more */
    WHY_N
};

/* A choice among the ids of a tokenizer. */
struct vocab {
    const struct tokenizer *t;
    size_t n;             /* number of ids of the tokenizer */
    size_t rows;          /* number of the model's rows; later ids are not
                           * kept */
    uint64_t *count;      /* [n] number of uses in the corpus */
    uint64_t total;       /* uses of all ids together */
    unsigned char *why;   /* [n] enum why; WHY_NOT: dropped */
    size_t kept;          /* number of kept ids */
    size_t left;          /* number of used ids that had no room */
    uint64_t left_uses;   /* uses of these ids */
    uint32_t *to;         /* [n] new ids, or VOCAB_GONE; NULL before
                           * vocab_number */
    uint32_t *from;       /* [kept] old ids; NULL before vocab_number */
    struct tok_ids parts; /* work space */
};
void vocab_init(struct vocab *v, const struct tokenizer *t, size_t rows);
void vocab_release(struct vocab *v);

/* Count the ids in a stream of documents or batches.  Dies if the stream is
 * damaged, or was not made with the tokenizer at path `tokenizer`. */
void vocab_count(struct vocab *v, const char *addr, const char *tokenizer);
/* Count each id listed in a file as used once.  Dies. */
void vocab_list(struct vocab *v, const char *file);

/* Keep id, with reason `why`, and the tokens that its merges pass through.
 * Returns 0 and keeps nothing new if more than `size` ids would be kept.  Else
 * 1, also if nothing can be kept: the id has no token, or the model has no row
 * for one of these tokens. */
int vocab_add(struct vocab *v, uint32_t id, enum why why, size_t size);

/* Keep id, however many are kept; ids below 0 or not in the tokenizer are
 * ignored. */
void vocab_must(struct vocab *v, int64_t id, enum why why);

/* Keep more ids, until v keeps `size` of them: first the required ones (BOS,
 * EOS, unknown, added tokens, bytes), then used ones, then the lowest unused
 * ones.  With size 0 all required and used ids are kept, and no unused ones.
 * scripts 1: if a used token is written in Greek, say, all single Greek
 * characters that are tokens are required too, and likewise for other scripts.
 * -1 and *e (EX_USAGE): more than `size` ids are required. */
int vocab_choose(struct vocab *v, size_t size, int scripts, struct err *e);

/* Set v->to and v->from; new ids have the order of the old ones. */
void vocab_number(struct vocab *v);

/* Append the report that prune-vocab(1) describes. */
void vocab_tsv(const struct vocab *v, struct buf *b);

#endif
