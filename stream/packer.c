/* Packs pieces into rows: see packer.h */
#include "packer.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const pack_names[] = { "best", "concat", "none", NULL };

void
pack_rows_init(struct pack_rows *r, size_t T, size_t id_size)
{
    memset(r, 0, sizeof *r);
    r->T = T;
    r->id_size = id_size;
}

void
pack_rows_clear(struct pack_rows *r)
{
    r->B = r->P = 0;
    r->masked = 0;
    r->tokens = 0;
}

void
pack_rows_release(struct pack_rows *r)
{
    free(r->ids);
    free(r->mask);
    free(r->row);
    free(r->len);
    free(r->off);
    free(r->source);
    free(r->key);
    memset(r, 0, sizeof *r);
}

static void
rows_begin(struct pack_rows *r)
{
    size_t cap = r->capB;

    r->ids = xgrow(r->ids, r->B, &cap, r->T * r->id_size);
    r->mask = xgrow(r->mask, r->B, &r->capB, r->T);
}

/* Make room for one more piece in an array p of r; returns the array. */
static void *
grow_array(const struct pack_rows *r, void *p, size_t size)
{
    size_t cap = r->capP;

    return xgrow(p, r->P, &cap, size);
}

/* Begin the mask of a batch at its first piece with a loss mask: all tokens
 * before that piece count. */
static void
mask_begin(struct pack_rows *r)
{
    size_t at = 0;

    memset(r->mask, 0, (r->B + 1) * r->T);
    for (size_t i = 0; i < r->P; i++) {
        at = i && r->row[i] == r->row[i - 1] ? at : 0;
        memset(r->mask + r->row[i] * r->T + at, 1, r->len[i]);
        at += r->len[i];
    }
    r->masked = 1;
}

static void
rows_place(struct pack_rows *r, size_t at, const struct piece *p)
{
    const size_t to = r->B * r->T + at;

    if (r->P == r->capP) {
        r->row = grow_array(r, r->row, sizeof *r->row);
        r->len = grow_array(r, r->len, sizeof *r->len);
        r->off = grow_array(r, r->off, sizeof *r->off);
        r->source = grow_array(r, r->source, sizeof *r->source);
        r->key = xgrow(r->key, r->P, &r->capP, sizeof *r->key);
    }
    if (p->masked && !r->masked)
        mask_begin(r);
    if (p->masked)
        memcpy(r->mask + to, p->mask, p->len);
    else if (r->masked)
        memset(r->mask + to, 1, p->len);
    r->row[r->P] = (uint32_t)r->B;
    r->len[r->P] = p->len;
    r->off[r->P] = p->off;
    r->source[r->P] = (uint16_t)p->source;
    r->key[r->P++] = p->key;
    memcpy(r->ids + to * r->id_size, p->ids, p->len * r->id_size);
    r->tokens += p->len;
}

static void
rows_end(struct pack_rows *r, size_t at)
{
    const size_t to = r->B * r->T + at;

    memset(r->ids + to * r->id_size, 0, (r->T - at) * r->id_size);
    if (r->masked)
        memset(r->mask + to, 0, r->T - at);
    r->B++;
}

void
packer_init(struct packer *p, enum pack how, size_t T, size_t id_size)
{
    memset(p, 0, sizeof *p);
    p->how = how;
    p->T = T;
    p->id_size = id_size;
    if (how == PACK_BEST)
        p->sums = xreallocarray(NULL, (PACK_WINDOW + 1) * (T / 64 + 1),
            sizeof *p->sums);
}

void
packer_release(struct packer *p)
{
    for (size_t i = 0; i < PACK_WINDOW; i++) {
        free(p->piece[i].ids);
        free(p->piece[i].mask);
    }
    free(p->sums);
    memset(p, 0, sizeof *p);
}

struct piece *
packer_slot(struct packer *p)
{
    struct piece *s = &p->piece[p->n];

    assert(p->n < PACK_WINDOW);
    if (!s->ids) {
        s->ids = xreallocarray(NULL, p->T, p->id_size);
        s->mask = xmalloc(p->T);
    }
    return s;
}

void
packer_keep(struct packer *p)
{
    const uint32_t len = p->piece[p->n].len;
    size_t k = p->n;

    for (; k > 0 && p->piece[p->order[k - 1]].len < len; k--)
        p->order[k] = p->order[k - 1];
    p->order[k] = p->n++;
}

/* Draw pieces until the window is full, or there are no more. */
static int
refill(struct packer *p, const struct pack_from *from, uint64_t number,
    struct err *e)
{
    while (!p->dry && p->n < PACK_WINDOW) {
        struct piece *s = packer_slot(p);
        const int r = from->draw(from->ctx, p->T, s, e);

        if (r < 0)
            return -1;
        s->born = number;
        if (r > 0)
            packer_keep(p);
        p->dry = r == 0;
    }
    return 0;
}

/* List the pieces other than `first` that fit into space, longest first;
 * returns their number. */
static size_t
list_candidates(const struct packer *p, size_t first, size_t space,
    size_t which[PACK_WINDOW])
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (p->piece[p->order[i]].len <= space && p->order[i] != first)
            which[n++] = p->order[i];
    return n;
}

