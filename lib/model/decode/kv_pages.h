/* The pages of a cache: who has them, and the number of users of each. */
#ifndef MODEL_KV_PAGES_H
#define MODEL_KV_PAGES_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct kv_pages {
    size_t pages;     /* number of all pages */
    size_t most;      /* number of pages of the longest text */
    uint32_t *users;  /* [pages] users of each page: texts, and calls of
                       * kv_hold */
    uint32_t *unused; /* [pages] a stack of the free pages */
    size_t n;         /* number of free pages */
    uint32_t *table;  /* [texts,most] each text's pages */
    size_t *count;    /* [texts] number of each text's pages */
};
/* Allocate the arrays for `texts` texts from arena a, which may be planning. */
void pages_lay(struct kv_pages *p, struct arena *a, size_t texts);
/* Make all pages free.  Call it after pages_lay. */
void pages_reset(struct kv_pages *p);
/* Give a text one more page, with one user.  At least one page must be free. */
uint32_t pages_extend(struct kv_pages *p, size_t text);
/* Add or remove a user of a page that is in use. */
void pages_add_user(struct kv_pages *p, uint32_t page);
void pages_drop_user(struct kv_pages *p, uint32_t page);
/* Begin a text without pages with n pages in use; each gets one more user. */
void pages_share(struct kv_pages *p, size_t text, const uint32_t *page,
    size_t n);
/* Take from a text all its pages but the first n: each loses a user. */
void pages_cut(struct kv_pages *p, size_t text, size_t n);

#endif
