/* Adapters: PEFT's files read and written, and the logits that they give, in
 * rows and text by text (scripts/oracle/lora.py). */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "model/adapter_file.h"
#include "model/forward.h"
#include "model/forward_kv.h"
#include "model/head.h"

#include <math.h>
#include <sys/stat.h>

#define DIR "tests/golden/lora/"
enum { B = 2, T = 20, V = 64, D = 16 };

static struct golden g;
static struct pool *pool;
static uint32_t ids[B * T], first[B * T];
static const struct rows rows = { B, T, ids, first };

static void
bail(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(1);
}

/* Open a base model and an adapter of it; name NULL: no adapter. */
static void
open_both(struct model *m, struct adapter *a, const char *base,
    const char *name)
{
    char path[100];
    struct err e;

    snprintf(path, sizeof path, DIR "%s", base);
    if (model_open(m, path, &e) < 0)
        bail(&e);
    snprintf(path, sizeof path, DIR "%s", name != NULL ? name : "");
    if (name != NULL && adapter_open(a, path, m, pool, &e) < 0)
        bail(&e);
}

/* Logits z [B*T,V] of the golden rows, by the pass over rows. */
static void
row_logits(const struct model *m, float *z)
{
    struct fwd *f = fwd_new(m, pool, B, T);
    float x[B * T * D], head[V * D];

    fwd_states(f, &rows, x);
    weight_rows(&m->head, 0, V, head);
    kern.gemm_nt(B * T, V, D, x, D, head, D, GEMM_SET, z, V);
    fwd_free(f);
}

/* Logits after each token of row 0, which is one piece, by generation. */
static void
text_logits(const struct model *m, float *z)
{
    struct kvcache *k = kv_new(m, pool, 1, kv_pages(T), T);

    for (size_t t = 0; t < T; t++) {
        const struct kv_more more = { 0, ids + t, 1, 1, NULL };

        if (kv_feed(k, &more, 1, z + t * V) < 0)
            printf("Bail out! no room for a token\n");
    }
    kv_free(k);
}

static void
logits_are_pefts(const char *base, const char *name)
{
    static float z[B * T * V], text[T * V];
    const struct st_tensor *want;
    struct model m;
    struct adapter a;
    char key[60];
    double most = 0.0;

    open_both(&m, &a, base, name);
    row_logits(&m, z);
    text_logits(&m, text);
    snprintf(key, sizeof key, "logits.%s", name);
    want = golden_get(&g, key);
    for (size_t i = 0; i < want->n; i++)
        most = farther(most, fabs(z[i] - golden_at(want, i)));
    ok(most < 1e-5, "%s: the adapter %s gives PEFT's logits (off by %.1e)",
        kern.name, name, most);
    ok(memcmp(z, text, sizeof text) == 0,
        "%s: with the adapter %s generation has the bits of the pass over rows",
        kern.name, name);
    adapter_detach(&m);
    adapter_close(&a);
    model_close(&m);
}

static void
all_adapters(void)
{
    static const char *const of_one[] = { "plain", "dora", "rs_embed" };

    for (size_t i = 0; i < 3; i++)
        logits_are_pefts("one", of_one[i]);
    logits_are_pefts("two", "start");
    logits_are_pefts("two", "start_dora");
}

int
main(void)
{
    struct err e;

    golden_open(&g, DIR "lora.safetensors");
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = st_u16(golden_get(&g, "ids"), i);
        first[i] = st_u32(golden_get(&g, "first"), i);
    }
    if ((pool = pool_new(2, &e)) == NULL)
        bail(&e);
    for (size_t i = 0; i < KERN_SETS; i++)
        if (kern_sets_use(kern_sets[i]))
            all_adapters();
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