static int
reached(const uint64_t *sums, size_t s)
{
    return sums[s / 64] >> s % 64 & 1;
}

/* to = the set of all sums in `from`, and of these sums plus len. */
static void
add_sums(uint64_t *restrict to, const uint64_t *restrict from, size_t len,
    size_t words)
{
    const size_t q = len / 64, r = len % 64;

    memcpy(to, from, words * sizeof *to);
    for (size_t w = q; w < words; w++) {
        to[w] |= from[w - q] << r;
        if (r && w > q)
            to[w] |= from[w - q - 1] >> (64 - r);
    }
}

/*
 * Choose by subset sum the pieces that, with `first`, fill the row best.
 * Returns the number of tokens left empty.  Row i of p->sums is the set of sums
 * of the first i candidates (longest first), a bit for each sum.  From the last
 * candidate back, a piece is taken only if the longer ones before it cannot
 * make the sum, so that short pieces are kept for later gaps.
 */
static size_t
fill_rest(struct packer *p, size_t first, int used[PACK_WINDOW])
{
    const size_t space = p->T - p->piece[first].len, words = space / 64 + 1;
    size_t which[PACK_WINDOW], s = space, left;
    size_t n = list_candidates(p, first, space, which);

    memset(p->sums, 0, words * sizeof *p->sums);
    p->sums[0] = 1;
    for (size_t i = 0; i < n; i++) {
        add_sums(p->sums + (i + 1) * words, p->sums + i * words,
            p->piece[which[i]].len, words);
        if (reached(p->sums + (i + 1) * words, space))
            n = i + 1;
    }
    while (!reached(p->sums + n * words, s))
        s--;
    left = space - s;
    memset(used, 0, PACK_WINDOW * sizeof *used);
    used[first] = 1;
    for (size_t i = n; i-- > 0;)
        if (!reached(p->sums + i * words, s)) {
            used[which[i]] = 1;
            s -= p->piece[which[i]].len;
        }
    return left;
}

/* Choose the pieces of the next row.  If the oldest piece has waited for
 * PACK_AGE rows, the row begins with that piece.  Else it begins with a piece
 * of one of the PACK_TRIES greatest lengths: the first that can fill the row,
 * or else the one that leaves the least empty. */
static void
choose_pieces(struct packer *p, uint64_t number, int used[PACK_WINDOW])
{
    int tried[PACK_WINDOW];
    size_t least = SIZE_MAX, tries = 0;
    uint32_t len = 0;

    if (number - p->piece[0].born >= PACK_AGE) {
        fill_rest(p, 0, used);
        return;
    }
    for (size_t i = 0; i < p->n && tries < PACK_TRIES && least > 0; i++) {
        const size_t first = p->order[i];
        size_t left;

        if (p->piece[first].len == len)
            continue;
        len = p->piece[first].len;
        tries++;
        left = fill_rest(p, first, tried);
        if (left < least)
            memcpy(used, tried, sizeof tried);
        least = left < least ? left : least;
    }
}

/* Remove the used pieces from the window; their buffers move to the free slots
 * after it. */
static void
sweep(struct packer *p, const int used[PACK_WINDOW])
{
    struct piece gone[PACK_WINDOW];
    size_t n = 0, ngone = 0, left = 0, now[PACK_WINDOW];

    for (size_t i = 0; i < p->n; i++) {
        now[i] = n;
        if (used[i])
            gone[ngone++] = p->piece[i];
        else if (n++ < i)
            p->piece[n - 1] = p->piece[i];
    }
    memcpy(p->piece + n, gone, ngone * sizeof *gone);
    for (size_t i = 0; i < p->n; i++)
        if (!used[p->order[i]])
            p->order[left++] = now[p->order[i]];
    p->n = n;
}

static int
row_best(struct packer *p, const struct pack_from *from, uint64_t number,
    struct pack_rows *r, struct err *e)
{
    int used[PACK_WINDOW];
    size_t at = 0;

    if (refill(p, from, number, e) < 0)
        return -1;
    if (p->n == 0)
        return 0;
    choose_pieces(p, number, used);
    rows_begin(r);
    for (size_t i = 0; i < p->n; i++)
        if (used[i]) {
            rows_place(r, at, &p->piece[i]);
            at += p->piece[i].len;
        }
    rows_end(r, at);
    sweep(p, used);
    return 1;
}

/* Fill a row with pieces as they are drawn, without a window. */
static int
row_direct(struct packer *p, const struct pack_from *from, struct pack_rows *r,
    struct err *e)
{
    struct piece *s = packer_slot(p);
    size_t at = 0;

    while (at < p->T && !p->dry) {
        const int k = from->draw(from->ctx, p->T - at, s, e);

        if (k < 0)
            return -1;
        p->dry = k == 0;
        if (k == 0)
            break;
        if (at == 0)
            rows_begin(r);
        rows_place(r, at, s);
        at += s->len;
        if (p->how == PACK_NONE)
            break;
    }
    if (at == 0)
        return 0;
    rows_end(r, at);
    return 1;
}

int
packer_row(struct packer *p, const struct pack_from *from, uint64_t number,
    struct pack_rows *r, struct err *e)
{
    return p->how == PACK_BEST ? row_best(p, from, number, r, e)
                               : row_direct(p, from, r, e);
}
