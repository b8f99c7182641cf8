/* report watch: the figures and losses of runs, in a terminal. */
#include "watch.h"
#include "plot.h"
#include "run.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/median.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "format/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RUNS = 26,   /* at most: each has a letter */
    RECENT = 50, /* last steps, for time left, KL and speed */
    NAME = 14    /* columns of a run's name */
};

struct watched {
    const char *dir;
    struct log log;
    double total;  /* steps of the whole run; NAN: not known */
    int ended;     /* the run said that it ended */
    int locked;    /* the folder has a student's lock: it runs or was killed */
    double silent; /* seconds since its log grew */
};

/* ---- reading ---- */

/* Read how many steps the run has, and whether it ended. */
static void
read_length(struct watched *w, const char *dir)
{
    char *path = xasprintf("%s/options.json", dir);
    json_t *all = js_load(path, JS_MAX, NULL);
    const json_t *steps = json_object_get(json_object_get(all, "run"), "steps");

    w->total = json_is_integer(steps) ? (double)json_integer_value(steps) : NAN;
    if (w->total <= 0.0)
        w->total = NAN;
    w->ended = json_object_get(all, "finished") != NULL;
    json_decref(all);
    free(path);
}

static void
read_watched(struct watched *w)
{
    char *dir = run_folder(w->dir, "/distilled");
    char *path = xasprintf("%s/metrics.tsv", dir);
    char *lock = xasprintf("%s/" DIR_LOCK, dir);
    const char *slash = strrchr(w->dir, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : w->dir;
    struct stat st;
    struct err e;

    log_release(&w->log);
    w->locked = io_exists(lock);
    read_length(w, dir);
    /* Read last: the log of a run that has ended is whole. */
    if (log_read(&w->log, dir, name, &e) < 0)
        die_err(&e);
    if (stat(path, &st) == 0)
        w->silent = difftime(time(NULL), st.st_mtime);
    free(path);
    free(lock);
    free(dir);
}

/* ---- figures ---- */

/* Median of the finite values among the last n of a column; NAN: none is. */
static double
recent_median(const struct log *g, int column, size_t n)
{
    double *v = xreallocarray(NULL, n + 1, sizeof *v), m;
    size_t k = 0;

    n = n < g->n ? n : g->n;
    for (size_t i = g->n - n; i < g->n; i++)
        if (isfinite(g->v[column][i]))
            v[k++] = g->v[column][i];
    m = median(v, k);
    free(v);
    return m;
}

/* A step stalled if it took at least three times the median of all steps.
 * Returns the seconds that such steps took beyond the median, summed. */
static double
stalled_seconds(const struct log *g)
{
    const double usual = recent_median(g, SECONDS, g->n);
    double sum = 0.0;

    for (size_t i = 0; i < g->n; i++)
        if (g->v[SECONDS][i] >= 3.0 * usual)
            sum += g->v[SECONDS][i] - usual;
    return sum;
}

/* Append a number in at least 8 columns; a hyphen if it is not finite. */
static void
add_figure(struct buf *b, const char *format, double v)
{
    char text[40];

    snprintf(text, sizeof text, format, v);
    buf_addf(b, " %8s", isfinite(v) ? text : "-");
}

/* Append what the run is doing: time left, or that it ended, stopped or is
 * silent. */
static void
add_state(struct buf *b, const struct watched *w)
{
    const double step = recent_median(&w->log, SECONDS, RECENT);
    const double done = w->log.n > 0 ? w->log.v[STEP][w->log.n - 1] : 0.0;
    char text[40];

    if (w->ended || (w->log.n > 0 && done >= w->total)) {
        buf_adds(b, "  ended");
    } else if (!w->locked) {
        buf_adds(b, "  stopped");
    } else if (w->silent > 60.0 + 10.0 * (isfinite(step) ? step : 0.0)) {
        buf_addf(b, "  silent %s",
            progress_clock(w->silent, text, sizeof text));
    } else if (isfinite(step * (w->total - done))) {
        buf_addf(b, "  %s",
            progress_clock(step * (w->total - done), text, sizeof text));
    } else {
        buf_adds(b, "  runs");
    }
}

static void
add_run(struct buf *b, const struct watched *w, char letter)
{
    const struct log *g = &w->log;
    char name[NAME + 1], steps[40];
    const double kl = recent_median(g, KL, RECENT);

    text_show(name, sizeof name, g->n > 0 ? g->name : w->dir);
    buf_addf(b, "%c %-*s", letter, NAME, name);
    if (g->n == 0) {
        buf_adds(b, " no step yet\n");
        return;
    }
    snprintf(steps, sizeof steps, isfinite(w->total) ? "%.0f/%.0f" : "%.0f",
        g->v[STEP][g->n - 1], w->total);
    buf_addf(b, " %11s", steps);
    add_figure(b, "%.4f", recent_median(g, LOSS, 10));
    add_figure(b, "%.4f",
        g->nheld > 0 ? g->held[HELD_LOSS][g->nheld - 1] : NAN);
    add_figure(b, "%.4f", kl != 0.0 ? kl : NAN);
    add_figure(b, "%.4g", recent_median(g, SPEED, RECENT));
    add_figure(b, "%.1f", stalled_seconds(g));
    add_state(b, w);
    buf_addc(b, '\n');
}

/* If run w and the first run saw the same batches, append the mean of w's loss
 * less the first run's, over the second half of their common steps. */
static void
add_difference(struct buf *b, const struct watched *first,
    const struct watched *w, char letter)
{
    const struct log *x = &first->log, *y = &w->log;
    const size_t n = x->n < y->n ? x->n : y->n, from = n / 2;
    double sum = 0.0, squares = 0.0, mean, se;

    for (size_t i = 0; i < n; i++)
        if (x->v[STEP][i] != y->v[STEP][i] ||
            x->v[TOKENS][i] != y->v[TOKENS][i] ||
            x->v[SCORED][i] != y->v[SCORED][i])
            return;
    if (n < 4)
        return;
    for (size_t i = from; i < n; i++) {
        const double d = y->v[LOSS][i] - x->v[LOSS][i];

        sum += d;
        squares += d * d;
    }
    mean = sum / (double)(n - from);
    se = sqrt(fmax(0.0, squares / (double)(n - from) - mean * mean) /
        (double)(n - from - 1));
    buf_addf(b, "%c - a: loss %+.4f +- %.4f, same batches, steps %zu to %zu\n",
        letter, mean, 1.96 * se, from + 1, n);
}

/* ---- the screen ---- */

static void
draw_screen(struct buf *b, const struct watched *w, size_t n, size_t columns,
    size_t rows)
{
    struct plot p = { .columns = columns };

    buf_addf(b, "  %-*s %11s %8s %8s %8s %8s %8s  left\n", NAME, "run", "step",
        "loss", "held-out", "KL", "tokens/s", "stalls,s");
    for (size_t i = 0; i < n; i++)
        add_run(b, &w[i], (char)('a' + i));
    for (size_t i = 1; i < n; i++)
        add_difference(b, &w[0], &w[i], (char)('a' + i));
    p.rows = rows > 2 * n + 8 ? rows - 2 * n - 4 : 4;
    p.rows = p.rows > 20 ? 20 : p.rows;
    for (size_t i = 0; i < n; i++)
        plot_line(&p, w[i].log.v[STEP], w[i].log.v[LOSS], w[i].log.n,
            (char)('a' + i));
    plot_draw(b, &p, "loss");
}

static void
screen_size(size_t *columns, size_t *rows)
{
    struct winsize w;

    *columns = 80;
    *rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20) {
        *columns = w.ws_col;
        *rows = w.ws_row;
    }
}

