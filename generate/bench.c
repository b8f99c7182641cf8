/* How fast texts come: see teacher(1). */
#include "bench.h"
#include "teacher.h"
#include "texts.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"

#include <stdlib.h>

enum { FIRST, TOKEN, TOKENS, PROMPTS, MEASURES };

static const struct {
    const char *name, *unit, *what;
    int rate; /* more is better, one value a round */
} measures[MEASURES] = {
    { "first", "ms", "time to first token", 0 },
    { "token", "ms", "time a token", 0 },
    { "tokens/s", "1/s", "tokens a second", 1 },
    { "prompts/s", "1/s", "prompts a second", 1 },
};

struct side {
    const char *name;
    const struct model *m;
    struct texts *w;
    double *value[MEASURES]; /* of rounds, or of their prompts */
};

struct measured {
    const struct args *a;
    size_t rounds, each, sides; /* each: prompts of a round */
    struct side side[2];
    uint32_t *ids; /* [prompt_length] the prompt */
};

static size_t
values(const struct measured *b, int q)
{
    return measures[q].rate ? b->rounds : b->rounds * b->each;
}

/* One round; where `at` is none, it only warms up. */
static void
round_of(const struct measured *b, const struct side *s, size_t at)
{
    struct text *t = xcalloc(b->each, sizeof *t);
    const double n = (double)b->a->length, each = (double)b->each;
    const double start = clock_now();
    double wall;

    for (size_t i = 0; i < b->each; i++) {
        t[i].ids = b->ids;
        t[i].n = b->a->prompt_length;
        t[i].chance = i;
    }
    texts_run(s->w, t, b->each, NULL, NULL);
    wall = clock_now() - start;
    for (size_t i = 0; i < b->each; i++) {
        if (at < b->rounds) {
            s->value[FIRST][at * b->each + i] = 1e3 * (t[i].first - start);
            s->value[TOKEN][at * b->each + i] =
                1e3 * (t[i].done - t[i].first) / (n - 1.0);
        }
        text_release(&t[i]);
    }
    if (at < b->rounds) {
        s->value[TOKENS][at] = each * n / wall;
        s->value[PROMPTS][at] = each / wall;
    }
    free(t);
}

static void
put_value(struct buf *out, const struct measured *b, const struct side *s,
    int q)
{
    const size_t n = values(b, q);
    const double mean = mean_of(s->value[q], n);
    double *x = xreallocarray(NULL, n, sizeof *x), median, p99;

    for (size_t i = 0; i < n; i++)
        x[i] = s->value[q][i];
    median = quantile(x, n, 0.5);
    p99 = quantile(x, n, measures[q].rate ? 0.01 : 0.99);
    free(x);
    if (b->a->format != 0)
        buf_addf(out, "value\t%s\t%s\t%s\t%zu\t%.6g\t%.6g\t%.6g\t\t\n",
            SHOWN(s->name), measures[q].name, measures[q].unit, n, mean, median,
            p99);
    else
        buf_addf(out, "  %-20s %-3s %10.2f %10.2f %10.2f\n", measures[q].what,
            measures[q].unit, mean, median, p99);
}

/* How much faster the second side is. */
static void
put_ratio(struct buf *out, const struct measured *b, int q)
{
    const struct side *s = &b->side[measures[q].rate],
                      *of = &b->side[!(s - b->side)];
    const struct ratio r = ratio_of(s->value[q], of->value[q], b->rounds,
        measures[q].rate ? 1 : b->each, b->a->seed);
    char low[20] = "-", high[20] = "-";

    if (b->rounds > 1) { /* one round says nothing of its spread */
        snprintf(low, sizeof low, b->a->format != 0 ? "%.6g" : "%.3f", r.low);
        snprintf(high, sizeof high, b->a->format != 0 ? "%.6g" : "%.3f",
            r.high);
    }
    if (b->a->format != 0)
        buf_addf(out, "ratio\t%s\t%s\t\t%zu\t%.6g\t\t\t%s\t%s\n",
            SHOWN(b->side[1].name), measures[q].name, b->rounds, r.v, low,
            high);
    else
        buf_addf(out, "  %-20s     %10.3f %10s to %s\n", measures[q].what, r.v,
            low, high);
}

