/*
 * Fetched weights: whoever reads weights has asked for them.  Here weights are
 * in memory between `now` and `done` only, at another address each time; before
 * and after there are NaNs in their place.  Results have the bits of those with
 * all weights in memory.
 */
#include "base/mem.h"
#include "model/pass/backward.h"
#include "model/files/export.h"
#include "model/files/fetch.h"
#include "model/files/weights_out.h"
#include "../lib/tap.h"
#include "model/pass/head.h"
#include "model/pass/head_top.h"

#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 20, TOP = 5, NONE = 1000 };

struct store {
    struct fetch fetch;
    struct model *m;
    struct tmodel *t; /* or NULL */
    struct model was; /* m before its weights were moved */
    struct block *block;
    float **p; /* [groups] t's parameters */
    unsigned char *room[2];
    size_t bytes;
    int turn;
    size_t held, told;
    size_t wrong, surprises; /* calls out of order; groups not announced by
                              * `next` */
};

static void
copy(struct weight *w, const struct weight *from, unsigned char **room)
{
    memcpy(*room, from->data, from->rows * from->stride);
    w->data = *room;
    *room += (from->rows * from->stride + 63) / 64 * 64;
}

/* Copy group g of the model (weights of any type) or of the tmodel to `room`,
 * and point its weights there. */
static void
place(struct store *s, size_t g, unsigned char *room)
{
    const size_t L = s->m->c.L;

    if (s->t != NULL) {
        memcpy(room, s->p[g], s->t->group[g].n * sizeof(float));
        tmodel_place(s->t, g, (float *)(void *)room);
        return;
    }
    for (int k = 0; k < W_N && g < L; k++)
        if (s->block[g].w[k].rows > 0)
            copy(&s->m->block[g].w[k], &s->block[g].w[k], &room);
    if (g == L)
        copy(&s->m->embed, &s->was.embed, &room);
    if (g == L && s->m->c.tied)
        s->m->head.data = s->m->embed.data;
    if (g == L + 2)
        copy(&s->m->head, &s->was.head, &room);
}

static void
spoil(struct store *s)
{
    memset(s->room[0], 0xff, s->bytes);
    memset(s->room[1], 0xff, s->bytes);
}

static void
now(void *ctx, size_t g)
{
    struct store *s = ctx;

    s->wrong += s->held != NONE;
    s->surprises += s->told != g;
    s->held = g;
    s->told = NONE;
    s->turn = !s->turn;
    place(s, g, s->room[s->turn]);
}

static void
next(void *ctx, size_t g)
{
    struct store *s = ctx;

    s->wrong += s->told != NONE || s->held == g;
    s->told = g;
}

static void
done(void *ctx, size_t g)
{
    struct store *s = ctx;

    s->wrong += s->held != g;
    s->held = NONE;
    spoil(s);
}

static void
store_begin(struct store *s, struct model *m, struct tmodel *t)
{
    const size_t L = m->c.L;

    *s =
        (struct store){ .m = m, .t = t, .was = *m, .held = NONE, .told = NONE };
    s->fetch = (struct fetch){ now, next, done, s };
    s->block = xcalloc(L, sizeof *s->block);
    memcpy(s->block, m->block, L * sizeof *s->block);
    s->bytes = model_params(m) * sizeof(float) + 64 * (W_N + 1);
    for (int i = 0; i < 2; i++)
        s->room[i] = xtable(s->bytes, 1, 0xff);
    if (t != NULL) {
        s->p = xcalloc(t->ngroup, sizeof *s->p);
        for (size_t i = 0; i < t->ngroup; i++)
            s->p[i] = t->group[i].p;
    }
    for (size_t g = 0; g < L + 3; g++)
        if (g != L + 1 && (g < L + 2 || !m->c.tied))
            place(s, g, s->room[0]);
    spoil(s);
    m->fetch = &s->fetch;
}

/* Restore m and t, and free the store. */
static void
store_end(struct store *s)
{
    struct block *const block = s->m->block;

    memcpy(block, s->block, s->m->c.L * sizeof *block);
    *s->m = s->was;
    for (size_t i = 0; s->t != NULL && i < s->t->ngroup; i++)
        s->t->group[i].p = s->p[i];
    free(s->block);
    free(s->p);
    free(s->room[0]);
    free(s->room[1]);
}

/* Two rows: the first has two pieces and padding, the second has one piece. */
struct text {
    uint32_t ids[B * T], first[B * T];
    struct rows r;
};

static void
text_make(struct text *x, size_t V)
{
    for (size_t i = 0; i < B * T; i++) {
        x->ids[i] = (uint32_t)((i * 37 + 11) % V);
        x->first[i] = i < 8 ? 0 : i < 17 ? 8 : i < T ? UINT32_MAX : 0;
    }
    x->r = (struct rows){ B, T, x->ids, x->first };
}

/* Run a forward pass and append all its results to out. */
static void
forward(const struct model *m, struct pool *pool, const struct text *x,
    struct arena *out)
{
    const size_t n = B * T, d = m->c.d, V = m->c.V;
    struct fwd *f = fwd_new(m, pool, B, T);
    struct head_top *top = head_top_new(m, pool, TOP, 0);
    float *h, *z;
    double *nll;
    struct pair_score *pair;
    struct head_targets targets = { 0 };

