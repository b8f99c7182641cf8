/* Files that are not read; see passed.h. */
#include "docs/passed.h"

#include "base/note.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENDING 10 /* bytes of an ending, with its dot, at most */
#define KINDS 256 /* number of endings counted separately, at most */
#define LISTED 8  /* number of endings in the note, at most */

/* Get the path's ending in lower case; "" if it has none, or one that is too
 * long or has other characters than letters and digits. */
static void
ending_of(const char *path, char ending[ENDING + 1])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? strlen(dot) : 0;

    if (n < 2 || n > ENDING)
        n = 0;
    for (size_t i = 1; i < n; i++)
        if (!isalnum((unsigned char)dot[i]))
            n = 0;
    for (size_t i = 0; i < n; i++)
        ending[i] = (char)tolower((unsigned char)dot[i]);
    ending[n] = '\0';
}

static void
count_kind(struct passed *p, const char *ending, uint64_t n)
{
    size_t i = 0;

    p->files += n;
    while (i < p->n && strcmp(p->v[i].ending, ending) != 0)
        i++;
    if (i == KINDS)
        return;
    if (i == p->n) {
        p->v = xgrow_pow2(p->v, p->n, sizeof *p->v);
        p->v[p->n++] = (struct passed_kind){ xstrdup(ending), 0 };
    }
    p->v[i].n += n;
}

void
passed_add(struct passed *p, const char *path, const char *why)
{
    char ending[ENDING + 1];

    ending_of(path, ending);
    count_kind(p, ending, 1);
    vnote("%s: %s: passed over", path, why);
}

void
passed_join(struct passed *p, const struct passed *from)
{
    uint64_t rest = from->files;

    for (size_t i = 0; i < from->n; i++) {
        count_kind(p, from->v[i].ending, from->v[i].n);
        rest -= from->v[i].n;
    }
    p->files += rest;
}

static int
more_frequent(const void *a, const void *b)
{
    const struct passed_kind *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    if (!*x->ending != !*y->ending)
        return *x->ending ? -1 : 1;
    return strcmp(x->ending, y->ending);
}

char *
passed_text(struct passed *p)
{
    uint64_t rest = p->files;
    struct buf b = { 0 };

    buf_adds(&b, "");
    if (p->n > 0) {
        qsort(p->v, p->n, sizeof *p->v, more_frequent);
        buf_addf(&b, "%" PRIu64 " file%s passed over", p->files,
            p->files > 1 ? "s" : "");
    }
    for (size_t i = 0; i < p->n && i < LISTED; i++) {
        buf_addf(&b, "%s %" PRIu64 " %s", i ? "," : ":", p->v[i].n,
            *p->v[i].ending ? p->v[i].ending : "without an ending");
        rest -= p->v[i].n;
    }
    if (rest > 0)
        buf_addf(&b, ", and %" PRIu64 " of other kinds", rest);
    return b.p;
}

void
passed_end(struct passed *p)
{
    char *text = passed_text(p);

    if (*text)
        note("%s (-v names them)", text);
    free(text);
    passed_release(p);
}

void
passed_release(struct passed *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].ending);
    free(p->v);
    memset(p, 0, sizeof *p);
}
