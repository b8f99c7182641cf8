/* Three lines about a run; see answer.h. */
#include "answer.h"
#include "predict.h"
#include "speed.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/quota.h"
#include "cli/die.h"
#include "cli/place.h"
#include "kern/kern.h"
#include "model/pass/compute.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* The rows of a batch that one machine trains on. */
static size_t
node_rows(const struct process *p)
{
    const size_t nodes = process_ranks(p);

    return (p->in.rows + nodes - 1) / nodes;
}

/* ---- memory ---- */

/* Options that reduce a run's memory, in the order in which they are tried:
 * those that change the result least come first. */
static const struct {
    const char *program, *text;
    size_t at; /* offset of an int in struct process */
} smaller[] = { { "teacher", "--final", offsetof(struct process, final) },
    { "student", "--recompute", offsetof(struct process, in.recompute) },
    { "student", "--act bf16", offsetof(struct process, act) },
    { "student", "--moments bf16", offsetof(struct process, moments) },
    { "student", "--grad bf16", offsetof(struct process, grad) } };
enum { SMALLER = sizeof smaller / sizeof *smaller };

/* Predict a run without notes, which the first prediction printed.  Returns the
 * bytes of its programs. */
static double
run_bytes(struct figures *f, const struct process *p)
{
    const int said = verbosity;

    verbosity = -1;
    f->n = 0;
    process_predict(f, p);
    verbosity = said;
    return figure_of(f, "run.memory");
}

/* Halve the batch of p until the run takes at most `limit` bytes; each machine
 * keeps at least one row.  Returns 1, or 0 if one row a machine is still too
 * much; p is then unchanged. */
static int
take_fewer_rows(struct process *p, double limit)
{
    const size_t all = p->in.rows;
    struct figures f;

    while ((double)p->in.rows / 2.0 >= fmax(1.0, p->network.nodes)) {
        p->in.rows /= 2;
        if (run_bytes(&f, p) <= limit)
            return 1;
    }
    p->in.rows = all;
    return 0;
}

/* A teacher keeps all its blocks in memory, not one at a time, if a machine has
 * fewer than PLAN_WINDOW_TOKENS tokens of a batch.  Raise p's batch to that
 * many tokens.  Returns 1 if the run then takes at most `limit` bytes.  If not,
 * or if the batch is that large already, returns 0, and p is unchanged. */
static int
take_more_rows(struct process *p, double limit)
{
    const size_t all = p->in.rows, nodes = (size_t)p->network.nodes;
    struct figures f;

    if (p->in.teacher == NULL || node_rows(p) * p->in.T >= PLAN_WINDOW_TOKENS)
        return 0;
    p->in.rows = nodes * ((PLAN_WINDOW_TOKENS + p->in.T - 1) / p->in.T);
    if (run_bytes(&f, p) <= limit)
        return 1;
    p->in.rows = all;
    return 0;
}

/* Append an option, after its program's name if *last, the program of the
 * option before, is another one or NULL. */
static void
put_option(struct buf *b, const char **last, const char *program,
    const char *text)
{
    if (*last == NULL || strcmp(*last, program) != 0)
        buf_addf(b, "%s %s", *last == NULL ? "" : " and", program);
    buf_addf(b, " %s", text);
    *last = program;
}

/* Search for options with which the run takes at most `limit` bytes: first in
 * the table `smaller`, then with another batch too.
 * Returns 1 if there are such options.  *options is then their text in a
 * command, such as " student --act bf16", and *less the run with them; options
 * that the others make superfluous are left out.
 * Returns 0 if even all options of the table do not suffice; *less is then the
 * run with all of them. */
static int
find_remedy(struct buf *options, struct process *less, const struct process *p,
    double limit)
{
    struct figures f;
    int *set[SMALLER], fits = 0;
    size_t n = 0, at[SMALLER];
    const char *last = NULL;

    options->n = 0;
    *less = *p;
    less->measure = 0;
    for (size_t i = 0; !fits && i < SMALLER; i++) {
        int *value = (int *)(void *)((char *)less + smaller[i].at);

        if (*value != 0 ||
            (value == &less->final &&
                (p->in.teacher == NULL || p->in.top > 0)) ||
            (value == &less->grad && p->effective.of > 0))
            continue;
        *value = 1;
        set[n] = value;
        at[n++] = i;
        fits = run_bytes(&f, less) <= limit;
    }
    if (!fits &&
        (fits = take_fewer_rows(less, limit) || take_more_rows(less, limit))) {
        char *rows = xasprintf("-B %zu", less->in.rows);

        put_option(options, &last, "stream", rows);
        free(rows);
    }
    for (size_t i = 0; fits && i < n; i++) {
        *set[i] = 0;
        if (run_bytes(&f, less) <= limit)
            continue;
        *set[i] = 1;
        put_option(options, &last, smaller[at[i]].program, smaller[at[i]].text);
    }
    return fits;
}