    arena_init(out, n * (d + V + 100) * sizeof(float));
    h = arena_alloc(out, n * d, sizeof *h);
    z = arena_alloc(out, n * V, sizeof *z);
    nll = arena_alloc(out, n, sizeof *nll);
    pair = arena_alloc(out, n, sizeof *pair);
    targets.lse = arena_alloc(out, n * 2, sizeof *targets.lse);
    targets.self = arena_alloc(out, n, sizeof *targets.self);
    targets.ids = arena_alloc(out, n * TOP, sizeof *targets.ids);
    targets.logp = arena_alloc(out, n * TOP, sizeof *targets.logp);
    fwd_embed(f, &x->r, h);
    for (size_t i = 0; i < m->c.L; i++)
        fwd_block(f, i, &x->r, h, h);
    fwd_norm(f, &x->r, h, h);
    fwd_head(f, h, n, z);
    head_score(f, h, x->ids, n, nll, NULL, NULL);
    head_score_logits(f, h, z, x->ids, n, 2.0, pair);
    head_top_rows(top, f, h, n, 3.0, &targets);
    head_top_free(top);
    fwd_free(f);
}

static void
test_forward(const char *name, struct model *m, struct pool *pool)
{
    struct text x;
    struct store s;
    struct arena want, got;

    text_make(&x, m->c.V);
    forward(m, pool, &x, &want);
    store_begin(&s, m, NULL);
    forward(m, pool, &x, &got);
    ok(got.used == want.used && memcmp(got.base, want.base, got.used) == 0,
        "%s: forward has the same bits", name);
    /* not announced: the embedding, and the head in four functions */
    ok(s.wrong == 0 && s.surprises == 5,
        "%s: forward, all but %zu groups are announced", name, s.surprises);
    store_end(&s);
    arena_release(&want);
    arena_release(&got);
}

/* Set out [nparam] to the gradients of some loss. */
static void
backward(struct tmodel *t, struct pool *pool, const struct text *x, int how,
    float *out)
{
    struct bwd *b = bwd_new(t, pool, B, T, how);
    float *final = bwd_final(b);

    tmodel_zero_grad(t);
    bwd_forward(b, &x->r);
    for (size_t i = 0; i < B * T * t->m.c.d; i++)
        final[i] *= (float)(i % 5) - 2.0f;
    bwd_backward(b, &x->r, NULL, NULL);
    bwd_flush(b);
    bwd_free(b);
    for (size_t i = 0; i < t->ngroup; out += t->group[i++].n)
        if (t->group[i].n > 0)
            memcpy(out, t->group[i].g, t->group[i].n * sizeof *out);
}

static void
test_backward(const char *name, struct model *m, struct pool *pool)
{
    static const int how[] = { 0, BWD_RECOMPUTE, BWD_BF16 };
    struct tmodel t;
    struct text x;
    struct store s;
    float *want, *got;

    text_make(&x, m->c.V);
    tmodel_init(&t, m);
    want = xcalloc(t.nparam, sizeof *want);
    got = xcalloc(t.nparam, sizeof *got);
    for (int i = 0; i < 3; i++) {
        backward(&t, pool, &x, how[i], want);
        store_begin(&s, &t.m, &t);
        backward(&t, pool, &x, how[i], got);
        ok(memcmp(want, got, t.nparam * sizeof *got) == 0,
            "%s: backward (%d) has the same bits", name, how[i]);
        /* not announced: the embedding, and the last block, with which the
         * backward pass begins */
        ok(s.wrong == 0 && s.surprises == 2,
            "%s: backward (%d), all but %zu groups are announced", name, how[i],
            s.surprises);
        store_end(&s);
    }
    free(want);
    free(got);
    tmodel_release(&t);
}

static int
same_files(const char *a, const char *b)
{
    char command[200];

    snprintf(command, sizeof command, "cmp %s %s", a, b);
    return system(command) == 0;
}

static void
test_write(const char *name, struct model *m)
{
    struct store s;
    struct err e = { 0 };

    io_mkdirs("want", &e);
    io_mkdirs("got", &e);
    ok(weights_write(m, "want", DT_F32, WEIGHTS_SHARD, &e) == 0,
        "%s: its weights are written", name);
    store_begin(&s, m, NULL);
    ok(weights_write(m, "got", DT_F32, WEIGHTS_SHARD, &e) == 0 &&
            same_files("want/model.safetensors", "got/model.safetensors"),
        "%s: written, the same bytes %s", name, e.msg);
    ok(s.wrong == 0, "%s: no call out of order", name);
    s.surprises = 0;
    fetch_each(m);
    ok(s.wrong == 0 && s.surprises == m->c.L + (m->c.tied ? 1 : 2),
        "%s: each group once", name);
    store_end(&s);
}

int
main(void)
{
    static const char *const names[] = { "family/mistral", "family/qwen2",
        "family/qwen3", "family/gemma3", "family/llama-cut",
        "family/gemma3-cut", "grad/tied-student", "grad/untied-student",
        "family/gemma3.gguf" };
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    struct pool *pool = pool_new(2, NULL);

    tap_scratch();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = xasprintf("%s/tests/golden/%s", top, names[i]);
        struct model m;
        struct err e;

        if (model_open(&m, path, &e) != 0) {
            printf("Bail out! %s\n", e.msg);
            return 1;
        }
        test_forward(names[i], &m, pool);
        test_backward(names[i], &m, pool);
        test_write(names[i], &m);
        model_close(&m);
        free(path);
    }
    pool_free(pool);
    return done_testing();
}
