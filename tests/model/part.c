/* A block without a part gives what the whole block gives with zeros in that
 * part's last matrix; the number of threads does not matter. */
#include "base/mem.h"
#include "kern/kern.h"
#include "model/pass/forward.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { B = 3, T = 40, I = 1 }; /* rows, tokens, the block */

static uint32_t ids[B * T], first[B * T];
static const struct rows rows = { B, T, ids, first };
static struct pool *pool[2];

/* The block's output without `part`, for x [B,T,d].  in_place: the output is
 * written over a copy of x. */
static float *
run(const struct model *m, struct pool *p, const float *x, int in_place,
    const struct fwd_part *part)
{
    struct fwd *f = fwd_new(m, p, B, T);
    const size_t n = B * T * m->c.d;
    float *y = xreallocarray(NULL, n, sizeof *y);

    if (in_place)
        memcpy(y, x, n * sizeof *y);
    fwd_block_part(f, I, &rows, in_place ? y : x, y, part);
    fwd_free(f);
    return y;
}

static int
equal(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(a[i] == b[i]))
            return 0;
    return 1;
}

/* Make *out m with zeros in columns c0..c0+n-1 of matrix w of block I. */
static void
without(struct model *out, const struct model *m, int w, size_t c0, size_t n)
{
    struct weight *to;
    float *v;

    *out = *m;
    out->block = xcalloc(m->c.L, sizeof *out->block);
    memcpy(out->block, m->block, m->c.L * sizeof *out->block);
    to = &out->block[I].w[w];
    v = xreallocarray(NULL, to->rows, to->cols * sizeof *v);
    weight_rows(to, 0, to->rows, v);
    for (size_t r = 0; r < to->rows; r++)
        memset(v + r * to->cols + c0, 0, n * sizeof *v);
    *to = (struct weight){ .data = (unsigned char *)v,
        .dtype = DT_F32,
        .rows = to->rows,
        .cols = to->cols,
        .stride = to->cols * sizeof *v };
}

static void
test(const struct model *m, const float *x, const char *what,
    const struct fwd_part *part, int w, size_t c0, size_t n)
{
    const size_t size = B * T * m->c.d;
    struct model zero;
    float *whole = run(m, pool[0], x, 0, NULL), *want, *y[3];

    without(&zero, m, w, c0, n);
    want = run(&zero, pool[0], x, 0, NULL);
    y[0] = run(m, pool[0], x, 0, part);
    y[1] = run(m, pool[1], x, 0, part);
    y[2] = run(m, pool[1], x, 1, part);
    ok(equal(y[0], want, size), "%s, %s: a part left out is as zeros", m->path,
        what);
    ok(!equal(y[0], whole, size), "%s, %s: the part matters", m->path, what);
    ok(memcmp(y[0], y[1], size * sizeof(float)) == 0,
        "%s, %s: two threads give the same bits", m->path, what);
    ok(memcmp(y[0], y[2], size * sizeof(float)) == 0,
        "%s, %s: a block in place gives the same bits", m->path, what);
    free((void *)(uintptr_t)zero.block[I].w[w].data);
    free(zero.block);
    free(whole);
    free(want);
    for (size_t i = 0; i < 3; i++)
        free(y[i]);
}

static void
shown(void *ctx, const struct fwd_tapped *t)
{
    ((int *)ctx)[t->input]++;
}

/* If a part is left out, the tap does not show its inputs. */
static void
test_tap(const struct model *m, const float *x)
{
    struct fwd *f = fwd_new(m, pool[0], B, T);
    float *y = xreallocarray(NULL, B * T * m->c.d, sizeof *y);
    int n[2][FWD_INPUTS] = { { 0 } };

    for (int i = 0; i < 2; i++) {
        const struct fwd_part part = { .no_attn = i == 0, .no_mlp = i == 1 };

        fwd_tap(f, shown, n[i]);
        fwd_block_part(f, I, &rows, x, y, &part);
    }
    ok(n[0][FWD_ATTN] + n[0][FWD_O] == 0 && n[0][FWD_DOWN] == 1 &&
            n[1][FWD_MLP] + n[1][FWD_DOWN] == 0 && n[1][FWD_ATTN] == 1,
        "%s: inputs are shown of the parts there are", m->path);
    free(y);
    fwd_free(f);
}

static void
test_model(const char *path)
{
    struct model m;
    struct err e;
    struct fwd *f;
    float *x, *group, *chan;
    size_t q;

    if (model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    q = m.c.H / m.c.KV * m.c.D;
    for (size_t t = 0; t < B * T; t++) {
        ids[t] = (uint32_t)((t * t * 5 + 3) % m.c.V);
        first[t] = t % T < 10 ? 0 : t % T < 33 ? 10 : UINT32_MAX;
    }
    f = fwd_new(&m, pool[0], B, T);
    x = xreallocarray(NULL, B * T * m.c.d, sizeof *x);
    fwd_embed(f, &rows, x);
    fwd_block(f, 0, &rows, x, x);
    group = xcalloc(m.c.KV, sizeof *group);
    chan = xcalloc(m.block[I].mlp, sizeof *chan);
    for (size_t i = 0; i < m.c.KV; i++)
        group[i] = i == 0 ? 0.0f : 1.0f;
    for (size_t i = 0; i < m.block[I].mlp; i++)
        chan[i] = i < 3 ? 0.0f : 1.0f;
    test(&m, x, "no attention", &(struct fwd_part){ .no_attn = 1 }, W_O, 0,
        m.c.H * m.c.D);
    test(&m, x, "no MLP", &(struct fwd_part){ .no_mlp = 1 }, W_DOWN, 0,
        m.block[I].mlp);
    test(&m, x, "without a group", &(struct fwd_part){ .group = group }, W_O, 0,
        q);
    test(&m, x, "without channels", &(struct fwd_part){ .chan = chan }, W_DOWN,
        0, 3);
    test_tap(&m, x);
    free(x);
    free(group);
    free(chan);
    fwd_free(f);
    model_close(&m);
}

int
main(void)
{
    for (size_t i = 0; i < 2; i++)
        pool[i] = pool_new(i + 1, NULL);
    if (kern_init() != NULL || pool[0] == NULL || pool[1] == NULL) {
        printf("Bail out! no kernels or threads\n");
        return 1;
    }
    test_model("tests/golden/family/gemma3");
    test_model("tests/golden/grad/tied-teacher");
    for (size_t i = 0; i < 2; i++)
        pool_free(pool[i]);
    return done_testing();
}
