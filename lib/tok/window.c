/*
 * BPE of a long piece in linear time and constant memory: it is merged in
 * short overlapping windows, and the ids are those of merging it all at once.
 *
 * Why that can be exact.  A sequence of tokens is the result of BPE on a text
 * if every two neighbouring tokens, decoded and merged again by themselves,
 * give the same two tokens.  Proof: consider the first merge that crosses a
 * border between two tokens.  Until then the symbols of each token were merged
 * only with each other, in the same order as when the token stands alone; so
 * that merge would also happen in the text of those two neighbours alone, which
 * it does not.
 *
 * The tokens within one window's result satisfy this for the same reason.  So
 * each window begins with the last token kept from the window before.  If that
 * token comes out first again, what follows it is right.  If not, some windows
 * are undone and merged again as one larger window.
 *
 * One window at a time spends most of its time on cache misses, so many windows
 * are merged side by side (queue.h) before it is known where they should begin:
 * at fixed distances, each overlapping the one before.  A token that two
 * overlapping windows have in common is a place to pass from one to the other.
 * Where two have none, another window that begins between them often connects
 * them; all of these are merged side by side too.  Where that fails, a single
 * window is merged as described above, until one of the later windows can be
 * entered.
 */
#include "tok/queue.h"
#include "tok/scan.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 8192 /* symbols kept in memory */
#define WINDOW 32    /* usual size of a window, in symbols */
#define LARGER 64    /* least size after windows were undone */
#define BEFORE 2048  /* symbols before a window that are kept */
#define LARGEST (SYMBOLS - BEFORE - SYMBOLS_ROOM)
#define STEPS 256 /* windows that can be undone; 2^n */
#define DOUBT \
    4         /* symbols before a window's end whose tokens
                                 * often change by what follows */
#define FEW 4 /* a window of fewer tokens is enlarged */
#define AHEAD \
    24 /* distance of the windows that are merged side
                                 * by side, in symbols */
#define PAUSE \
    256 /* most single windows before side by side is
                                 * tried again */
_Static_assert(WINDOW <= QUEUE_SYMBOLS, "symbols of a window");

/* A window: at which symbol it begins; how many symbols its first token has,
 * whose id is in the output already (0: the window begins the text); how many
 * ids the output had before it. */
struct window_step {
    size_t at, len, n;
};

struct window {
    uint32_t sym[SYMBOLS], id[SYMBOLS], start[SYMBOLS + 1];
    struct window_step step[STEPS];
    size_t first, last; /* steps that are known: first..last - 1 */
    size_t n, size;     /* symbols in sym; size of the next window */
    size_t merged, m;   /* the last window had so many symbols, which
                                 * became id[m] */
    int follows;        /* ... and began at the last step */
    int ended;          /* sym has the last symbol of the text */
    unsigned char byte[SYMBOLS];
    int bytes; /* byte[i] is the byte of symbol i */
    /* Windows merged side by side: at fixed distances, and those that connect
     * them.  row[nrow]: all of them by where they begin. */
    struct queue ahead, between;
    struct queue alone; /* a single window */
    const struct merge_job *row[2 * QUEUE_JOBS];
    size_t nrow;
    size_t joins;       /* rows that led to the next */
    size_t pause, skip; /* single windows to merge before the next try:
                                 * as decided last, and still to go */
    size_t bar;         /* windows were undone: only single ones before
                                 * this symbol */
};

