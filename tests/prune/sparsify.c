/* Walks through a model, against PyTorch in double (scripts/oracle/sparse.py),
 * and the choice of layers. */
#include "model/config/family.h"
#include "prune/lapack.h"
#include "prune/sparsify_walk.h"
#include "kern/kern.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#define FAMILY "tests/golden/family/gemma3"

enum { B = 2, T = 20 };

static uint32_t ids[B * T], first[B * T], target[B * T];
static size_t at[B * T];
static struct calib calib = { .R = B,
    .T = T,
    .ids = ids,
    .first = first,
    .at = at,
    .target = target,
    .ntok = B * T };
static struct golden g;
static struct pool *pool;

static void
open_all(struct sparsify *s, struct model *m, enum method method,
    const char *layers)
{
    struct err e;

    if (model_open(m, FAMILY, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    *s = (struct sparsify){ .m = m,
        .c = &calib,
        .pool = pool,
        .method = method,
        .damp = 0.01,
        .pattern = { 2, 4, 0 } };
    layers_list(&s->list, s->m, &s->pattern, layers);
    sparsify_begin(s);
}

static void
close_all(struct sparsify *s, struct model *m)
{
    sparsify_end(s);
    model_close(m);
}

/* Every layer has the weights that PyTorch leaves in it. */
static void
walk(enum method method, const char *name)
{
    double off = 0.0, error = 0.0;
    struct sparsify s;
    struct model m;

    open_all(&s, &m, method, "all");
    sparsify_run(&s);
    ok(s.list.n == 7 * m.c.L, "%s: the list has all %zu layers", name,
        s.list.n);
    for (size_t i = 0; i < s.list.n; i++) {
        const struct layer *l = &s.list.l[i];
        char want[100];

        snprintf(want, sizeof want, "%s.model.layers.%zu.%s", name, l->block,
            block_tensor_name(&m.c, l->t));
        off = farther(off, golden_off(l->data, golden_get(&g, want)));
        error = farther(error, l->error);
        if (l->zeros < l->rows * l->cols / 2 ||
            !(m.block[l->block].sparse >> l->t & 1))
            off = INFINITY;
    }
    printf("# %s: off by %.2g, largest error %.2g\n", name, off, error);
    ok(off <= 2e-5, "%s: weights are those of PyTorch", name);
    ok(error < 1.0, "%s: outputs are near the dense ones", name);
    close_all(&s, &m);
}

/* Of the layers q and down, the least sensitive half is made sparse. */
static void
choice(int kl)
{
    const char *by = kl ? "kl" : "error";
    struct sparsify s;
    struct model m;
    size_t taken = 0;
    double most = 0.0, least = INFINITY;

    open_all(&s, &m, METHOD_OBS, "q,down");
    ok(s.list.n == 2 * m.c.L, "%s: a block has two layers", by);
    sparsify_measure(&s, kl);
    layers_take(&s.list, 0.5);
    for (size_t i = 0; i < s.list.n; i++) {
        struct layer *l = &s.list.l[i];

        taken += l->taken ? l->rows * l->cols : 0;
        if (l->taken)
            most = farther(most, l->alone);
        else if (!(l->alone > least))
            least = l->alone;
    }
    ok(most > 0.0 && most <= least, "%s: the least sensitive are taken", by);
    /* half of 6 blocks, of 16 x 12 weights in q and 12 x 8 in down, is 864 */
    ok(taken >= 864 && taken < 864 + 192,
        "%s: layers are taken until the share is reached", by);
    ok(m.block[0].sparse == 0 && s.list.l[0].data == NULL,
        "%s: measuring changes no layer", by);
    sparsify_run(&s);
    for (size_t i = 0; i < s.list.n; i++)
        if ((s.list.l[i].data != NULL) != s.list.l[i].taken)
            ok(0, "layer %zu", i);
    ok(m.block[0].w[W_UP].dtype == DT_BF16,
        "%s: layers that are not listed stay", by);
    close_all(&s, &m);
}

/* The first layer in order has dense inputs in both walks. */
static void
same_error(void)
{
    struct sparsify s;
    struct model m;

    open_all(&s, &m, METHOD_WANDA, "all");
    sparsify_measure(&s, 0);
    sparsify_run(&s);
    ok(s.list.l[0].alone == s.list.l[0].error,
        "block 0 has dense inputs in both walks");
    ok(s.list.l[s.list.n - 1].alone != s.list.l[s.list.n - 1].error,
        "the last block has inputs of sparse blocks");
    close_all(&s, &m);
}

int
main(void)
{
    struct err e;

    golden_open(&g, FAMILY ".safetensors");
    for (size_t t = 0; t < B * T; t++)
        ids[t] = ((const uint16_t *)golden_get(&g, "ids")->data)[t];
    memcpy(first, golden_get(&g, "first")->data, sizeof first);
    for (size_t t = 0; t + 1 < B * T; t++)
        if (first[t + 1] == first[t] && (t + 1) % T != 0) {
            at[calib.n] = t;
            target[calib.n++] = ids[t + 1];
        }
    golden_close(&g);
    golden_open(&g, "tests/golden/sparse_gemma3.safetensors");
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL) {
        printf("Bail out! no kernels or threads\n");
        return 1;
    }
    walk(METHOD_WANDA, "wanda");
    same_error();
    if (lapack_open(&e) < 0) {
        tap_skip("optimal brain surgeon", "no OpenBLAS");
    } else {
        walk(METHOD_OBS, "obs");
        choice(0);
        choice(1);
    }
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
