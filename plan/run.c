/* plan run and plan measure: one process of student on this machine. */
#include "answer.h"
#include "commands.h"
#include "process.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/shared.h"
#include "dist/dist.h"
#include "model/pass/compute.h"
#include "train/plan.h"

#include <string.h>

static const char *const dtypes[] = { "f32", "bf16", NULL };

/* Predict on all ranks, and print on rank 0. */
static void
print_process(const struct process *p, int explain)
{
    struct figures f = { .n = 0 };
    struct buf b = { 0 };
    struct err e;
    size_t rank, ranks;

    if (dist_begin(&e) < 0)
        die_err(&e);
    if (dist_world()->n > 1 && p->network.nodes > 1.0)
        die(EX_USAGE, "nodes= is for one process, without mpirun");
    process_predict(&f, p);
    rank = dist_world()->rank;
    ranks = dist_world()->n;
    dist_end();
    if (rank > 0)
        return;
    figures_put(&b, &f, p->in.format, "run", explain);
    if (p->in.format == FORMAT_TEXT && p->in.tokens > 0 && ranks == 1)
        answer_put(&b, &f, p);
    else if (p->in.format == FORMAT_TEXT &&
        figure_of(&f, "memory") > (double)plan_limit())
        note("this machine (or its cgroup) has only %.1f GB",
            (double)plan_limit() * 1e-9);
    if (p->in.tokens == 0)
        note("--tokens, such as 10M, adds time and disk of a run, and whether "
             "it fits");
    out_put(b.p, b.n);
    buf_release(&b);
}

static int
process_main(int argc, char **argv, int measure, const char *about)
{
    static struct process p = { .in = REQUEST_DEFAULTS, .compute = -1 };
    static const char *mask;
    static int explain, qat;
    const struct opt options[] = { REQUEST_MODELS(&p.in,
                                       "the student: a model or a config.json"),
        REQUEST_PASSES(&p.in, "one, or as many as 1024 tokens hold"),
        OPT_FORMAT(&p.in.format, figure_formats),
        OPT_FLAG(0, "explain", &explain, "print the formula of every figure"),
        REQUEST_RATIO(&p.in), OPT_GROUP("training"),
        OPT_COMPUTE_FASTEST(&p.compute),
        OPT_ENUM(0, "act", &p.act, dtypes, "type",
            "type of the activations kept for the backward pass"),
        OPT_ENUM(0, "grad", &p.grad, dtypes, "type",
            "type of the blocks' gradients"),
        OPT_ENUM(0, "moments", &p.moments, dtypes, "type",
            "type of the optimiser's moments"),
        OPT_ENUM(0, "qat", &qat, rounding_names, "type",
            "train with matrices rounded to this type, and save them so"),
        OPT_STR(0, "mask", &mask, "n:m",
            "train with sparse matrices: of every m neighbours in a row keep "
            "the n largest"),
        OPT_THREADS(&p.threads), OPT_END };
    struct err e;
    int n;
    char **operand =
        opt_parse(argc, argv, options, about, "[key=value ...]", 0, -1, &n);

    request_check(&p.in, 0);
    p.chosen = p.compute < 0;
    if (p.chosen)
        p.compute = compute_fastest();
    if (effective_parse(&p.effective, qat, mask, &e) < 0)
        die_err(&e);
    if (mask != NULL && p.grad == 1)
        die(EX_USAGE, "--mask needs --grad f32");
    network_read(&p.network, operand, (size_t)n);
    if ((double)p.in.rows < p.network.nodes)
        die(EX_USAGE, "-B %zu: fewer rows than nodes=%.0f: give each one",
            p.in.rows, p.network.nodes);
    if (p.network.sync > 0.0 && (mask != NULL || p.grad == 1))
        die(EX_USAGE, "sync goes with --grad f32 and without --mask");
    p.measure = measure;
    print_process(&p, explain);
    out_done();
    return 0;
}

int
run_main(int argc, char **argv)
{
    return process_main(argc, argv, 0,
        "predict memory and operations of student on this machine");
}

int
measure_main(int argc, char **argv)
{
    return process_main(argc, argv, 1,
        "predict memory, and measure the time of a step, on this machine");
}
