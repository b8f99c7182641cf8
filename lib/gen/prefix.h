/*
 * Full pages of keys and values, found by the tokens that they hold.  A page is
 * a node of a tree: the path from the root to it is the beginning of a text.
 * Texts with different angles of RoPE (angles_set) are in different trees.
 * Tokens are compared, not only their hashes, so a page is never taken for
 * another.
 *
 * A text that uses a page uses its parents too.  Pages that no text uses form a
 * list, the least recently used first; a page's children come before it.
 */
#ifndef GEN_PREFIX_H
#define GEN_PREFIX_H

#include "model/decode/forward_kv.h"

#include <stddef.h>
#include <stdint.h>

#define PREFIX_NONE UINT32_MAX /* no page */

struct prefix;
struct prefix *prefix_new(size_t pages);
void prefix_free(struct prefix *p);
size_t prefix_bytes(size_t pages);

/* The parent of the first pages of texts with this angles_set; no page has its
 * number. */
uint32_t prefix_root(size_t set);
/* The child of `parent` with the tokens ids [KV_PAGE], or PREFIX_NONE. */
uint32_t prefix_child(const struct prefix *p, uint32_t parent,
    const uint32_t *ids);
/* Add a page as a child of `parent`, which has no such child; one text uses the
 * page and the parent. */
void prefix_add(struct prefix *p, uint32_t parent, const uint32_t *ids,
    uint32_t page);
/* Count a text that begins (enter) or ceases (leave) to use the page.  A text
 * leaves its last page first. */
void prefix_enter(struct prefix *p, uint32_t page);
void prefix_leave(struct prefix *p, uint32_t page);
/* Take the least recently used page out of the tree, and return it; PREFIX_NONE
 * if texts use all. */
uint32_t prefix_evict(struct prefix *p);
/* Number of pages in the tree that no text uses. */
size_t prefix_idle(const struct prefix *p);

#endif
