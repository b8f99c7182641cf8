/* The engine: greedy texts against transformers; texts and log probabilities
 * that have the same bits alone and beside others, with few pages, slices of
 * prompts, shared prefixes and drafts; scores, ends and cancelled texts; angles
 * of RoPE that depend on a text's length. */
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gen/engine.h"
#include "model/decode/forward_kv.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 12, NEW = 24, TEXTS = 64, TOP = 3, LONGEST = 460 };

/* A request, and all that an engine reports of its text. */
struct heard {
    struct gen_request r;
    struct gen_params params;
    struct tok_ids prompt, next, top;
    struct buf logp; /* floats: of each token, then of the top ones */
    struct tok_ids scored;
    struct gen_text *text;
    enum gen_reason end;
    uint32_t end_id; /* of GEN_END */
    float end_logp;
    size_t ends;
};

static void
hear(void *ctx, const struct gen_event *ev)
{
    struct heard *h = ctx;

    if (ev->kind == GEN_END) {
        h->end = ev->reason;
        h->end_id = ev->id;
        h->end_logp = ev->logp;
        h->ends++;
        h->text = NULL;
        return;
    }
    tok_ids_push(ev->kind == GEN_PROMPT ? &h->scored : &h->next, ev->id);
    buf_add(&h->logp, &ev->logp, sizeof ev->logp);
    buf_add(&h->logp, ev->top_logp, ev->ntop * sizeof *ev->top_logp);
    for (size_t i = 0; i < ev->ntop; i++)
        tok_ids_push(&h->top, ev->top[i]);
}

static void
hear_init(struct heard *h)
{
    h->params = (struct gen_params){ .n = 1, .how = SAMPLING_DEFAULTS };
}

static void
hear_release(struct heard *h)
{
    tok_ids_release(&h->prompt);
    tok_ids_release(&h->next);
    tok_ids_release(&h->scored);
    tok_ids_release(&h->top);
    buf_release(&h->logp);
}

static void
add_heard(struct gen_engine *g, struct heard *h)
{
    struct err e;

    h->r.prompt = h->prompt.v;
    h->r.n = h->prompt.n;
    h->r.params = &h->params;
    h->r.on_event = hear;
    h->r.ctx = h;
    if ((h->text = gen_add(g, &h->r, &e)) == NULL) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

static void
run_engine(struct gen_engine *g)
{
    while (gen_step(g) > 0)
        ;
}

static char *
golden_path(const char *rest)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";

    return xasprintf("%s/tests/golden/%s", top, rest);
}

static void
open_family(struct model *m, const char *name)
{
    char *rest = xasprintf("family/%s", name), *path = golden_path(rest);
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    free(rest);
    free(path);
}

/* Make texts longer than n tokens long ones for the model's RoPE, which is
 * longrope or dynamic. */
static void
set_short(struct model *m, size_t n)
{
    *(m->c.rope == ROPE_DYNAMIC ? &m->c.max_pos : &m->c.rope_orig) = n;
}

/* ---- greedy texts ---- */

static struct tok_ids
numbers(char *s)
{
    struct tok_ids a = { 0 };

    for (char *end; *s >= '0'; s = *end == ' ' ? end + 1 : end)
        tok_ids_push(&a, (uint32_t)strtoul(s, &end, 10));
    return a;
}

struct golden_text {
    struct tok_ids prompt, next;
    enum gen_reason end;
};

/* Read the golden texts of one model.  Returns their number. */
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
        g[n++].end = strcmp(tab, "eos") == 0 ? GEN_EOS : GEN_LENGTH;
    }
    free(all);
    free(path);
    return n;
}

/* Write n texts, `texts` of them at a time, in an order that `seed` determines.
 * Returns how many are as in `want`. */
