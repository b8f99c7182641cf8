/* Generation against transformers: greedy texts of tiny models, whatever runs
 * beside them; draws against exact probabilities, nuclei against its top-p. */
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "generate/texts.h"
#include "../lib/tap.h"
#include "../lib/golden.h"
#include "model/forward_kv.h"
#include "model/sample.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 12, NEW = 24 };

struct golden_text {
    struct tok_ids prompt, next;
    enum text_end end;
};

static char *
golden_path(const char *rest)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";

    return xasprintf("%s/tests/golden/%s", top, rest);
}

static struct tok_ids
numbers(char *s)
{
    struct tok_ids a = { 0 };

    for (char *end; *s >= '0'; s = *end == ' ' ? end + 1 : end)
        tok_ids_push(&a, (uint32_t)strtoul(s, &end, 10));
    return a;
}

/* The lines of one model. */
static size_t
read_golden(const char *name, struct golden_text g[CASES])
{
    char *path = golden_path("generate/greedy.tsv"), *all, *at, *line;
    size_t size, n = 0;
    struct err e;

    if (io_slurp(path, 1 << 20, &all, &size, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (line = strtok_r(all, "\n", &at); line != NULL;
         line = strtok_r(NULL, "\n", &at)) {
        char *tab;
        const char *model = strtok_r(line, "\t", &tab);

        if (strcmp(model, name) != 0 || n == CASES)
            continue;
        g[n].prompt = numbers(strtok_r(NULL, "\t", &tab));
        g[n].next = numbers(strtok_r(NULL, "\t", &tab));
        g[n++].end = strcmp(tab, "eos") == 0 ? TEXT_EOS : TEXT_LENGTH;
    }
    free(all);
    free(path);
    return n;
}

/* Texts in an order of `seed`, some at a time: how many are as they should. */
static size_t
right(const struct model *m, const struct golden_text *g, size_t n,
    size_t threads, size_t at_once, uint64_t seed)
{
    struct pool *pool = pool_new(threads, NULL);
    const struct texts_opt o = { .at_once = at_once,
        .longest = 20,
        .most = NEW,
        .top_p = 1.0 };
    struct texts *w = texts_new(m, pool, &o);
    struct text t[CASES];
    size_t good = 0;

    memset(t, 0, sizeof t);
    for (size_t i = 0; i < n; i++) {
        const struct tok_ids *p = &g[rng_perm(seed, n, i)].prompt;

        t[i].ids = p->v;
        t[i].n = p->n;
    }
    texts_run(w, t, n, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct golden_text *want = &g[rng_perm(seed, n, i)];

        good += t[i].end == want->end && t[i].next.n == want->next.n &&
            memcmp(t[i].next.v, want->next.v, want->next.n * 4) == 0;
        text_release(&t[i]);
    }
    texts_free(w);
    pool_free(pool);
    return good;
}

static void
test_greedy(const char *name)
{
    static const size_t at_once[] = { 1, 3, 16 };
    struct golden_text g[CASES];
    const size_t n = read_golden(name, g);
    char *rest = xasprintf("family/%s", name), *path = golden_path(rest);
    struct model m;
    struct err e;

    if (model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t good = right(&m, g, n, i + 1, at_once[i], i);

        ok(n == CASES && good == n,
            "%s: %zu of %zu texts as by transformers, %zu at a time", name,
            good, n, at_once[i]);
    }
    for (size_t i = 0; i < n; i++) {
        tok_ids_release(&g[i].prompt);
        tok_ids_release(&g[i].next);
    }
    model_close(&m);
    free(rest);
    free(path);
}

/* ---- chance ---- */

enum { V = 40, DRAWS = 4000 };

/* Sum of (seen - expected)^2 / expected over tokens expected at least 5 times,
 * the others together; *cells: how many terms. */
static double
chi2(const size_t seen[V], const double p[V], size_t *cells)
{
    double sum = 0.0, rest = 0.0, rest_seen = 0.0;

    *cells = 0;
    for (size_t v = 0; v < V; v++) {
        const double want = p[v] * DRAWS, off = (double)seen[v] - want;

        if (want >= 5.0) {
            sum += off * off / want;
            ++*cells;
        } else {
            rest += want;
            rest_seen += (double)seen[v];
        }
    }
    if (rest > 0.0) {
        sum += (rest_seen - rest) * (rest_seen - rest) / rest;
        ++*cells;
    }
    return sum;
}

/* Exact probabilities after a prompt, of the nucleus of top_p alone. */
static void
exact(const struct model *m, struct pool *pool, const uint32_t *ids, size_t n,
    double tau, double top_p, double p[V])
{
    struct kvcache *k = kv_new(m, pool, 1, kv_pages(n), n);
    double sum = 0.0, kept = 0.0;
    size_t order[V];
    float z[V];

    kv_feed(k, &(struct kv_more){ 0, ids, n, 1, NULL }, 1, z);
    kv_free(k);
    for (size_t v = 0; v < V; v++) {
        size_t at = v;

        sum += p[v] = exp((z[v] - (double)z[0]) / tau);
        for (; at > 0 && z[order[at - 1]] < z[v]; at--)
            order[at] = order[at - 1];
        order[at] = v;
    }
    for (size_t i = 0; i < V; i++) {
        if (kept >= top_p * sum)
            p[order[i]] = 0.0;
        kept += p[order[i]];
    }
    for (size_t v = 0; v < V; v++)
        p[v] /= kept;
}

static struct text *
drawn(const struct model *m, struct pool *pool, const struct texts_opt *o,
    const uint32_t *ids, size_t n, size_t texts)
{
    struct texts *w = texts_new(m, pool, o);
    struct text *t = xcalloc(texts, sizeof *t);

    for (size_t i = 0; i < texts; i++) {
        t[i].ids = ids;
        t[i].n = n;
        t[i].draw_key = i;
    }
    texts_run(w, t, texts, NULL, NULL);
    texts_free(w);
    return t;
}

/* The first token of many texts with one prompt. */
static void
test_chance(const struct model *m, struct pool *pool, double tau, double top_p)
{
    static const uint32_t prompt[] = { 9, 30, 11, 25, 17 };
    const struct texts_opt o = { .at_once = 16,
        .longest = 5,
        .most = 1,
        .tau = tau,
        .top_p = top_p,
        .seed = 7,
        .no_eos = 1 };
    struct text *t = drawn(m, pool, &o, prompt, 5, DRAWS);
    size_t seen[V] = { 0 }, cells, outside = 0;
    double p[V], x;

    exact(m, pool, prompt, 5, tau, top_p, p);
    for (size_t i = 0; i < DRAWS; i++) {
        seen[t[i].next.v[0]]++;
        outside += !(p[t[i].next.v[0]] > 0.0);
        text_release(&t[i]);
    }
    free(t);
    x = chi2(seen, p, &cells);
    /* mean cells - 1, variance twice that: 4 deviations, skewed to the right */
    ok(outside == 0 && cells > 2 &&
            x <= (double)cells - 1 + 4 * sqrt(2.0 * (double)cells),
        "temperature %g, top-p %g: chi-square %.1f of %zu cells", tau, top_p, x,
        cells);
}

static void
test_seeds(const struct model *m, struct pool *pool)
{
    static const uint32_t prompt[] = { 9, 30, 11, 25, 17 };
    struct texts_opt o = { .at_once = 16,
        .longest = 5,
        .most = 9,
        .tau = 1.5,
        .top_p = 0.9,
        .seed = 7,
        .no_eos = 1 };
    struct text *a = drawn(m, pool, &o, prompt, 5, 40), *b, *c;
    size_t same = 0, other = 0, neighbour = 0;

    o.at_once = 3;
    b = drawn(m, pool, &o, prompt, 5, 40);
    o.seed = 8;
    c = drawn(m, pool, &o, prompt, 5, 40);
    for (size_t i = 0; i < 40; i++) {
        same += memcmp(a[i].next.v, b[i].next.v, 9 * 4) == 0;
        other += memcmp(a[i].next.v, c[i].next.v, 9 * 4) != 0;
        neighbour += i > 0 && memcmp(a[i].next.v, a[i - 1].next.v, 36) != 0;
    }
    ok(same == 40, "draws depend on seed, text and position alone");
    ok(other >= 38 && neighbour >= 37,
        "another seed and another text draw other tokens");
    for (size_t i = 0; i < 40; i++) {
        text_release(&a[i]);
        text_release(&b[i]);
        text_release(&c[i]);
    }
    free(a);
    free(b);
    free(c);
}

static void
test_nucleus(void)
{
    char *path = golden_path("generate/nucleus.safetensors");
    const struct st_tensor *z, *tau, *p, *kept;
    struct golden g;
    size_t good = 0, all = 0;

    golden_open(&g, path);
    z = golden_get(&g, "logits");
    tau = golden_get(&g, "tau");
    p = golden_get(&g, "p");
    kept = golden_get(&g, "kept");
    for (size_t i = 0; i < tau->n; i++) {
        const size_t n = z->n / tau->n;
        float row[64], term[64];
        uint64_t key[64];
        uint32_t ids[64];
        struct sample_room r = { term, key, ids };
        unsigned char is[64] = { 0 };
        size_t k;

        for (size_t v = 0; v < n; v++)
            row[v] = (float)golden_at(z, i * n + v);
        k = sample_nucleus(row, n, golden_at(tau, i), golden_at(p, i), &r);
        for (size_t j = 0; j < k; j++)
            is[ids[j]] = 1;
        all += k;
        good += memcmp(is, (const unsigned char *)kept->data + i * n, n) == 0;
    }
    ok(good == tau->n && good == 60 && all > 300,
        "%zu of %zu nuclei as by transformers, %zu tokens", good, tau->n, all);
    golden_close(&g);
    free(path);
}

static void
test_draw(void)
{
    const float z[] = { 1.0f, 3.0f, 3.0f, -INFINITY, 2.0f };
    float term[5];
    uint64_t key[5];
    uint32_t ids[5];
    struct sample_room r = { term, key, ids };
    float bad[] = { 1.0f, NAN, 3.0f };

    ok(sample_nucleus(z, 5, 1.0, 0.5, &r) == 2 && ids[0] == 1 && ids[1] == 2,
        "a nucleus takes the lower id of equals first");
    ok(sample_draw(z, 5, 1.0, 1.0, 0.0, &r) == 0 &&
            sample_draw(z, 5, 1.0, 1.0, 1.0 - 0x1p-53, &r) == 4,
        "the ends of the sum are the first and last id");
    ok(sample_draw(z, 5, 1.0, 0.01, 0.999, &r) == 1,
        "a nucleus has one token at least");
    ok(sample_best(z, 3) == 1 && sample_best(bad, 3) == UINT32_MAX,
        "the best id is none where a logit is not finite");
}

int
main(void)
{
    static const char *const names[] = { "mistral", "qwen2", "qwen3",
        "gemma3" };
    char *path = golden_path("family/qwen2");
    struct pool *pool = pool_new(2, NULL);
    struct model m;
    struct err e;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_greedy(names[i]);
    if (model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        return 1;
    }
    test_chance(&m, pool, 1.0, 1.0);
    test_chance(&m, pool, 2.5, 1.0);
    test_chance(&m, pool, 1.7, 0.8);
    test_seeds(&m, pool);
    test_nucleus();
    test_draw();
    model_close(&m);
    pool_free(pool);
    free(path);
    return done_testing();
}
