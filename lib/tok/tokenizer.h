/*
 * What the files of lib/tok share: the tokenizer and a thread's memory, and the
 * steps of encoding in their order: added tokens (added.c, aho_corasick.c),
 * normalizer (norm.c), pieces (bpe.c with split.c and scan.c) or words (sp.c),
 * merges (queue.c, window.c, merge.c).  See tok.h.
 */
#ifndef TOK_TOKENIZER_H
#define TOK_TOKENIZER_H

#include "tok/tok.h"
#include "tok/cache.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TOK_NONE UINT32_MAX /* no id, no rank */

/* The pre-tokenizers that are known, each with a scanner of its own. */
enum split {
    SPLIT_NONE,        /* a gap is one piece */
    SPLIT_GPT2,        /* the pattern of ByteLevel(use_regex) */
    SPLIT_GPT2_DIGITS, /* Digits(individual), then that on what is between */
    SPLIT_CL100K,      /* Llama 3: numbers in pieces of at most 3 */
    SPLIT_CL100K_1,    /* Qwen 2: of 1 */
    SPLIT_TEKKEN,      /* Mistral: words by case, numbers of 1 */
    SPLIT_O200K,       /* GPT-4o, Llama 4: by case, with 's; of 3 */
    SPLIT_QWEN35       /* Qwen 3.5: as Qwen 2, marks count as letters */
};

/* Does the pattern tell upper from lower case? */
static inline int
split_by_case(enum split split)
{
    return split == SPLIT_TEKKEN || split == SPLIT_O200K;
}

/* A stretch of text as bit sets; see scan.h. */
#define SCAN_BYTES 4096
#define SCAN_SETS 12
struct scan {
    enum split split;
    const unsigned char *base;
    size_t n; /* bytes that are classified, whole characters */
    int last; /* the text ends there */
    uint64_t set[SCAN_SETS][SCAN_BYTES / 64 + 2];
};
struct tok_code;

/* Length in bytes of the first piece of p < end. */
size_t split_piece(enum split kind, const unsigned char *p,
    const unsigned char *end);
/* Length of 's 't 're 've 'm 'll 'd at p (an apostrophe), else 0; _i: in either
 * case, where U+017F is a small s too. */
size_t split_contraction(const unsigned char *p, const unsigned char *end);
size_t split_contraction_i(const unsigned char *p, const unsigned char *end);

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

/* An added token; flags are those of the JSON.  s is what is looked for:
 * the name, normalized where the token is. */
struct added {
    const char *s, *name; /* of n and nname bytes, each malloc'd */
    size_t n, nname;
    uint32_t id;
    uint8_t single_word, lstrip, rstrip, normalized, special;
};

/* Added tokens that are looked for together: sorted by content, those that
 * begin with byte c are a[start[c]] .. a[start[c+1]-1]. */
struct added_set {
    struct added *a;
    size_t n;
    size_t start[257];
    int only; /* the one first byte, or -1 */
    int all_special;
    struct aho *aho; /* NULL: never needed */
};

/* Find a set's tokens in time linear in the text.  For i < n token[i] becomes
 * 0, or 1 + the number in set->a of the longest token that begins at p[i] and
 * ends before p[room]; room >= n. */
#define FIND_BYTES 4096
struct aho *aho_new(const struct added_set *set);
void aho_free(struct aho *f);
void aho_read(const struct aho *f, const unsigned char *p, size_t n,
    size_t room, uint32_t *token);

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

/* Of tokenizers whose symbols are characters, as SentencePiece has them. */
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

static inline uint64_t
pair_key(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

static inline uint64_t
pair_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* Where to look for a pair first. */
static inline size_t
pair_start(const struct tokenizer *t, uint64_t key)
{
    return (size_t)(pair_hash(key) >> 12) & t->pair_mask;
}

/* The slot of the pair of that key, or the empty one where it belongs. */
static inline struct pair_slot *
pair_at(const struct tokenizer *t, uint64_t key)
{
    size_t i = pair_start(t, key);

    while (t->pair[i].m.rank != TOK_NONE && t->pair[i].key != key)
        i = (i + 1) & t->pair_mask;
    return &t->pair[i];
}

/* Most pairs that are looked up do not merge.  A Bloom filter tells so of
 * nearly all of them, and stays in the processor's caches: both bits of a pair
 * are in one word. */
static inline uint64_t *
pair_word(const struct tokenizer *t, uint64_t hash, uint64_t *bits)
{
    *bits = UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);
    return &t->pair_bits[(hash >> 32) * t->pair_words >> 32];
}

/* The merge of a pair. */
static inline struct merge
pair_find(const struct tokenizer *t, uint32_t a, uint32_t b)
{
    const uint64_t key = pair_key(a, b);
    uint64_t bits, *const word = pair_word(t, pair_hash(key), &bits);

    return (*word & bits) != bits ? (struct merge){ TOK_NONE, TOK_NONE }
                                  : pair_at(t, key)->m;
}

/* Id of bytes in the vocabulary, or TOK_NONE; hash: vocab_hash of them. */
uint64_t vocab_hash(const void *p, size_t n);
uint32_t vocab_find(const struct tokenizer *t, const void *p, size_t n,
    uint64_t hash);
static inline uint32_t
vocab_id_of(const struct tokenizer *t, const void *p, size_t n)
{
    return vocab_find(t, p, n, vocab_hash(p, n));
}

/* Memory for n symbols to merge, of s, until the next call. */
uint32_t *bpe_symbols(struct tok_scratch *s, size_t n);
/* Merge id[n] in place by the merges of t; returns how many are left.  Unless
 * start[n] is NULL, start[i] becomes the number of the first of the symbols
 * that id[i] was merged from. */
size_t bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start);

/* The symbols of the text p .. end: next() writes the next ones to id[room],
 * room >= SYMBOLS_ROOM, and returns how many, 0 at the end.  All in all there
 * is at most one for each byte, and one more.  bytes: each symbol is that of a
 * byte, which next() writes to byte[] too unless that is NULL. */
#define SYMBOLS_ROOM 8
struct symbols {
    size_t (*next)(const struct tokenizer *t, struct symbols *x, uint32_t *id,
        size_t room);
    const unsigned char *p, *end;
    int bytes;
    unsigned char *byte;
    int waits, lead; /* of sp.c: an unknown token waits; U+2581 comes first */
};
/* Merge the symbols of x and append the ids, in linear time and constant memory
 * for all but contrived vocabularies. */
void window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, struct tok_ids *out);

/* Fill t->lines. */
void lines_index(struct tokenizer *t);

/* Encode text without added tokens, normalized. */
void bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out);

/* The same where symbols are characters; lead: with a U+2581 before it. */
void sp_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int lead, struct tok_ids *out);
/* norm_run and pre_gap in one, where t->sp->spaces. */
void sp_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);
/* Tables of t->sp from the vocabulary and the merges; and their end. */
void sp_index(struct tokenizer *t);
void sp_free(struct sp *sp);

/* *p, *n after the normalizer: as they are, or in one of b[2]. */
void norm_run(const struct tokenizer *t, struct buf b[2],
    const unsigned char **p, size_t *n);
/* Encode what stands between added tokens, normalized; first: at the
 * beginning of the text. */
void pre_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);

/* Of two struct added, by what is looked for, for qsort. */
int added_compare(const void *a, const void *b);
/* Sort and index a set whose a[n] has been filled; of equal contents the
 * caller has left one. */
void added_index(struct added_set *set);
/* Encode text: added tokens first, the rest by bpe_gap. */
void added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out);

#endif
