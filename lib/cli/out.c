/* Standard output: see out.h */
#include "cli/out.h"
#include "base/io.h"
#include "cli/die.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void
out_file(const char *path, const void *buf, size_t n)
{
    struct err e;

    if (path == NULL || strcmp(path, "-") == 0)
        out_put(buf, n);
    else if (io_put_file(path, buf, n, &e) < 0)
        die_err(&e);
}

/* Has the reader of fd left?  The system is asked because stdio remembers that
 * a write failed, but not its errno. */
static int
reader_left(int fd)
{
    struct pollfd p = { .fd = fd };

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

void
out_done(void)
{
    /* fclose() would not tell whether flushing or closing failed, nor why. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        /* A write has failed earlier, perhaps in printf(): write again to learn
         * why.  The output is incomplete already, so one more byte does no
         * harm. */
        if (errno == 0 && reader_left(STDOUT_FILENO))
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
