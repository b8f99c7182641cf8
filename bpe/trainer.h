/*
 * Training of byte-level BPE.  Ids are those of BpeTrainer of the Hugging Face
 * tokenizers library: special tokens, then the 256 bytes in the order of their
 * letters, then merges as they are made: the pair with the highest count; of
 * equals the one with the smaller left, then right id.  Counts are of adjacent
 * pairs, overlapping ones too, times the count of the word.
 */
#ifndef BPE_TRAINER_H
#define BPE_TRAINER_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct trainer;

/* digits: each digit is a word of its own (as SmolLM2), else they stand
 * together (as GPT-2). */
struct trainer *trainer_new(int digits);
/* Count the words of text[n], each `weight` times, as if the text came so
 * often.  Memory grows with the number of different words.  The sum of n times
 * weight over all calls must be below 2^63. */
void trainer_text(struct trainer *t, const char *text, size_t n,
    uint64_t weight);
/* Count what `from` has counted, `weight` times; both of the same digits, both
 * before trainer_run. */
void trainer_add(struct trainer *t, const struct trainer *from,
    uint64_t weight);

struct trainer_spec {
    size_t vocab;               /* entries at most; fewer if pairs run out */
    uint64_t min_frequency;     /* pairs with a lower count (weights are in
                                 * it) are not merged */
    const char *const *special; /* [nspecial] texts, UTF-8, each once */
    size_t nspecial;
    void (*tick)(size_t n); /* called after a merge: n entries; or NULL */
};
/* A tokenizer.json, the caller's (json_decref).  Once for each trainer.  NULL
 * and EX_INPUT after 2^32 - 1 bytes of different words. */
json_t *trainer_run(struct trainer *t, const struct trainer_spec *s,
    struct err *e);
void trainer_free(struct trainer *t);

#endif
