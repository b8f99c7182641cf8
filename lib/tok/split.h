/* The pieces that a pre-tokenizer cuts text into, one after another: split.c,
 * split_deepseek.c. */
#ifndef TOK_SPLIT_H
#define TOK_SPLIT_H

#include <stddef.h>

/* The pre-tokenizers that are known, each with a scanner of its own. */
enum split {
    SPLIT_NONE,        /* text between added tokens is one piece */
    SPLIT_GPT2,        /* the pattern of ByteLevel(use_regex) */
    SPLIT_GPT2_DIGITS, /* Digits(individual), then GPT2 in between */
    SPLIT_CL100K,      /* Llama 3: numbers of at most 3 digits */
    SPLIT_CL100K_1,    /* Qwen 2: numbers of 1 digit */
    SPLIT_TEKKEN,      /* Mistral: words by case, numbers of 1 digit */
    SPLIT_O200K,       /* GPT-4o, Llama 4: as TEKKEN, but words keep
                        * their 's, and numbers have up to 3 digits */
    SPLIT_DEEPSEEK,    /* DeepSeek-V3: see split_deepseek.c */
    SPLIT_QWEN35       /* Qwen 3.5: as Qwen 2, but marks are letters */
};

/* Does the pattern distinguish upper and lower case? */
static inline int
split_by_case(enum split split)
{
    return split == SPLIT_TEKKEN || split == SPLIT_O200K;
}

/* Length in bytes of the first piece of the text p .. end, p < end. */
size_t split_piece(enum split kind, const unsigned char *p,
    const unsigned char *end);
/* Length of the contraction ('s 't 're 've 'm 'll 'd) at p, where an apostrophe
 * is; 0: it begins no contraction.  split_contraction_i takes upper and lower
 * case, and U+017F as an s. */
size_t split_contraction(const unsigned char *p, const unsigned char *end);
size_t split_contraction_i(const unsigned char *p, const unsigned char *end);

/* split_piece for SPLIT_DEEPSEEK; see split_deepseek.c. */
size_t split_deepseek(const unsigned char *p, const unsigned char *end);

#endif
