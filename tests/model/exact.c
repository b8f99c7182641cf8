/*
 * The cached forward pass of generation against the trainer's forward pass of
 * each text as one row, bit by bit: final states, logits and log probabilities,
 * however the tokens are fed, for all families, sets of kernels and number
 * formats of products.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/pass/backward.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "model/files/open.h"
#include "model/files/random.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS = 32, T = 140, DEEP_V = 60 };
static uint32_t ids[TEXTS * (T + 1)], first[TEXTS * T];

/* A model, and what the trainer's forward pass gives for its texts. */
struct truth {
    const char *name; /* of the test */
    const struct model *m;
    size_t texts;  /* texts that are compared */
    float *states; /* [TEXTS,T,d] */
    float *logits; /* [TEXTS,T,V] */
    double *nll;   /* [TEXTS,T] of the next token */
};

static void
truth_init(struct truth *w, const struct model *m, size_t texts)
{
    const size_t n = texts * T, d = m->c.d;
    const struct rows r = { texts, T, xreallocarray(NULL, n, sizeof *ids),
        first };
    struct pool *pool = pool_new(2, NULL);
    uint32_t *target = xreallocarray(NULL, n, sizeof *target);
    struct fwd *f = fwd_new(m, pool, texts, T);
    struct tmodel t;
    struct bwd *b;

    tmodel_init(&t, m);
    for (size_t i = 0; i < n; i++) {
        const uint32_t *id = ids + i / T * (T + 1) + i % T;

        ((uint32_t *)(uintptr_t)r.ids)[i] = id[0] % (uint32_t)m->c.V;
        target[i] = id[1] % (uint32_t)m->c.V;
    }
    w->m = m;
    w->texts = texts;
    w->states = xreallocarray(NULL, n * d, sizeof *w->states);
    w->logits = xreallocarray(NULL, n * m->c.V, sizeof *w->logits);
    w->nll = xreallocarray(NULL, n, sizeof *w->nll);
    b = bwd_new(&t, pool, texts, T, 0);
    bwd_forward(b, &r);
    memcpy(w->states, bwd_final(b), n * d * sizeof *w->states);
    fwd_head(f, w->states, n, w->logits);
    head_score(f, w->states, target, n, w->nll, NULL, NULL);
    bwd_free(b);
    tmodel_release(&t);
    fwd_free(f);
    pool_free(pool);
    free((uint32_t *)(uintptr_t)r.ids);
    free(target);
}

static void
truth_release(struct truth *w)
{
    free(w->states);
    free(w->logits);
    free(w->nll);
}

/* A cache that is fed the texts of a truth. */
struct fed {
    const struct truth *w;
    struct pool *pool;
    struct kvcache *k;
    struct kv_more more[TEXTS];
    size_t n; /* texts that are fed together */
    uint32_t id[TEXTS][T];
    float *states; /* [TEXTS,T,d] */
    float *logits; /* [TEXTS,V] */
    int same;
};

static void
fed_init(struct fed *f, const struct truth *w, size_t n, size_t threads)
{
    memset(f, 0, sizeof *f);
    f->w = w;
    f->n = n;
    f->same = 1;
    f->pool = pool_new(threads, NULL);
    f->k = kv_new(w->m, f->pool, n, n * kv_pages(T), T);
    f->states = xcalloc(n * T * w->m->c.d, sizeof *f->states);
    f->logits = xcalloc(n * w->m->c.V, sizeof *f->logits);
    for (size_t i = 0; i < n * T; i++)
        f->id[i / T][i % T] =
            ids[i / T * (T + 1) + i % T] % (uint32_t)w->m->c.V;
    for (size_t i = 0; i < n; i++)
        f->more[i].text = i;
}

static void
fed_release(struct fed *f)
{
    kv_free(f->k);
    pool_free(f->pool);
    free(f->states);
    free(f->logits);
}

/* Feed now[i] more tokens (0: none) of each text i; compare the logits of the
 * texts that were fed. */