/* Draw once; returns whether a run goes on. */
static int
watch_once(struct watched *w, size_t n, int clear)
{
    struct buf b = { 0 };
    size_t columns, rows;
    int on = 0;

    for (size_t i = 0; i < n; i++) {
        read_watched(&w[i]);
        on |= !w[i].ended && w[i].locked;
    }
    screen_size(&columns, &rows);
    if (clear)
        buf_adds(&b, "\033[H\033[J");
    draw_screen(&b, w, n, columns, rows);
    out_put(b.p, b.n);
    buf_release(&b);
    return on;
}

int
watch_main(int argc, char **argv)
{
    static int once;
    static double every = 2.0;
    const struct opt options[] = { OPT_FLAG(0, "once", &once,
                                       "draw once and end"),
        OPT_TIME(0, "every", &every, 0.1, 86400, "time",
            "time from one drawing to the next"),
        OPT_END };
    static struct watched w[RUNS];
    int n;

    argv = opt_parse(argc, argv, options,
        "show runs in the terminal while they train", "run ...", 1, RUNS, &n);
    for (int i = 0; i < n; i++) {
        struct stat st;

        w[i].dir = argv[i];
        if (stat(argv[i], &st) != 0 || !S_ISDIR(st.st_mode))
            die(EX_INPUT, "%s: is no folder of a run", argv[i]);
    }
    once |= !isatty(STDOUT_FILENO);
    prog_catch_stop();
    while (watch_once(w, (size_t)n, !once) && !once && !stop_asked) {
        const struct timespec t = { (time_t)every,
            (long)(fmod(every, 1.0) * 1e9) };

        nanosleep(&t, NULL);
    }
    out_done();
    for (int i = 0; i < n; i++)
        log_release(&w[i].log);
    return EX_OK;
}
