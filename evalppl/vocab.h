/* Texts of the tokens of a vocabulary, their classes, and their bytes. */
#ifndef VOCAB_H
#define VOCAB_H

#include "base/mem.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* Classes of tokens, by their first character that is not white space. */
enum token_class {
    CLASS_FIRST,  /* a letter or mark, not directly after a letter or mark */
    CLASS_INSIDE, /* a letter or mark directly after another */
    CLASS_DIGITS, /* a number: \p{N} */
    CLASS_PUNCT,  /* any other character */
    CLASS_SPACE,  /* only white space */
    CLASS_OTHER,  /* a special token, or a part of a character */
    CLASS_N
};
extern const char *const class_name[CLASS_N];

struct vocab;
/* Copy the texts of ids below V; t may be freed afterwards. */
struct vocab *vocab_new(const struct tokenizer *t, size_t V);
void vocab_free(struct vocab *v);
/* Bytes of text that the token stands for; 0 for a special token.  first: 1:
 * the token begins a text, so the space that the tokenizer adds before a text
 * does not count. */
size_t vocab_bytes(const struct vocab *v, uint32_t id, int first);
/* Text of the token, special or not, *n bytes, which need not be UTF-8. */
const char *vocab_text(const struct vocab *v, uint32_t id, size_t *n);
/* Class of a token that follows the token `before`. */
enum token_class vocab_class(const struct vocab *v, uint32_t before,
    uint32_t id);

#endif
