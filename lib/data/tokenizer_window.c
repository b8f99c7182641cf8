/*
 * Merging of any number of symbols in windows of few, so that time is linear
 * and memory does not grow, with the result of merging them all at once.
 *
 * A row of tokens is that result where each two neighbours, merged from their
 * symbols by themselves, come out as these two: think of the first merge that
 * crosses a border of the row.  Until then every token's symbols were merged
 * by themselves, in the order in which they are when they are alone, so the
 * merge would cross the border of the two neighbours alone too.
 *
 * For the same reason neighbours in the result of a window are such.  So a
 * window begins with the last token that is kept of the one before, and if
 * that comes out first again, what follows it is right.  If not, some windows
 * are taken back and merged as a larger one.
 */
#include "data/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 8192            /* that are held */
#define WINDOW 32               /* symbols of a window, if all goes well */
#define LARGER 64               /* ... if not: as many as merge fast */
#define BEFORE 2048             /* symbols before a window that are held */
#define LARGEST (SYMBOLS - BEFORE - SYMBOLS_ROOM)
#define STEPS 256               /* windows that can be taken back; 2^n */
#define DOUBT 4                 /* symbols before a window's end whose tokens
                                 * often change by what follows */
#define FEW 4                   /* tokens; a window that gives fewer grows */

/* A window: where it begins; the symbols of its first token, which the ids
 * hold already (0: that of the text); how many ids there were before it. */
struct step {
    size_t at, len, n;
};

struct window {
    uint32_t sym[SYMBOLS], id[SYMBOLS], start[SYMBOLS + 1];
    struct step step[STEPS];
    size_t first, last;         /* steps that are known: first..last - 1 */
    size_t n, size;             /* symbols held; of the next window */
    size_t merged, m;           /* symbols that were merged last, to id[m] */
    int follows;                /* ... from the last step on */
    int ended;                  /* sym holds the text's last */
};

/* Have at least w->size symbols from step c on, or all that there are. */
static void
fill(const struct tokenizer *t, struct window *w, struct symbols *x,
    struct step *c)
{
    size_t k, drop;

    if (w->ended || w->n - c->at >= w->size)
        return;
    drop = c->at > BEFORE ? c->at - BEFORE : 0;
    memmove(w->sym, w->sym + drop, (w->n - drop) * sizeof *w->sym);
    w->n -= drop;
    c->at -= drop;
    for (size_t i = w->first; i < w->last; i++) {
        struct step *const old = &w->step[i & (STEPS - 1)];

        if (old->at < drop)
            w->first = i + 1;
        else
            old->at -= drop;
    }
    for (; SYMBOLS - w->n >= SYMBOLS_ROOM; w->n += k)
        if ((k = x->next(t, x, w->sym + w->n, SYMBOLS - w->n)) == 0) {
            w->ended = 1;
            break;
        }
}

/* Take back what did not hold: -1 if too little is known. */
static int
go_back(struct window *w, struct step *c, size_t windows)
{
    const size_t to = c->at + w->size;

    if (w->last - w->first < windows) {
        if (w->first > 0 || w->last == 0)
            return -1;
        windows = w->last;
    }
    w->last -= windows;
    w->follows = 0;
    *c = w->step[w->last & (STEPS - 1)];
    w->size = to - c->at <= LARGER ? LARGER : 2 * (to - c->at);
    return w->size <= LARGEST ? 0 : -1;
}

/* Keep the tokens of a window that are beyond doubt, and begin the next with
 * the last of them; or enlarge it. */
static void
keep(struct window *w, struct step *c, size_t n, size_t m,
    struct tok_ids *out)
{
    const size_t known = c->len > 0, sure = n - DOUBT;
    size_t k = m;

    while (k > 2 && w->start[k] > sure)
        k--;
    if (k < FEW || w->start[k] > sure) {
        w->size *= 2;
        return;
    }
    if (w->last - w->first == STEPS)
        w->first++;
    c->n = out->n;
    w->step[w->last++ & (STEPS - 1)] = *c;
    w->follows = 1;
    tok_ids_add(out, w->id + known, k - known);
    c->at += w->start[k - 1];
    c->len = w->start[k] - w->start[k - 1];
    if (k > 4 * FEW)
        w->size = w->size > 2 * WINDOW ? w->size / 2 : WINDOW;
}

/* Merge n symbols from step c on; returns the number of tokens.  In runs and
 * patterns they often are those of the window before. */
static size_t
merge(const struct tokenizer *t, struct tok_scratch *s, struct window *w,
    const struct step *c, size_t n)
{
    const struct step *const old = &w->step[(w->last - 1) & (STEPS - 1)];
    const uint32_t *const sym = w->sym + c->at;

    if (w->follows && w->last > w->first && n == w->merged &&
        memcmp(sym, w->sym + old->at, n * sizeof *sym) == 0)
        return w->m;
    w->follows = 0;
    memcpy(w->id, sym, n * sizeof *sym);
    w->m = bpe_merge_at(t, s, w->id, n, w->start);
    w->start[w->m] = (uint32_t)n;
    w->merged = n;
    return w->m;
}

/* 0, or -1: this text needs larger windows than there are. */
static int
windows(const struct tokenizer *t, struct tok_scratch *s, struct symbols *x,
    struct tok_ids *out)
{
    struct window *const w = s->window;
    struct step c = { 0, 0, out->n };
    size_t back = 1;

    w->first = w->last = w->n = 0;
    w->size = WINDOW;
    w->ended = w->follows = 0;
    for (;;) {
        size_t n, m;

        if (w->size > LARGEST)
            return -1;
        fill(t, w, x, &c);
        n = w->n - c.at;
        n = n < w->size ? n : w->size;
        m = merge(t, s, w, &c, n);
        if (c.len > 0 && w->start[1] != c.len) {
            if (go_back(w, &c, back))
                return -1;
            out->n = c.n;
            back *= 2;
            continue;
        }
        if (w->ended && c.at + n == w->n) {
            tok_ids_add(out, w->id + (c.len > 0), m - (c.len > 0));
            return 0;
        }
        keep(w, &c, n, m, out);
        back = 1;
    }
}

void
window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, struct tok_ids *out)
{
    const size_t most = (size_t)(x->end - x->p) + SYMBOLS_ROOM;
    const size_t before = out->n;
    struct symbols y = *x;
    uint32_t *id;
    size_t n = 0, k;

    if (!s->window)
        s->window = xmalloc(sizeof *s->window);
    if (windows(t, s, &y, out) == 0)
        return;
    /* All at once, with the memory that takes. */
    y = *x;
    out->n = before;
    id = bpe_symbols(s, most + SYMBOLS_ROOM);
    while ((k = y.next(t, &y, id + n, most - n)) > 0)
        n += k;
    n = bpe_merge(t, s, id, n);
    tok_ids_add(out, id, n);
}
