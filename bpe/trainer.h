/*
 * Training of byte-level BPE, with the ids that BpeTrainer of the Hugging Face
 * tokenizers library gives: special tokens, then the 256 bytes in the order of
 * the letters that stand for them, then merges.  Each merge takes the pair with
 * the highest count; among equal counts, the pair with the smallest left id,
 * then the smallest right id.  A pair's count is a sum over the different
 * words: its occurrences in the word, overlapping ones too, times the word's
 * count.
 */
#ifndef BPE_TRAINER_H
#define BPE_TRAINER_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct trainer;

/* Numbers are split into single digits (as in SmolLM2). */
struct trainer *trainer_new(void);
/* Count each word of text[n] `weight` times.  Memory grows with the number of
 * different words.  The sum of n * weight over all calls must be below 2^63. */
void trainer_text(struct trainer *t, const char *text, size_t n,
    uint64_t weight);
/* Add the counts of `from`, times `weight`.  Neither trainer has run. */
void trainer_add(struct trainer *t, const struct trainer *from,
    uint64_t weight);

struct trainer_spec {
    size_t vocab;               /* entries at most; fewer if pairs run out */
    uint64_t min_frequency;     /* pairs with a lower weighted count are not
                                 * merged */
    const char *const *special; /* [nspecial] texts, UTF-8, each once */
    size_t nspecial;
    void (*tick)(size_t n); /* called after each merge with the size of the
                             * vocabulary; or NULL */
};
/* Train, and return a tokenizer.json, which the caller releases (json_decref).
 * Call it once.  NULL and *e (EX_INPUT): the different words have more than
 * 2^32 - 1 bytes. */
json_t *trainer_run(struct trainer *t, const struct trainer_spec *s,
    struct err *e);
void trainer_free(struct trainer *t);

#endif
