/* Lines of a file; see lines.h. */
#include "docs/lines.h"
#include "docs/kind.h"
#include "docs/unpack.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK ((size_t)256 << 10)

struct line_reader {
    const char *name;
    int fd;
    struct unpack *u;
    struct buf text; /* text.p[at..] has not been returned yet */
    size_t at;
    size_t number; /* lines returned or skipped */
    int ended;     /* 1: the file has been read to its end */
};

struct line_reader *
lines_open(const char *path, struct err *e)
{
    struct line_reader *l = xcalloc(1, sizeof *l);

    l->name = io_in_name(path);
    l->fd = io_open(path, e);
    if (l->fd >= 0 && (l->u = unpack_open(l->fd, l->name, e)) != NULL)
        return l;
    lines_close(l);
    return NULL;
}

void
lines_close(struct line_reader *l)
{
    if (l == NULL)
        return;
    unpack_close(l->u);
    if (l->fd >= 0)
        io_close_in(l->fd);
    buf_release(&l->text);
    free(l);
}

const char *
lines_name(const struct line_reader *l)
{
    return l->name;
}

size_t
lines_number(const struct line_reader *l)
{
    return l->number;
}

/* Move the `have` bytes of text.p[at..] to the front, and read more text behind
 * them.  0; -1 and *e. */
static int
read_more(struct line_reader *l, size_t have, struct err *e)
{
    ptrdiff_t k;

    if (l->at > 0)
        memmove(l->text.p, l->text.p + l->at, have);
    l->at = 0;
    l->text.n = have;
    buf_reserve(&l->text, BLOCK + 1);
    if ((k = unpack_read(l->u, l->text.p + have, BLOCK, e)) < 0)
        return -1;
    l->text.n += (size_t)k;
    l->ended = k == 0;
    return 0;
}

/* Find the next line, blank or not: text.p[at..at+*n-1].  1; 0: there is none;
 * -1 and *e. */
static int
find_line(struct line_reader *l, size_t *n, struct err *e)
{
    size_t seen = 0; /* bytes of the line without '\n' */

    for (;;) {
        const size_t left = l->text.n - l->at;
        const char *from = left > 0 ? l->text.p + l->at : "";
        const char *end = memchr(from + seen, '\n', left - seen);

        if (end != NULL || (l->ended && left > 0)) {
            *n = end != NULL ? (size_t)(end - from) : left;
            l->number++;
            return 1;
        }
        if (l->ended)
            return 0;
        seen = left;
        if (seen > JS_MAX)
            return err_set(e, EX_INPUT, "%s: line %zu: has more than %zu bytes",
                l->name, l->number + 1, (size_t)JS_MAX);
        if (read_more(l, left, e) < 0)
            return -1;
    }
}

static int
has_nul(const struct line_reader *l, const char *line, size_t n, struct err *e)
{
    const char *kind = l->number == 1 ? kind_of(line, n) : NULL;

    return err_set(e, EX_INPUT, "%s: line %zu: %s", l->name, l->number,
        kind != NULL ? kind : "has a NUL byte: give text in UTF-8");
}

int
lines_next(struct line_reader *l, char **line, size_t *n, struct err *e)
{
    int k;

    while ((k = find_line(l, n, e)) > 0) {
        char *p = l->text.p + l->at;
        const size_t mark = l->number == 1 ? utf8_mark(p, *n) : 0;

        l->at += *n + (l->at + *n < l->text.n);
        if (memchr(p, 0, *n) != NULL)
            return has_nul(l, p, *n, e);
        p += mark;
        *n -= mark;
        while (*n > 0 && p[*n - 1] == '\r')
            --*n;
        p[*n] = '\0';
        if (strspn(p, " \t\r") < *n) {
            *line = p;
            return 1;
        }
    }
    return k;
}

size_t
lines_count(const char *path, size_t most)
{
    struct line_reader *l;
    struct stat st;
    struct err e;
    size_t n = 0, len;
    char *line;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        (l = lines_open(path, &e)) == NULL)
        return 0;
    while (n < most && lines_next(l, &line, &len, &e) > 0)
        n++;
    lines_close(l);
    return n;
}
