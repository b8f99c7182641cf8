/* Pages of a cache of keys and values: who has them, when they are free, and
 * what is refused. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/decode/forward_kv.h"
#include "model/files/random.h"
#include "../lib/small_config.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { V = 50, D = 24, LONGEST = 300, PAGES = 6 };
static uint32_t ids[LONGEST];
static float logits[3 * V];

/* Feed n tokens to a text; returns what kv_feed does. */
static int
grow(struct kvcache *k, size_t text, size_t n)
{
    const struct kv_more more = { text, ids + kv_length(k, text), n, 1, NULL,
        0 };

    return kv_feed(k, &more, 1, logits);
}

static void
test_growth(struct kvcache *k)
{
    float before[V];
    uint32_t page;

    ok(kv_pages(0) == 0 && kv_pages(1) == 1 && kv_pages(64) == 1 &&
            kv_pages(65) == 2,
        "a page holds 64 tokens");
    ok(grow(k, 0, 64) == 0 && kv_unused(k) == 5, "64 tokens take a page");
    page = kv_table(k, 0)[0];
    ok(grow(k, 0, 1) == 0 && kv_unused(k) == 4 && kv_table(k, 0)[0] == page,
        "the 65th token takes a second page");
    ok(grow(k, 1, 192) == 0 && kv_unused(k) == 1, "another text takes three");
    memcpy(before, logits, sizeof before);
    ok(grow(k, 2, 65) == -1 && kv_unused(k) == 1 && kv_length(k, 2) == 0 &&
            memcmp(before, logits, sizeof before) == 0,
        "a text that needs more pages than are free changes nothing");
    ok(grow(k, 2, 64) == 0 && kv_unused(k) == 0, "one that needs fewer grows");
    ok(grow(k, 0, 63) == 0, "a text grows in its last page without a free one");
    ok(grow(k, 0, 1) == -1, "a full page needs a free one to go on");
    kv_drop(k, 1);
    ok(kv_unused(k) == 3 && kv_length(k, 1) == 0 && grow(k, 0, 1) == 0,
        "a dropped text's pages serve others");
    kv_drop(k, 0);
    kv_drop(k, 2);
    ok(kv_unused(k) == PAGES, "all pages are free when all texts are dropped");
    ok(grow(k, 0, LONGEST) == 0 && grow(k, 0, 1) == -1,
        "a text longer than the longest is refused");
    kv_drop(k, 0);
}

static void
test_users(struct kvcache *k)
{
    uint32_t page[2];
    float alone[V];

    grow(k, 0, 131);
    memcpy(alone, logits, sizeof alone);
    memcpy(page, kv_table(k, 0), sizeof page);
    kv_share(k, 1, page, 2);
    ok(kv_length(k, 1) == 128 && kv_unused(k) == PAGES - 3,
        "a shared page is counted once");
    kv_drop(k, 0);
    ok(kv_unused(k) == PAGES - 2, "pages with another user are not freed");
    grow(k, 1, 3);
    ok(memcmp(alone, logits, sizeof alone) == 0,
        "the second text goes on with the bits of the first");
    kv_hold(k, page[0]);
    kv_drop(k, 1);
    ok(kv_unused(k) == PAGES - 1, "a held page outlives its texts");
    grow(k, 2, LONGEST);
    kv_drop(k, 2);
    kv_share(k, 0, page, 1);
    grow(k, 0, 67);
    ok(memcmp(alone, logits, sizeof alone) == 0,
        "a text begins with a held page after others have come and gone");
    kv_release(k, page[0]);
    ok(kv_unused(k) == PAGES - 3, "a released page stays with its text");
    kv_drop(k, 0);
    ok(kv_unused(k) == PAGES, "the last user frees a page");
}

/* NaNs of a text must not reach the text that gets its pages next. */
static void
test_not_finite(struct kvcache *k, struct model *m)
{
    float *w = (float *)(uintptr_t)weight_f32(&m->block[0].w[W_V]);
    const float was = w[0];
    float good[V];

    grow(k, 0, 70);
    memcpy(good, logits, sizeof good);
    kv_drop(k, 0);
    w[0] = NAN;
    grow(k, 0, 100);
    ok(isnan(logits[0]), "a weight that is not a number shows in the logits");
    kv_drop(k, 0);
    w[0] = was;
    grow(k, 0, 70);
    ok(memcmp(good, logits, sizeof good) == 0,
        "a text has its bits in pages that held NaN");
    kv_drop(k, 0);
}

/* The memory of a cache is that of its pages, not that of its texts. */
static void
test_bytes(const struct model *m, struct pool *pool)
{
    struct kvcache *few = kv_new(m, pool, 2, 4, LONGEST);
    struct kvcache *many = kv_new(m, pool, 30, 4, LONGEST);

    ok(kv_cache_bytes(few) == 4 * 64 * m->c.L * 2 * m->c.KV * m->c.D * 4 &&
            kv_cache_bytes(many) == kv_cache_bytes(few),
        "keys and values take the memory of their pages");
    ok(kv_bytes(many) - kv_bytes(few) < kv_cache_bytes(few),
        "more texts take less than their longest length");
    kv_free(few);
    kv_free(many);
}

int
main(void)
{
    const struct config c = small_config("llama", V, D, 2, 8);
    struct pool *pool = pool_new(2, NULL);
    struct kvcache *k;
    struct arena a;
    struct model m;

    for (size_t i = 0; i < LONGEST; i++)
        ids[i] = (uint32_t)(rng_u64(8, i) % V);
    model_random(&m, &c, NULL, 3, &a);
    k = kv_new(&m, pool, 3, PAGES, LONGEST);
    test_growth(k);
    test_users(k);
    test_not_finite(k, &m);
    test_bytes(&m, pool);
    kv_free(k);
    model_random_free(&m);
    arena_release(&a);
    pool_free(pool);
    return done_testing();
}
