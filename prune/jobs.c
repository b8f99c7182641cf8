/* Work shared among processes: see search.h. */
#include "search.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int fd;
};

/* Every jobs-th item from `first` on, written as it is done. */
static void
work(const struct jobs *j, size_t items, size_t first, int fd)
{
    double *out = xcalloc(j->n, sizeof(*out));

    j->begin(j->ctx, j->jobs);
    for (size_t i = first; i < items; i += j->jobs) {
        j->fn(j->ctx, i, out);
        if (io_write(fd, out, j->n * sizeof(*out)) < 0)
            _exit(EX_SYS); /* the parent is gone */
    }
    _exit(0);
}

/* Child number i; only the parent is to hold the ends that are read. */
static void
start(const struct jobs *j, size_t items, struct child *c, size_t i)
{
    int end[2];

    if (pipe(end) < 0 || (c[i].pid = fork()) < 0)
        die(EX_SYS, "cannot start a process:");
    c[i].fd = end[0];
    if (c[i].pid == 0) {
        for (size_t k = 0; k <= i; k++)
            close(c[k].fd);
        work(j, items, i, end[1]);
    }
    close(end[1]);
}

/* Its status, when it did not write all. */
static void
ended(const struct child *c)
{
    int status = 0;

    while (waitpid(c->pid, &status, 0) < 0)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        die(WEXITSTATUS(status), "a process of the search has ended");
    die(EX_SYS, "a process of the search was killed");
}

static void
share(const struct jobs *j, size_t items)
{
    struct child *c = xcalloc(j->jobs, sizeof(*c));
    const size_t size = j->n * sizeof(double);
    double *out = xmalloc(size);

    for (size_t i = 0; i < j->jobs; i++)
        start(j, items, c, i);
    for (size_t i = 0; i < items; i++) {
        if (io_read(c[i % j->jobs].fd, out, size) != (ptrdiff_t)size)
            ended(&c[i % j->jobs]);
        j->got(j->ctx, i, out);
    }
    for (size_t i = 0; i < j->jobs; i++) {
        close(c[i].fd);
        waitpid(c[i].pid, NULL, 0);
    }
    free(out);
    free(c);
}

void
jobs_run(const struct jobs *j, size_t items)
{
    struct jobs few = *j;
    double *out;

    few.jobs = j->jobs < items ? j->jobs : items;
    if (few.jobs > 1) {
        share(&few, items);
        return;
    }
    out = xcalloc(j->n, sizeof(*out));
    for (size_t i = 0; i < items; i++) {
        j->fn(j->ctx, i, out);
        j->got(j->ctx, i, out);
    }
    free(out);
}
