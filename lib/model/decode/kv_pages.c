/* Tables of pages; see kv_pages.h. */
#include "model/decode/kv_pages.h"

#include <assert.h>

void
pages_lay(struct kv_pages *p, struct arena *a, size_t texts)
{
    p->users = arena_alloc(a, p->pages, sizeof *p->users);
    p->unused = arena_alloc(a, p->pages, sizeof *p->unused);
    p->table = arena_alloc(a, texts * p->most, sizeof *p->table);
    p->count = arena_alloc(a, texts, sizeof *p->count);
}

void
pages_reset(struct kv_pages *p)
{
    /* the lowest page is the first to be taken */
    for (size_t i = 0; i < p->pages; i++)
        p->unused[i] = (uint32_t)(p->pages - 1 - i);
    p->n = p->pages;
}

uint32_t
pages_extend(struct kv_pages *p, size_t text)
{
    uint32_t page;

    assert(p->n > 0 && p->count[text] < p->most);
    page = p->unused[--p->n];
    p->users[page] = 1;
    p->table[text * p->most + p->count[text]++] = page;
    return page;
}

void
pages_add_user(struct kv_pages *p, uint32_t page)
{
    assert(page < p->pages && p->users[page] > 0);
    p->users[page]++;
}

void
pages_drop_user(struct kv_pages *p, uint32_t page)
{
    assert(page < p->pages && p->users[page] > 0);
    if (--p->users[page] == 0)
        p->unused[p->n++] = page;
}

void
pages_share(struct kv_pages *p, size_t text, const uint32_t *page, size_t n)
{
    assert(p->count[text] == 0 && n <= p->most);
    for (size_t i = 0; i < n; i++) {
        pages_add_user(p, page[i]);
        p->table[text * p->most + i] = page[i];
    }
    p->count[text] = n;
}

void
pages_cut(struct kv_pages *p, size_t text, size_t n)
{
    /* of these pages the first is freed last, so it is the next to be taken */
    while (p->count[text] > n)
        pages_drop_user(p, p->table[text * p->most + --p->count[text]]);
}
