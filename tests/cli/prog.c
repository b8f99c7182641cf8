/* lib/cli: what a program says to people.  With an argument this is a program
 * that does one thing, for tests/rules/prog.sh; without, a unit test. */
#define _GNU_SOURCE /* syscall */
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/thread.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "../lib/tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void
nap(double s)
{
    const struct timespec t = { (time_t)s, (long)((s - floor(s)) * 1e9) };

    nanosleep(&t, NULL);
}

/* Half a second of work in 50 steps. */
static void
work(void)
{
    char extra[40];

    progress_begin("training", 50, "steps");
    for (int i = 1; i <= 50; i++) {
        snprintf(extra, sizeof extra, "loss %.2f", 3.0 - i * 0.01);
        nap(0.01);
        progress_at(i, extra);
        if (i == 30)
            note("half done");
    }
    progress_end();
    prog_closing("%d steps", 50);
    prog_detail("%d naps", 50);
}

/* Seconds added to the clock, so that tests need not wait. */
static _Atomic int later;

int
clock_gettime(clockid_t id, struct timespec *t)
{
    const int r = (int)syscall(SYS_clock_gettime, id, t);

    t->tv_sec += atomic_load(&later);
    return r;
}

/* 200 steps of a second each, after 1000 of an earlier run. */
static void
resume(void)
{
    progress_begin("training", 1400, "steps");
    progress_from(1000);
    for (int i = 1; i <= 200; i++) {
        atomic_fetch_add(&later, 1);
        progress_at(1000 + i, "\033[2Jloss");
    }
    progress_end();
}

/* 50 MB in half a second. */
static void
load(void)
{
    progress_begin("loading", 50e6, "B");
    for (int i = 1; i <= 50; i++) {
        nap(0.01);
        progress_at(i * 1e6, NULL);
    }
    progress_end();
}

static void
stop(void)
{
    prog_catch_stop();
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < 2000 && !stop_asked; i++)
        nap(0.005);
    if (stop_asked)
        die(EX_STOP, "stopped");
}

/* Work on for three seconds after a stop was asked for, saving or not. */
static void
slow_stop(int saves)
{
    prog_catch_stop();
    printf("ready\n");
    fflush(stdout);
    while (!stop_asked)
        nap(0.005);
    prog_saving(saves);
    for (int i = 0; i < 600; i++)
        nap(0.005);
    prog_saving(0);
    die(EX_STOP, "saved");
}

/* Write a file and to stdout.  If stdout was closed, its text must not get into
 * the file. */
static void
mix(void)
{
    struct io_out o;
    struct err e;

    if (io_out_begin(&o, "file", &e) < 0 || io_out_write(&o, "f\n", 2, &e) < 0)
        die_err(&e);
    printf("stdout\n");
    fflush(stdout);
    fprintf(stderr, "stderr\n");
    if (io_out_commit(&o, &e) < 0)
        die_err(&e);
}

static void
read_left(const char *text, double want)
{
    ok(progress_read_left(text) == want, "%g seconds are left by \"%s\"", want,
        text);
}

/* Wipe the line of progress, as a note does, until a signal has come. */
static void *
wipe_until_stop(void *arg)
{
    while (!stop_asked)
        progress_wipe();
    return arg;
}

/* SAN=thread looks for data races here. */
static int
ends_thread(void)
{
    pthread_t id;

    prog_catch_stop();
    if (thread_start(&id, wipe_until_stop, NULL) < 0)
        return 0;
    progress_begin("waiting", 0, "steps");
    for (int i = 0; i < 3; i++) {
        atomic_fetch_add(&later, 100);
        progress_at(i, NULL);
        nap(0.01);
    }
    progress_end();
    raise(SIGTERM);
    return pthread_join(id, NULL) == 0;
}

int
main(int argc, char **argv)
{
    struct err e;
    const struct opt opts[] = { OPT_END };
    char **arg =
        opt_parse(argc, argv, opts, "Do one thing.", "[thing]", 0, 1, NULL);

    if (*arg == NULL) {
        ok(strcmp(progname, "prog") == 0, "progname is the program's name");
        ok(*prog_version() != '\0' && *prog_build() != '\0',
            "version and build are known");
        ok(prog_peak() > 100000 && prog_resident() > 100000,
            "memory is measured in bytes");
        ok(ends_thread(), "another thread sees the signal to stop");
        read_left("", 0.0);
        read_left("evalppl: 5 texts\n", 0.0);
        read_left("scoring 2 of 9 tokens (20 %), 6:39 left, 57.9/s\n"
                  "scoring 4 of 9 tokens (40 %), 0:05 left, 57.9/s\nend\n",
            5.0);
        read_left("1:02:03 left", 3723.0);
        read_left("nothing left", 0.0);
        verbosity = -1;
        note("not to be seen");
        progress_begin("nothing", 0, "x");
        progress_at(1, NULL);
        progress_end();
        return done_testing();
    }
    if (strcmp(*arg, "work") == 0)
        work();
    else if (strcmp(*arg, "load") == 0)
        load();
    else if (strcmp(*arg, "stop") == 0)
        stop();
    else if (strcmp(*arg, "save") == 0)
        slow_stop(1);
    else if (strcmp(*arg, "hang") == 0)
        slow_stop(0);
    else if (strcmp(*arg, "resume") == 0)
        resume();
    else if (strcmp(*arg, "mix") == 0)
        mix();
    else if (strcmp(*arg, "memory") == 0)
        free(xcalloc(SIZE_MAX, 4));
    else if (strcmp(*arg, "tty") == 0)
        out_refuse_tty(STDOUT_FILENO);
    else if (strcmp(*arg, "flood") == 0)
        for (int i = 0; i < 100000; i++)
            out_put("0123456789abcdef", 16);
    else if (strcmp(*arg, "print") == 0)
        for (int i = 0; i < 100000; i++)
            printf("0123456789abcdef\n");
    else {
        err_set(&e, EX_INPUT, "%s: no such thing", *arg);
        vnote("about to fail");
        die_err(&e);
    }
    out_done();
    return 0;
}
