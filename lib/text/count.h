/* Characters and words between white space. */
#ifndef TEXT_COUNT_H
#define TEXT_COUNT_H

#include <stddef.h>

/* Characters of text[n], which is UTF-8. */
size_t count_chars(const char *text, size_t n);
/* Bytes of the white-space character at p < end; 0: there is none. */
size_t count_space(const char *p, const char *end);
/* Move *p to the next word at or behind it; the word's bytes, 0 at the end. */
size_t count_next_word(const char **p, const char *end);
/* Words of text[n]. */
size_t count_words(const char *text, size_t n);

#endif
