/*
 * BPE of a long piece in linear time and constant memory: it is merged in
 * short overlapping windows, and the ids are those of merging it all at once.
 *
 * Why that can be exact.  A sequence of tokens is the result of BPE on a text
 * if every two neighbouring tokens, decoded and merged again by themselves,
 * give the same two tokens.  Proof: consider the first merge that crosses a
 * border between two tokens.  Until then the symbols of each token were merged
 * only with each other, in the same order as when the token stands alone; so
 * that merge would also happen when those two neighbours are merged again by
 * themselves, and they would not give the same two tokens.
 *
 * The tokens within one window's result satisfy this condition.  So each window
 * begins with the last token kept from the window before.  If that token comes
 * out first again, what follows it is right.  If not, some windows are undone
 * and merged again as one larger window.
 *
 * Short windows can be merged side by side (queue.h), but only if their starts
 * are chosen in advance: at fixed distances, each overlapping the one before.
 * A token that two overlapping windows have in common is a place to pass from
 * one to the other.  Where two windows have no common token, another window
 * that begins between the two often connects them; all these windows are merged
 * side by side too.  Where that fails, a single window is merged with the heap
 * (merge.c) as described above, until one of the later windows can be entered.
 */
#include "tok/window.h"
#include "tok/merge.h"
#include "tok/queue.h"
#include "tok/scan.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 8192 /* symbols in memory, at most */
#define BEFORE 2048  /* symbols before a window that stay in memory */
#define WINDOW 32    /* size of windows merged side by side, in symbols */
#define AHEAD 24     /* distance between starts of these windows, in symbols */
#define SINGLE 64    /* least size of a single window */
#define LARGEST (SYMBOLS - BEFORE - SYMBOLS_ROOM)
#define STEPS 256 /* windows that can be undone, a power of 2 */
#define DOUBT 4   /* tokens in a window's last DOUBT symbols often change */
#define FEW 4     /* a window of fewer tokens is enlarged */
_Static_assert(WINDOW <= QUEUE_SYMBOLS, "symbols of a window");

/* A window.  at: its first symbol.  len: symbols of its first token, whose id
 * is in the output already (0: the window begins the text).  n: ids in the
 * output when the window begins. */
struct window_step {
    size_t at, len, n;
};

struct window {
    uint32_t sym[SYMBOLS], id[SYMBOLS], start[SYMBOLS + 1];
    unsigned char byte[SYMBOLS]; /* [n] the bytes of sym, if `bytes` is 1 */
    int bytes;
    struct window_step step[STEPS];
    size_t first, last; /* the steps kept are first..last - 1 */
    size_t n;           /* symbols in sym */
    size_t size;        /* size of the next single window, in symbols */
    size_t bar;         /* before this symbol only single windows are used, as a
                         * window that began at it was undone */
    int ended;          /* does sym have the last symbol of the text? */
    /* Windows merged side by side.  ahead: at fixed distances; between: windows
     * that connect them; row[nrow]: all of them in order of their starts. */
    struct queue ahead, between;
    const struct merge_job *row[2 * QUEUE_JOBS];
    size_t nrow;
};

/* If fewer than w->size symbols from step c on are in memory, drop old symbols
 * and read as many new ones as fit. */
static void
fill_windows(const struct tokenizer *t, struct window *w, struct symbols *x,
    struct window_step *c)
{
    size_t k, drop;

    if (w->ended || w->n - c->at >= w->size)
        return;
    drop = c->at > BEFORE ? c->at - BEFORE : 0;
    memmove(w->sym, w->sym + drop, (w->n - drop) * sizeof *w->sym);
    memmove(w->byte, w->byte + drop, w->bytes ? w->n - drop : 0);
    w->n -= drop;
    c->at -= drop;
    w->bar -= w->bar < drop ? w->bar : drop;
    w->nrow = 0;
    for (size_t i = w->first; i < w->last; i++) {
        struct window_step *const old = &w->step[i & (STEPS - 1)];

        if (old->at < drop)
            w->first = i + 1;
        else
            old->at -= drop;
    }
    for (; SYMBOLS - w->n >= SYMBOLS_ROOM; w->n += k) {
        x->byte = w->bytes ? w->byte + w->n : NULL;
        k = x->next(t, x, w->sym + w->n, SYMBOLS - w->n);
        if (k == 0) {
            w->ended = 1;
            break;
        }
    }
}

/* Undo the last `windows` windows, so that one larger window replaces them; -1:
 * they are no longer kept, or that window would be larger than LARGEST. */
