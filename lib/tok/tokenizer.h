/*
 * The tokenizer's tables and a thread's memory.  Encoding uses them in this
 * order: added tokens (added.c, aho_corasick.c), normalizer (norm.c), pieces
 * (bpe.c with split.c and scan.c) or words (sp.c), merges (queue.c, window.c,
 * merge.c).  See tok.h.
 */
#ifndef TOK_TOKENIZER_H
#define TOK_TOKENIZER_H

#include "tok/added.h"
#include "tok/cache.h"
#include "tok/scan.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

#define TOK_NONE UINT32_MAX /* no id, no rank */
#define FIND_BYTES 4096 /* of text in which added tokens are found at a time */

/* A merge: the pair's rank and what it becomes; rank TOK_NONE: no merge. */
struct merge {
    uint32_t rank, id;
};
struct pair_slot {
    uint64_t key;   /* left << 32 | right */
    struct merge m; /* rank TOK_NONE: empty slot */
};

/*
 * All merges once more, where a pair is looked up without a branch: a hash
 * table whose buckets are lines of the processor's cache, of 8 entries of 64
 * bits.  An entry is, from its top: the bits 1 and 0; the tag, which together
 * with the bucket's number tells the pair; the rank; the id.  An entry of zeros
 * is free.  A merge whose bucket was full is in tokenizer.pair only.
 */
#define LINE_PAIRS 8
struct lines {
    uint64_t *v;                /* NULL: the entries do not fit in 64 bits */
    unsigned id_bits;           /* width of an id */
    unsigned tag_bits;          /* width of a tag */
    unsigned shift;             /* number of the tag's lowest bit */
    uint64_t mask;              /* the lowest 2 * id_bits bits */
    uint64_t tag_mask, id_mask; /* the lowest tag_bits, id_bits bits */
};

/* A step of the normalizer. */
enum norm_kind { NORM_NFC, NORM_PREPEND, NORM_REPLACE };
struct norm_op {
    enum norm_kind kind;
    char *from, *to; /* malloc'd, or NULL; nfrom > 0 for NORM_REPLACE */
    size_t nfrom, nto;
};

/* Where the pre-tokenizer puts tokenizer.gap, unless it stands there already:
 * nowhere; before the text; before each stretch between added tokens too. */
enum prefix { PREFIX_NONE, PREFIX_FIRST, PREFIX_ALWAYS };

/* How the pre-tokenizer cuts text where symbols are characters. */
enum sp_split {
    SP_WHOLE, /* not at all */
    SP_MARK,  /* before each U+2581 */
    SP_SPACE  /* behind each space */
};

/* Tables of a tokenizer whose symbols are characters, as SentencePiece has
 * them. */
struct sp {
    uint32_t *page[0x1100]; /* of 256 characters: id | NO_CUT of sp.c */
    uint32_t byte[256];     /* id of <0xNN>, or TOK_NONE */
    uint32_t unk;           /* TOK_NONE: what is unknown vanishes */
    int fallback, fuse;
    enum sp_split split;
    /* The normalizer and the pre-tokenizer only make each space a U+2581 and
     * put one before the text, so sp_text takes the text without them: */
    int spaces;
    enum prefix lead; /* where one is put */
    int lead_once;    /* ... unless the text begins with one */
    int cut;          /* words can be merged by themselves (sp.c) */
    int free_unknown; /* no merge takes part of an unknown character */
};

struct tok_text {
    size_t off; /* in the pool */
    uint32_t n;
    uint8_t known; /* there is a token of this id */
    uint8_t added, special;
};

struct tokenizer {
    size_t nid;             /* 1 + largest id */
    struct tok_text *text;  /* [nid] texts of the vocabulary, as bytes */
    struct tok_text *shown; /* [nid] what they decode to; may be text */
    struct buf pool;
    uint32_t *slot;    /* hash of bytes to id; mask + 1 slots */
    uint8_t *slot_tag; /* [slot_mask + 1] of the hash, 0: empty */
    size_t slot_mask;
    uint32_t byte_id[256];   /* TOK_NONE: the byte vanishes */
    struct merge *byte_pair; /* [256*256] merges of two bytes */
    struct pair_slot *pair;  /* all merges; pair_mask + 1 slots */
    uint64_t *pair_bits;     /* [pair_words] which they are, see pair_word */
    size_t pair_mask, pair_words, nmerge;
    struct lines lines; /* all merges again, for queue.h */
    int ignore_merges;
    struct norm_op *norm_op; /* [nnorm] */
    size_t nnorm;
    enum prefix prefix;
    char gap[8];      /* stands for a space, and is the prefix */
    int put_gap;      /* the pre-tokenizer replaces spaces by it */
    enum split split; /* where sp is NULL */
    struct sp *sp;    /* NULL: symbols are bytes */
    size_t strip;     /* spaces to take away where decoded text begins */
    int strip_marks;  /* the first token is decoded without its U+2581 */
    const struct tok_code *code; /* of this processor */
    struct added_set raw, norm;  /* not normalized, normalized */
    int64_t before, after;       /* of the post-processor */
    int64_t bos, eos, pad;       /* of configuration files */
    struct tok_ids ends;         /* ... all that end a text, eos or not */
    int64_t own_bos;             /* not of a model's files */
    char hash[33];
    const char *warning; /* of tok_warning */
};

/* Memory of one thread. */
struct tok_scratch {
    struct cache cache;
    struct scan scan;
    const struct tok_code *code;
    struct queue *queue;
    uint32_t *id; /* [id_cap], see bpe_symbols */
    size_t id_cap;
    uint32_t *rank, *prev, *next; /* [cap] of a long piece */
    uint64_t *heap;               /* [3*cap] */
    size_t cap;
    struct window *window;         /* of window.c, or NULL */
    struct buf norm[2], pre;       /* a stretch after the steps */
    uint32_t found[2][FIND_BYTES]; /* of aho_read, each set's */
};

#endif
