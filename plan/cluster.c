/* plan cluster: predict a run on many ranks of a machine, laid out by keys. */
#include "commands.h"
#include "request.h"
#include "predict.h"
#include "table.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"

#include <time.h>

struct cluster_args {
    struct request in;
    struct opt_list changes;
    const char *columns;
    int explain, keys;
};

/* Append the keys of the layout; with --machine also those of the machine. */
static void
put_keys(struct buf *b, const struct job *j, const struct cluster_args *a)
{
    struct table t = { .ncol = 3, .prose = 1 };
    struct buf cell = { 0 };

    table_add(&t, "key");
    table_add(&t, "value");
    table_add(&t, "meaning");
    for (const struct key *k = job_keys(); k->name != NULL; k++) {
        if (k->machine && a->in.machine == NULL)
            continue;
        table_add(&t, k->name);
        job_put(&cell, j, k);
        table_add_buf(&t, &cell);
        buf_addf(&cell, "%s%s", k->help, k->words[0] != NULL ? ": " : "");
        if (k->words[0] != NULL)
            key_words(&cell, k);
        table_add_buf(&t, &cell);
    }
    table_put(b, &t, a->in.format);
    table_release(&t);
    buf_release(&cell);
}

/* Say when the run would be done if it started now. */
static void
note_end(const struct figures *f)
{
    const double days = figure_of(f, "run.days");
    const double each = days / figure_of(f, "step");
    const time_t end = time(NULL) + (time_t)(86400.0 * days);
    struct tm day;
    char date[40];

    if (!(days < 36500.0) || gmtime_r(&end, &day) == NULL)
        return;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &day);
    note("started now it is done by %s, after %.3g days (%.3g to %.3g)", date,
        days, each * figure_of(f, "likely.step.low"),
        each * figure_of(f, "likely.step.high"));
}

/* Append the prediction.  Returns the share of a device's memory that the job
 * needs. */
static double
put_job(struct buf *b, const struct job *j, const struct cluster_args *a)
{
    struct figures f;

    predict(&f, j);
    figures_put(b, &f, a->in.format, "cluster", a->explain);
    note_end(&f);
    return figure_of(&f, "full");
}

/* Say whether the job fits into memory, and return the exit status: 0 up
 * to 1.5 times the memory, as plan predicts up to 1.29 times the memory for
 * published runs that did fit. */
static int
fit_status(double full, const struct job *j)
{
    if (!(full > 1.0))
        return EX_OK;
    note("%s: needs %.1f GB of a device, which has %.4g: use more of shard, "
         "recompute, tensor, pipeline or nodes, or see plan search",
        full > 1.5 ? "it does not fit" : "it may not fit",
        full * j->m.memory_gb, j->m.memory_gb);
    return full > 1.5 ? EX_SYS : EX_OK;
}

static void
check_cluster_args(const struct cluster_args *a, int several)
{
    if (!a->keys)
        request_check(&a->in, 1);
    if (several && a->changes.n > 0)
        die(EX_USAGE,
            "a sweep and --what-if are two answers: ask for one of them");
    if (a->in.format == FORMAT_BARS && !several)
        die(EX_USAGE, "--format bars needs a sweep: give a key several values");
    if (a->explain && (several || a->changes.n > 0))
        die(EX_USAGE,
            "--explain needs one prediction: give each key one value "
            "and no --what-if");
}

static int
print_cluster(const struct cluster_args *a, char **operand, size_t n)
{
    struct ranges r;
    struct job j;
    struct buf b = { 0 };
    struct err e;
    double full = 0.0;
    int several;

    request_job(&j, &a->in, &r, operand, n);
    several = ranges_swept(&r) != NULL || a->columns != NULL;
    check_cluster_args(a, several);
    if (a->keys) {
        put_keys(&b, &j, a);
    } else {
        request_shapes(&j, &a->in);
        request_note(&j, &a->in, &r);
        interval_note(&j);
        if (!several && job_check(&j, &e) < 0)
            die_err(&e);
        if (several)
            sweep_put(&b, &j, &r, a->columns, a->in.format);
        else if (a->changes.n > 0)
            what_if_put(&b, &j, a->changes.v, a->changes.n, a->in.format);
        else
            full = put_job(&b, &j, a);
    }
    out_put(b.p, b.n);
    buf_release(&b);
    ranges_free(&r);
    return fit_status(full, &j);
}

int
cluster_main(int argc, char **argv)
{
    static struct cluster_args a = { .in = REQUEST_DEFAULTS };
    const struct opt options[] = { REQUEST_MACHINE(&a.in),
        REQUEST_ANCHOR(&a.in), REQUEST_MODELS(&a.in, REQUEST_SHAPE),
        REQUEST_PASSES(&a.in, "one"), REQUEST_RATIO(&a.in),
        OPT_FORMAT(&a.in.format, table_formats),
        OPT_LIST(0, "what-if", &a.changes, "key=value,...",
            "predict also with these keys changed; may be repeated"),
        OPT_STR(0, "columns", &a.columns, "name,...",
            "figures that a table prints"),
        OPT_FLAG(0, "explain", &a.explain, "print the formula of every figure"),
        OPT_FLAG(0, "keys", &a.keys, "list the keys, their values and meaning"),
        OPT_END };
    int n, status;
    char **operand = opt_parse(argc, argv, options,
        "predict memory, time and cost of a run on many ranks",
        "[key=value ...]", 0, -1, &n);

    status = print_cluster(&a, operand, (size_t)n);
    out_done();
    return status;
}