/* Append how large a student would fit, for a run that no option makes fit.
 * less: the run with all options of the table `smaller`. */
static void
put_too_large(struct buf *b, const struct process *less, double limit)
{
    struct figures f;
    const double all = run_bytes(&f, less);
    const double state = figure_of(&f, "memory.weights") +
        figure_of(&f, "memory.moments") + figure_of(&f, "memory.gradients");
    const double most = (limit - (all - state)) / state;

    buf_addf(b, "does not fit in %.1f GB, whatever the options", limit * 1e-9);
    if (most > 0.0)
        buf_addf(b, ": take a student of about %.2g billion parameters",
            1e-9 * most * figure_of(&f, "parameters"));
    else
        buf_adds(b, ": take smaller models");
}

static void
put_remedy(struct buf *b, const struct buf *options, const struct process *less)
{
    struct figures f;

    buf_addf(b, "%s: %.1f GB", options->p, 1e-9 * run_bytes(&f, less));
}

static void
put_memory(struct buf *b, const struct figures *f, const struct process *p)
{
    const struct memory here = quota_memory("");
    const double given = 1e9 * p->network.m.memory_gb; /* 0: not given */
    const double limit = given > 0.0 ? given : (double)here.all;
    const double left = given > 0.0 ? given : (double)here.available;
    const char *of = given > 0.0 ? "of memory_gb" : "that are available";
    struct process less;
    const struct programs m = process_programs(f);
    const double all = figure_of(f, "run.memory");
    struct buf options = { 0 };

    buf_addf(b, "memory  %.2f GB in all: student %.2f", all * 1e-9,
        m.student * 1e-9);
    if (m.teacher > 0.0)
        buf_addf(b, ", teacher %.2f%s", m.teacher * 1e-9,
            node_rows(p) * p->in.T >= PLAN_WINDOW_TOKENS
                ? " (a block at a time)"
                : "");
    buf_addf(b, ", stream %.2f; ", m.stream * 1e-9);
    if (all > limit && find_remedy(&options, &less, p, left)) {
        buf_addf(b, "does not fit in the %.1f GB %s; with", left * 1e-9, of);
        put_remedy(b, &options, &less);
    } else if (all > limit && find_remedy(&options, &less, p, limit)) {
        buf_addf(b,
            "does not fit in %.1f GB; it does, if other programs end, "
            "with",
            limit * 1e-9);
        put_remedy(b, &options, &less);
    } else if (all > limit) {
        put_too_large(b, &less, limit);
    } else if (all <= left) {
        buf_addf(b, "fits in the %.1f GB %s", left * 1e-9, of);
    } else {
        buf_addf(b,
            "fits in %.1f GB, but only %.1f are available: end other programs",
            limit * 1e-9, left * 1e-9);
        if (find_remedy(&options, &less, p, left)) {
            buf_adds(b, ", or run");
            put_remedy(b, &options, &less);
        }
    }
    buf_addc(b, '\n');
    buf_release(&options);
}

/* ---- time ---- */

/* Seconds of a step without exchanges: likely, and a range. */
struct seconds {
    double likely, low, high;
    const char *how;
};

/* Predict the seconds of a step from this machine's speeds, which plan
 * calibrate measured and stored.  compute: index in compute_names. */
static struct seconds
calibrated_step(const struct process *p, int compute)
{
    struct request in = p->in;
    struct ranges none;
    struct figures f;
    struct job j;

    in.machine = "this";
    in.anchor = NULL;
    request_job(&j, &in, &none, NULL, 0);
    ranges_free(&none);
    j.batch = (double)node_rows(p);
    j.micro = (double)plan_micro(in.micro, node_rows(p), in.T);
    j.batch = ceil(j.batch / j.micro) * j.micro;
    j.compute = compute != 0 ? COMPUTE_BF16 : COMPUTE_F32;
    request_shapes(&j, &in);
    predict(&f, &j);
    return (struct seconds){ figure_of(&f, "step"),
        figure_of(&f, "likely.step.low"), figure_of(&f, "likely.step.high"),
        "measured by plan calibrate" };
}

/* Measure the TFLOP/s of matrix products on p's threads, as if no other program
 * ran.  *busy becomes 1 if others do run.  The threads then seldom run at the
 * same time, so one thread is measured, and its speed multiplied by their
 * number. */
