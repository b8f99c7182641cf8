/*
 * Shares of a model: each is run by a thread that stands for a rank.  With the
 * sums over ranks made in between, they give what the whole model gives.  There
 * are up to as many shares as query heads, so some blocks have fewer groups or
 * channels than there are shares.  Weights are in fp32, bf16 and Q8_0.
 */
#include "base/dir.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "model/files/export.h"
#include "../lib/export_as.h"
#include "model/config/family.h"
#include "model/pass/forward.h"
#include "model/files/random.h"
#include "teacher/share.h"
#include "../lib/packed.h"
#include "../lib/small_config.h"
#include "../lib/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { B = PACKED_B, T = PACKED_T, V = 150, D = 64, L = 5, RANKS = 6 };
static uint32_t ids[B * T], first[B * T];

static const struct block_shape shapes[L] = { { 3, 96, 0, 0, 0 },
    { 1, 70, 1, 0, 0 }, { 0, 96, 2, 0, 0 }, { 2, 0, 3, 0, 0 },
    { 0, 0, 4, 0, 0 } };

/* Where the ranks meet to add their terms of a sum, in the order of ranks. */
struct meeting {
    pthread_barrier_t all;
    float *x[RANKS];
    size_t n, of[RANKS];
    int odd; /* 1: in some call ranks gave different sizes */
};

struct rank {
    struct meeting *with;
    const struct model *m;
    struct model_share share;
    size_t r, threads;
    float *x; /* [B,T,D] */
};

static void
sum(void *ctx, float *x, size_t n)
{
    const struct rank *k = ctx;
    struct meeting *w = k->with;
    float *s = xreallocarray(NULL, n, sizeof *s);

    w->x[k->r] = x;
    w->of[k->r] = n;
    pthread_barrier_wait(&w->all);
    memcpy(s, w->x[0], n * sizeof *s);
    for (size_t r = 1; r < w->n; r++) {
        if (w->of[r] != n)
            w->odd = 1;
        else
            kern.add(s, s, w->x[r], n);
    }
    pthread_barrier_wait(&w->all);
    memcpy(x, s, n * sizeof *s);
    free(s);
}

static void *
run(void *ctx)
{
    struct rank *k = ctx;
    struct pool *p = pool_new(k->threads, NULL);
    struct fwd *f = fwd_new(k->m, p, B, T);
    struct rows r = { B, T, ids, first };

    if (k->with != NULL)
        fwd_sum(f, sum, k);
    k->x = xreallocarray(NULL, B * T * D, sizeof *k->x);
    fwd_embed(f, &r, k->x);
    for (size_t i = 0; i < k->m->c.L; i++)
        fwd_block(f, i, &r, k->x, k->x);
    fwd_norm(f, &r, k->x, k->x);
    fwd_free(f);
    pool_free(p);
    return NULL;
}

static size_t
matrix_bytes(const struct model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->c.L * W_N; i++) {
        const struct weight *w = &m->block[i / W_N].w[i % W_N];

        size_t row = 0;

        if (!block_is_vector((int)(i % W_N)) &&
            dtype_bytes(w->dtype, w->cols, &row) == 0)
            n += w->rows * row;
    }
    return n;
}

/* n shares of m give m's own final states, `want`. */
static void
test_ranks(const char *name, const struct model *m, size_t n, const float *want)
{
    struct meeting with = { .n = n };
    struct rank k[RANKS];
    pthread_t thread[RANKS];
    size_t bytes = 0;
    double off = 0.0, all = 0.0;
    struct err e;
    int same = 1;

    pthread_barrier_init(&with.all, NULL, (unsigned)n);
    for (size_t r = 0; r < n; r++) {
        k[r] = (struct rank){ .with = &with, .r = r, .threads = 1 + r % 2 };
        if (share_make(&k[r].share, m, r, n, &e) < 0) {
            printf("Bail out! %s\n", e.msg);
            exit(1);
        }
        k[r].m = &k[r].share.m;
        bytes += matrix_bytes(k[r].m);
        pthread_create(&thread[r], NULL, run, &k[r]);
    }
    for (size_t r = 0; r < n; r++)
        pthread_join(thread[r], NULL);
    for (size_t i = 0; i < B * T * D; i++) {
        const double d = (double)k[0].x[i] - want[i];

        off += d * d;
        all += (double)want[i] * want[i];
    }
    for (size_t r = 1; r < n; r++)
        same = same && memcmp(k[0].x, k[r].x, B * T * D * sizeof(float)) == 0;
    off = sqrt(off / all);
    ok(off <= 1e-6 && all > 1.0, "%s: %zu shares make the whole (%.2g)", name,
        n, off);
    ok(same && !with.odd, "%s: %zu shares have the same states", name, n);
    if (m->c.KV % n == 0 && strstr(name, "gguf") == NULL)
        ok(bytes == matrix_bytes(m),
            "%s: %zu shares have %zu bytes of matrices together", name, n,
            bytes);
    for (size_t r = 0; r < n; r++) {
        share_release(&k[r].share);
        free(k[r].x);
    }
    pthread_barrier_destroy(&with.all);
}