static void
feed_some(struct fed *f, const size_t *now)
{
    const size_t d = f->w->m->c.d, V = f->w->m->c.V;
    struct kv_more more[TEXTS] = { { .n = 0 } };
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        const size_t at = kv_length(f->k, i);

        if (now[i] == 0)
            continue;
        more[n++] = (struct kv_more){ i, f->id[i] + at, now[i], 1,
            f->states + (i * T + at) * d, T };
    }
    if (kv_feed(f->k, more, n, f->logits) < 0) {
        f->same = 0;
        return;
    }
    for (size_t i = 0; i < n; i++)
        f->same &=
            memcmp(f->logits + i * V,
                f->w->logits +
                    (more[i].text * T + kv_length(f->k, more[i].text) - 1) * V,
                V * sizeof(float)) == 0;
}

/* Are the states and log probabilities of the first `len` tokens of each text,
 * from token `from` on, those of the truth? */
static int
fed_same(const struct fed *f, size_t from, size_t len)
{
    const struct truth *w = f->w;
    struct fwd *head = fwd_new(w->m, f->pool, 1, 1);
    const size_t d = w->m->c.d;
    uint32_t target[T];
    double nll[T];
    int same = f->same;

    for (size_t i = 0; i < f->n; i++) {
        const size_t at = i * T + from, n = len - from;

        for (size_t t = 0; t < n; t++)
            target[t] = ids[i * (T + 1) + from + t + 1] % (uint32_t)w->m->c.V;
        head_score(head, f->states + at * d, target, n, nll, NULL, NULL);
        same &= memcmp(nll, w->nll + at, n * sizeof *nll) == 0 &&
            memcmp(f->states + at * d, w->states + at * d,
                n * d * sizeof(float)) == 0;
    }
    fwd_free(head);
    return same;
}

/* A text is fed in chunks of `chunk` tokens, and the last tokens singly. */
static void
test_chunks(const struct truth *w)
{
    static const size_t chunk[] = { 1, 63, 64, 65, 130 };
    struct fed f;

    for (size_t c = 0; c < sizeof chunk / sizeof *chunk; c++) {
        fed_init(&f, w, 1, 1);
        while (kv_length(f.k, 0) < T) {
            const size_t left = T - kv_length(f.k, 0);
            const size_t now = left >= chunk[c] ? chunk[c] : 1;

            feed_some(&f, &now);
        }
        ok(fed_same(&f, 0, T),
            "%s: a text in chunks of %zu has the trainer's "
            "bits",
            w->name, chunk[c]);
        fed_release(&f);
    }
}

/* Texts together, in chunks of random lengths. */
static void
test_batches(const struct truth *w)
{
    static const size_t batch[] = { 2, 3, 7, 32 };
    struct fed f;

    for (size_t c = 0; c < sizeof batch / sizeof *batch; c++) {
        size_t now[TEXTS], left = 1;

        if (batch[c] > w->texts)
            break;
        fed_init(&f, w, batch[c], 1 + c % 3);
        for (size_t step = 0; left > 0; step++) {
            left = 0;
            for (size_t i = 0; i < batch[c]; i++) {
                const size_t rest = T - kv_length(f.k, i);
                const uint64_t u = rng_u64(rng_key(9, step), i);

                now[i] = u % 4 == 0 ? 1 + u / 4 % 70 : u % 4 == 1 ? 0 : 1;
                now[i] = i == step % batch[c] && now[i] == 0 ? 1 : now[i];
                now[i] = now[i] < rest ? now[i] : rest;
                left += rest - now[i];
            }
            for (size_t i = 0; i < batch[c]; i++)
                if (now[i] > 0) {
                    feed_some(&f, now);
                    break;
                }
        }
        ok(fed_same(&f, 0, T), "%s: each of %zu texts has the trainer's bits",
            w->name, batch[c]);
        fed_release(&f);
    }
}

/* Text 1 has the tokens of text 0, and takes over the keys and values of text
 * 0's first pages. */
