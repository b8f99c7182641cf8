/* Comparing ranks before they begin; see alike.h. */
#include "dist/alike.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Send the text of rank `rank` to all ranks; returns it, malloc'd. */
static char *
share_text(const struct dist_group *g, const char *text, size_t rank)
{
    size_t n = strlen(text) + 1;
    char *copy;

    dist_broadcast(g, &n, sizeof n, rank);
    copy = xmalloc(n);
    if (g->rank == rank)
        memcpy(copy, text, n);
    dist_broadcast(g, copy, n, rank);
    return copy;
}

static size_t
text_line_length(const char *s)
{
    const size_t n = strcspn(s, "\n");

    return n + (s[n] == '\n');
}

/* The value in a line "name<tab>value<newline>", and its length *n. */
static const char *
value_in(const char *line, int *n)
{
    const char *v = line + strcspn(line, "\t\n");

    v += *v == '\t';
    *n = (int)strcspn(v, "\n");
    return v;
}

/* Set *e to the first line that differs between text a, of rank 0, and text b,
 * of rank `rank`. */
static void
describe_difference(const char *a, const char *b, size_t rank, int code,
    struct err *e)
{
    const char *x, *y;
    size_t n;
    int nx, ny;

    while ((n = text_line_length(a)) > 0 && n == text_line_length(b) &&
        memcmp(a, b, n) == 0) {
        a += n;
        b += n;
    }
    x = value_in(a, &nx);
    y = value_in(b, &ny);
    err_set(e, code,
        "%.*s: rank %zu has %.*s, rank 0 has %.*s; give all ranks the same",
        (int)strcspn(b, "\t\n"), b, rank, ny < 150 ? ny : 150, y,
        nx < 150 ? nx : 150, x);
}

int
dist_alike(const struct dist_group *g, const char *text, int code,
    struct err *e)
{
    uint64_t *hash = xcalloc(g->n, sizeof *hash);
    size_t odd = 0;
    char *first, *other;

    hash[g->rank] = XXH3_64bits(text, strlen(text));
    dist_all_gather_one(g, hash, sizeof *hash);
    while (odd < g->n && hash[odd] == hash[0])
        odd++;
    free(hash);
    if (odd == g->n)
        return 0;
    first = share_text(g, text, 0);
    other = share_text(g, text, odd);
    describe_difference(first, other, odd, code, e);
    free(first);
    free(other);
    return -1;
}