static void
test_model(const char *name, const struct model *m, const size_t *n)
{
    struct rank whole = { .m = m, .threads = 2 };
    struct model_share s;
    char want[60];
    struct err e;

    snprintf(want, sizeof want, "%zu query heads cannot be shared by %zu ranks",
        m->c.H, m->c.H + 1);
    run(&whole);
    for (; *n > 0; n++)
        test_ranks(name, m, *n, whole.x);
    free(whole.x);
    ok(share_make(&s, m, 0, m->c.H + 1, &e) == -1 && e.code == EX_USAGE &&
            strstr(e.msg, want) != NULL,
        "%s: not %zu", name, m->c.H + 1);
}

/* Shares from files of other types make the whole too. */
static void
test_files(const char *name, const struct model *m)
{
    static const size_t some[] = { 3, 4, 0 };
    static const char *const files[] = { "bf16", "q8.gguf" };
    char what[100];
    struct model f;
    struct err e;

    if (model_export(m, "bf16", DT_BF16, NULL, NULL, &e) < 0 ||
        export_as(m, "q8.gguf", "q8_0", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(what, sizeof what, "%s %s", name, files[i]);
        if (model_open(&f, files[i], &e) < 0) {
            printf("Bail out! %s\n", e.msg);
            exit(1);
        }
        test_model(what, &f, some);
        model_close(&f);
    }
    dir_remove("bf16", NULL);
    remove("q8.gguf");
}

static void
test_family(const char *name)
{
    static const size_t all[] = { 1, 2, 3, 4, 6, 0 };
    const struct config c = small_config(name, V, D, L, 16);
    struct arena a;
    struct model m;

    model_random(&m, &c, shapes, 3, &a);
    for (size_t i = 0; i < L * W_N; i++) { /* make norms and biases matter */
        const struct weight *w = &m.block[i / W_N].w[i % W_N];
        float *p = (float *)(uintptr_t)w->data;

        for (size_t j = 0; w->rows == 1 && j < w->cols; j++)
            p[j] += (float)(0.3 * rng_normal(i + 50, j));
    }
    m.path = xstrdup("random");
    test_model(name, &m, all);
    test_files(name, &m);
    free(m.path);
    m.path = NULL;
    model_random_free(&m);
    arena_release(&a);
}

/* Norms that span all heads cannot be computed by ranks that have some. */
static void
test_refused(void)
{
    const struct config c = small_config("olmo2", V, D, L, 16);
    struct model m = { .c = c, .path = xstrdup("olmo") };
    struct model_share s;
    struct err e;

    ok(share_make(&s, &m, 0, 2, &e) < 0 && strstr(e.msg, "span all heads"),
        "heads of an OLMo are not shared");
    free(m.path);
}

int
main(void)
{
    static const char *const names[] = { "llama", "qwen2", "qwen3",
        "gemma3_text", "gemma2", "granite", "phi3", "ministral3", "cohere2",
        "apertus", "gpt_neox", "gpt2", "starcoder2", "phi", "glm4" };
    const char *why = kern_init();

    tap_scratch();
    ok(why == NULL, "kernels are chosen: %s", why ? why : kern_name());
    packed_rows(ids, first, V);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_family(names[i]);
    test_refused();
    return done_testing();
}
