/* Paragraphs that share words with held-out text; see passages.h. */
#include "passages.h"

#include <stdlib.h>
#include <string.h>

struct passage_search {
    struct passages *p;
    const char *text;
    size_t n; /* bytes of text */
};

static int
is_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p == end;
}

/* The beginning of the line that ends before text[at]. */
static size_t
line_before(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* The beginning of the line after the one that contains text[at]; n if that is
 * the last one. */
static size_t
line_behind(const char *text, size_t n, size_t at)
{
    const char *q = at < n ? memchr(text + at, '\n', n - at) : NULL;

    return q != NULL ? (size_t)(q - text) + 1 : n;
}

static size_t
paragraph_begin(const char *text, size_t at)
{
    size_t p = line_before(text, at);

    while (p > 0) {
        const size_t q = line_before(text, p - 1);

        if (is_blank(text + q, text + p))
            break;
        p = q;
    }
    return p;
}

/* The end of the blank lines after the paragraph that contains text[at]. */
static size_t
paragraph_end(const char *text, size_t n, size_t at)
{
    size_t p = line_behind(text, n, at), q;
    int blank = 0;

    for (; p < n; p = q) {
        q = line_behind(text, n, p);
        if (is_blank(text + p, text + q))
            blank = 1;
        else if (blank)
            break;
    }
    return p;
}

/* Mark all paragraphs that the gram touches for removal. */
static int
put_passage(void *ctx, const struct exclude_hit *hit)
{
    const struct passage_search *s = ctx;
    struct passages *p = s->p;
    struct passage new = { .hit = *hit };

    if (hit->of_item) {
        p->all = 1;
        p->why = *hit;
        return 1;
    }
    if (p->n > 0 && hit->from < p->v[p->n - 1].to)
        return 0; /* part of the gram is in a paragraph marked before */
    new.from = paragraph_begin(s->text, hit->from);
    new.to = paragraph_end(s->text, s->n, hit->to - 1);
    p->v = xgrow(p->v, p->n, &p->cap, sizeof *p->v);
    p->v[p->n++] = new;
    return 0;
}

/* Set p->rest to the text without the passages. */
static void
keep_rest(struct passages *p, const char *text, size_t n)
{
    size_t at = 0;

    buf_clear(&p->rest);
    for (size_t i = 0; i < p->n; i++) {
        buf_add(&p->rest, text + at, p->v[i].from - at);
        at = p->v[i].to;
    }
    buf_add(&p->rest, text + at, n - at);
    if (at == n) /* the last paragraph is removed: no blank line at the end */
        while (p->rest.n > 1 && p->rest.p[p->rest.n - 1] == '\n' &&
            p->rest.p[p->rest.n - 2] == '\n')
            p->rest.n--;
}

int
passages_find(struct passages *p, const struct exclude *x, struct words *w,
    const char *text, size_t n)
{
    struct passage_search s = { p, text, n };
    size_t bytes = 0;

    p->n = 0;
    p->all = 0;
    if (exclude_each(x, w, text, n, 0, put_passage, &s))
        return 1;
    if (p->n == 0)
        return 0;
    for (size_t i = 0; i < p->n; i++)
        bytes += p->v[i].to - p->v[i].from;
    p->why = p->v[0].hit;
    p->all = bytes >= n - bytes;
    if (!p->all) {
        struct exclude_hit seam;

        keep_rest(p, text, n);
        p->all = exclude_find(x, w, p->rest.p, p->rest.n, 0, &seam);
    }
    return 1;
}

void
passages_release(struct passages *p)
{
    free(p->v);
    buf_release(&p->rest);
}