static void
print(const struct measured *b)
{
    const struct args *a = b->a;
    struct buf out = { 0 };

    buf_addf(&out,
        a->format != 0 ? "# %zu rounds of %zu prompts of %zu tokens, %zu new, "
                         "%zu threads\nkind\tmodel\tmeasure\tunit\tn\tmean\t"
                         "median\tp99\tlow\thigh\n"
                       : "%zu rounds of %zu prompts of %zu tokens, %zu new, "
                         "%zu threads\n",
        b->rounds, b->each, a->prompt_length, a->length, a->threads);
    for (size_t i = 0; i < b->sides; i++) {
        if (a->format == 0)
            buf_addf(&out, "%s\n  %-24s %10s %10s %10s\n", b->side[i].name, "",
                "mean", "median", "p99");
        for (int q = 0; q < MEASURES; q++)
            if (b->side[i].value[q] != NULL)
                put_value(&out, b, &b->side[i], q);
    }
    if (b->sides == 2 && a->format == 0)
        buf_addf(&out, "%s is faster by\n  %-24s %10s %10s\n", b->side[1].name,
            "", "ratio", "95 % of");
    for (int q = 0; b->sides == 2 && q < MEASURES; q++)
        put_ratio(&out, b, q);
    out_put(out.p, out.n);
    buf_release(&out);
}

/* Both models take part in what memory there is. */
static void
begin(struct measured *b, struct pool *pool)
{
    const struct texts_opt o = { .at_once = b->each,
        .longest = b->a->prompt_length,
        .most = b->a->length,
        .tau = b->a->tau,
        .top_p = b->a->top_p,
        .seed = b->a->seed,
        .no_eos = 1 };
    size_t cache = 0, bytes = 0;

    for (size_t i = 0; i < b->sides; i++) {
        struct side *s = &b->side[i];

        s->w = texts_new(s->m, pool, &o);
        cache += texts_cache_bytes(s->w);
        bytes += texts_bytes(s->w);
        for (int q = 0; q < MEASURES; q++)
            s->value[q] = xcalloc(values(b, q), sizeof(double));
    }
    tell_texts(b->side[0].m, pool, b->sides * b->each, o.longest + o.most,
        cache, bytes);
}

void
bench(const struct model *m, struct pool *pool, const struct args *a)
{
    struct measured b = { .a = a, .each = a->at_once, .sides = 1 };
    struct model other;
    size_t V = m->c.V;
    struct err e;

    if (a->length < 2)
        die(EX_USAGE, "-n: to measure, two tokens at least");
    if (b.each > a->count)
        b.each = a->count;
    b.rounds = (a->count + b.each - 1) / b.each;
    b.side[0] = (struct side){ .name = a->model, .m = m };
    if (a->against != NULL) {
        if (model_open(&other, a->against, &e) < 0 ||
            model_check_finite(&other, &e) < 0)
            die_err(&e);
        V = other.c.V < V ? other.c.V : V;
        b.side[b.sides++] = (struct side){ .name = a->against, .m = &other };
    }
    b.ids = xreallocarray(NULL, a->prompt_length, sizeof *b.ids);
    for (size_t i = 0; i < a->prompt_length; i++)
        b.ids[i] = (uint32_t)(rng_u64(rng_key(a->seed, 0), i) % V);
    begin(&b, pool);
    progress_begin("measured", (double)b.rounds, "rounds");
    for (size_t i = 0; i <= b.rounds; i++) {
        for (size_t k = 0; k < b.sides; k++)
            round_of(&b, &b.side[k], i == 0 ? SIZE_MAX : i - 1);
        progress_at((double)i, NULL);
    }
    progress_end();
    print(&b);
    for (size_t i = 0; i < b.sides; i++) {
        texts_free(b.side[i].w);
        for (int q = 0; q < MEASURES; q++)
            free(b.side[i].value[q]);
    }
    free(b.ids);
    if (b.sides == 2)
        model_close(&other);
}
