/*
 * Rules of Gopher for a text that comes in parts; see tokenize_gopher.h.  What
 * is open where a part ends, a word or a line, goes on in the next one as a
 * running hash.  Lines that were there are known by keys that go to a file
 * when they are many.
 */
#include "tokenize_gopher_impl.h"
#include "tokenize_keys.h"

#include "base/mem.h"

#include <stdlib.h>
#include <xxhash.h>

#define KEYS ((size_t)4 << 20)  /* memory for lines, and for paragraphs */

/* Lines, or paragraphs: parts of a text between runs of ends of line. */
struct lines {
    size_t least;               /* ends of line between two */
    size_t ends;                /* of line behind what is open */
    int open;
    size_t chars;               /* of what is open */
    XXH3_state_t *hash;
    struct keys *keys;
    size_t all, dup, dup_chars;
};

struct gopher_parts {
    struct gopher_scratch *s;
    size_t nchars, nwords;
    size_t measured;            /* characters up to the last measured word */
    struct lines lines[2];      /* paragraphs, lines */
    struct quality q;
    /* The word that is open: */
    int inside;
    XXH3_state_t *hash;
    size_t length;
    unsigned seen;
    char last[3];               /* its last bytes */
    size_t nlast;
    /* The line: */
    int line, begun;            /* there is one; it has a word */
    int cut;                    /* the last word ends in an ellipsis */
    size_t dots;
};

static XXH3_state_t *
new_hash(void)
{
    XXH3_state_t *h = XXH3_createState();

    if (!h)
        die(EX_SYS, "out of memory");
    return h;
}

struct gopher_parts *
gopher_parts_new(struct gopher_scratch *s)
{
    struct gopher_parts *g = xcalloc(1, sizeof *g);

    g->s = s;
    s->nword = 0;
    g->hash = new_hash();
    for (int i = 0; i < 2; i++) {
        g->lines[i].least = i == 0 ? 2 : 1;
        g->lines[i].hash = new_hash();
        g->lines[i].keys = keys_new(KEYS);
    }
    return g;
}

void
gopher_parts_free(struct gopher_parts *g)
{
    if (!g)
        return;
    XXH3_freeState(g->hash);
    for (int i = 0; i < 2; i++) {
        XXH3_freeState(g->lines[i].hash);
        keys_free(g->lines[i].keys);
    }
    free(g);
}

/* ---- lines and paragraphs ---- */

static int
end_line(struct lines *l, struct err *e)
{
    const struct key key = { XXH3_64bits_digest(l->hash), 0 };

    l->open = 0;
    l->all++;
    if (keys_count(l->keys, key) > 0) {
        l->dup++;
        l->dup_chars += l->chars;
        return 0;
    }
    return keys_put(l->keys, key, e);
}

/* Text without an end of line. */
static int
line_text(struct lines *l, const char *p, size_t n, size_t nchars,
    struct err *e)
{
    if (l->open && l->ends >= l->least && end_line(l, e) < 0)
        return -1;
    if (!l->open) {
        XXH3_64bits_reset(l->hash);
        l->open = 1;
        l->chars = 0;
    } else {
        for (; l->ends > 0; l->ends--, l->chars++)
            XXH3_64bits_update(l->hash, "\n", 1);
    }
    l->ends = 0;
    XXH3_64bits_update(l->hash, p, n);
    l->chars += nchars;
    return 0;
}

/* Lines of p[n], which is measured. */
static int
add_lines(struct gopher_parts *g, const char *p, size_t n, struct err *e)
{
    const char *const end = p + n;

    while (p < end) {
        const char *q = memchr(p, '\n', (size_t)(end - p));
        const size_t k = (size_t)((q ? q : end) - p);
        const size_t nchars = gopher_chars(p, k);

        for (int i = 0; i < 2; i++) {
            if (k > 0 && line_text(&g->lines[i], p, k, nchars, e) < 0)
                return -1;
            g->lines[i].ends += q != NULL;
        }
        p += k + (q != NULL);
    }
    return 0;
}

/* ---- words ---- */

