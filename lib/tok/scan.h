/*
 * Cuts text into the pieces of byte-level BPE by bit sets.  A stretch of text
 * is classified 64 bytes at a time, by vector code if there is any.  Then the
 * length of a run of characters of a class is the number of adjacent bits set.
 * The cuts are the same as split_piece makes; pieces longer than a stretch are
 * left to split_piece.
 *
 * The GPT-2 pattern is in scan_gpt2.c.
 */
#ifndef TOK_SCAN_H
#define TOK_SCAN_H

#include "base/err.h"
#include "tok/split.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tokenizer;
struct queue;

/* A stretch of text as bit sets. */
#define SCAN_BYTES 4096
#define SCAN_SETS 12
struct scan {
    enum split split;
    const unsigned char *base;
    size_t n; /* bytes that are classified: whole characters */
    int last; /* the text ends with the stretch */
    uint64_t set[SCAN_SETS][SCAN_BYTES / 64 + 2];
};

/* Bit i of a set stands for byte i of the stretch; bits after its end are 0. */
enum {
    SCAN_L, /* letters; with SPLIT_QWEN35 marks too */
    SCAN_N, /* numbers: U_DIGIT for SPLIT_GPT2_DIGITS, else U_N */
    SCAN_O, /* characters of no other class */
    SCAN_S, /* white space */
    SCAN_F, /* bytes of a character after its first byte */
    SCAN_X, /* characters that tok_code.blocks leaves to scan_begin */
    SCAN_P, /* the space U+0020 */
    SCAN_Q, /* the apostrophe U+0027 */
    SCAN_U, /* upper and title case; ASCII only unless split_by_case */
    SCAN_V, /* lower case; ASCII only unless split_by_case */
    SCAN_T, /* letters and marks, if split_by_case */
    SCAN_B  /* first bytes of pieces, GPT-2 patterns only */
};

/* If the last piece may go on after the stretch, SCAN_B has a bit this many
 * bytes after the stretch; it makes scan_piece return 0 for that piece.  A
 * contraction that crosses the end of the stretch ends before this bit. */
#define SCAN_OPEN 8

/*
 * blocks() classifies a number (`blocks`) of blocks of 64 bytes at p: it sets
 * the words of the sets L, N, S, F, X, P, Q, U and V from word `at` on.  The
 * byte after the last block is read too.  A character that is not ASCII is in X
 * unless it is one of the usual letters of two bytes.  *carry: is the next
 * block's first byte the second of such a letter?  0 at the start of a text.
 */
struct tok_code {
    const char *name;
    void (*blocks)(struct scan *s, size_t at, size_t blocks,
        const unsigned char *p, uint64_t *carry);
    void (*merge)(const struct tokenizer *t, struct queue *q);
    /* Returns the length of a prefix of p[n] that is UTF-8, not always the
     * longest.  The pointer is NULL in code that has no such function. */
    size_t (*valid)(const unsigned char *p, size_t n);
};

/* The code called `name` (RETORT_KERNELS), or the best if NULL.  NULL and *e:
 * the name is unknown, or this processor cannot run that code. */
const struct tok_code *scan_choose(const char *name, struct err *e);

void scan_avx2(struct scan *s, size_t at, size_t blocks, const unsigned char *p,
    uint64_t *carry);
void scan_avx512(struct scan *s, size_t at, size_t blocks,
    const unsigned char *p, uint64_t *carry);
void scan_neon(struct scan *s, size_t at, size_t blocks, const unsigned char *p,
    uint64_t *carry);

size_t valid_avx2(const unsigned char *p, size_t n);
size_t valid_avx512(const unsigned char *p, size_t n);
size_t valid_neon(const unsigned char *p, size_t n);

/* Classify a stretch of the text p .. end; split is not SPLIT_NONE. */
void scan_begin(struct scan *s, const struct tok_code *code, enum split split,
    const unsigned char *p, const unsigned char *end);
/* Fill B for SPLIT_GPT2 and SPLIT_GPT2_DIGITS; end: the end of the text. */
void scan_gpt2(struct scan *s, size_t words, const unsigned char *end);
/* scan_piece for patterns other than GPT-2's */
size_t scan_other(const struct scan *s, size_t i, const unsigned char *end);

/* Length of the piece that begins at byte i < s->n; 0: it may go on after the
 * stretch.  end: the end of the text. */
static inline size_t
scan_piece(const struct scan *s, size_t i, const unsigned char *end)
{
    size_t r = i + 1;
    uint64_t w;

    if (s->split != SPLIT_GPT2 && s->split != SPLIT_GPT2_DIGITS)
        return scan_other(s, i, end);
    for (;; r += 56) {
        memcpy(&w, (const unsigned char *)s->set[SCAN_B] + (r >> 3), 8);
        w >>= r & 7;
        if (w)
            break;
    }
    r += (size_t)__builtin_ctzll(w);
    return r >= s->n + SCAN_OPEN ? 0 : r - i;
}

#endif
