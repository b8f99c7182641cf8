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
#define FIND_BYTES 4096     /* bytes of text that aho_read reads at a time */

/* A merge: the pair's rank and the id that it becomes; rank TOK_NONE: no
 * merge. */
struct merge {
    uint32_t rank, id;
};
struct pair_slot {
    uint64_t key;   /* left id << 32 | right id */
    struct merge m; /* rank TOK_NONE: empty slot */
};

/*
 * A second table of all merges, in which a pair is looked up without a branch:
 * a hash table whose buckets are lines of the processor's cache, with 8 entries
 * of 64 bits.  An entry has, from its top bit down: the bits 1 and 0; the tag;
 * the rank; the id.  Tag and bucket number together identify the pair.  An
 * entry of zeros is free.  A merge whose bucket was full is in tokenizer.pair
 * only.
 */
#define LINE_PAIRS 8
struct lines {
    uint64_t *v;                /* NULL: the entries do not fit in 64 bits */
    unsigned id_bits;           /* width of an id */
    unsigned tag_bits;          /* width of a tag */
    unsigned shift;             /* position of the tag's lowest bit */
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

/* Where the pre-tokenizer puts tokenizer.gap, unless it is there already.
 * NONE: nowhere.  FIRST: before the text.  ALWAYS: also before each text
 * between added tokens. */
enum prefix { PREFIX_NONE, PREFIX_FIRST, PREFIX_ALWAYS };

/* How the pre-tokenizer cuts text if symbols are characters. */
enum sp_split {
    SP_WHOLE, /* do not cut */
    SP_MARK,  /* before each U+2581 */
    SP_SPACE  /* after each space */
};

/* Tables of a tokenizer whose symbols are characters, as in SentencePiece. */
struct sp {
    uint32_t *page[0x1100]; /* page[c >> 8][c & 255]: id of character c, or
                             * TOK_NONE; sp.c adds the bit NO_CUT to an id.
                             * NULL: a page of TOK_NONE */
    uint32_t byte[256];     /* id of <0xNN>, or TOK_NONE */
    uint32_t unk;           /* id of unknown text; TOK_NONE: it vanishes */
    int fallback, fuse;
    enum sp_split split;
    /* Do normalizer and pre-tokenizer only make each space a U+2581 and put one
     * before the text?  Then sp_text encodes without running them. */
    int spaces;
    enum prefix lead; /* where normalizer or pre-tokenizer puts U+2581 */
    int lead_once;    /* put no U+2581 before a text that begins with it */
    int cut;          /* words can be merged by themselves (sp.c) */
    int free_unknown; /* 1: unknown characters become tokens of no merge */
};

struct tok_text {
    size_t off; /* offset of n bytes in tokenizer.pool */
    uint32_t n;
    uint8_t known; /* is there a token of this id? */
    uint8_t added, special;
};

struct tokenizer {
    size_t nid;             /* 1 + largest id */
    struct tok_text *text;  /* [nid] tokens' texts in the vocabulary, as
                             * bytes */
    struct tok_text *shown; /* [nid] texts that tokens decode to; may be ==
                             * text */
    struct buf pool;
    uint32_t *slot;    /* [slot_mask + 1] hash table from bytes to ids */
    uint8_t *slot_tag; /* [slot_mask + 1] some bits of the hash, 0: empty */
    size_t slot_mask;
    uint32_t byte_id[256];   /* by byte; TOK_NONE: the byte vanishes */
    struct merge *byte_pair; /* [256*256] merges of two bytes */
    struct pair_slot *pair;  /* [pair_mask + 1] hash table of all merges */
    uint64_t *pair_bits;     /* [pair_words] Bloom filter, see pair_word */
    size_t pair_mask, pair_words, nmerge;
    struct lines lines; /* second table of all merges, for queue.h */
    int ignore_merges;
    struct norm_op *norm_op; /* [nnorm] */
    size_t nnorm;
    enum prefix prefix;
    char gap[8];      /* what is put before a text (prefix), and for a
                       * space (put_gap) */
    int put_gap;      /* the pre-tokenizer replaces spaces by gap */
    enum split split; /* used if sp is NULL */
    struct sp *sp;    /* NULL: symbols are bytes */
    size_t strip;     /* spaces to remove at the start of decoded text */
    int strip_marks;  /* the first token is decoded without its U+2581 */
    const struct tok_code *code; /* chosen for this processor */
    struct added_set raw, norm;  /* added tokens; norm: normalized ones */
    int64_t before, after;       /* ids that the post-processor adds, or -1 */
    int64_t bos, eos, pad;       /* ids, or -1; see tok_bos */
    struct tok_ids ends;         /* all ids that end a text, see tok_is_end */
    int64_t own_bos;             /* BOS of the tokenizer's own files, see
                                  * tok_prefix */
    char hash[33];
    const char *warning; /* see tok_warning */
};

/* A thread's memory for encoding. */
struct tok_scratch {
    struct cache cache;
    struct scan scan;
    const struct tok_code *code;
    struct queue *queue;
    uint32_t *id; /* [id_cap], see bpe_symbols */
    size_t id_cap;
    uint32_t *rank, *prev, *next; /* [cap] list of symbols, of merge.c */
    uint64_t *heap;               /* [3*cap] of merge.c */
    size_t cap;
    struct window *window;         /* of window.c, or NULL */
    struct buf norm[2], pre;       /* text after a step of the normalizer (norm)
                                    * or of the pre-tokenizer (pre) */
    uint32_t found[2][FIND_BYTES]; /* set by aho_read, for raw and for norm */
};

#endif