static size_t
right_texts(const struct model *m, const struct golden_text *want, size_t n,
    size_t threads, size_t texts, uint64_t seed)
{
    struct pool *pool = pool_new(threads, NULL);
    const struct gen_limits l = { .texts = texts,
        .pages = texts,
        .longest = 20 + NEW,
        .slice = 5 };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct heard h[CASES] = { 0 };
    size_t good = 0;

    for (size_t i = 0; i < n; i++) {
        const struct golden_text *w = &want[rng_perm(seed, n, i)];

        hear_init(&h[i]);
        h[i].params.most = NEW;
        for (size_t k = 0; k < w->prompt.n; k++)
            tok_ids_push(&h[i].prompt, w->prompt.v[k]);
        add_heard(g, &h[i]);
    }
    run_engine(g);
    for (size_t i = 0; i < n; i++) {
        const struct golden_text *w = &want[rng_perm(seed, n, i)];

        good += h[i].end == w->end && h[i].next.n == w->next.n &&
            (w->next.n == 0 ||
                memcmp(h[i].next.v, w->next.v, w->next.n * 4) == 0);
        hear_release(&h[i]);
    }
    gen_free(g);
    pool_free(pool);
    return good;
}

static void
test_greedy(const char *name)
{
    static const size_t texts[] = { 1, 3, 16 };
    struct golden_text g[CASES];
    const size_t n = read_golden(name, g);
    struct model m;

    open_family(&m, name);
    for (size_t i = 0; i < 3; i++) {
        const size_t good = right_texts(&m, g, n, i + 1, texts[i], i);

        ok(n == CASES && good == n,
            "%s: %zu of %zu texts are transformers', %zu at a time", name, good,
            n, texts[i]);
    }
    for (size_t i = 0; i < n; i++) {
        tok_ids_release(&g[i].prompt);
        tok_ids_release(&g[i].next);
    }
    model_close(&m);
}

/* ---- the same bits at any load ---- */

/* Random prompts, some of which begin alike, and random parameters. */
static void
make_requests(struct heard h[TEXTS], size_t V)
{
    for (size_t i = 0; i < TEXTS; i++) {
        const uint64_t key = rng_key(11, i);
        struct sampling *s = &h[i].params.how;
        const size_t n = 1 + rng_u64(key, 0) % 200;
        const size_t alike = i % 3 == 0 ? 0 : rng_u64(key, 1) % (n + 1);

        hear_init(&h[i]);
        for (size_t k = 0; k < n; k++)
            tok_ids_push(&h[i].prompt,
                (uint32_t)(rng_u64(k < alike ? 77 : key, k) % V));
        h[i].params.most = 1 + rng_u64(key, 2) % 260;
        h[i].params.least = rng_u64(key, 3) % 4;
        h[i].params.seed = i % 2;
        h[i].params.logprobs = 1;
        h[i].params.top = TOP;
        h[i].params.past_eos = i % 4 != 0;
        h[i].r.number = i;
        h[i].r.score = i % 5 == 0;
        s->temperature = i % 4 == 1 ? 0.0 : 0.2 + 2.0 * rng_unit(key, 4);
        s->top_k = i % 3 == 1 ? 1 + rng_u64(key, 5) % 30 : 0;
        s->top_p = i % 3 == 2 ? 0.9 : 1.0;
        s->repetition = i % 7 == 2 ? 1.3 : 1.0;
        s->frequency = i % 7 == 3 ? 0.5 : 0.0;
    }
}

static int
equal_ids(const struct tok_ids *a, const struct tok_ids *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->v, b->v, a->n * 4) == 0);
}

static size_t
count_equal(const struct heard *a, const struct heard *b)
{
    size_t good = 0;

    for (size_t i = 0; i < TEXTS; i++)
        good += equal_ids(&a[i].next, &b[i].next) && a[i].end == b[i].end &&
            equal_ids(&a[i].scored, &b[i].scored) &&
            equal_ids(&a[i].top, &b[i].top) && a[i].logp.n == b[i].logp.n &&
            memcmp(a[i].logp.p, b[i].logp.p, a[i].logp.n) == 0 &&
            b[i].ends == 1;
    return good;
}

/* Give an engine the requests in an order that `seed` determines, and keep what
 * it reports in h. */
static struct gen_stats
run_requests(const struct model *m, size_t threads, const struct gen_limits *l,
    uint64_t seed, struct heard h[TEXTS])
{
    struct pool *pool = pool_new(threads, NULL);
    struct gen_engine *g = gen_new(m, pool, NULL, l);
    struct gen_stats s;

    make_requests(h, m->c.V);
    for (size_t i = 0; i < TEXTS; i++)
        add_heard(g, &h[rng_perm(seed, TEXTS, i)]);
    run_engine(g);
    gen_statistics(g, &s);
    gen_free(g);
    pool_free(pool);
    return s;
}

