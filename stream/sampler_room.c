/*
 * Memory for parts: see sampler_room.h.  One mapping has room for the largest
 * size of all parts together.  It uses huge pages if the system has them, so
 * that decoding does not map memory page by page and reading needs few address
 * translations.  Pages once touched stay mapped.  Holes are listed in order of
 * address; a part takes the smallest that is large enough, the first of equals.
 */
#include "sampler_room.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM_LINE = 64 };
#define ROOM_PAGE ((size_t)2 << 20)

void
room_init(struct room *r, size_t bytes)
{
    void *p;

    memset(r, 0, sizeof *r);
    bytes = (bytes + ROOM_PAGE - 1) / ROOM_PAGE * ROOM_PAGE;
    p = mmap(NULL, bytes + ROOM_PAGE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return; /* each part is allocated separately */
    r->map = p;
    r->mapped = bytes + ROOM_PAGE;
    r->base = r->map + (ROOM_PAGE - (uintptr_t)p % ROOM_PAGE) % ROOM_PAGE;
    r->bytes = bytes;
    madvise(r->base, bytes, MADV_HUGEPAGE);
    r->hole = xmalloc(sizeof *r->hole);
    r->hole[0] = (struct hole){ 0, bytes };
    r->n = r->cap = 1;
}

void
room_release(struct room *r)
{
    if (r->map)
        munmap(r->map, r->mapped);
    free(r->hole);
    memset(r, 0, sizeof *r);
}

/* Sizes are rounded up, by less than 1/32 or 64 bytes, so that the hole of a
 * freed part fits other parts of about the same size. */
static size_t
rounded_size(size_t bytes)
{
    size_t step = ROOM_LINE;

    while (step < bytes / 64)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

/* Index of the smallest hole of at least `bytes` bytes; r->n: there is none. */
static size_t
find_hole(const struct room *r, size_t bytes)
{
    size_t best = r->n;

    for (size_t i = 0; i < r->n; i++)
        if (r->hole[i].n >= bytes &&
            (best == r->n || r->hole[i].n < r->hole[best].n))
            best = i;
    return best;
}

int
room_has(const struct room *r, size_t bytes)
{
    return find_hole(r, rounded_size(bytes)) < r->n;
}

void *
room_alloc(struct room *r, size_t bytes)
{
    const size_t i = find_hole(r, rounded_size(bytes));
    void *p;

    if (i == r->n)
        return xmalloc(bytes);
    p = r->base + r->hole[i].at;
    r->hole[i].at += rounded_size(bytes);
    r->hole[i].n -= rounded_size(bytes);
    if (r->hole[i].n == 0)
        memmove(r->hole + i, r->hole + i + 1, (--r->n - i) * sizeof *r->hole);
    return p;
}

/* Join holes i and i + 1 if they touch. */
static void
join_holes(struct room *r, size_t i)
{
    if (i + 1 >= r->n || r->hole[i].at + r->hole[i].n != r->hole[i + 1].at)
        return;
    r->hole[i].n += r->hole[i + 1].n;
    r->n--;
    memmove(r->hole + i + 1, r->hole + i + 2, (r->n - i - 1) * sizeof *r->hole);
}

void
room_free(struct room *r, void *p, size_t bytes)
{
    const unsigned char *q = p;
    size_t at, i = 0;

    if (!r->base || q < r->base || q >= r->base + r->bytes) {
        free(p);
        return;
    }
    at = (size_t)(q - r->base);
    while (i < r->n && r->hole[i].at < at)
        i++;
    r->hole = xgrow(r->hole, r->n, &r->cap, sizeof *r->hole);
    memmove(r->hole + i + 1, r->hole + i, (r->n++ - i) * sizeof *r->hole);
    r->hole[i] = (struct hole){ at, rounded_size(bytes) };
    join_holes(r, i);
    if (i > 0)
        join_holes(r, i - 1);
}
