/* Bytes of a text that can be shown; see shown.h. */
#include "gen/shown.h"
#include "base/utf8.h"

#include <string.h>

size_t
shown_stop(const char *text, size_t n, size_t from, char *const *stop,
    size_t nstop)
{
    for (size_t at = from; at < n; at++) {
        for (size_t i = 0; i < nstop; i++) {
            const size_t k = strlen(stop[i]);

            if (k <= n - at && memcmp(text + at, stop[i], k) == 0)
                return at;
        }
    }
    return n;
}

/* Does text [n] begin with a stop string's first n bytes? */
static int
may_become_stop(const char *text, size_t n, char *const *stop, size_t nstop)
{
    for (size_t i = 0; i < nstop; i++)
        if (n < strlen(stop[i]) && memcmp(text, stop[i], n) == 0)
            return 1;
    return 0;
}

/* Bytes at the end of text [n] that begin a character, 0 to 3. */
static size_t
half_character(const char *text, size_t n)
{
    const unsigned char *end = (const unsigned char *)text + n;

    for (size_t k = 1; k <= 3 && k <= n; k++) {
        size_t len;

        if ((end[-k] & 0xc0) == 0x80)
            continue;
        if (end[-k] < 0xc2 || end[-k] > 0xf4 ||
            utf8_next(end - k, end, &len) != UTF8_BAD)
            return 0;
        return len == k ? k : 0; /* all k bytes begin a longer character */
    }
    return 0;
}

size_t
shown_length(const char *text, size_t n, char *const *stop, size_t nstop)
{
    size_t longest = 0, at;

    for (size_t i = 0; i < nstop; i++)
        if (strlen(stop[i]) > longest)
            longest = strlen(stop[i]);
    for (at = n > longest ? n - longest : 0; at < n; at++)
        if (may_become_stop(text + at, n - at, stop, nstop))
            break;
    return at - half_character(text, at);
}