static void
release_all(struct heard h[TEXTS])
{
    for (size_t i = 0; i < TEXTS; i++)
        hear_release(&h[i]);
}

/* most: longest text that is short for the model's RoPE; 0: any. */
static void
test_loads(const char *name, size_t most)
{
    static const struct {
        const char *what;
        struct gen_limits l;
        size_t threads;
        int preempts;
    } load[] = {
        { "64 at a time", { 64, 400, LONGEST, 256, 1, 0, NULL, 0, NULL }, 3,
            0 },
        { "64 at a time, in slices of 7",
            { 64, 400, LONGEST, 7, 1, 0, NULL, 0, NULL }, 2, 0 },
        { "16 at a time, with few pages",
            { 16, 14, LONGEST, 64, 1, 0, NULL, 0, NULL }, 2, 1 },
        { "7 at a time, with the fewest pages",
            { 7, 8, LONGEST, 256, 1, 0, NULL, 0, NULL }, 1, 1 },
    };
    const struct gen_limits alone = { 1, 8, LONGEST, 256, 1, 1, NULL, 0, NULL };
    struct heard want[TEXTS] = { 0 };
    struct model m;

    open_family(&m, name);
    if (most > 0)
        set_short(&m, most);
    run_requests(&m, 1, &alone, 0, want);
    for (size_t i = 0; i < sizeof load / sizeof *load; i++) {
        struct heard got[TEXTS] = { 0 };
        const struct gen_stats s =
            run_requests(&m, load[i].threads, &load[i].l, i, got);
        const size_t good = count_equal(want, got);

        ok(good == TEXTS,
            "%s: %zu of %d texts have the bits that they have alone, %s", name,
            good, TEXTS, load[i].what);
        ok(s.shared > 0 && (s.preempted > 0) == load[i].preempts &&
                s.used == 0 && s.kept <= s.pages,
            "%s: texts share prefixes%s, and no page is lost, %s", name,
            load[i].preempts ? " and are preempted" : "", load[i].what);
        release_all(got);
    }
    release_all(want);
    model_close(&m);
}

/* ---- guesses of a draft ---- */

static void
test_drafts(const char *name, const char *draft_name, size_t most)
{
    static const struct {
        size_t texts, pages, guesses, threads;
    } load[] = { { 64, 400, 4, 3 }, { 1, 8, 1, 1 }, { 7, 9, 7, 2 } };
    const struct gen_limits alone = { 1, 8, LONGEST, 256, 1, 1, NULL, 0, NULL };
    struct heard want[TEXTS] = { 0 };
    struct gen_stats s = { 0 };
    struct model m, draft;

    open_family(&m, name);
    open_family(&draft, draft_name);
    if (most > 0) {
        set_short(&m, most);
        set_short(&draft, most);
    }
    run_requests(&m, 1, &alone, 0, want);
    for (size_t i = 0; i < sizeof load / sizeof *load; i++) {
        const struct gen_limits l = { load[i].texts, load[i].pages, LONGEST,
            256, 1, 0, &draft, load[i].guesses, NULL };
        struct heard got[TEXTS] = { 0 };
        size_t good;

        s = run_requests(&m, load[i].threads, &l, i, got);
        good = count_equal(want, got);
        ok(good == TEXTS,
            "%s: %zu of %d texts have the bits that they have without a draft, "
            "%zu guesses by %s, %zu at a time",
            name, good, TEXTS, load[i].guesses, draft_name, load[i].texts);
        ok(s.guessed > 0 && s.accepted <= s.guessed && s.used == 0 &&
                (strcmp(name, draft_name) != 0 ||
                    s.accepted * 10 > s.guessed * 9),
            "%s: %zu of %zu guesses by %s are accepted, %zu at a time", name,
            (size_t)s.accepted, (size_t)s.guessed, draft_name, load[i].texts);
        release_all(got);
    }
    release_all(want);
    model_close(&m);
    model_close(&draft);
}

/* Write 4 texts of one long prompt; the engine's cache shares the pages of the
 * prompt, the draft's does not.  Returns the number of guesses. */