static double
product_speed(const struct process *p, int compute, int *busy)
{
    enum { BUSY_TRIES = 4 };
    const size_t rows = compute == 0 ? 128 : 512; /* a pass is short */
    const struct clock_shares before = clock_shares();
    struct pool *pool = setup_rank_pool(p->threads);
    const double threads = (double)pool_size(pool);
    double speed;

    kern_compute(compute_names[compute]);
    speed = speed_fastest(pool, rows);
    pool_free(pool);
    *busy = clock_waited(&before) > BUSY_SHARE;
    if (*busy) {
        pool = setup_rank_pool(1);
        for (int i = 0; i < BUSY_TRIES; i++)
            speed = fmax(speed, threads * speed_fastest(pool, rows));
        pool_free(pool);
    }
    kern_compute(compute_names[p->compute]);
    return speed;
}

/* Are products of type compute_names[compute] computed by AMX here? */
static int
is_amx(int compute)
{
    const char *name = compute_names[compute];

    name = strcmp(name, "bf16") == 0 ? kern_fastest() : name;
    return strcmp(name, "amx") == 0;
}

/*
 * Predict the time from the operations of a step and the speed of one matrix
 * product, which is measured now.  A whole step is slower than that product, as
 * its products have other sizes and it does more than products.  These shares
 * of the speed were measured:
 *   fp32         0.81 SmolLM2-135M, 0.77 Qwen2.5 0.5B (Xeon with AMX)
 *   AMX          0.6 SmolLM2-135M, 0.57 Qwen2.5 0.5B (Xeon with AMX)
 *   AVX512-BF16  0.8 SmolLM2-135M (Zen 4)
 * The range is from half to twice the predicted time.
 */
static struct seconds
estimated_step(const struct figures *f, const struct process *p, int compute)
{
    const double rate = is_amx(compute) ? 0.6 : 0.8;
    const double teacher = figure_of(f, "teacher.token.forward");
    const double again = p->in.recompute ? figure_of(f, "token.forward") : 0.0;
    const double flop = (double)(node_rows(p) * p->in.T) *
        (figure_of(f, "token.train") + again +
            (isfinite(teacher) ? teacher : 0.0));
    int busy;
    const double s = flop / (1e12 * rate * product_speed(p, compute, &busy));

    return (struct seconds){ s, UNKNOWN_LOW * s, UNKNOWN_HIGH * s,
        busy ? "estimated as if no other program ran (plan measure says better)"
             : "estimated (plan measure says better)" };
}

static struct seconds
predicted_step(const struct figures *f, const struct process *p, int compute)
{
    char *kept = machine_kept();
    const int is_kept = kept != NULL && io_exists(kept);

    free(kept);
    return is_kept ? calibrated_step(p, compute)
                   : estimated_step(f, p, compute);
}

/* Append the time of a whole run, rounded to about two digits: the range of a
 * prediction is wider than that. */
static void
put_run_time(struct buf *b, const struct figures *f, double step)
{
    const double s = figure_of(f, "run.steps") * step;

    if (s < 120.0)
        buf_addf(b, "%.0f s", s);
    else if (s < 120.0 * 60.0)
        buf_addf(b, "%.0f min", s / 60.0);
    else if (s < 72.0 * 3600.0)
        buf_addf(b, s < 36000.0 ? "%.1f h" : "%.0f h", s / 3600.0);
    else
        buf_addf(b, s < 864000.0 ? "%.1f days" : "%.0f days", s / 86400.0);
}

/* Append what the nodes send and wait for, if there are several.  work: seconds
 * of a step without waits. */
static void
put_network(struct buf *b, const struct figures *f, const struct process *p,
    double work)
{
    const struct job *j = &p->network;
    const double alone = work * (double)p->in.rows / (double)node_rows(p);
    struct figures own = { .n = 0 };
    double exchange, least;

    if (!(j->nodes > 1.0))
        return;
    network_add(&own, j, figure_of(f, "parameters"));
    network_working(&own, j, work);
    exchange = figure_of(&own, "exchange.time");
    least = figure_of(&own, "sync.least");
    buf_addf(b,
        "network %.0f machines like this one, with %zu of the rows each, send "
        "%.3g GB over %.3g Gbit/s in %.3g s ",
        j->nodes, node_rows(p), figure_of(&own, "exchange.bytes") * 1e-9,
        8.0 * j->m.net_gbs, exchange);
    if (j->sync > 1.0)
        buf_addf(b, "every %.0f steps", j->sync);
    else
        buf_adds(b, "every step");
    buf_addf(b, ", and wait for %.0f %% of the time",
        100.0 * (1.0 - figure_of(&own, "working")));
    if (least > fmax(1.0, j->sync)) {
        buf_addf(b, "; with sync=%.0f (student --sync-every): ", least);
        put_run_time(b, f, work + exchange / least);
        if (!(j->sync > 1.0))
            buf_addf(b, " and %.2f GB more", 4e-9 * figure_of(f, "parameters"));
    }
    buf_addf(b, "; one of them alone%s: ",
        alone < work + network_step(&own, j) ? " is faster" : "");
    put_run_time(b, f, alone);
    buf_addc(b, '\n');
}

