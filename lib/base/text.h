/*
 * Text for people.  Names come out of files and archives and may hold any byte.
 * Whatever is printed in a message, table or listing goes through here, so that
 * a terminal only shows it and does not obey it.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

enum {
    TEXT_CHAR = 17,   /* bytes of a character as shown, and NUL */
    TEXT_SHOWN = 1024 /* bytes of a name as shown, and NUL */
};

/* Write the first character of s[n], n > 0, to out as text that a terminal
 * shows.  These are shown as \xNN, byte by byte: control characters (C0, DEL,
 * C1, line separators), marks that turn the direction of writing or are
 * invisible, and bytes that are not UTF-8.  Returns how many bytes of s were
 * taken. */
size_t text_char(char out[TEXT_CHAR], const char *s, size_t n);

/* Write s, shown as by text_char, to out[size], size >= 4, and return out.
 * Text that is cut ends with "...". */
const char *text_show(char *out, size_t size, const char *s);

/* text_show as an argument of printf: valid until the end of the block. */
#define SHOWN(s) text_show((char[TEXT_SHOWN]){ 0 }, TEXT_SHOWN, (s))

/* Could s[n] be a part of a text: is no byte a control character other than tab
 * and the ends of lines? */
int text_is_plain(const void *s, size_t n);

/* How many bytes at the front of s[n], made by text_show, fit in `columns` of a
 * terminal.  Characters from U+1100 on count as two columns, so more bytes
 * might fit. */
size_t text_fit(const char *s, size_t n, size_t columns);

#endif
