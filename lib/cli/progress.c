/* Progress of a job on a terminal or in a log: see progress.h */
#include "cli/progress.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/out.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Go to the first column and erase the line. */
#define WIPE "\r\033[K"

static double began; /* clock_now() when the program began */

/* The running job.  The SIGUSR1 handler, which may run at any moment, reads
 * done and extra.  So done is one atomic word, and extra has two copies, of
 * which `current` is the valid one.  Any one thread at a time may call
 * progress_at (docs/docs.h does); all else is called by the main thread. */
static struct {
    const char *what; /* NULL: no job */
    const char *unit;
    /* total: units in all; 0: unknown.  from: units done before this run.
     * began, printed: clock_now() when the job began, and at its last line.
     * left: seconds, as the caller said them; negative: by the rate. */
    double total, from, began, printed, left;
    _Atomic uint64_t done;
    char extra[2][80];
    _Atomic int current;
    atomic_int shown; /* 1: the job's line is on the terminal.  Cleared by any
                       * thread that prints a note */
} job;

/* Is stderr a terminal that can rewrite a line?  Otherwise it is a log. */
static int
on_terminal(void)
{
    static int known = -1; /* set by progress_arm, before threads start */
    const char *term;

    if (known < 0) {
        term = getenv("TERM");
        known =
            isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
    }
    return known;
}

/* Does this program own the terminal's line?  The programs of a pipe share it:
 * the last one, whose standard output is no pipe, owns it. */
static int
owns_line(void)
{
    static int known = -1; /* used by progress_at only */
    struct stat s;

    if (known < 0)
        known = fstat(STDOUT_FILENO, &s) < 0 ||
            !(S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode));
    return known;
}

/* Seconds between two lines of progress; negative: there are none. */
static double
interval(void)
{
    if (verbosity < 0)
        return -1.0;
    if (on_terminal())
        return owns_line() || verbosity > 0 ? 0.2 : -1.0;
    return verbosity > 0 ? 10.0 : 60.0;
}

static size_t
terminal_columns(void)
{
    struct winsize w;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        return 80;
    return w.ws_col;
}

const char *
progress_wipe(void)
{
    job.shown = 0;
    return on_terminal() ? WIPE : "";
}

static void
hide(void)
{
    if (job.shown)
        fputs(progress_wipe(), stderr);
}

/* Text put together without stdio, which a signal handler may not use. */
struct text {
    char s[400];
    size_t n;
};

static void
put_string(struct text *t, const char *s)
{
    while (*s != '\0' && t->n < sizeof t->s - 1)
        t->s[t->n++] = *s++;
}

static void
put_count(struct text *t, double x)
{
    char digits[24], *p = digits + sizeof digits - 1;
    uint64_t v = x > 0 && x < 1e19 ? (uint64_t)x : 0;

    *p = '\0';
    do
        *--p = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    put_string(t, p);
}