/* The seconds of a step that plan measure has timed.  If other programs ran,
 * the lower end of the range is the time without them. */
static struct seconds
measured_step(const struct figures *f, double step)
{
    const double waited = figure_of(f, "time.waited");

    if (waited > BUSY_SHARE)
        return (struct seconds){ step, ANCHOR_LOW * (1.0 - waited) * step,
            ANCHOR_HIGH * step, "measured, beside other programs" };
    return (struct seconds){ step, ANCHOR_LOW * step, ANCHOR_HIGH * step,
        "measured" };
}

/* Append the time of the run, and its range. */
static void
put_seconds(struct buf *b, const struct figures *f, const struct seconds *s,
    double waits)
{
    put_run_time(b, f, s->likely + waits);
    buf_adds(b, " (");
    put_run_time(b, f, s->low + waits);
    buf_adds(b, " to ");
    put_run_time(b, f, s->high + waits);
    buf_addc(b, ')');
}

static void
put_time(struct buf *b, const struct figures *f, const struct process *p)
{
    const double waits = network_step(f, &p->network);
    const double step = figure_of(f, "time.step") - waits;
    const struct seconds s = isfinite(step) ? measured_step(f, step)
                                            : predicted_step(f, p, p->compute);

    buf_addf(b, "time    %.0f steps of %zu x %zu tokens%s, %s: ",
        figure_of(f, "run.steps"), p->in.rows, p->in.T,
        p->in.teacher != NULL ? ", with the teacher's part" : "", s.how);
    put_seconds(b, f, &s, waits);
    /* a step measured beside other programs is not comparable */
    if (p->chosen && p->compute != 0 &&
        !(figure_of(f, "time.waited") > BUSY_SHARE)) {
        const struct seconds slow = predicted_step(f, p, 0);

        buf_addf(b,
            " with --compute %s, as retort distil has it here; student without "
            "--compute takes f32%s%s: ",
            compute_names[p->compute], isfinite(step) ? ", " : "",
            isfinite(step) ? slow.how : "");
        put_seconds(b, f, &slow, waits);
    }
    buf_addc(b, '\n');
    put_network(b, f, p, s.likely);
}

/* ---- disk ---- */

enum { KEPT = 3 }; /* checkpoints of student --keep, and one being written */

/* Bytes that are free on the disk of the current folder, or NaN. */
static double
free_here(void)
{
    struct statvfs s;

    return statvfs(".", &s) < 0 ? NAN : (double)s.f_bavail * (double)s.f_frsize;
}

static void
put_disk(struct buf *b, const struct figures *f, const struct process *p)
{
    const double one =
        figure_of(f, "memory.weights") + figure_of(f, "memory.moments");
    const double ids = figure_of(f, "run.disk.ids"), there = free_here();
    const double fetched = figure_sum(f, "run.disk.fetched");
    const double all = KEPT * one + ids + fetched;
    const double stored =
        figure_of(f, p->in.top > 0 ? "run.disk.top" : "run.disk.final") - ids;

    buf_addf(b, "disk    %.2f GB: %d checkpoints of %.2f GB, tokens %.2f GB",
        all * 1e-9, KEPT, one * 1e-9, ids * 1e-9);
    if (fetched > 0.0)
        buf_addf(b, ", models to fetch %.2f GB", fetched * 1e-9);
    if (isfinite(there))
        buf_addf(b, "; %s the %.1f GB that are free here",
            all > there ? "does not fit in" : "fits in", there * 1e-9);
    if (all > there)
        buf_addf(b, ", %s student --keep 1: %.2f GB",
            all - one > there ? "nor with" : "but with", (all - one) * 1e-9);
    if (isfinite(stored))
        buf_addf(b,
            "; to store the teacher's targets, for further runs, takes %.2f GB "
            "more%s",
            stored * 1e-9,
            all <= there && all + stored > there
                ? ", for which there is no room"
                : "");
    if (isfinite(stored) && p->in.top == 0)
        buf_addf(b, " (by --top %d: %.2f)", PROCESS_TOP,
            (figure_of(f, "run.disk.top") - ids) * 1e-9);
    buf_addc(b, '\n');
}

void
answer_put(struct buf *b, const struct figures *f, const struct process *p)
{
    buf_addc(b, '\n');
    put_memory(b, f, p);
    put_time(b, f, p);
    put_disk(b, f, p);
}