static void
test_shared(const struct truth *w)
{
    for (size_t pages = 1; pages <= 2; pages++) {
        const size_t start[2] = { T, 0 }, rest[2] = { 0, T - pages * KV_PAGE };
        struct fed f;

        fed_init(&f, w, 2, 2);
        memcpy(f.id[1], f.id[0], sizeof f.id[0]);
        feed_some(&f, start);
        kv_share(f.k, 1, kv_table(f.k, 0), pages);
        kv_drop(f.k, 0);
        {
            const size_t d = w->m->c.d, at = pages * KV_PAGE;
            const struct kv_more more = { 1, f.id[0] + at, rest[1], 0,
                f.states + (T + at) * d, T };

            ok(kv_feed(f.k, &more, 1, NULL) == 0 &&
                    memcmp(more.states, w->states + at * d,
                        rest[1] * d * sizeof(float)) == 0,
                "%s: a text that shares %zu pages has the trainer's bits",
                w->name, pages);
        }
        fed_release(&f);
    }
}

static void
test_model(const char *name, const struct model *m, size_t texts)
{
    struct truth w = { .name = name };

    truth_init(&w, m, texts);
    test_chunks(&w);
    test_batches(&w);
    if (m->c.conv == 0) /* a state cannot be shared */
        test_shared(&w);
    truth_release(&w);
}

/* A model of fp32 weights whose products are cut along k in several ways. */
static void
test_deep(const char *kernels)
{
    const struct config c = { .arch = "llama",
        .V = DEEP_V,
        .d = 420,
        .L = 1,
        .H = 6,
        .KV = 2,
        .D = 66,
        .mlp = 1700,
        .max_pos = 1024,
        .eps = 1e-5,
        .theta = 1e4,
        .tied = 1,
        .init_range = 0.2 };
    char *name = xasprintf("%s, deep", kernels);
    struct arena a;
    struct model m;

    model_random(&m, &c, NULL, 3, &a);
    test_model(name, &m, 3);
    model_random_free(&m);
    arena_release(&a);
    free(name);
}

static void
test_family(const char *family, const char *kernels, size_t texts)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/family/%s", top, family);
    char *name = xasprintf("%s, %s", kernels, family);
    struct model m;
    struct err e;

    if (model_open(&m, path, &e) != 0)
        die_err(&e);
    test_model(name, &m, texts);
    model_close(&m);
    free(path);
    free(name);
}

/* All families with one set of kernels and one number format. */
static void
test_kernels(const char *set, const char *compute)
{
    static const char *const names[] = { "mistral", "qwen2", "qwen3", "gemma3",
        "qwen3_5", "cohere2", "lfm2", "apertus", "gpt_neox", "gpt2-untied",
        "starcoder2-window", "phi", "glm4", "exaone4", "llama-cut", "qwen3-cut",
        "gemma3-cut", "../experts/qwen3_next", "../gguf/f32.gguf",
        "../gguf/bf16.gguf" };
    const char *why = kern_force(set);
    char kernels[40];

    if (why != NULL) {
        snprintf(kernels, sizeof kernels, "%s+%s", set, compute);
        tap_skip(kernels, "not this processor");
        return;
    }
    kern_compute(compute);
    snprintf(kernels, sizeof kernels, "%s", kern_name());
    if (kern_slow()) {
        test_family("gemma3", kernels, 3);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_family(names[i], kernels, TEXTS);
    test_deep(kernels);
}

int
main(void)
{
    static const char *const sets[] = { "ref", "avx2", "avx512", "neon" };
    static const char *const formats[] = { "f32", "avx512bf16", "amx" };

    for (size_t i = 0; i < TEXTS * (T + 1); i++)
        ids[i] = (uint32_t)(rng_u64(8, i) >> 40);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 3; k++) {
            /* the other pairs need plain C for an instruction: slow */
            if (k == 0 || (i > 0 && k == 1) || (i == 2 && k == 2))
                test_kernels(sets[i], formats[k]);
        }
    }
    return done_testing();
}