static size_t
write_sharing(const struct model *m, struct pool *pool, size_t pages,
    struct heard h[4])
{
    const struct gen_limits l = { 4, pages, LONGEST, 256, 0, 0, m, 4, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct gen_stats s;

    for (size_t k = 0; k < 4; k++) {
        hear_init(&h[k]);
        h[k].params.most = 20;
        h[k].params.past_eos = 1;
        h[k].params.logprobs = 1;
        h[k].r.number = k;
        for (size_t i = 0; i < 3 * KV_PAGE; i++)
            tok_ids_push(&h[k].prompt, 1 + (uint32_t)(i % 7));
        add_heard(g, &h[k]);
    }
    run_engine(g);
    gen_statistics(g, &s);
    gen_free(g);
    return (size_t)s.guessed;
}

static void
test_draft_pages(const struct model *m, struct pool *pool)
{
    struct heard few[4] = { 0 }, many[4] = { 0 };
    const size_t guessed = write_sharing(m, pool, 15, few);
    const size_t most = write_sharing(m, pool, 16, many);
    int same = 1;

    for (size_t k = 0; k < 4; k++) {
        same &= few[k].next.n == 20 && many[k].next.n == 20 &&
            memcmp(few[k].next.v, many[k].next.v, 20 * sizeof *few[k].next.v) ==
                0 &&
            memcmp(few[k].logp.p, many[k].logp.p, 20 * sizeof(float)) == 0;
        hear_release(&few[k]);
        hear_release(&many[k]);
    }
    ok(same, "a draft with few pages changes no bit of the texts");
    ok(0 < guessed && guessed < most,
        "a draft with few pages guesses for texts that have pages (%zu of %zu)",
        guessed, most);
}

/* A step for the prompt gives a token, and 12 more steps 5 tokens each. */
static void
test_draft_steps(const struct model *m, struct pool *pool)
{
    const struct gen_limits l = { 1, 4, 100, 256, 0, 0, m, 4, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct heard h = { 0 };
    struct gen_stats s;

    hear_init(&h);
    h.params.most = 61;
    h.params.past_eos = 1;
    tok_ids_push(&h.prompt, 7);
    tok_ids_push(&h.prompt, 9);
    add_heard(g, &h);
    run_engine(g);
    gen_statistics(g, &s);
    ok(h.next.n == 61 && s.steps == 13,
        "a draft that is the model itself gives five tokens a step (%zu steps)",
        (size_t)s.steps);
    hear_release(&h);
    gen_free(g);
}

/* ---- one prompt, several texts ---- */

static void
test_shared(const struct model *m, struct pool *pool)
{
    const struct gen_limits l = { 8, 100, LONGEST, 1000, 0, 0, NULL, 0, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct heard h[8] = { 0 };
    struct gen_stats s;
    size_t other = 0;

    for (size_t i = 0; i < 8; i++) {
        hear_init(&h[i]);
        h[i].params.most = 12;
        h[i].params.past_eos = 1;
        h[i].params.how.temperature = 1.5;
        h[i].r.number = i;
        for (size_t k = 0; k < 200; k++)
            tok_ids_push(&h[i].prompt, (uint32_t)(rng_u64(5, k) % m->c.V));
        add_heard(g, &h[i]);
    }
    run_engine(g);
    gen_statistics(g, &s);
    ok(s.prompt == 1600 && s.shared == 7 * 192,
        "eight texts of a prompt of 200 tokens compute its full pages once");
    ok(s.next == 96 && s.kept == 3, "their full pages are kept");
    for (size_t i = 1; i < 8; i++)
        other += !equal_ids(&h[0].next, &h[i].next);
    ok(other == 7, "texts of other numbers are other texts");
    tok_ids_release(&h[0].next);
    add_heard(g, &h[0]);
    run_engine(g);
    gen_statistics(g, &s);
    ok(s.shared == 8 * 192, "a later text of the prompt uses the pages again");
    for (size_t i = 0; i < 8; i++)
        hear_release(&h[i]);
    gen_free(g);
}

/* ---- scores ---- */

/* log softmax of token `id` after the first n tokens of a text of `length`
 * tokens, from a cache of its own. */
static float
logp_after(const struct model *m, struct pool *pool, const uint32_t *ids,
    size_t n, size_t length, uint32_t id)
{
    const struct kv_more more = { .ids = ids,
        .n = n,
        .logits = 1,
        .length = length };
    struct kvcache *k = kv_new(m, pool, 1, kv_pages(length), length);
    float *z = xreallocarray(NULL, m->c.V, sizeof *z), logp;

    kv_feed(k, &more, 1, z);
    logp = sample_logp(z[id], sample_lse(z, m->c.V));
    kv_free(k);
    free(z);
    return logp;
}

static void
test_scores(const struct model *m, struct pool *pool)
{
    const struct gen_limits l = { 2, 20, LONGEST, 17, 1, 0, NULL, 0, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct heard h = { 0 };
    const float *logp;
    size_t good = 0, best = 0;

    hear_init(&h);
    h.params.logprobs = 1;
    h.params.top = 1;
    h.r.score = 1;
    for (size_t k = 0; k < 100; k++)
        tok_ids_push(&h.prompt, (uint32_t)(rng_u64(6, k) % m->c.V));
    add_heard(g, &h);
    run_engine(g);
    logp = (const float *)(const void *)h.logp.p;
    ok(h.end == GEN_LENGTH && h.next.n == 0 && equal_ids(&h.scored, &h.prompt),
        "a request for no tokens reports its prompt's");
    ok(h.logp.n == (1 + 99 * 2) * sizeof *logp && isnan(logp[0]),
        "the first token has no score");
    for (size_t i = 1; i < 100; i++) {
        const float x = logp_after(m, pool, h.prompt.v, i, 100, h.prompt.v[i]);

        good += logp[2 * i - 1] == x && logp[2 * i] >= x;
        best += h.top.v[i - 1] == h.prompt.v[i]
            ? logp[2 * i] == x
            : logp[2 * i] > x || h.top.v[i - 1] < h.prompt.v[i];
    }
    ok(good == 99, "%zu of 99 scores have the bits of a cache of their own",
        good);
    ok(best == 99, "a token that is the best has the best one's score");
    hear_release(&h);
    gen_free(g);
}

/* ---- angles by the length of a text ---- */

/* With longrope a token has the log probability that it has after the text so
 * far, read at once. */
static void
test_longrope(struct pool *pool)
{
    const struct gen_limits l = { 2, 20, LONGEST, 17, 1, 0, NULL, 0, NULL };
    struct gen_engine *g;
    struct heard h = { 0 };
    struct tok_ids text = { 0 };
    struct model m;
    size_t good = 0, other = 0;

    open_family(&m, "phi3");
    set_short(&m, 100);
    g = gen_new(&m, pool, NULL, &l);
    hear_init(&h);
    h.params.most = 30;
    h.params.past_eos = 1;
    h.params.logprobs = 1;
    for (size_t k = 0; k < 85; k++)
        tok_ids_push(&h.prompt, (uint32_t)(rng_u64(8, k) % m.c.V));
    add_heard(g, &h);
    run_engine(g);
    for (size_t i = 0; i < h.prompt.n; i++)
        tok_ids_push(&text, h.prompt.v[i]);
    for (size_t i = 0; i < h.next.n; i++) {
        const uint32_t id = h.next.v[i];
        float logp;

        memcpy(&logp, h.logp.p + i * sizeof logp, sizeof logp);
        good += logp == logp_after(&m, pool, text.v, text.n, text.n, id);
        other += logp == logp_after(&m, pool, text.v, text.n, LONGEST, id);
        tok_ids_push(&text, id);
    }
    ok(h.next.n == 30 && good == 30 && other == 14,
        "longrope: %zu of 30 tokens follow from the text so far, %zu with the "
        "angles of a long text",
        good, other);
    tok_ids_release(&text);
    hear_release(&h);
    gen_free(g);
    model_close(&m);
}

/* ---- ends ---- */

static void
test_ends(const struct model *m, struct pool *pool)
{
    const struct gen_limits l = { 2, 10, 200, 64, 0, 0, NULL, 0, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    struct heard h[4] = { 0 };
    struct gen_stats s;
    uint32_t first;
    float logp;

    for (size_t i = 0; i < 4; i++) {
        hear_init(&h[i]);
        h[i].params.most = 100;
        h[i].params.logprobs = 1;
        h[i].params.past_eos = 1;
        tok_ids_push(&h[i].prompt, 9);
        tok_ids_push(&h[i].prompt, 30 + (uint32_t)i);
        add_heard(g, &h[i]);
    }
    gen_step(g);
    first = h[0].next.v[0];
    memcpy(&logp, h[0].logp.p, sizeof logp);
    gen_cancel(g, h[1].text);
    gen_cancel(g, h[3].text);
    ok(h[1].ends == 0, "a text that is cancelled runs to the next step");
    gen_step(g);
    ok(h[1].end == GEN_CANCELLED && h[1].next.n == 1 &&
            h[3].end == GEN_CANCELLED && h[3].next.n == 0,
        "a running and a waiting text are cancelled");
    run_engine(g);
    gen_statistics(g, &s);
    ok(h[0].end == GEN_LENGTH && h[2].end == GEN_LENGTH && h[2].next.n == 100 &&
            s.used == 0 && s.running == 0 && s.waiting == 0,
        "the other texts go on, and all pages come back");
    tok_ids_release(&h[0].next);
    h[0].params.end = &first;
    h[0].params.nend = 1;
    add_heard(g, &h[0]);
    run_engine(g);
    ok(h[0].end == GEN_EOS && h[0].next.n == 0,
        "a token of stop_token_ids ends a text and is no part of it");
    ok(h[0].end_id == first && h[0].end_logp == logp,
        "the end tells that token and its log probability");
    h[0].params.least = 5;
    add_heard(g, &h[0]);
    run_engine(g);
    ok(h[0].next.n >= 5 && h[0].next.v[0] != first,
        "before min_tokens such a token is not chosen");
    for (size_t i = 0; i < 4; i++)
        hear_release(&h[i]);
    gen_free(g);
}

static void
test_refused(const struct model *m, struct pool *pool)
{
    const struct gen_limits l = { 2, 2, 200, 64, 0, 0, NULL, 0, NULL };
    struct gen_engine *g = gen_new(m, pool, NULL, &l);
    const struct gen_params p = { .most = 100, .how = SAMPLING_DEFAULTS };
    uint32_t ids[200] = { 0 }, bad = (uint32_t)m->c.V;
    struct gen_request r = { .prompt = ids, .params = &p };
    struct err e;

    ok(gen_add(g, &r, &e) == NULL && strncmp(e.msg, "prompt:", 7) == 0,
        "a prompt without tokens is refused");
    r.n = 101;
    ok(gen_add(g, &r, &e) == NULL && strncmp(e.msg, "max_tokens:", 11) == 0,
        "a text longer than the limit is refused");
    r.n = 100;
    ok(gen_add(g, &r, &e) == NULL && strstr(e.msg, "memory") != NULL,
        "a text longer than all pages is refused");
    r.n = 1;
    r.prompt = &bad;
    ok(gen_add(g, &r, &e) == NULL && strncmp(e.msg, "prompt:", 7) == 0,
        "an id that the model has not is refused");
    gen_free(g);
}

int
main(void)
{
    static const char *const names[] = { "mistral", "qwen2", "qwen3", "gemma3",
        "olmo2", "phi3", "cohere", "cohere2", "apertus", "gpt_neox",
        "gpt2-untied", "starcoder2", "phi", "glm4", "exaone4" };
    static const size_t most[] = { 0, 0, 0, 0, 150, 150, 0, 0, 0, 0, 0, 0, 0, 0,
        0 };
    struct pool *pool = pool_new(2, NULL);
    struct model m;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_greedy(names[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_loads(names[i], most[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_drafts(names[i], names[i], most[i]);
    test_greedy("../experts/qwen3_next");
    test_greedy("../experts/qwen3_5_moe");
    test_drafts("qwen3", "qwen3-cut", 0);
    test_drafts("gemma3", "gemma3-cut", 0);
    test_drafts("mistral", "qwen2", 0);
    test_drafts("phi3", "olmo2", 150);
    test_longrope(pool);
    for (size_t i = 4; i < 6; i++) {
        open_family(&m, names[i]);
        set_short(&m, 40);
        test_scores(&m, pool);
        model_close(&m);
    }
    open_family(&m, "qwen2");
    test_shared(&m, pool);
    test_draft_steps(&m, pool);
    test_draft_pages(&m, pool);
    test_scores(&m, pool);
    test_ends(&m, pool);
    test_refused(&m, pool);
    model_close(&m);
    pool_free(pool);
    return done_testing();
}
