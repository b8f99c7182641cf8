/* Texts of the tokens of a vocabulary, what they are, and their bytes. */
#ifndef VOCAB_H
#define VOCAB_H

#include "base/mem.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* By the first character that is no white space. */
enum token_class {
    CLASS_FIRST,  /* a letter or mark, behind white space or what is neither */
    CLASS_INSIDE, /* a letter or mark behind another */
    CLASS_DIGITS, /* a number: \p{N} */
    CLASS_PUNCT,  /* any other character */
    CLASS_SPACE,  /* there is none */
    CLASS_OTHER,  /* a special token, or a part of a character */
    CLASS_N
};
extern const char *const class_name[CLASS_N];

struct vocab;
/* Of ids below V; the tokenizer is needed no longer. */
struct vocab *vocab_new(const struct tokenizer *t, size_t V);
void vocab_free(struct vocab *v);
/* Bytes of text that the token stands for: a special one none; first: at the
 * beginning of a text, where the space that some tokenizers put before it is
 * none of its own. */
size_t vocab_bytes(const struct vocab *v, uint32_t id, int first);
/* Its text, special or not, *n bytes, which need not be UTF-8. */
const char *vocab_text(const struct vocab *v, uint32_t id, size_t *n);
/* Class of a token behind another. */
enum token_class vocab_class(const struct vocab *v, uint32_t before,
    uint32_t id);

#endif
