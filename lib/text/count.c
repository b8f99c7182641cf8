/* Characters and words; see count.h. */
#include "text/count.h"

#include "text/unicode.h"

size_t
count_chars(const char *text, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += ((unsigned char)text[i] & 0xc0) != 0x80;
    return k;
}

size_t
count_space(const char *p, const char *end)
{
    size_t k = 1;

    if ((unsigned char)*p < 0x80)
        return (uni_class((unsigned char)*p) & U_S) != 0;
    return uni_class(utf8_next((const unsigned char *)p,
               (const unsigned char *)end, &k)) &
            U_S
        ? k
        : 0;
}

size_t
count_next_word(const char **p, const char *end)
{
    const char *q;
    size_t k;

    while (*p < end && (k = count_space(*p, end)) > 0)
        *p += k;
    for (q = *p; q < end && count_space(q, end) == 0; q++)
        while (q + 1 < end && ((unsigned char)q[1] & 0xc0) == 0x80)
            q++;
    return (size_t)(q - *p);
}

size_t
count_words(const char *text, size_t n)
{
    const char *const end = text + n;
    size_t words = 0, k;

    for (; (k = count_next_word(&text, end)) > 0; text += k)
        words++;
    return words;
}
