/* The tree of prefixes: pages are found by all tokens up to their end, and the
 * least recently used ones are evicted, children before parents. */
#include "gen/prefix.h"
#include "../lib/tap.h"

#include <string.h>

enum { PAGES = 40 };

/* The tokens of a page: all are `id`. */
static const uint32_t *
page_of(uint32_t id)
{
    static uint32_t ids[KV_PAGE];

    for (size_t i = 0; i < KV_PAGE; i++)
        ids[i] = id;
    return ids;
}

static void
test_found(void)
{
    struct prefix *p = prefix_new(PAGES);
    size_t good = 0;

    /* Pages 0 to 19 are children of the root, with different tokens.  Each has
     * one child; the children's tokens are all the same. */
    for (uint32_t i = 0; i < 20; i++)
        prefix_add(p, prefix_root(0), page_of(i), i);
    for (uint32_t i = 0; i < 20; i++)
        prefix_add(p, i, page_of(7), 20 + i);
    for (uint32_t i = 0; i < 20; i++)
        good += prefix_child(p, prefix_root(0), page_of(i)) == i &&
            prefix_child(p, i, page_of(7)) == 20 + i &&
            prefix_child(p, i, page_of(8)) == PREFIX_NONE;
    ok(good == 20, "a page is found by its tokens and its parent");
    ok(prefix_child(p, prefix_root(0), page_of(20)) == PREFIX_NONE,
        "other tokens have no page");
    ok(prefix_child(p, prefix_root(1), page_of(7)) == PREFIX_NONE,
        "another root has no page of these tokens");
    ok(prefix_evict(p) == PREFIX_NONE && prefix_idle(p) == 0,
        "a page that a text uses is not evicted");
    prefix_free(p);
}

static void
test_evicted(void)
{
    struct prefix *p = prefix_new(PAGES);

    prefix_add(p, prefix_root(0), page_of(1), 5);
    prefix_add(p, 5, page_of(2), 6);
    prefix_add(p, 5, page_of(3), 7);
    prefix_enter(p, 5); /* by the text of page 7 */
    prefix_leave(p, 6);
    prefix_leave(p, 5);
    prefix_leave(p, 7);
    prefix_leave(p, 5);
    ok(prefix_idle(p) == 3, "pages of texts that ended are idle");
    prefix_enter(p, 5);
    prefix_enter(p, 6);
    ok(prefix_evict(p) == 7 && prefix_child(p, 5, page_of(3)) == PREFIX_NONE,
        "the page that no text uses is evicted, and not found");
    prefix_leave(p, 6);
    prefix_leave(p, 5);
    ok(prefix_evict(p) == 6 && prefix_evict(p) == 5 &&
            prefix_evict(p) == PREFIX_NONE,
        "a child is evicted before its parent");
    prefix_add(p, prefix_root(0), page_of(9), 6);
    ok(prefix_child(p, prefix_root(0), page_of(9)) == 6 &&
            prefix_child(p, 6, page_of(2)) == PREFIX_NONE,
        "a page that is used anew has no children");
    prefix_free(p);
}

int
main(void)
{
    test_found();
    test_evicted();
    return done_testing();
}