static void
keep_last(struct gopher_parts *g, const char *p, size_t n)
{
    char all[6];
    size_t k = g->nlast;

    memcpy(all, g->last, k);
    if (n > 3) {
        p += n - 3;
        n = 3;
    }
    memcpy(all + k, p, n);
    k += n;
    g->nlast = k < 3 ? k : 3;
    memcpy(g->last, all + k - g->nlast, g->nlast);
}

/* A stretch of a word, of whole characters. */
static void
add_stretch(struct gopher_parts *g, const char *p, size_t n)
{
    if (!g->inside) {
        XXH3_64bits_reset(g->hash);
        g->length = g->nlast = 0;
        g->seen = 0;
        if (!g->begun && (*p == '-' ||
            (n >= 3 && memcmp(p, "\xe2\x80\xa2", 3) == 0)))
            g->q.bullets++;
        g->begun = 1;
    }
    g->inside = 1;
    XXH3_64bits_update(g->hash, p, n);
    g->length += gopher_chars(p, n);
    g->seen = gopher_classes(g->seen, p, n);
    keep_last(g, p, n);
}

/* 1: it is the last one that is measured. */
static int
end_word(struct gopher_parts *g)
{
    g->inside = 0;
    g->nwords++;
    g->cut = gopher_is_ellipsis(g->last, g->nlast);
    gopher_judge_word(&g->q, g->seen, g->length);
    if (g->s->nword == GOPHER_WORDS)
        return 0;
    gopher_add_word(g->s, XXH3_64bits_digest(g->hash), g->length);
    return g->s->nword == GOPHER_WORDS;
}

static void
end_judged_line(struct gopher_parts *g)
{
    g->q.lines++;
    g->q.cut += g->cut != 0;
    g->line = g->begun = g->cut = 0;
}

/* Dots and hashes of p[n]: three dots in a row are an ellipsis. */
static void
add_marks(struct gopher_parts *g, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        g->dots = p[i] == '.' ? g->dots + 1 : 0;
        if (g->dots == 3 || (n - i >= 3 && memcmp(p + i, "\xe2\x80\xa6",
            3) == 0)) {
            g->dots = 0;
            g->q.ellipses++;
        }
        g->q.hashes += p[i] == '#';
    }
}

int
gopher_part(struct gopher_parts *g, const char *text, size_t n, struct err *e)
{
    const char *p = text, *const end = text + n, *measured = text;
    const int all = g->s->nword < GOPHER_WORDS;
    size_t k;

    g->nchars += gopher_chars(text, n);
    add_marks(g, text, n);
    while (p < end) {
        const char *q = p;

        if ((k = gopher_space(p, end)) > 0) {
            if (g->inside) {
                if (end_word(g))
                    measured = p;
            }
            g->line = 1;
            if (*p == '\n')
                end_judged_line(g);
            p += k;
            continue;
        }
        while (q < end && gopher_space(q, end) == 0)
            do
                q++;
            while (q < end && ((unsigned char)*q & 0xc0) == 0x80);
        add_stretch(g, p, (size_t)(q - p));
        g->line = 1;
        p = q;
    }
    if (!all)
        return 0;
    if (g->s->nword < GOPHER_WORDS)
        measured = end;
    k = (size_t)(measured - text);
    g->measured += gopher_chars(text, k);
    return add_lines(g, text, k, e);
}

int
gopher_parts_end(struct gopher_parts *g, size_t *nchars, size_t *nwords,
    double value[G_END], struct err *e)
{
    if (g->inside)
        end_word(g);
    if (g->line)
        end_judged_line(g);
    for (int i = 0; i < 2; i++) {
        struct lines *l = &g->lines[i];

        if (l->open && end_line(l, e) < 0)
            return -1;
        value[G_DUP_PARAGRAPHS + 2 * i] = gopher_share(l->dup, l->all);
        value[G_DUP_PARAGRAPH_CHARS + 2 * i] = gopher_share(l->dup_chars,
            g->measured);
    }
    g->s->chars = g->measured;
    for (int i = G_TOP_2; i < G_REPETITION; i++)
        value[i] = gopher_grams(g->s, (enum gopher)i);
    gopher_shares(&g->q, value + G_REPETITION);
    *nchars = g->nchars;
    *nwords = g->nwords;
    return 0;
}