static int
go_back(struct window *w, struct window_step *c, size_t windows)
{
    const size_t to = c->at + w->size;

    w->bar = c->at > w->bar ? c->at : w->bar;
    if (w->last - w->first < windows) {
        if (w->first > 0 || w->last == 0)
            return -1;
        windows = w->last;
    }
    w->last -= windows;
    *c = w->step[w->last & (STEPS - 1)];
    w->size = 2 * (to - c->at);
    return w->size <= LARGEST ? 0 : -1;
}

/* Note the window that begins at *c, so that it can be undone. */
static inline void
step_on(struct window *w, const struct window_step *c)
{
    if (w->last - w->first == STEPS)
        w->first++;
    w->step[w->last++ & (STEPS - 1)] = *c;
}

/* Of a window's m tokens (n symbols), output those that do not depend on the
 * text after the window, and begin the next window with the last of them; if
 * there are too few, enlarge the window instead. */
static void
keep_symbols(struct window *w, struct window_step *c, size_t n, size_t m,
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
    c->n = out->n;
    step_on(w, c);
    tok_ids_add(out, w->id + known, k - known);
    c->at += w->start[k - 1];
    c->len = w->start[k] - w->start[k - 1];
    w->size = SINGLE;
}

/* Merge n symbols from step c on; returns the number of tokens. */
static size_t
merge_windows(const struct tokenizer *t, struct tok_scratch *s,
    struct window *w, const struct window_step *c, size_t n)
{
    size_t m;

    memcpy(w->id, w->sym + c->at, n * sizeof *w->id);
    m = bpe_merge(t, s, w->id, n, w->start);
    w->start[m] = (uint32_t)n;
    return m;
}

/* ---- windows merged side by side ---- */

/* The borders of tokens: bit i is set if a token begins at symbol i, or the
 * last token ends before it. */
static inline uint64_t
window_row(const struct merge_job *j)
{
    return j->alive | UINT64_C(1) << j->n;
}

/* Does row have a token of len symbols at symbol i? */
static inline int
row_has(uint64_t row, size_t i, size_t len)
{
    return i <= WINDOW && len <= WINDOW &&
        (row >> i & ((UINT64_C(2) << len) - 1)) ==
        (UINT64_C(1) | UINT64_C(1) << len);
}

/* Find the last token that the jobs *a and *b have in common; *b begins later.
 * The token has *len symbols and begins at symbol *i of *a.  0: there is
 * none. */
static inline int
common_prefix(const struct merge_job *a, const struct merge_job *b, size_t *i,
    size_t *len)
{
    const size_t shift = b->from - a->from;
    const uint64_t other = window_row(b);
    uint64_t row = shift <= a->n ? window_row(a) >> shift << shift : 0;

    while (row & (row - 1)) {
        const size_t to = 63 - (size_t)__builtin_clzll(row);

        row ^= UINT64_C(1) << to;
        *i = 63 - (size_t)__builtin_clzll(row);
        *len = to - *i;
        if (row_has(other, *i - shift, *len))
            return 1;
    }
    return 0;
}

/* Output the tokens of the window *a that begin after step c's first token and
 * end at or before symbol `end` of *a; *c becomes a window that begins with the
 * last of them. */
static void
take_symbols(struct window *w, struct window_step *c, const struct merge_job *a,
    size_t end, struct tok_ids *out)
{
    const size_t from = c->at + c->len - a->from;
    uint64_t row = (window_row(a) & ((UINT64_C(2) << end) - 1)) >> from << from;

    if ((row & (row - 1)) == 0)
        return;
    c->n = out->n;
    step_on(w, c);
    tok_ids_room(out, WINDOW);
    for (uint64_t next = row & (row - 1); next; row = next, next &= next - 1) {
        const size_t i = (size_t)__builtin_ctzll(row);

        out->v[out->n++] = a->id[i];
        c->at = a->from + i;
        c->len = (size_t)__builtin_ctzll(next) - i;
    }
}

/* Output tokens from the windows merged side by side, as far as each has a
 * token in common with the next.
 * 0: no token was output.
 * 1: some tokens were.
 * 2: all were, to the end of the text. */
static int
follow(struct window *w, struct window_step *c, struct tok_ids *out)
{
    const struct merge_job *const *const row = w->row;
    const size_t begin = c->at;
    const struct merge_job *a;
    size_t k = 0, i, len, end;

    while (k + 1 < w->nrow && row[k + 1]->from <= c->at)
        k++;
    if (w->nrow == 0 || row[k]->from > c->at ||
        !row_has(window_row(row[k]), c->at - row[k]->from, c->len))
        return 0;
    for (;; k++) {
        a = row[k];
        if (k + 1 == w->nrow || !common_prefix(a, row[k + 1], &i, &len))
            break;
        if (a->from + i > c->at)
            take_symbols(w, c, a, i + len, out);
        else if (a->from + i < c->at)
            break;
    }
    end = a->n;
    if (!w->ended || a->from + end < w->n) {
        if (end <= DOUBT)
            return c->at > begin;
        end -= DOUBT;
    }
    if (end > c->at + c->len - a->from)
        take_symbols(w, c, a, end, out);
    return w->ended && c->at + c->len == w->n ? 2 : c->at > begin;
}

