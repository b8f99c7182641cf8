/* generate bench: the speed of models and servers, measured in turn. */
#include "bench.h"
#include "bench_out.h"
#include "how.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "train/plan.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Ids are drawn below this number if no model or server tells how many it
 * has. */
enum { FEW_IDS = 1000 };

struct bench_args {
    struct how how;
    struct opt_list models, urls, at_once;
    size_t length, count, prompt_length, prefix, slice;
    double vary;
    int format;
};

/* Open models and servers, and set V. */
static void
open_sides(struct bench *b, const struct bench_args *a)
{
    size_t V = SIZE_MAX;
    struct err e;

    b->sides = a->models.n + a->urls.n;
    b->side = xcalloc(b->sides, sizeof *b->side);
    for (size_t i = 0; i < b->sides; i++) {
        struct bench_side *s = &b->side[i];
        size_t ids;

        s->is_server = i >= a->models.n;
        s->name = s->is_server ? a->urls.v[i - a->models.n] : a->models.v[i];
        if (s->is_server ? bench_server_open(&s->server, s->name, &e) < 0
                         : model_open(&s->process.m, s->name, &e) < 0)
            die_err(&e);
        ids = s->is_server ? s->server.V : s->process.m.c.V;
        V = ids > 0 && ids < V ? ids : V;
    }
    b->plan.V = V < SIZE_MAX ? V : FEW_IDS;
}

static void
check_positions(const struct bench *b)
{
    const size_t longest = bench_longest(&b->plan);

    for (size_t i = 0; i < b->sides; i++) {
        const struct bench_side *s = &b->side[i];
        const size_t positions =
            s->is_server ? 0 : config_positions(&s->process.m.c);

        if (positions > 0 && longest > positions)
            die(EX_USAGE,
                "%s: has %zu positions, but a request has up to %zu tokens: "
                "give a lower --prompt-length, --prefix-length or -n",
                s->name, positions, longest);
    }
}

/* Memory in which processes that are forked later see each other's writes.  The
 * pipes to them give the order: only the process that has the turn uses it. */
static void *
share_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        die(EX_SYS, "memory for the times of all requests:");
    return p;
}

/* Times of n requests, with room for the tokens of each. */
static struct bench_times *
make_times(const struct bench_plan *p, size_t from, size_t n)
{
    struct bench_times *t;
    size_t tokens = 0;
    double *at;

    for (size_t i = 0; i < n; i++)
        tokens += bench_new_tokens(p, from + i) + BENCH_MORE;
    t = share_memory(n * sizeof *t + tokens * sizeof *at);
    at = (double *)(t + n);
    for (size_t i = 0; i < n; i++) {
        t[i].at = at;
        at += bench_new_tokens(p, from + i) + BENCH_MORE;
    }
    return t;
}

static void
make_bench_runs(struct bench *b)
{
    const struct bench_plan *p = &b->plan;

    b->prompt = xreallocarray(NULL, p->count, sizeof *b->prompt);
    for (size_t i = 0; i < p->count; i++)
        b->prompt[i] = bench_prompt_length(p, i);
    b->warm = make_times(p, p->count, bench_most_warm_up(p));
    for (size_t i = 0; i < b->sides; i++) {
        b->side[i].run = xcalloc(p->levels, sizeof *b->side[i].run);
        for (size_t k = 0; k < p->levels; k++) {
            struct bench_run *r = &b->side[i].run[k];

            *r = (struct bench_run){ .n = p->count,
                .per_turn = bench_per_turn(p, k),
                .prompt = b->prompt,
                .request = make_times(p, 0, p->count) };
            r->wall = xcalloc(bench_turns(r), sizeof *r->wall);
        }
    }
}

static void
start_processes(struct bench *b, const struct how *how)
{
    size_t all = 0;
    struct err e;

    for (size_t i = 0; i < b->sides; i++)
        if (!b->side[i].is_server) {
            bench_process_start(&b->side[i].process, &b->plan, how);
            all += b->side[i].process.bytes;
        }
    if (plan_fits(all, "fewer models at a time", &e) < 0)
        die_err(&e);
}

static double
side_turn(struct bench *b, struct bench_side *s, size_t k, size_t from,
    size_t n, struct bench_times *times)
{
    if (s->is_server)
        return bench_server_turn(&s->server, &b->plan, k, from, n, times);
    return bench_process_turn(&s->process, k, from, n, times);
}

/* Let each side answer requests that are not measured. */
static void
warm_up(struct bench *b, size_t k)
{
    const size_t n = bench_warm_up(&b->plan, k), from = b->plan.count;

    for (size_t i = 0; i < b->sides; i++) {
        struct bench_side *s = &b->side[i];
        size_t good = 0;

        side_turn(b, s, k, from, n, b->warm);
        for (size_t j = 0; j < n; j++)
            good += b->warm[j].tokens > 0;
        if (good == 0)
            die(EX_INPUT, "%s: answers no request: %s", s->name, s->server.why);
    }
}

