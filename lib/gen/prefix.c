/* Pages found by their tokens; see prefix.h. */
#include "gen/prefix.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

struct prefix_page {
    uint32_t ids[KV_PAGE];
    uint32_t parent;
    uint32_t chain;         /* next page with the same hash */
    uint32_t before, after; /* neighbours in the list of idle pages */
    uint32_t users;         /* texts that use the page; 0: the page is idle */
};
struct prefix {
    size_t buckets, idle;
    uint32_t first, last; /* of the list of idle pages */
    uint32_t *bucket;     /* [buckets] first page of each chain */
    struct prefix_page *page;
};

static size_t
bucket_count(size_t pages)
{
    size_t n = 16;

    while (n < pages)
        n *= 2;
    return n;
}

struct prefix *
prefix_new(size_t pages)
{
    struct prefix *p = xcalloc(1, sizeof *p);

    assert(pages < PREFIX_NONE / 2);
    p->buckets = bucket_count(pages);
    p->first = p->last = PREFIX_NONE;
    p->bucket = xreallocarray(NULL, p->buckets, sizeof *p->bucket);
    memset(p->bucket, 0xff, p->buckets * sizeof *p->bucket);
    p->page = xcalloc(pages, sizeof *p->page);
    return p;
}

void
prefix_free(struct prefix *p)
{
    free(p->bucket);
    free(p->page);
    free(p);
}

size_t
prefix_bytes(size_t pages)
{
    return bucket_count(pages) * sizeof(uint32_t) +
        pages * sizeof(struct prefix_page);
}

uint32_t
prefix_root(size_t set)
{
    assert(set < PREFIX_NONE / 2);
    return PREFIX_NONE - (uint32_t)set;
}

static uint32_t *
prefix_bucket(const struct prefix *p, uint32_t parent, const uint32_t *ids)
{
    const uint64_t h = XXH3_64bits_withSeed(ids, KV_PAGE * sizeof *ids, parent);

    return &p->bucket[h & (p->buckets - 1)];
}

uint32_t
prefix_child(const struct prefix *p, uint32_t parent, const uint32_t *ids)
{
    uint32_t at = *prefix_bucket(p, parent, ids);

    while (at != PREFIX_NONE &&
        (p->page[at].parent != parent ||
            memcmp(p->page[at].ids, ids, sizeof p->page[at].ids) != 0))
        at = p->page[at].chain;
    return at;
}

void
prefix_add(struct prefix *p, uint32_t parent, const uint32_t *ids,
    uint32_t page)
{
    struct prefix_page *g = &p->page[page];
    uint32_t *bucket = prefix_bucket(p, parent, ids);

    memcpy(g->ids, ids, sizeof g->ids);
    g->parent = parent;
    g->chain = *bucket;
    g->users = 1;
    *bucket = page;
}

/* Remove an idle page from the list of idle pages. */
static void
unlink_idle(struct prefix *p, const struct prefix_page *g)
{
    *(g->before != PREFIX_NONE ? &p->page[g->before].after : &p->first) =
        g->after;
    *(g->after != PREFIX_NONE ? &p->page[g->after].before : &p->last) =
        g->before;
    p->idle--;
}

void
prefix_enter(struct prefix *p, uint32_t page)
{
    struct prefix_page *g = &p->page[page];

    if (g->users++ == 0)
        unlink_idle(p, g);
}

void
prefix_leave(struct prefix *p, uint32_t page)
{
    struct prefix_page *g = &p->page[page];

    assert(g->users > 0);
    if (--g->users > 0)
        return;
    g->before = p->last;
    g->after = PREFIX_NONE;
    *(p->last != PREFIX_NONE ? &p->page[p->last].after : &p->first) = page;
    p->last = page;
    p->idle++;
}

uint32_t
prefix_evict(struct prefix *p)
{
    const uint32_t page = p->first;
    const struct prefix_page *g;
    uint32_t *at;

    if (page == PREFIX_NONE)
        return PREFIX_NONE;
    g = &p->page[page];
    unlink_idle(p, g);
    for (at = prefix_bucket(p, g->parent, g->ids); *at != page;)
        at = &p->page[*at].chain;
    *at = g->chain;
    return page;
}

size_t
prefix_idle(const struct prefix *p)
{
    return p->idle;
}