static double
job_done(void)
{
    const uint64_t bits = atomic_load(&job.done);
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

static atomic_int asked; /* any thread may run the handler */

int
progress_asked(void)
{
    return atomic_exchange(&asked, 0);
}

static void
on_usr1(int sig)
{
    const int saved = errno;
    struct text t = { .n = 0 };

    (void)sig;
    asked = 1;
    put_string(&t, on_terminal() ? WIPE : "");
    put_string(&t, progname);
    put_string(&t, ": ");
    if (job.what != NULL) {
        const char *extra = job.extra[atomic_load(&job.current)];

        put_string(&t, job.what);
        put_string(&t, " ");
        put_count(&t, job_done());
        if (job.total > 0) {
            put_string(&t, " of ");
            put_count(&t, job.total);
        }
        put_string(&t, " ");
        put_string(&t, job.unit);
        if (*extra != '\0') {
            put_string(&t, ", ");
            put_string(&t, extra);
        }
        put_string(&t, ", ");
    }
    put_string(&t, "running ");
    put_count(&t, clock_now() - began);
    put_string(&t, " s\n");
    if (write(STDERR_FILENO, t.s, t.n) < 0) {
        /* Nothing else can be done. */
    }
    errno = saved;
}

/* 1234567 -> "1.23 M" */
static const char *
human(double x, char *out, size_t n)
{
    static const char *const suffix[] = { "", " k", " M", " G", " T" };
    size_t k = 0;

    while (fabs(x) >= 999.5 && k < 4) {
        x /= 1000.0;
        k++;
    }
    if (k == 0 && x == floor(x))
        snprintf(out, n, "%.0f", x);
    else
        snprintf(out, n, "%.3g%s", x, suffix[k]);
    return out;
}

double
progress_read_left(const char *text)
{
    const char *last = NULL, *from;
    double sum = 0.0, field = 0.0; /* of the fields before, and this one */

    for (const char *p = text; (p = strstr(p, " left")) != NULL; p++)
        last = p;
    if (last == NULL)
        return 0.0;
    for (from = last; from > text && strchr(":0123456789", from[-1]) != NULL;)
        from--;
    for (; from < last; from++)
        if (*from == ':') {
            sum = 60.0 * (sum + field);
            field = 0.0;
        } else {
            field = 10.0 * field + (*from - '0');
        }
    return sum + field;
}

const char *
progress_clock(double s, char *out, size_t n)
{
    const unsigned long t = s < 3.6e8 ? (unsigned long)(s + 0.5) : 360000000;

    if (t >= 3600)
        snprintf(out, n, "%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(out, n, "%lu:%02lu", t / 60, t % 60);
    return out;
}

static int
unit_is_bytes(void)
{
    return strcmp(job.unit, "B") == 0 || strcmp(job.unit, "bytes") == 0;
}

static int
unit_is_time(void)
{
    return strcmp(job.unit, "s") == 0;
}

/* human() with the unit appended if that is bytes: "1.23 MB". */
static const char *
amount(double x, char *out, size_t n)
{
    size_t k;

    human(x, out, n);
    if (!unit_is_bytes())
        return out;
    k = strlen(out);
    snprintf(out + k, n - k, "%sB", strchr(out, ' ') ? "" : " ");
    return out;
}

/* Compose the line.  The most important parts come first, since a narrow
 * terminal cuts the end.  Returns the length of "PROG: what", which is shown
 * bold. */
static size_t
compose(char *line, size_t size, double now)
{
    const double done = job_done(), spent = now - job.began;
    const double rate = spent > 0.1 ? (done - job.from) / spent : 0.0;
    const char *extra = job.extra[atomic_load(&job.current)];
    char a[32];
    size_t n = 0, name;

#define ADD(...)                                             \
    (n += (size_t)snprintf(line + n, size - n, __VA_ARGS__), \
        n = n < size ? n : size - 1)
    ADD("%s: %s", progname, job.what);
    name = n;
    ADD(" %s", amount(done, a, sizeof a));
    if (job.total > 0)
        ADD(" of %s", amount(job.total, a, sizeof a));
    if (!unit_is_bytes())
        ADD(" %s", job.unit);
    if (job.total > 0)
        ADD(" (%.0f %%)", 100.0 * done / job.total);
    if (job.left >= 0.0 || (rate > 0 && job.total > done))
        ADD(", %s left",
            progress_clock(job.left >= 0.0 ? job.left
                                           : (job.total - done) / rate,
                a, sizeof a));
    if (*extra != '\0')
        ADD(", %s", extra);
    if (rate > 0 && !unit_is_time())
        ADD(", %s/s", amount(rate, a, sizeof a));
#undef ADD
    return name;
}

/* How many bytes of the line to show in one row of a terminal of `wide`
 * columns.  A part between commas is shown whole or not at all.  The last
 * column stays free: some terminals wrap there. */
static size_t
cut_to_width(const char *line, size_t wide)
{
    const size_t all = strlen(line), n = text_fit(line, all, wide - 1);

    for (size_t i = n; n < all && i > 0; i--)
        if (line[i] == ',')
            return i;
    return n;
}

static void
print_progress(double now)
{
    const int tty = on_terminal();
    const int bold = tty && out_colours(STDERR_FILENO);
    char raw[400], line[4 * sizeof raw];
    size_t name = compose(raw, sizeof raw, now), n;

    text_show(line, sizeof line, raw);
    n = tty ? cut_to_width(line, terminal_columns()) : strlen(line);
    if (name > n)
        name = n;
    fprintf(stderr, "%s%s%.*s%s%.*s%s", tty ? "\r" : "", bold ? "\033[1m" : "",
        (int)name, line, bold ? "\033[0m" : "", (int)(n - name), line + name,
        tty ? "\033[K" : "\n");
    job.shown = tty;
}

void
progress_begin(const char *what, double total, const char *unit)
{
    job.extra[0][0] = job.extra[1][0] = '\0';
    atomic_store(&job.done, 0);
    job.unit = unit;
    job.total = total;
    job.from = 0.0;
    job.left = -1.0;
    job.began = job.printed = clock_now();
    job.what = what;
}

static void
set_done(double done)
{
    uint64_t bits;

    memcpy(&bits, &done, sizeof bits);
    atomic_store(&job.done, bits);
}

void
progress_from(double done)
{
    job.from = done;
    set_done(done);
}

void
progress_left(double seconds)
{
    job.left = seconds;
}

void
progress_total(double total)
{
    job.total = total;
}

/* Set job.extra.  If it was empty and stays so, as in most programs, nothing is
 * written: the SIGUSR1 handler may be reading it in another thread. */
static void
set_extra(const char *extra)
{
    const int current = atomic_load(&job.current), other = !current;

    if (*extra == '\0' && *job.extra[current] == '\0')
        return;
    snprintf(job.extra[other], sizeof job.extra[other], "%s", extra);
    atomic_store(&job.current, other);
}

void
progress_at(double done, const char *extra)
{
    const double every = interval();
    double now;

    set_done(done);
    set_extra(extra != NULL ? extra : "");
    if (every < 0.0)
        return;
    now = clock_now();
    if (now - job.printed < every)
        return;
    job.printed = now;
    print_progress(now);
}

void
progress_end(void)
{
    hide();
    job.what = NULL;
}

void
progress_arm(void)
{
    struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

    began = clock_now();
    on_terminal(); /* so that the handler need not call getenv */
    sigemptyset(&sa.sa_mask);
    sigaction(SIGUSR1, &sa, NULL);
}
