/* generate bench: the speed of one model, or of several in turn. */
#include "bench.h"
#include "bench_out.h"
#include "common.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "model/forward_kv.h"

#include <stdlib.h>

struct bench_args {
    struct common how;
    struct opt_list models;
    size_t length, at_once, count, prompt_length;
    int format;
};

/* A text of a round: clock_now at its first and at its last token. */
struct timed {
    double first, last;
};

static void
time_token(void *ctx, const struct gen_event *ev)
{
    struct timed *t = ctx;

    common_check(ev);
    if (ev->kind != GEN_TOKEN)
        return;
    t->last = clock_now();
    if (ev->at == 0)
        t->first = t->last;
}

/* Run a round and record it as round `at`; if at >= b->rounds it is a warm-up,
 * which is not recorded. */
static void
run_round(const struct measured *b, const struct side *s, size_t at)
{
    struct timed *t = xcalloc(b->each, sizeof *t);
    const double n = (double)b->length, each = (double)b->each;
    const double start = clock_now();
    struct err e;
    double wall;

    for (size_t i = 0; i < b->each; i++) {
        const struct gen_request r = { .prompt = b->ids,
            .n = b->prompt_length,
            .params = &b->params,
            .number = i,
            .on_event = time_token,
            .ctx = &t[i] };

        if (gen_add(s->engine, &r, &e) == NULL)
            die_err(&e);
    }
    while (gen_step(s->engine) > 0)
        ;
    wall = clock_now() - start;
    for (size_t i = 0; at < b->rounds && i < b->each; i++) {
        s->value[FIRST][at * b->each + i] = 1e3 * (t[i].first - start);
        s->value[TOKEN][at * b->each + i] =
            1e3 * (t[i].last - t[i].first) / (n - 1.0);
    }
    if (at < b->rounds) {
        s->value[TOKENS][at] = each * n / wall;
        s->value[PROMPTS][at] = each / wall;
    }
    free(t);
}

/* Allocate the engines and values of all models.  Dies if memory is too small.
 */
static void
make_rooms(struct measured *b, struct pool *pool, const struct common *how)
{
    const size_t longest = b->prompt_length + b->length;
    const struct gen_limits limits = { .texts = b->each,
        .pages = b->each * kv_pages(longest),
        .longest = longest,
        .slice = b->each * b->prompt_length,
        .apart = 1 };
    size_t cache = 0, bytes = 0;

    for (size_t i = 0; i < b->sides; i++) {
        struct side *s = &b->side[i];

        s->packed = common_pack(how, &s->m, pool);
        s->engine = gen_new(s->packed != NULL ? packed_model(s->packed) : &s->m,
            pool, NULL, &limits);
        cache += gen_cache_bytes(s->engine);
        bytes += gen_bytes(s->engine);
        for (int q = 0; q < MEASURES; q++)
            s->value[q] = xcalloc(bench_values(b, q), sizeof(double));
    }
    common_memory(&b->side[0].m, pool, b->sides * b->each, longest, cache,
        bytes);
}

/* Make a prompt of random ids that are valid in all models. */
static void
make_prompt(struct measured *b)
{
    size_t V = SIZE_MAX;

    for (size_t i = 0; i < b->sides; i++)
        V = b->side[i].m.c.V < V ? b->side[i].m.c.V : V;
    b->ids = xreallocarray(NULL, b->prompt_length, sizeof *b->ids);
    for (size_t i = 0; i < b->prompt_length; i++)
        b->ids[i] = (uint32_t)(rng_u64(rng_key(b->seed, 0), i) % V);
}

/* Measure all rounds, each with all models in turn, after a warm-up round. */
static void
measure_rounds(const struct measured *b)
{
    progress_begin("measured", (double)b->rounds, "rounds");
    for (size_t i = 0; i <= b->rounds; i++) {
        for (size_t k = 0; k < b->sides; k++)
            run_round(b, &b->side[k], i == 0 ? SIZE_MAX : i - 1);
        progress_at((double)i, NULL);
    }
    progress_end();
}

static void
release_bench(struct measured *b)
{
    for (size_t i = 0; i < b->sides; i++) {
        gen_free(b->side[i].engine);
        packed_free(b->side[i].packed);
        for (int q = 0; q < MEASURES; q++)
            free(b->side[i].value[q]);
        model_close(&b->side[i].m);
    }
    free(b->side);
    free(b->ids);
}

static void
run_bench(const struct bench_args *a)
{
    struct measured b = { .sides = a->models.n,
        .each = a->at_once < a->count ? a->at_once : a->count,
        .prompt_length = a->prompt_length,
        .length = a->length,
        .seed = a->how.seed,
        .params = { .most = a->length,
            .seed = a->how.seed,
            .how = a->how.how,
            .past_eos = 1 } };
    struct pool *pool;

    b.rounds = (a->count + b.each - 1) / b.each;
    b.side = xcalloc(b.sides, sizeof *b.side);
    for (size_t i = 0; i < b.sides; i++) {
        b.side[i].name = a->models.v[i];
        common_open(&b.side[i].m, b.side[i].name);
    }
    pool = common_pool(&a->how);
    b.threads = pool_size(pool);
    make_prompt(&b);
    make_rooms(&b, pool, &a->how);
    measure_rounds(&b);
    bench_print(&b, (enum format)a->format);
    release_bench(&b);
    pool_free(pool);
}

int
bench_main(int argc, char **argv)
{
    static struct bench_args a = { .how = COMMON_DEFAULTS,
        .length = 64,
        .at_once = 1,
        .count = 100,
        .prompt_length = 128 };
    const struct opt options[] = { OPT_LIST('m', "model", &a.models, "model",
                                       "measure this model; may be repeated"),
        OPT_SIZE(0, "count", &a.count, 1, 1e6, "prompts", "number of prompts"),
        OPT_SIZE(0, "prompt-length", &a.prompt_length, 1, 1e6, "tokens",
            "tokens of each prompt"),
        OPT_SIZE('n', "max-new-tokens", &a.length, 2, 1e6, "tokens",
            "number of tokens to add to a prompt"),
        OPT_SIZE(0, "at-once", &a.at_once, 1, 4096, "texts",
            "number of texts computed together"),
        OPT_ENUM(0, "format", &a.format, format_names, "name",
            "form of the output"),
        COMMON_OPTIONS(&a.how), OPT_END };

    opt_parse(argc, argv, options, "measure how fast models generate", "", 0, 0,
        NULL);
    if (a.models.n == 0)
        die(EX_USAGE, "give a model by -m; see generate bench -h");
    common_begin(&a.how);
    run_bench(&a);
    out_done();
    return 0;
}