/* For two neighbouring windows without a common token, queue one more window.
 * It begins with a token of the first one: the last that begins at most half
 * way to the second. */
static void
add_between(const struct tokenizer *t, struct window *w)
{
    const unsigned char *const byte = w->bytes ? w->byte : NULL;

    for (size_t k = 0; k + 1 < w->ahead.n; k++) {
        struct merge_job *const a = &w->ahead.job[k];
        const size_t half = (a[1].from - a->from) / 2;
        const uint64_t row = window_row(a) & ((UINT64_C(2) << half) - 1);
        const size_t i = 63 - (size_t)__builtin_clzll(row);
        size_t at, len;

        if (i == 0 || common_prefix(a, a + 1, &at, &len))
            continue;
        queue_window(t, &w->between, w->sym, byte, WINDOW, a->from + i);
        a->between = w->between.n;
    }
}

/* Merge side by side, in windows, the symbols in memory from step c on. */
static void
merge_ahead(const struct tokenizer *t, const struct tok_scratch *s,
    struct window *w, const struct window_step *c)
{
    const unsigned char *const byte = w->bytes ? w->byte : NULL;
    struct queue *const q = &w->ahead;
    size_t from = c->at;

    q->n = w->between.n = w->nrow = 0;
    for (; q->n < QUEUE_JOBS && from + WINDOW <= w->n; from += AHEAD)
        queue_window(t, q, w->sym, byte, WINDOW, from);
    if (q->n < QUEUE_JOBS && w->ended &&
        (q->n == 0 || from + WINDOW - AHEAD < w->n)) {
        from = w->n - c->at < WINDOW ? c->at : w->n - WINDOW;
        queue_window(t, q, w->sym, byte, w->n - from, from);
    }
    s->code->merge(t, q);
    add_between(t, w);
    s->code->merge(t, &w->between);
    for (size_t i = 0; i < q->n; i++) {
        w->row[w->nrow++] = &q->job[i];
        if (q->job[i].between)
            w->row[w->nrow++] = &w->between.job[q->job[i].between - 1];
    }
}

/* Call follow; when no windows are left, merge more side by side.  Returns as
 * follow. */
static int
go_ahead(const struct tokenizer *t, const struct tok_scratch *s,
    struct window *w, struct window_step *c, struct tok_ids *out)
{
    int k;

    if (!queue_takes(t) || w->size > SINGLE || c->at < w->bar ||
        w->n - c->at < 2)
        return 0;
    if ((k = follow(w, c, out)) != 0 ||
        (w->nrow > 0 && c->at < w->row[w->nrow - 1]->from))
        return k;
    merge_ahead(t, s, w, c);
    return follow(w, c, out);
}

/* Encode the text window by window; -1: go_back fails, or the text needs a
 * window larger than LARGEST. */
static int
windows(const struct tokenizer *t, struct tok_scratch *s, struct symbols *x,
    struct tok_ids *out)
{
    struct window *const w = s->window;
    struct window_step c = { 0, 0, out->n };
    size_t back = 1;
    int k;

    w->first = w->last = w->n = w->nrow = w->bar = 0;
    w->size = SINGLE;
    w->ended = 0;
    for (;;) {
        size_t n, m;

        if (w->size > LARGEST)
            return -1;
        fill_windows(t, w, x, &c);
        if ((k = go_ahead(t, s, w, &c, out)) == 2)
            return 0;
        if (k > 0) {
            back = 1;
            continue;
        }
        n = w->n - c.at;
        n = n < w->size ? n : w->size;
        m = merge_windows(t, s, w, &c, n);
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
        keep_symbols(w, &c, n, m, out);
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
    s->window->bytes = x->bytes;
    if (windows(t, s, &y, out) == 0)
        return;
    /* merge the whole text at once, in as much memory as it takes */
    y = *x;
    out->n = before;
    id = bpe_symbols(s, most + SYMBOLS_ROOM);
    while ((k = y.next(t, &y, id + n, most - n)) > 0)
        n += k;
    n = bpe_merge(t, s, id, n, NULL);
    tok_ids_add(out, id, n);
}
