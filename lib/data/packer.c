/* Rows out of pieces: see packer.h */
#include "data/packer.h"
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
    if (r->B < r->capB)
        return;
    r->capB = r->capB ? 2 * r->capB : 8;
    r->ids = xreallocarray(r->ids, r->capB, r->T * r->id_size);
    r->mask = xreallocarray(r->mask, r->capB, r->T);
}

static void
rows_place(struct pack_rows *r, size_t at, const struct piece *p)
{
    const size_t to = r->B * r->T + at;

    if (r->P == r->capP) {
        r->capP = r->capP ? 2 * r->capP : 64;
        r->row = xreallocarray(r->row, r->capP, sizeof *r->row);
        r->len = xreallocarray(r->len, r->capP, sizeof *r->len);
        r->off = xreallocarray(r->off, r->capP, sizeof *r->off);
        r->source = xreallocarray(r->source, r->capP, sizeof *r->source);
        r->key = xreallocarray(r->key, r->capP, sizeof *r->key);
    }
    r->row[r->P] = (uint32_t)r->B;
    r->len[r->P] = p->len;
    r->off[r->P] = p->off;
    r->source[r->P] = (uint16_t)p->source;
    r->key[r->P++] = p->key;
    memcpy(r->ids + to * r->id_size, p->ids, p->len * r->id_size);
    memcpy(r->mask + to, p->mask, p->len);
    r->masked |= p->masked;
    r->tokens += p->len;
}

static void
rows_end(struct pack_rows *r, size_t at)
{
    const size_t to = r->B * r->T + at;

    memset(r->ids + to * r->id_size, 0, (r->T - at) * r->id_size);
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
}

void
packer_release(struct packer *p)
{
    for (size_t i = 0; i <= PACK_WINDOW; i++) {
        free(p->piece[i].ids);
        free(p->piece[i].mask);
    }
    memset(p, 0, sizeof *p);
}

struct piece *
packer_slot(struct packer *p)
{
    struct piece *s = &p->piece[p->n];

    assert(p->n <= PACK_WINDOW);
    if (!s->ids) {
        s->ids = xreallocarray(NULL, p->T, p->id_size);
        s->mask = xmalloc(p->T);
    }
    return s;
}

/* Keep the window full. */
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
        p->n += r > 0;
        p->dry = r == 0;
    }
    return 0;
}

/* The longest piece of at most space tokens, the oldest of equals; or n. */
static size_t
longest(const struct packer *p, size_t space)
{
    size_t best = p->n;

    for (size_t i = 0; i < p->n; i++)
        if (p->piece[i].len <= space && (best == p->n ||
            p->piece[i].len > p->piece[best].len))
            best = i;
    return best;
}

/* Take piece i out of the window; its memory becomes the spare one's. */
static void
drop(struct packer *p, size_t i)
{
    const struct piece gone = p->piece[i];

    p->n--;
    memmove(&p->piece[i], &p->piece[i + 1], (p->n - i) * sizeof gone);
    p->piece[p->n] = gone;
}

static int
row_best(struct packer *p, const struct pack_from *from, uint64_t number,
    struct pack_rows *r, struct err *e)
{
    size_t at = 0;

    for (;;) {
        size_t i;

        if (refill(p, from, number, e) < 0)
            return -1;
        i = longest(p, p->T - at);
        if (at == 0 && p->n > 0 && number - p->piece[0].born >= PACK_AGE)
            i = 0;
        if (i == p->n)
            break;
        if (at == 0)
            rows_begin(r);
        rows_place(r, at, &p->piece[i]);
        at += p->piece[i].len;
        drop(p, i);
        if (at == p->T)
            break;
    }
    if (at == 0)
        return 0;
    rows_end(r, at);
    return 1;
}

/* Without a window: pieces as they come. */
static int
row_direct(struct packer *p, const struct pack_from *from,
    struct pack_rows *r, struct err *e)
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
    return p->how == PACK_BEST ? row_best(p, from, number, r, e) :
        row_direct(p, from, r, e);
}
