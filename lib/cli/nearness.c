/* Names that a user probably meant; see nearness.h. */
#include "cli/nearness.h"

#include <stdint.h>
#include <string.h>

size_t
near_distance(const char *a, size_t n, const char *b)
{
    const size_t m = strlen(b);
    size_t row[81], diagonal;

    if (n > 80 || m > 80)
        return SIZE_MAX;
    for (size_t k = 0; k <= m; k++)
        row[k] = k;
    for (size_t i = 0; i < n; i++) {
        diagonal = row[0]++;
        for (size_t k = 0; k < m; k++) {
            size_t d = diagonal + (a[i] != b[k]);

            d = row[k] + 1 < d ? row[k] + 1 : d;
            diagonal = row[k + 1];
            row[k + 1] = d < diagonal + 1 ? d : diagonal + 1;
        }
    }
    return row[m];
}

size_t
near_limit(size_t n)
{
    return n < 3 ? 2 : n < 8 ? 3 : 4;
}

size_t
nearness(const char *text, const char *name)
{
    const size_t n = strlen(text), d = near_distance(text, n, name);

    return d < near_limit(n) ? d : SIZE_MAX;
}

int
near_better(const char *text, const char *name, size_t *least)
{
    const size_t d = nearness(text, name);

    if (d >= *least)
        return 0;
    *least = d;
    return 1;
}
