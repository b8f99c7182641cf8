/*
 * Text for people.  Names come out of files and archives and may hold any
 * byte: what is printed in a message, a table or a listing goes through here,
 * so that a terminal shows it and does nothing else.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

enum {
    TEXT_CHAR = 17,   /* bytes of a character as shown, and NUL */
    TEXT_SHOWN = 1024 /* bytes of a name as shown, and NUL */
};

/* Show the first character of s[n], n > 0, in out: as it is, or \xNN for each
 * byte of a control character (C0, DEL, C1, line separators), of a mark that
 * turns the direction of writing or is invisible, and of bytes that are not
 * UTF-8.  Returns how many bytes of s it shows. */
size_t text_char(char out[TEXT_CHAR], const char *s, size_t n);

/* Show all of s in out[size], which is returned; it ends with "..." where it
 * was cut.  size >= 4. */
const char *text_show(char *out, size_t size, const char *s);

/* text_show as an argument of printf: valid until the end of the block. */
#define SHOWN(s) text_show((char[TEXT_SHOWN]){ 0 }, TEXT_SHOWN, (s))

/* Bytes at the front of s[n], which text_show made, that fill at most `columns`
 * of a terminal.  Characters from U+1100 on count two, so it may be less than
 * would fit, but is never more. */
size_t text_fit(const char *s, size_t n, size_t columns);

#endif
