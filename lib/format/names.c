/* Names from files; see names.h. */
#include "format/names.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

int
utf8_text(const void *p, size_t n)
{
    const unsigned char *s = p;

    for (size_t i = 0, len; i < n; i += len)
        if ((len = s[i] < 0x80 ? s[i] != 0 : utf8_len(s + i, n - i)) == 0)
            return 0;
    return 1;
}

static int
by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *
names_twice(const char **v, size_t n)
{
    if (n > 1)
        qsort(v, n, sizeof *v, by_string);
    for (size_t i = 1; i < n; i++)
        if (strcmp(v[i - 1], v[i]) == 0)
            return v[i];
    return NULL;
}