/* Measure all turns: each model or server answers the requests of a turn before
 * the next turn begins. */
static void
measure_turns(struct bench *b)
{
    const struct bench_plan *p = &b->plan;

    progress_begin("measured", (double)(p->count * p->levels), "requests");
    for (size_t k = 0; k < p->levels; k++) {
        const size_t per = bench_per_turn(p, k);

        warm_up(b, k);
        for (size_t from = 0; from < p->count; from += per) {
            const size_t n = p->count - from < per ? p->count - from : per;

            for (size_t i = 0; i < b->sides; i++) {
                struct bench_run *r = &b->side[i].run[k];

                r->wall[from / per] =
                    side_turn(b, &b->side[i], k, from, n, r->request + from);
            }
            progress_at((double)(k * p->count + from + n), NULL);
        }
    }
    progress_end();
}

static void
close_sides(struct bench *b)
{
    for (size_t i = 0; i < b->sides; i++) {
        struct bench_side *s = &b->side[i];

        for (size_t k = 0; k < b->plan.levels; k++)
            free(s->run[k].wall);
        free(s->run);
        if (s->is_server) {
            if (s->server.why[0] != '\0')
                warn("%s: a request failed: %s", s->name, s->server.why);
            bench_server_close(&s->server);
        } else {
            bench_process_end(&s->process);
            model_close(&s->process.m);
        }
    }
    free(b->side);
    free(b->prompt);
    free(b->plan.at_once);
}

static void
read_levels(struct bench_plan *p, const struct opt_list *at_once)
{
    p->levels = at_once->n > 0 ? at_once->n : 1;
    p->at_once = xcalloc(p->levels, sizeof *p->at_once);
    p->at_once[0] = 1;
    for (size_t i = 0; i < at_once->n; i++)
        if (number_size(at_once->v[i], 1, 4096, &p->at_once[i]) < 0)
            die(EX_USAGE,
                "--at-once: \"%s\" is not a whole number from 1 to 4096",
                at_once->v[i]);
}

/* Measure and print what the options ask for. */
static void
run_bench(const struct bench_args *a)
{
    struct bench b = { .plan = { .count = a->count,
                           .prefix = a->prefix,
                           .prompt = a->prompt_length,
                           .length = a->length,
                           .vary = a->vary,
                           .slice = a->slice,
                           .seed = a->how.seed,
                           .params = { .seed = a->how.seed,
                               .how = a->how.sampling,
                               .past_eos = 1 } } };

    read_levels(&b.plan, &a->at_once);
    open_sides(&b, a);
    check_positions(&b);
    make_bench_runs(&b);
    start_processes(&b, &a->how);
    measure_turns(&b);
    bench_print(&b, (enum format)a->format);
    close_sides(&b);
}

int
bench_main(int argc, char **argv)
{
    static struct bench_args a = { .how = HOW_DEFAULTS,
        .length = 64,
        .count = 100,
        .prompt_length = 128,
        .slice = GEN_SLICE };
    const struct opt options[] = { OPT_LIST('m', "model", &a.models, "model",
                                       "measure this model; may be repeated"),
        OPT_LIST(0, "url", &a.urls, "url",
            "measure the server at this address; may be repeated"),
        OPT_SIZE(0, "count", &a.count, 1, 1e6, "prompts", "number of prompts"),
        OPT_SIZE(0, "prompt-length", &a.prompt_length, 1, 1e6, "tokens",
            "tokens of each prompt"),
        OPT_MAX_NEW_TOKENS(&a.length, 2),
        OPT_REAL(0, "vary", &a.vary, 0, 1, "x",
            "draw both lengths from (1 - x) to (1 + x) times as many tokens"),
        OPT_SIZE(0, "prefix-length", &a.prefix, 0, 1e6, "tokens",
            "tokens that all prompts begin with"),
        OPT_LIST(0, "at-once", &a.at_once, "texts",
            "number of texts computed together (may be repeated)"),
        OPT_SLICE(&a.slice), OPT_FORMAT(&a.format, format_names),
        HOW_OPTIONS(&a.how), OPT_END };

    opt_parse(argc, argv, options,
        "measure how fast models and servers generate", "", 0, 0, NULL);
    if (a.models.n + a.urls.n == 0)
        die(EX_USAGE,
            "give a model by -m, or a server by --url; see generate bench -h");
    how_begin(&a.how);
    run_bench(&a);
    out_done();
    return 0;
}
