/* plan - predict memory, time and cost of a run; see plan(1) */
#include "calibrate.h"
#include "predict.h"
#include "process.h"
#include "sweep.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "dist/dist.h"
#include "model/compute.h"
#include "train/plan.h"

#include <stdlib.h>

static const char *const dtypes[] = { "f32", "bf16", NULL };

static struct process p = { .rows = 8, .T = 512 };
static const char *machine, *columns, *mask;
static struct opt_list changes;
static size_t best;
static int format, explain, list, calibrate, qat;

static const struct opt options[] = {
    OPT_STR('m', "model", &p.model, "model",
        "the student: a model, a config.json alone, or a shipped shape"),
    OPT_STR(0, "teacher", &p.teacher, "model",
        "distilled from this model, or config.json"),
    OPT_SIZE(0, "top", &p.top, 0, 1e6, "k",
        "learn from its top k tokens, as teacher --top (0: final states)"),
    OPT_SIZE('B', "batch-size", &p.rows, 1, 1e6, "rows", "rows of a batch"),
    OPT_SIZE('T', "length", &p.T, 2, 1 << 24, "tokens", "tokens of a row"),
    OPT_SIZE(0, "micro", &p.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_FLAG(0, "recompute", &p.recompute,
        "keep block inputs only, as student --recompute"),
    OPT_REAL(0, "tokens", &p.tokens, 0, 1e18, "n",
        "also what a run of n tokens takes (0: one step alone)"),
    OPT_ENUM(0, "format", &format, figure_formats, "name",
        "form of the answer"),
    OPT_FLAG(0, "explain", &explain, "print the formula of every number"),
    OPT_GROUP("One process on this machine"),
    OPT_FLAG(0, "measure", &p.measure,
        "also the time of a step, measured with some of its blocks"),
    OPT_ENUM(0, "compute", &p.compute, compute_names, "type",
        "as student --compute"),
    OPT_ENUM(0, "act", &p.act, dtypes, "type", "as student --act"),
    OPT_ENUM(0, "grad", &p.grad, dtypes, "type", "as student --grad"),
    OPT_ENUM(0, "moments", &p.moments, dtypes, "type", "as student --moments"),
    OPT_ENUM(0, "qat", &qat, rounding_names, "type", "as student --qat"),
    OPT_STR(0, "mask", &mask, "n:m", "as student --mask"),
    OPT_SIZE('j', "threads", &p.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_GROUP("Ranks of a machine, laid out as key=value says"),
    OPT_STR(0, "machine", &machine, "name", "a shipped machine, or its file"),
    OPT_LIST(0, "what-if", &changes, "key=value,...",
        "beside it, with these changes; may be given again"),
    OPT_SIZE(0, "search", &best, 0, 1000, "n",
        "the n fastest layouts that fit (0: no search)"),
    OPT_STR(0, "columns", &columns, "name,...", "figures of a sweep"),
    OPT_FLAG(0, "keys", &list, "list the keys and their values"),
    OPT_FLAG(0, "calibrate", &calibrate,
        "measure this machine, and print its file"),
    OPT_END
};

/* ---- one process ---- */

static void
one_process(struct buf *b)
{
    struct figures f = { .n = 0 };
    struct err e;
    double total;
    size_t rank;

    if (dist_begin(&e) < 0)
        die_err(&e);
    process_predict(&f, &p);
    rank = dist_world()->rank;
    dist_end();
    if (rank > 0)
        return;
    figures_put(b, &f, format, explain);
    total = figure_of(&f, "memory");
    if (format == FORMAT_TEXT && total > (double)plan_limit())
        note("this machine (or its cgroup) has only %.1f GB",
            (double)plan_limit() * 1e-9);
}

/* ---- ranks ---- */

static void
put_keys(struct buf *b, const struct job *j)
{
    for (const struct key *k = job_keys; k->name != NULL; k++) {
        if (k->machine && machine == NULL)
            continue;
        buf_addf(b, "%s\t", k->name);
        job_put(b, j, k);
        buf_addf(b, "\t%s", k->help);
        if (k->words != NULL) {
            buf_adds(b, ": ");
            key_words(b, k);
        }
        buf_adds(b, "\n");
    }
}

/* The options that are keys too. */
static void
from_options(struct job *j)
{
    struct err e;

    job_init(j);
    if (p.compute + p.act + p.grad + p.moments + p.measure + qat > 0 ||
        mask != NULL || p.threads > 0)
        die(EX_USAGE,
            "--compute, --act, --grad, --moments, --qat, --mask, --threads and "
            "--measure are of one process; see plan --keys");
    j->batch = (double)p.rows;
    j->length = (double)p.T;
    j->micro = p.micro > 0 ? (double)p.micro : 1.0;
    j->recompute = p.recompute ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    j->top = (double)p.top;
    j->tokens = p.tokens;
    if (machine != NULL && machine_open(j, machine, &e) < 0)
        die_err(&e);
}

static void
open_models(struct job *j)
{
    struct err e;

    if (shape_open(&j->student, p.model, &e) < 0 ||
        (p.teacher != NULL && shape_open(&j->teacher, p.teacher, &e) < 0))
        die_err(&e);
}

static void
put_one(struct buf *b, const struct job *j)
{
    struct figures f;

    predict(&f, j);
    figures_put(b, &f, format, explain);
    if (format == FORMAT_TEXT && figure_of(&f, "full") > 1.0)
        note("a device has only %.0f GB", j->m.memory_gb);
}

static void
ranks(struct buf *b, char **operand, size_t n)
{
    struct range *range = xcalloc(n, sizeof *range);
    struct job j;
    struct err e;
    int several = 0, r = 0;

    from_options(&j);
    if (ranges_read(range, operand, n, &e) < 0 ||
        ranges_set(&j, range, n, &e) < 0)
        die_err(&e);
    for (size_t i = 0; i < n; i++)
        several |= range[i].n > 1;
    if ((best > 0) + several + (changes.n > 0) > 1)
        die(EX_USAGE,
            "a sweep, --search and --what-if are three answers: ask for one");
    if (columns != NULL && !several)
        die(EX_USAGE, "--columns is of a sweep: no key has several values");
    if (format == FORMAT_BARS && !several && best == 0)
        die(EX_USAGE, "--format bars is of a sweep or a search");
    if (list) {
        put_keys(b, &j);
    } else {
        open_models(&j);
        if (best > 0)
            note("%zu layouts were tried",
                search_put(b, &j, range, n, best, format));
        else if (several)
            r = sweep_put(b, &j, range, n, columns, format, &e);
        else if ((r = job_check(&j, &e)) == 0 && changes.n > 0)
            r = what_if_put(b, &j, changes.v, changes.n, format, &e);
        else if (r == 0)
            put_one(b, &j);
    }
    if (r < 0)
        die_err(&e);
    ranges_free(range, n);
    free(range);
}

int
main(int argc, char **argv)
{
    int n;
    char **operand = opt_parse(argc, argv, options,
        "predict memory, time and cost of a run", "[key=value ...]", 0, -1, &n);
    struct buf b = { 0 };
    struct err e;

    if (effective_parse(&p.effective, qat, mask, &e) < 0)
        die_err(&e);
    if (mask != NULL && p.grad == 1)
        die(EX_USAGE, "--mask: it does not go with --grad bf16");
    if (calibrate) {
        calibrate_put(&b, p.threads);
    } else {
        if (p.model == NULL && !list)
            die(EX_USAGE, "-m is needed; see plan -h");
        if (p.top > 0 && p.teacher == NULL)
            die(EX_USAGE, "--top needs --teacher");
        if (machine != NULL || list)
            ranks(&b, operand, (size_t)n);
        else if (n > 0 || best > 0 || changes.n > 0 || columns != NULL ||
            format == FORMAT_BARS)
            die(EX_USAGE,
                "keys, --search, --what-if, --columns and --format bars need "
                "--machine");
        else
            one_process(&b);
    }
    out_put(b.p, b.n);
    buf_release(&b);
    out_done();
    return 0;
}
