/* A trace of a process; see timeline.h. */
#include "base/timeline.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written before the threads that call timeline_add start, and after they have
 * ended. */
static struct {
    FILE *f;
    char *path; /* path as given to timeline_open */
    size_t process;
    pthread_mutex_t lock; /* keeps the lines of f apart */
} line = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic size_t threads; /* numbers given out; any thread takes one */
static _Thread_local size_t thread; /* 1 + number of this thread; 0: it has none
                                     * yet */

static char *
file_of(const char *path, size_t process)
{
    return process == 0 ? xstrdup(path) : xasprintf("%s.%zu", path, process);
}

int
timeline_open(const char *path, size_t process, struct err *e)
{
    char *file = file_of(path, process);

    line.f = fopen(file, "w");
    if (line.f == NULL)
        err_set(e, EX_SYS, "%s:", file);
    free(file);
    if (line.f == NULL)
        return -1;
    line.path = xstrdup(path);
    line.process = process;
    /* only process 0 begins the array: it appends the other traces */
    fprintf(line.f,
        "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"args\":"
        "{\"name\":\"%s, rank %zu\"}}",
        process == 0 ? "[\n" : ",\n", process, progname, process);
    return 0;
}

int
timeline_on(void)
{
    return line.f != NULL;
}

void
timeline_add(const char *kind, const char *name, double begin)
{
    const double now = clock_now();

    if (line.f == NULL)
        return;
    if (thread == 0)
        thread = 1 + atomic_fetch_add(&threads, 1);
    pthread_mutex_lock(&line.lock);
    fprintf(line.f,
        ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,"
        "\"dur\":%.3f,\"pid\":%zu,\"tid\":%zu}",
        name, kind, begin * 1e6, (now - begin) * 1e6, line.process, thread - 1);
    pthread_mutex_unlock(&line.lock);
}

/* Append the trace of another process to this one. */
static int
append_part(size_t process, struct err *e)
{
    char *file = file_of(line.path, process), *text = NULL;
    size_t n;
    int r = io_slurp(file, SIZE_MAX, &text, &n, e);

    if (r == 0 && fwrite(text, 1, n, line.f) != n)
        r = err_set(e, EX_SYS, "%s:", line.path);
    if (r == 0)
        unlink(file);
    free(text);
    free(file);
    return r;
}

int
timeline_close(size_t processes, struct err *e)
{
    int r = 0, bad;

    if (line.f == NULL)
        return 0;
    for (size_t i = 1; i < processes && line.process == 0 && r == 0; i++)
        r = append_part(i, e);
    if (line.process == 0)
        fputs("\n]\n", line.f);
    bad = ferror(line.f); /* fclose reports only errors of its own */
    if ((fclose(line.f) != 0 || bad) && r == 0)
        r = err_set(e, EX_SYS, "%s:", line.path);
    line.f = NULL;
    free(line.path);
    return r;
}
