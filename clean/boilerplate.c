/* Lines that recur in many documents; see boilerplate.h. */
#include "boilerplate.h"
#include "keys.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define LINE_WORDS 3 /* lines of fewer words are never boilerplate */

struct boilerplate {
    size_t most;
    struct keys *keys;
};

/* A line of at least LINE_WORDS words: its number in the text, and its key, or
 * 0 once it is known that the line is kept. */
struct text_line {
    uint64_t number, key;
};

struct boilerplate *
boilerplate_new(size_t most, size_t mem)
{
    struct boilerplate *b = xcalloc(1, sizeof *b);

    b->most = most;
    b->keys = keys_new(mem);
    return b;
}

void
boilerplate_free(struct boilerplate *b)
{
    if (!b)
        return;
    keys_free(b->keys);
    free(b);
}

size_t
boilerplate_spills(const struct boilerplate *b)
{
    return keys_spills(b->keys);
}

/* Length of the line at p, without its end. */
static size_t
length_of_line(const char *p, const char *end)
{
    const char *q = memchr(p, '\n', (size_t)(end - p));

    return (size_t)((q ? q : end) - p);
}

/* Hash the words of a line into its key; 0: it has too few words. */
static uint64_t
line_key(struct words *w, const struct fold *f, const char *p, size_t n)
{
    uint64_t hash[64], h = 0, key;
    size_t words = 0, k = 0;

    words_begin(w, f, p, n);
    while (words_next(w, &hash[k])) {
        words++;
        if (++k == sizeof hash / sizeof *hash) {
            h = XXH3_64bits_withSeed(hash, sizeof hash, h);
            k = 0;
        }
    }
    key = XXH3_64bits_withSeed(hash, k * sizeof *hash, h);
    return words < LINE_WORDS ? 0 : key ? key : 1;
}

void
boilerplate_scan(struct words *w, const struct fold *f, const char *text,
    size_t n, struct buf *lines)
{
    const char *const end = text + n;
    struct text_line line = { 0 };

    for (const char *p = text; p < end; line.number++) {
        const size_t len = length_of_line(p, end);

        line.key = line_key(w, f, p, len);
        if (line.key != 0)
            buf_add(lines, &line, sizeof line);
        p += len + 1;
    }
}

static int
by_line_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Set key = 0 in the lines to keep, and count each different line among them
 * once.  Returns the number of lines to cut; -1 and *e. */
static ptrdiff_t
count_lines(struct boilerplate *b, struct text_line *line, size_t n,
    struct err *e)
{
    uint64_t *key = xreallocarray(NULL, n + 1, sizeof *key);
    ptrdiff_t cut = 0;
    int bad = 0;

    for (size_t i = 0; i < n; i++) {
        const struct key k = { line[i].key, 0 };
        const int gone = keys_count(b->keys, k) >= b->most;

        key[i] = gone ? 0 : line[i].key;
        line[i].key = gone ? line[i].key : 0;
        cut += gone;
    }
    qsort(key, n, sizeof *key, by_line_key);
    for (size_t i = 0; i < n && bad == 0; i++)
        if (key[i] != 0 && (i == 0 || key[i] != key[i - 1]))
            bad = keys_put(b->keys, (struct key){ key[i], 0 }, e);
    free(key);
    return bad ? -1 : cut;
}

ptrdiff_t
boilerplate_cut(struct boilerplate *b, struct buf *lines, const char *text,
    size_t n, struct buf *kept, struct buf *gone, struct err *e)
{
    struct text_line *line = (void *)lines->p;
    const size_t nline = lines->n / sizeof *line;
    const ptrdiff_t cut = count_lines(b, line, nline, e);
    const char *p = text, *const end = text + n;
    size_t k = 0;

    for (uint64_t i = 0; p < end && cut > 0; i++) {
        const size_t len = length_of_line(p, end), all = len + (p + len < end);
        const int here = k < nline && line[k].number == i;

        buf_add(here && line[k].key != 0 ? gone : kept, p, all);
        k += (size_t)here;
        p += all;
    }
    return cut;
}
