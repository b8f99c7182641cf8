/* Name, messages, closing line, signals: see prog.h */
#include "cli/prog.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    CLOSING = 500, /* bytes of each part of the closing line */
    PATIENCE = 2   /* see prog_catch_stop, seconds */
};

static char closing[CLOSING], detail[CLOSING];
static double started; /* clock_now() when the program began */
/* These are atomic because any thread may run the signal handler. */
static _Atomic double stopped_at; /* clock_now() when the first signal to stop
                                   * came; 0: none has come */
static atomic_int saving;         /* 1: a result is being saved */
static atomic_int deferring;      /* 1: see prog_defer_stop */
static atomic_int deferred;       /* a signal that came meanwhile and is not yet
                                   * in stop_asked; 0: none */

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

/* Bytes that a line of /proc/self/status tells; 0: there is no such line. */
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

void
prog_rank(size_t rank)
{
    if (rank == 0)
        return;
    progname = xasprintf("%s[%zu]", progname, rank);
    verbosity = -1;
}

size_t
prog_peak(void)
{
    struct rusage ru;
    /* ru_maxrss is second choice: exec does not reset it, so it may be the peak
     * of a large parent, such as mpirun. */
    size_t kb = status_bytes("VmHWM: %zu") / 1024;

    if (kb == 0 && getrusage(RUSAGE_SELF, &ru) == 0)
        kb = (size_t)ru.ru_maxrss;
    return kb * 1024;
}

void
prog_say(const char *msg)
{
    char raw[4200], line[sizeof raw + 200];

    snprintf(raw, sizeof raw, "%s: %s", progname, msg);
    text_show(line, sizeof line, raw);
    /* A single write for the whole line: other processes share the terminal. */
    fprintf(stderr, "%s%s\n", progress_wipe(), line);
}

static void
on_stop(int sig)
{
    const double now = clock_now();
    double first = 0.0;

    if (atomic_compare_exchange_strong(&stopped_at, &first, now)) {
        if (deferring) {
            deferred = sig;
            alarm(PROG_DEFER);
        } else {
            stop_asked = sig;
        }
        return;
    }
    if (deferred == 0)
        stop_asked = sig;
    else if (sig == SIGALRM || now - first >= PATIENCE)
        stop_asked = deferred;
    if (sig == SIGINT && !atomic_load(&saving) && now - first >= PATIENCE) {
        io_remove_temporaries();
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
}

void
prog_saving(int on)
{
    atomic_store(&saving, on);
}

void
prog_catch_stop(void)
{
    struct sigaction sa = { .sa_handler = on_stop };

    /* no SA_RESTART: a signal interrupts waits, which then look at
     * stop_asked */
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGUSR2, &sa, NULL);
}

void
prog_defer_stop(int on)
{
    const struct sigaction sa = { .sa_handler = on_stop };

    if (on)
        sigaction(SIGALRM, &sa, NULL);
    deferring = on;
    if (on && stop_asked != 0) {
        deferred = stop_asked;
        stop_asked = 0;
        alarm(PROG_DEFER);
    }
    if (on || deferred == 0)
        return;
    alarm(0);
    stop_asked = deferred;
}

int
prog_stop_deferred(void)
{
    return deferred;
}

void
prog_stop_after(double seconds)
{
    const double left = started + seconds - clock_now();
    const double whole = left > 0.0 ? floor(left) : 0.0;
    const double part = left > 0.0 ? left - whole : 0.0;
    const struct sigaction sa = { .sa_handler = on_stop };
    /* at least 1 us, since {0, 0} would disarm the timer */
    const struct itimerval t = { .it_value = { (time_t)whole,
                                     1 + (suseconds_t)(part * 999998.0) } };

    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
}

static void
set_text(char *to, size_t n, const char *fmt, va_list ap)
{
    char text[CLOSING];

    vsnprintf(text, sizeof text, fmt, ap);
    text_show(to, n, text);
}

void
prog_closing(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_text(closing, sizeof closing, fmt, ap);
    va_end(ap);
}

void
prog_detail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_text(detail, sizeof detail, fmt, ap);
    va_end(ap);
}

static void
print_closing(void)
{
    const char *more = verbosity > 0 ? detail : "";

    if (verbosity < 0)
        return;
    fprintf(stderr, "%s%s %s: %s%s%s%swall %.1f s, cpu %.1f s, peak %.1f MB\n",
        progress_wipe(), progname, prog_version(), closing,
        *closing != '\0' ? ", " : "", more, *more != '\0' ? ", " : "",
        clock_now() - started, clock_cpu(), (double)prog_peak() / 1e6);
}

static void
memory_is_out(const char *msg)
{
    prog_say(msg);
    exit(EX_SYS);
}

void
prog_listen(void)
{
    note_sink = prog_say;
    mem_handler = memory_is_out;
}

void
prog_begin(void)
{
    static int armed;

    started = clock_now();
    progress_arm();
    if (!armed)
        atexit(print_closing);
    armed = 1;
}
