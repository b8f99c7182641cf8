/* Standard output: see out.h */
#include "cli/out.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* End the program because a write to stdout failed: quietly if the reader has
 * left, which reports its own errors. */
static void
output_failed(void)
{
    if (errno == EPIPE)
        exit(EX_OK);
    die(EX_SYS, "<stdout>:");
}

void
out_put(const void *buf, size_t n)
{
    if (io_write(STDOUT_FILENO, buf, n) < 0)
        output_failed();
}

int
out_colours(int fd)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fd) && (none == NULL || *none == '\0') &&
        (term == NULL || strcmp(term, "dumb") != 0);
}

void
out_file(const char *path, const void *buf, size_t n)
{
    struct err e;

    if (path == NULL || strcmp(path, "-") == 0)
        out_put(buf, n);
    else if (io_put_file(path, buf, n, &e) < 0)
        die_err(&e);
}

/* An output file, which need not exist yet. */
struct output_file {
    int there;
    struct stat st; /* valid if `there` */
    char *dir;      /* real path of its folder; NULL: no such folder */
    const char *name;
};

static struct output_file
find_output(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct output_file p = { 0 };
    char *up = slash == NULL ? xstrdup(".")
        : slash == path      ? xstrdup("/")
                             : xasprintf("%.*s", (int)(slash - path), path);

    p.there = (strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &p.st)
                                      : stat(path, &p.st)) == 0;
    p.dir = realpath(up, NULL);
    p.name = slash != NULL ? slash + 1 : path;
    free(up);
    return p;
}

/* Do both paths lead to the same file, other than a device such as
 * /dev/null? */
static int
same_file(const char *a, const char *b)
{
    struct output_file p = find_output(a), q = find_output(b);
    int same;

    if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
        same = 0; /* they are written one after the other */
    else if (p.there && q.there)
        same = p.st.st_dev == q.st.st_dev && p.st.st_ino == q.st.st_ino &&
            !S_ISCHR(p.st.st_mode);
    else if (p.there != q.there)
        same = 0;
    else if (p.dir != NULL && q.dir != NULL)
        same = strcmp(p.dir, q.dir) == 0 && strcmp(p.name, q.name) == 0;
    else
        same = strcmp(a, b) == 0;
    free(p.dir);
    free(q.dir);
    return same;
}

void
out_differ(const char *option, const char *path, ...)
{
    enum { MOST = 8 };
    const char *options[MOST], *paths[MOST];
    va_list ap;
    int n = 0;

    va_start(ap, path);
    while (option != NULL) {
        for (int i = 0; i < n && path != NULL; i++)
            if (same_file(paths[i], path))
                die(EX_USAGE, "%s: is the file of %s and of %s: give two names",
                    path, options[i], option);
        if (path != NULL) {
            assert(n < MOST);
            options[n] = option;
            paths[n++] = path;
        }
        if ((option = va_arg(ap, const char *)) != NULL)
            path = va_arg(ap, const char *);
    }
    va_end(ap);
}

int
out_reader_left(void)
{
    struct pollfd p = { .fd = STDOUT_FILENO };
    struct stat st;

    /* A terminal that was closed is no pipe. */
    return fstat(p.fd, &st) == 0 && !S_ISCHR(st.st_mode) &&
        poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

void
out_done(void)
{
    /* fclose() would not tell whether flushing or closing failed, nor why. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        /* A write has failed earlier, perhaps in printf(), and stdio does not
         * keep its errno: write again to learn why.  The output is incomplete
         * already, so one more byte does no harm. */
        if (errno == 0 && out_reader_left())
            errno = EPIPE;
        else if (errno == 0 && write(STDOUT_FILENO, "\n", 1) >= 0)
            errno = EIO;
        output_failed();
    }
    if (close(STDOUT_FILENO) != 0)
        output_failed();
}

void
out_refuse_tty(int fd)
{
    if (isatty(fd))
        die(EX_USAGE,
            "binary output is not written to a terminal: give a pipe or -o");
}
