/* The bytes of a growing text that can be shown, and where a stop string ends
 * it. */
#ifndef GEN_SHOWN_H
#define GEN_SHOWN_H

#include <stddef.h>

/* Offset of the first stop string that begins at `from` or later in text [n];
 * n: there is none.  stop [nstop]: strings, none of them empty. */
size_t shown_stop(const char *text, size_t n, size_t from, char *const *stop,
    size_t nstop);
/* Length of the part of text [n], which has no stop string, that can be shown
 * before more bytes are known.  The bytes behind it are the beginning of a stop
 * string, or of a UTF-8 character. */
size_t shown_length(const char *text, size_t n, char *const *stop,
    size_t nstop);

#endif
