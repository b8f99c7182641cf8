/* Comparing ranks before they begin; see alike.h. */
#include "dist/alike.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* A file, and its hash. */
struct hashed {
    uint64_t device, inode; /* 0, 0: path is NULL or does not exist */
    char hex[33];
};

int
dist_hash(const char *path,
    int (*hash)(const char *path, char hex[33], struct err *e), char hex[33],
    struct err *e)
{
    const struct dist_group *node = dist_node();
    struct hashed own = { 0 }, first;
    struct stat st;

    if (path != NULL && stat(path, &st) == 0) {
        own.device = (uint64_t)st.st_dev;
        own.inode = (uint64_t)st.st_ino;
    }
    if (node->rank == 0 && path != NULL && hash(path, own.hex, e) < 0)
        return -1;
    first = own;
    dist_broadcast(node, &first, sizeof first, 0);
    if (path == NULL)
        *own.hex = '\0';
    else if (first.inode != 0 && first.inode == own.inode &&
        first.device == own.device)
        memcpy(own.hex, first.hex, sizeof own.hex);
    else if (hash(path, own.hex, e) < 0)
        return -1;
    memcpy(hex, own.hex, sizeof own.hex);
    return 0;
}
