/* Runs make and watches its stages; see watch.h. */
#include "watch.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STAGES = 12, /* at most */
    TAIL = 4000, /* bytes of the log that are looked at when make fails */
    /* Lines that are printed of them: of "settings" and "checked", which list
     * what is refused, and of other targets. */
    LINES = 6,
    LINES_ELSE = 2
};

struct stage {
    char name[20];
    double seconds;  /* as planned */
    char ends[60];   /* the file that the stage makes last */
    char counts[60]; /* the file that gets a line for each part; "-": none */
    double parts;
    char unit[20]; /* of the parts */
};

/* ---- the stages ---- */

/* Read the stages; returns their number. */
static size_t
planned_stages(const struct run *r, const char *file, struct stage s[STAGES])
{
    char *path = xasprintf("%s/%s", r->out, file);
    FILE *f = fopen(path, "r");
    size_t n = 0;

    while (f != NULL && n < STAGES &&
        fscanf(f, "%19s %lf %59s %59s %lf %19s", s[n].name, &s[n].seconds,
            s[n].ends, s[n].counts, &s[n].parts, s[n].unit) == 6)
        n++;
    if (f != NULL)
        fclose(f);
    free(path);
    return n;
}

/* Return how many parts of a stage are done.  A stage appends a line to
 * OUT/full/FILE for each part; a .tsv file has one more line, its header.
 * Without the file no part is done. */
static double
parts_of_run(const struct run *r, const char *file)
{
    char *path = xasprintf("%s/" DIR_FULL "/%s", r->out, file), block[4096];
    FILE *f = fopen(path, "r");
    size_t n, lines = 0;

    while (f != NULL && (n = fread(block, 1, sizeof block, f)) > 0)
        for (size_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    if (f != NULL)
        fclose(f);
    free(path);
    n = strlen(file);
    if (lines > 0 && n > 4 && strcmp(file + n - 4, ".tsv") == 0)
        lines--;
    return (double)lines;
}

/* Index of the first stage whose last file is missing; n: all are done. */
static size_t
stage_now(const struct run *r, const struct stage *s, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        char *path = xasprintf("%s/" DIR_FULL "/%s", r->out, s[i].ends);
        const int there = io_exists(path);

        free(path);
        if (!there)
            break;
    }
    return i;
}

/* The line of progress, which is of one stage at a time. */
struct line {
    struct stage s[STAGES];
    size_t n, now;
    char what[60]; /* which stage it is */
    double began;  /* when stage `now` began, or this command with it: by
                    * clock_now() */
    double from;   /* its parts that were done then */
    /* Parts that were done when the first of them ended here, and that time;
     * first is negative if none has. */
    double first, first_at;
};

/* Return the seconds that are left by the last line of progress in the log; 0
 * if its end has none. */
static double
logged_left(const struct run *r)
{
    char text[500];
    const off_t most = sizeof text - 1, end = lseek(r->fd, 0, SEEK_END);
    const ssize_t got =
        pread(r->fd, text, sizeof text - 1, end > most ? end - most : 0);

    text[got > 0 ? got : 0] = '\0';
    return progress_read_left(text);
}

/* Seconds that the present stage will still take.  A stage of several parts:
 * from the speed of its parts as soon as two have ended, before that from the
 * plan.  Any other stage: from the plan while its planned time lasts, then what
 * the program at work says, or a tenth of the time spent if that is longer. */
static double
stage_left(const struct run *r, struct line *l, double parts, double now)
{
    const struct stage *s = &l->s[l->now];
    const double spent = now - l->began;
    double left;

    if (s->parts <= 0.0 && spent < 0.95 * s->seconds)
        return s->seconds - spent;
    if (s->parts <= 0.0)
        return fmax(logged_left(r), fmax(0.1 * spent, 1.0));
    left = fmax(s->parts - parts, 0.0);
    if (l->first < 0.0 && parts > l->from) {
        l->first = parts;
        l->first_at = now;
    }
    if (l->first >= 0.0 && parts > l->first)
        return left * (now - l->first_at) / (parts - l->first);
    return fmax(left * s->seconds / s->parts - spent, 1.0);
}

