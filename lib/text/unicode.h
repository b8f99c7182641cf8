/*
 * Unicode as tokenizers see it: UTF-8 of whole texts, and character classes.
 * Each class follows the Unicode version that the Hugging Face tokenizers
 * library 0.23 uses for that class; the tables of an operating system could
 * give other ids.
 */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>

enum {
    U_L = 1,      /* \p{L} in a pattern, Unicode 16 */
    U_M = 2,      /* \p{M} */
    U_N = 4,      /* \p{N} */
    U_S = 8,      /* \s: White_Space */
    U_DIGIT = 16, /* pre-tokenizer Digits: \p{N} and 13 newer characters */
    U_WORD = 32,  /* \w, as tested beside a single_word token */
    U_UP = 64,    /* \p{Lu} or \p{Lt} */
    U_LOW = 128   /* \p{Ll} */
};

/* Two-stage table, filled before main: uni_index[c / 128] is the number of the
 * block of code point c, and uni_block[number][c % 128] is the class of c.
 * Block 0 is ASCII.  The last index is for U+10FF80 and above, which have class
 * 0; it also serves for UTF8_BAD. */
#define UNI_INDEX (0x110000 / 128)
#define UNI_BLOCKS 256 /* room for blocks; 233 are used */
extern uint16_t uni_index[UNI_INDEX];
extern uint8_t uni_block[UNI_BLOCKS][128];

/* Is c in \p{P} or \p{S}? */
int uni_is_punct(uint32_t c);

/* Find the start of the character that ends before p > begin. */
const unsigned char *uni_before(const unsigned char *p,
    const unsigned char *begin);

/* Length of the longest valid UTF-8 prefix of text[n]: n if all is valid. */
size_t uni_valid(const char *text, size_t n);

/* Append text[n] to *out, unless out is NULL, with U+FFFD for bytes that are
 * not UTF-8.  Returns the number of U+FFFD put in. */
size_t uni_repair(const char *text, size_t n, struct buf *out);

/* Class bits of a code point; 0 for UTF8_BAD. */
static inline unsigned
uni_class(uint32_t c)
{
    const size_t i = c >> 7;

    return uni_block[uni_index[i < UNI_INDEX ? i : UNI_INDEX - 1]][c & 127];
}

/* Class bits of the character at p < end; *len: its length in bytes. */
static inline unsigned
uni_class_at(const unsigned char *p, const unsigned char *end, size_t *len)
{
    if (*p >= 0x80)
        return uni_class(utf8_next(p, end, len));
    *len = 1;
    return uni_block[0][*p];
}

/* Is c white space by Python's str.isspace? */
static inline int
uni_python_space(uint32_t c)
{
    return (c >= 0x1c && c <= 0x1f) || (c != UTF8_BAD && uni_class(c) & U_S);
}

#endif
