/* Name, progress, closing line, signals: see prog.h */
#include "base/prog.h"
#include "base/io.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

const char *progname = "retort";
int verbosity;
volatile sig_atomic_t prog_stopped;

static char closing[500];
static double started;                  /* prog_now() when the program began */

/* The running job.  done and extra are read by the SIGUSR1 handler, which may
 * run at any point: done is one atomic word, extra one of two copies. */
static struct {
    const char *what;                   /* NULL: no job */
    const char *unit;
    double total, began, printed;
    _Atomic uint64_t done;
    char extra[2][80];
    _Atomic int current;
    int shown;                          /* a line stands on the terminal */
} job;

const char *
prog_version(void)
{
    return RETORT_VERSION;
}

const char *
prog_build(void)
{
    return RETORT_BUILD;
}

static double
seconds(clockid_t id)
{
    struct timespec t;

    if (clock_gettime(id, &t) < 0)
        return 0.0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
prog_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double
prog_cpu(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* A line of /proc/self/status in bytes, 0 if there is none. */
static size_t
status_bytes(const char *format)
{
    char line[256];
    size_t kb = 0;
    FILE *f = fopen("/proc/self/status", "r");

    if (f != NULL) {
        while (fgets(line, sizeof line, f) != NULL)
            if (sscanf(line, format, &kb) == 1)
                break;
        fclose(f);
    }
    return kb * 1024;
}

size_t
prog_resident(void)
{
    return status_bytes("VmRSS: %zu");
}

size_t
prog_peak(void)
{
    struct rusage ru;
    /* Not ru_maxrss first: it survives exec, and so shows what a fat parent
     * (a shell, mpirun) once held. */
    size_t kb = status_bytes("VmHWM: %zu") / 1024;

    if (kb == 0 && getrusage(RUSAGE_SELF, &ru) == 0)
        kb = (size_t)ru.ru_maxrss;
    return kb * 1024;
}

static void
print_note(const char *fmt, va_list ap)
{
    char msg[4096];

    vsnprintf(msg, sizeof msg, fmt, ap);
    progress_hide();
    fprintf(stderr, "%s: %s\n", progname, msg);
}

void
note(const char *fmt, ...)
{
    va_list ap;

    if (verbosity < 0)
        return;
    va_start(ap, fmt);
    print_note(fmt, ap);
    va_end(ap);
}

void
vnote(const char *fmt, ...)
{
    va_list ap;

    if (verbosity < 1)
        return;
    va_start(ap, fmt);
    print_note(fmt, ap);
    va_end(ap);
}

static void
on_stop(int sig)
{
    if (prog_stopped && sig == SIGINT) {
        io_remove_temporaries();
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
    prog_stopped = 1;
}

void
prog_catch_stop(void)
{
    struct sigaction sa = { .sa_handler = on_stop };

    /* Without SA_RESTART, so that waits look at prog_stopped. */
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

/* Text for a signal handler, where stdio is forbidden. */
struct text {
    char s[400];
    size_t n;
};

static void
put_text(struct text *t, const char *s)
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
    put_text(t, p);
}

static double
job_done(void)
{
    const uint64_t bits = atomic_load(&job.done);
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

static void
on_usr1(int sig)
{
    const int saved = errno;
    struct text t = { .n = 0 };

    (void)sig;
    put_text(&t, job.shown ? "\n" : "");
    put_text(&t, progname);
    put_text(&t, ": ");
    if (job.what != NULL) {
        const char *extra = job.extra[atomic_load(&job.current)];

        put_text(&t, job.what);
        put_text(&t, " ");
        put_count(&t, job_done());
        if (job.total > 0) {
            put_text(&t, " of ");
            put_count(&t, job.total);
        }
        put_text(&t, " ");
        put_text(&t, job.unit);
        if (*extra != '\0') {
            put_text(&t, ", ");
            put_text(&t, extra);
        }
        put_text(&t, ", ");
    }
    put_text(&t, "running ");
    put_count(&t, prog_now() - started);
    put_text(&t, " s\n");
    if (write(STDERR_FILENO, t.s, t.n) < 0) {
        /* Nobody is left to be told. */
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

/* 75 -> "1:15" */
static const char *
clock_text(double s, char *out, size_t n)
{
    const unsigned long t = s < 3.6e8 ? (unsigned long)(s + 0.5) : 360000000;

    if (t >= 3600)
        snprintf(out, n, "%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(out, n, "%lu:%02lu", t / 60, t % 60);
    return out;
}

/* -1 unknown, 0 a log, 1 a terminal that can rewrite a line. */
static int
on_terminal(void)
{
    static int known = -1;
    const char *term;

    if (known < 0) {
        term = getenv("TERM");
        known = isatty(STDERR_FILENO) && term != NULL
            && strcmp(term, "dumb") != 0;
    }
    return known;
}

void
progress_hide(void)
{
    if (job.shown) {
        fputs("\r\033[K", stderr);
        job.shown = 0;
    }
}

static int
unit_is_bytes(void)
{
    return strcmp(job.unit, "B") == 0 || strcmp(job.unit, "bytes") == 0;
}

/* human() of the job's unit; of bytes "1.23 MB", else without the unit. */
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

static void
print_progress(double now)
{
    const double done = job_done(), spent = now - job.began;
    const double rate = spent > 0.1 ? done / spent : 0.0;
    const char *extra = job.extra[atomic_load(&job.current)];
    const char *colour = getenv("NO_COLOR");
    const int tty = on_terminal();
    const int bold = tty && (colour == NULL || *colour == '\0');
    char line[400], a[32];
    size_t n = 0;

#define ADD(...) \
    (n += (size_t)snprintf(line + n, sizeof line - n, __VA_ARGS__), \
        n = n < sizeof line ? n : sizeof line - 1)
    ADD("%s%s: %s%s", bold ? "\033[1m" : "", progname, job.what,
        bold ? "\033[0m" : "");
    ADD(" %s", amount(done, a, sizeof a));
    if (job.total > 0)
        ADD(" of %s", amount(job.total, a, sizeof a));
    if (!unit_is_bytes())
        ADD(" %s", job.unit);
    if (job.total > 0)
        ADD(" (%.0f %%)", 100.0 * done / job.total);
    if (rate > 0)
        ADD(", %s/s", amount(rate, a, sizeof a));
    if (*extra != '\0')
        ADD(", %s", extra);
    if (rate > 0 && job.total > done)
        ADD(", %s left", clock_text((job.total - done) / rate, a, sizeof a));
#undef ADD
    fprintf(stderr, tty ? "\r%s\033[K" : "%s\n", line);
    job.shown = tty;
}

void
progress_begin(const char *what, double total, const char *unit)
{
    job.extra[0][0] = job.extra[1][0] = '\0';
    atomic_store(&job.done, 0);
    job.unit = unit;
    job.total = total;
    job.began = job.printed = prog_now();
    job.what = what;
}

void
progress_at(double done, const char *extra)
{
    const int other = !atomic_load(&job.current);
    uint64_t bits;
    double now;

    memcpy(&bits, &done, sizeof bits);
    atomic_store(&job.done, bits);
    snprintf(job.extra[other], sizeof job.extra[other], "%s",
        extra != NULL ? extra : "");
    atomic_store(&job.current, other);
    if (verbosity < 0 || (!on_terminal() && verbosity < 1))
        return;
    now = prog_now();
    if (now - job.printed < (on_terminal() ? 0.2 : 10.0))
        return;
    job.printed = now;
    print_progress(now);
}

void
progress_end(void)
{
    progress_hide();
    job.what = NULL;
}

void
prog_closing(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(closing, sizeof closing, fmt, ap);
    va_end(ap);
}

static void
print_closing(void)
{
    progress_hide();
    if (verbosity < 0)
        return;
    fprintf(stderr, "%s %s: %s%swall %.1f s, cpu %.1f s, peak %.1f MB\n",
        progname, prog_version(), closing, *closing != '\0' ? ", " : "",
        prog_now() - started, prog_cpu(), (double)prog_peak() / 1e6);
}

void
prog_begin(void)
{
    static int armed;
    struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

    started = prog_now();
    sigemptyset(&sa.sa_mask);
    sigaction(SIGUSR1, &sa, NULL);
    if (!armed)
        atexit(print_closing);
    armed = 1;
}