/* Begin the line of the stage that make is at. */
static void
stage_begin(const struct run *r, struct line *l, size_t now)
{
    const struct stage *s = &l->s[now];
    const int counted = now < l->n && s->parts > 0.0;

    progress_end();
    l->now = now;
    l->began = clock_now();
    l->first = -1.0;
    l->from = counted ? parts_of_run(r, s->counts) : 0.0;
    if (now < l->n)
        snprintf(l->what, sizeof l->what, "stage %zu/%zu, %s", now + 1, l->n,
            s->name);
    else
        snprintf(l->what, sizeof l->what, "last files");
    progress_begin(l->what, counted ? s->parts : 0.0, counted ? s->unit : "s");
    progress_from(l->from);
}

static void
line_begin(const struct run *r, struct line *l, const char *target,
    const char *stages)
{
    memset(l, 0, sizeof *l);
    if (stages == NULL) {
        l->began = clock_now();
        progress_begin(strcmp(target, "plan") == 0
                ? "tries the teacher and measures steps"
                : strcmp(target, "fetched") == 0 ? "fetches the teacher"
                                                 : "reads the text",
            0, "s");
        return;
    }
    l->n = planned_stages(r, stages, l->s);
    stage_begin(r, l, stage_now(r, l->s, l->n));
}

static void
line_show(const struct run *r, struct line *l)
{
    const double now = clock_now();
    double left, parts;
    size_t stage;

    if (l->n > 0 && (stage = stage_now(r, l->s, l->n)) != l->now)
        stage_begin(r, l, stage);
    if (l->now == l->n) {
        progress_at(floor(now - l->began), NULL);
        return;
    }
    parts = l->s[l->now].parts > 0.0 ? parts_of_run(r, l->s[l->now].counts)
                                     : floor(now - l->began);
    left = stage_left(r, l, parts, now);
    for (size_t i = l->now + 1; i < l->n; i++)
        left += l->s[i].seconds;
    progress_left(left);
    progress_at(parts, NULL);
}

/* ---- make ---- */