/* Read symbols until w->size of them follow step c, or the text ends. */
static void
fill(const struct tokenizer *t, struct window *w, struct symbols *x,
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

/* Undo the last windows, so that a larger one replaces them; -1 if they are
 * no longer kept. */
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
    w->follows = 0;
    *c = w->step[w->last & (STEPS - 1)];
    w->size = to - c->at <= LARGER ? LARGER : 2 * (to - c->at);
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

/* Output the tokens of a window that no longer depend on what follows it, and
 * begin the next window with the last of them; or, where there are too few,
 * enlarge the window. */
static void
keep(struct window *w, struct window_step *c, size_t n, size_t m,
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
    w->follows = 1;
    tok_ids_add(out, w->id + known, k - known);
    c->at += w->start[k - 1];
    c->len = w->start[k] - w->start[k - 1];
    if (k > 4 * FEW)
        w->size = w->size > 2 * WINDOW ? w->size / 2 : WINDOW;
}

/* Are the n symbols from step c on the same as those of the window before?
 * Often they are in runs and patterns, and then so is the result. */
static inline int
is_again(const struct window *w, const struct window_step *c, size_t n)
{
    const struct window_step *const old = &w->step[(w->last - 1) & (STEPS - 1)];

    return w->follows && w->last > w->first && n == w->merged &&
        memcmp(w->sym + c->at, w->sym + old->at, n * sizeof *w->sym) == 0;
}

/* Merge n <= QUEUE_SYMBOLS symbols from step c on; the number of tokens. */
static size_t
merge_alone(const struct tokenizer *t, const struct tok_scratch *s,
    struct window *w, const struct window_step *c, size_t n)
{
    struct merge_job *j;
    size_t m = 0;

    w->alone.n = 0;
    j = queue_window(t, &w->alone, w->sym, w->bytes ? w->byte : NULL, n, c->at);
    s->code->merge(t, &w->alone);
    for (uint32_t left = j->alive; left; left &= left - 1) {
        w->start[m] = (uint32_t)__builtin_ctz(left);
        w->id[m] = j->id[w->start[m]];
        m++;
    }
    return m;
}

/* Merge n symbols from step c on; returns the number of tokens. */
static size_t
merge(const struct tokenizer *t, struct tok_scratch *s, struct window *w,
    const struct window_step *c, size_t n)
{
    if (is_again(w, c, n))
        return w->m;
    w->follows = 0;
    if (n > 0 && n <= QUEUE_SYMBOLS && queue_takes(t)) {
        w->m = merge_alone(t, s, w, c, n);
    } else {
        memcpy(w->id, w->sym + c->at, n * sizeof *w->id);
        w->m = bpe_merge(t, s, w->id, n, w->start);
    }
    w->start[w->m] = (uint32_t)n;
    w->merged = n;
    return w->m;
}

/* ---- windows merged side by side ---- */

/* Bit i is set where a token begins at symbol i, or the last one ends there. */
static inline uint64_t
row_of(const struct merge_job *j)
{
    return j->alive | UINT64_C(1) << j->n;
}

/* Is there a token of len symbols at i of that row? */
static inline int
row_has(uint64_t row, size_t i, size_t len)
{
    return i <= WINDOW && len <= WINDOW &&
        (row >> i & ((UINT64_C(2) << len) - 1)) ==
        (UINT64_C(1) | UINT64_C(1) << len);
}

/* The last token that job a has in common with b, which begins behind it, as
 * *len symbols at *i of a; 0: none. */
static inline int
common(const struct merge_job *a, const struct merge_job *b, size_t *i,
    size_t *len)
{
    const size_t shift = b->from - a->from;
    const uint64_t other = row_of(b);
    uint64_t row = shift <= a->n ? row_of(a) >> shift << shift : 0;

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

/* Output the tokens of window a that begin behind step c and end at or before
 * symbol `end` of a; *c becomes the last of them. */
static void
take(struct window *w, struct window_step *c, const struct merge_job *a,
    size_t end, struct tok_ids *out)
{
    const size_t from = c->at + c->len - a->from;
    uint64_t row = (row_of(a) & ((UINT64_C(2) << end) - 1)) >> from << from;

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

/* Output tokens from the windows merged side by side, as far as one leads to
 * the next: 0 if there were none, 1 if some, 2 if all to the end of the
 * text. */
static int
follow(struct window *w, struct window_step *c, struct tok_ids *out)
{
    const struct merge_job *const *const row = w->row;
    const size_t begin = c->at;
    const struct merge_job *a;
    size_t k = 0, from, i, len, end;

    while (k + 1 < w->nrow && row[k + 1]->from <= c->at)
        k++;
    if (w->nrow == 0 || row[k]->from > c->at ||
        !row_has(row_of(row[k]), c->at - row[k]->from, c->len))
        return 0;
    for (from = k;; k++) {
        a = row[k];
        if (k + 1 == w->nrow || !common(a, row[k + 1], &i, &len))
            break;
        if (a->from + i > c->at)
            take(w, c, a, i + len, out);
        else if (a->from + i < c->at)
            break;
    }
    w->joins += k - from;
    end = a->n;
    if (!w->ended || a->from + end < w->n) {
        if (end <= DOUBT)
            return c->at > begin;
        end -= DOUBT;
    }
    if (end > c->at + c->len - a->from)
        take(w, c, a, end, out);
    w->follows = 0;
    return w->ended && c->at + c->len == w->n ? 2 : c->at > begin;
}

/* Do the symbols from step c on have a period shorter than a window?  Then
 * single windows are faster: is_again skips their merging. */
static int
repeats(const struct window *w, const struct window_step *c)
{
    const uint32_t *const sym = w->sym + c->at;
    const size_t most =
        w->n - c->at - WINDOW < WINDOW ? w->n - c->at - WINDOW : WINDOW;

    for (size_t i = 1; i < most; i++)
        if (sym[i] == sym[0] && memcmp(sym, sym + i, WINDOW * sizeof *sym) == 0)
            return 1;
    return 0;
}

size_t
window_count(size_t n)
{
    return n > WINDOW ? (n - WINDOW + AHEAD - 1) / AHEAD + 1 : 1;
}

size_t
window_from(size_t n, size_t i)
{
    return i * AHEAD + WINDOW <= n || n <= WINDOW ? i * AHEAD : n - WINDOW;
}

/* For each window of job[n] that has no token in common with the next: queue
 * one more, which begins with the last token of the window that begins at most
 * half way to the next.  The symbols are id, or byte_id of byte where id is
 * NULL. */
static void
add_between(const struct tokenizer *t, struct window *w, struct merge_job *job,
    size_t n, const uint32_t *id, const unsigned char *byte)
{
    for (size_t k = 0; k + 1 < n; k++) {
        struct merge_job *const a = &job[k];
        const size_t half = (a[1].from - a->from) / 2;
        const uint64_t row = row_of(a) & ((UINT64_C(2) << half) - 1);
        const size_t i = 63 - (size_t)__builtin_clzll(row);
        size_t at, len;

        if (i == 0 || common(a, a + 1, &at, &len))
            continue;
        queue_window(t, &w->between, id, byte, WINDOW, a->from + i);
        a->between = w->between.n;
    }
}

/* Set row[] to the windows of job[n] and those that connect them, in order. */
static void
set_rows(struct window *w, const struct merge_job *job, size_t n)
{
    w->nrow = w->joins = 0;
    for (size_t i = 0; i < n; i++) {
        w->row[w->nrow++] = &job[i];
        if (job[i].between)
            w->row[w->nrow++] = &w->between.job[job[i].between - 1];
    }
}

/* Merge side by side, in windows, the symbols in memory from step c on. */
static void
merge_ahead(const struct tokenizer *t, const struct tok_scratch *s,
    struct window *w, const struct window_step *c)
{
    const unsigned char *const byte = w->bytes ? w->byte : NULL;
    struct queue *const q = &w->ahead;
    const size_t all = window_count(w->n - c->at);
    const size_t n = w->ended ? all : (w->n - c->at - WINDOW) / AHEAD + 1;

    q->n = w->between.n = 0;
    while (q->n < QUEUE_JOBS && q->n < n)
        queue_window(t, q, w->sym, byte, WINDOW,
            c->at + window_from(w->n - c->at, q->n));
    s->code->merge(t, q);
    add_between(t, w, q->job, q->n, w->sym, byte);
    s->code->merge(t, &w->between);
    set_rows(w, q->job, q->n);
}

/* The same as follow; merges more windows side by side where that pays. */
static int
go_ahead(const struct tokenizer *t, const struct tok_scratch *s,
    struct window *w, struct window_step *c, struct tok_ids *out)
{
    int k;

    if (!queue_takes(t) || w->size > WINDOW || c->at < w->bar ||
        w->n - c->at <= WINDOW || is_again(w, c, WINDOW))
        return 0;
    if (w->skip > 0) {
        w->skip--;
        return 0;
    }
    if ((k = follow(w, c, out)) != 0 ||
        (w->nrow > 0 && c->at < w->row[w->nrow - 1]->from))
        return k;
    if (w->nrow > 0)
        w->pause = 2 * w->joins >= w->nrow ? 0
            : w->pause < PAUSE             ? 2 * w->pause + 8
                                           : PAUSE;
    w->skip = w->nrow > 0 && w->pause > 0 ? w->pause
        : repeats(w, c)                   ? PAUSE / 8
                                          : 0;
    w->nrow = 0;
    if (w->skip > 0)
        return 0;
    merge_ahead(t, s, w, c);
    return follow(w, c, out);
}

/* 0, or -1: this text needs larger windows than there are. */
static int
windows(const struct tokenizer *t, struct tok_scratch *s, struct symbols *x,
    struct tok_ids *out)
{
    struct window *const w = s->window;
    struct window_step c = { 0, 0, out->n };
    size_t back = 1;
    int k;

    w->first = w->last = w->n = w->nrow = w->joins = w->bar = 0;
    w->pause = w->skip = 0;
    w->size = WINDOW;
    w->ended = w->follows = 0;
    for (;;) {
        size_t n, m;

        if (w->size > LARGEST)
            return -1;
        fill(t, w, x, &c);
        if ((k = go_ahead(t, s, w, &c, out)) == 2)
            return 0;
        if (k > 0) {
            back = 1;
            continue;
        }
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

static struct window *
window_of(struct tok_scratch *s)
{
    if (!s->window)
        s->window = xmalloc(sizeof *s->window);
    return s->window;
}

void
window_between(const struct tokenizer *t, struct tok_scratch *s,
    struct queue *q)
{
    struct window *w = NULL;

    for (size_t i = 0; i < q->n; i++) {
        struct merge_job *const j = &q->job[i];

        if (j->windows == 0)
            continue;
        if (!w) {
            w = window_of(s);
            w->between.n = 0;
        }
        add_between(t, w, j, j->windows, NULL, j->place.p);
        i += j->windows - 1;
    }
    if (w)
        s->code->merge(t, &w->between);
}

void
window_join(const struct tokenizer *t, struct tok_scratch *s,
    const struct merge_job *j, struct tok_ids *out)
{
    struct window *const w = s->window;
    struct window_step c = { 0, 0, out->n };
    uint32_t *id;
    size_t n;

    w->first = w->last = 0;
    w->n = n = j->place.n;
    w->ended = 1;
    set_rows(w, j, j->windows);
    if (follow(w, &c, out) == 2)
        return;
    out->n = 0;
    id = bpe_symbols(s, n);
    for (size_t i = 0; i < n; i++)
        id[i] = t->byte_id[j->place.p[i]];
    tok_ids_add(out, id, bpe_merge(t, s, id, n, NULL));
}

void
window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, int bytes, struct tok_ids *out)
{
    const size_t most = (size_t)(x->end - x->p) + SYMBOLS_ROOM;
    const size_t before = out->n;
    struct symbols y = *x;
    uint32_t *id;
    size_t n = 0, k;

    window_of(s)->bytes = bytes;
    if (windows(t, s, &y, out) == 0)
        return;
    /* All at once, with the memory that takes. */
    y = *x;
    out->n = before;
    id = bpe_symbols(s, most + SYMBOLS_ROOM);
    while ((k = y.next(t, &y, id + n, most - n)) > 0)
        n += k;
    n = bpe_merge(t, s, id, n, NULL);
    tok_ids_add(out, id, n);
}
