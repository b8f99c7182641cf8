/* Counting characters and words; white space separates words. */
#ifndef TEXT_COUNT_H
#define TEXT_COUNT_H

#include <stddef.h>

/* Number of characters in UTF-8 text[n]. */
size_t count_chars(const char *text, size_t n);
/* Bytes of the white-space character at p < end; 0: it is another character. */
size_t count_space(const char *p, const char *end);
/* Move *p over white space to the next word.  Returns the word's bytes; 0: no
 * word is left. */
size_t count_next_word(const char **p, const char *end);
/* Number of words in text[n]. */
size_t count_words(const char *text, size_t n);

#endif