void
run_begin(struct run *r, const char *out, char **words)
{
    struct err e;

    *r = (struct run){ .out = out, .words = words };
    if (io_mkdirs(out, &e) < 0)
        die_err(&e);
    r->log = xasprintf("%s/" RUN_LOG, out);
    r->fd = open(r->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (r->fd < 0)
        die(EX_SYS, "%s:", r->log);
    /* Child processes inherit the lock, so that the folder stays locked while
     * any of them runs. */
    if (io_flock(r->fd, LOCK_EX | LOCK_NB) < 0)
        die(EX_SYS, "%s: another run of this folder is at work", out);
    prog_catch_stop();
    prog_saving(1);
}

/* Replace this process by make, with the signal mask *mask. */
static void
become_make(const struct run *r, const char *target, const sigset_t *mask)
{
    const int none = open("/dev/null", O_RDONLY);
    size_t n = 0;

    while (r->words[n] != NULL)
        n++;
    r->words[n] = (char *)(uintptr_t)target;
    /* Settings of a make that runs this program are not for the recipe. */
    unsetenv("MAKEFLAGS");
    unsetenv("MFLAGS");
    unsetenv("MAKELEVEL");
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (none < 0 || dup2(none, 0) < 0 || dup2(r->fd, 1) < 0 ||
        dup2(r->fd, 2) < 0)
        _exit(127);
    execvp("make", r->words);
    _exit(127);
}

/* Is a line of the log no part of the error: a closing line, progress, or a
 * message of make? */
static int
is_aside(const char *line)
{
    static const char *const asides[] = { ", cpu ", "make: ***", " left, ",
        "to go on: ", "choose another WORK" };

    for (size_t i = 0; i < sizeof asides / sizeof *asides; i++)
        if (strstr(line, asides[i]) != NULL)
            return 1;
    return 0;
}

/* Print the last `lines` lines that make wrote to the log after byte `from`. */
static void
print_tail(const struct run *r, off_t from, size_t lines)
{
    char text[TAIL + 1], *p = text, *line, *last[LINES];
    off_t end = lseek(r->fd, 0, SEEK_END);
    ssize_t got;
    size_t n = 0;

    if (end - from > TAIL)
        from = end - TAIL;
    got = pread(r->fd, text, (size_t)(end - from), from);
    text[got > 0 ? got : 0] = '\0';
    if (got == TAIL && strchr(text, '\n') != NULL)
        p = strchr(text, '\n') + 1;
    while ((line = strsep(&p, "\n")) != NULL)
        if (*line != '\0' && !is_aside(line))
            last[n++ % LINES] = line;
    for (size_t i = n > lines ? n - lines : 0; i < n; i++)
        prog_say(last[i % LINES]);
}

enum stopped { BY_NOTHING, BY_SIGNAL, BY_READER };

/* Say what of the present stage is kept when the run stops. */
static void
note_kept(const struct line *l)
{
    const struct stage *s = &l->s[l->now];

    if (l->now < l->n && s->parts <= 0.0)
        note("stops; the stage %s will begin anew, all before it is kept",
            s->name);
    else if (l->now < l->n && strcmp(s->unit, "steps") != 0)
        note("stops; the %s up to the first unfinished one are kept, those "
             "after it, a round of texts at most, are written again",
            s->unit);
    else
        note("stops; what is done is kept");
}

/* Wait for make.  Send it SIGINT for each signal that asks this program to
 * stop, and when the reader of this program's standard output has left.  Return
 * which of the two happened.  Set *status as waitpid does. */
static enum stopped
wait_for_make(const struct run *r, pid_t pid, struct line *l, int *status)
{
    const struct timespec tick = { .tv_nsec = 100000000 };
    enum stopped stopped = BY_NOTHING;

    for (;;) {
        const pid_t done = waitpid(pid, status, WNOHANG);

        if (done == pid)
            return stopped;
        if (done < 0 && errno != EINTR)
            die(EX_SYS, "waiting for make:");
        if (stop_asked != 0 || (stopped == BY_NOTHING && out_reader_left())) {
            stopped = stop_asked != 0 ? BY_SIGNAL : BY_READER;
            stop_asked = 0;
            kill(-pid, SIGINT);
            note_kept(l);
        }
        line_show(r, l);
        nanosleep(&tick, NULL);
    }
}

void
run_make(const struct run *r, const char *target, const char *stages)
{
    const off_t from = lseek(r->fd, 0, SEEK_END);
    const int settings = strcmp(target, "settings") == 0;
    const int checked = strcmp(target, "checked") == 0;
    struct line l;
    enum stopped stopped;
    sigset_t stop, mask;
    int status = 0;
    pid_t pid;

    line_begin(r, &l, target, stages);
    /* A SIGINT must not get lost in this program's handler before the child
     * has become make. */
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, &mask);
    pid = fork();
    if (pid < 0)
        die(EX_SYS, "fork:");
    if (pid == 0)
        become_make(r, target, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    setpgid(pid, pid);
    stopped = wait_for_make(r, pid, &l, &status);
    progress_end();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (stopped == BY_READER) {
        note("stopped, as the reader of its output has left; the same command "
             "goes on");
        exit(EX_OK);
    }
    if (stopped == BY_SIGNAL)
        die(EX_STOP, "stopped; the same command goes on");
    print_tail(r, from, settings || checked ? LINES : LINES_ELSE);
    if (checked)
        die(EX_INPUT, "nothing was measured; all messages are in %s", r->log);
    if (settings)
        die(EX_USAGE,
            "%s was made by other arguments: give those, or name another "
            "folder by -o",
            r->out);
    if (stages != NULL)
        die(EX_SYS,
            "the run failed; when its cause is mended, the same command goes "
            "on; all messages are in %s",
            r->log);
    die(EX_SYS, "%s failed; all messages are in %s",
        strcmp(target, "plan") == 0 ? "the plan" : "fetching the teacher",
        r->log);
}
