/* Files and descriptors: see io.h */
#define _GNU_SOURCE /* getdents64, F_SETPIPE_SZ */
#include "base/io.h"
#include "base/mem.h"
#include "base/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int
is_std(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

const char *
io_in_name(const char *path)
{
    return is_std(path) ? "<stdin>" : path;
}

const char *
io_out_name(const char *path)
{
    return is_std(path) ? "<stdout>" : path;
}

int
io_open(const char *path, struct err *e)
{
    int fd;

    if (is_std(path))
        return STDIN_FILENO;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR && !stop_asked);
    if (fd < 0 && errno == EINTR) /* a fifo without its other end */
        return err_set(e, EX_STOP, "%s: interrupted", path);
    if (fd < 0)
        return err_set(e, EX_SYS, "%s:", path);
    return fd;
}

int
io_openat(int at, const char *path, int flags)
{
    int fd;

    do
        fd = openat(at, path, flags, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int
io_fsync(int fd)
{
    int r;

    do
        r = fsync(fd);
    while (r < 0 && errno == EINTR);
    return r;
}

int
io_flock(int fd, int how)
{
    int r;

    do
        r = flock(fd, how);
    while (r < 0 && errno == EINTR);
    return r;
}

int
io_open_file(const char *path, uint64_t *size, struct err *e)
{
    /* O_NONBLOCK: opening a fifo would wait for its other end. */
    const int fd = is_std(path)
        ? STDIN_FILENO
        : io_openat(AT_FDCWD, path,
              O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    int why = EINVAL;

    if (fd < 0)
        return err_set(e, EX_SYS, "%s:", path);
    if (fstat(fd, &st) < 0) {
        why = errno;
        err_set(e, EX_SYS, "%s:", io_in_name(path));
    } else if (S_ISDIR(st.st_mode)) {
        errno = why = EISDIR;
        err_set(e, EX_SYS, "%s:", io_in_name(path));
    } else if (!S_ISREG(st.st_mode)) {
        err_set(e, EX_SYS, "%s: not a regular file", io_in_name(path));
    } else {
        *size = (uint64_t)st.st_size;
        return fd;
    }
    io_close_in(fd);
    errno = why;
    return -1;
}

void
io_close_in(int fd)
{
    if (fd != STDIN_FILENO)
        close(fd);
}

/* Read n bytes, or up to the end, from offset `at`; at = -1: from the file's
 * position. */
static ptrdiff_t
read_to_end(int fd, char *buf, size_t n, off_t at)
{
    size_t done = 0;

    while (done < n) {
        /* Linux reads at most 2 GiB at once; other systems refuse more. */
        const size_t want = n - done < (1u << 30) ? n - done : 1u << 30;
        const ssize_t got = at < 0
            ? read(fd, buf + done, want)
            : pread(fd, buf + done, want, at + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ptrdiff_t)done;
}

ptrdiff_t
io_read(int fd, void *buf, size_t n)
{
    return read_to_end(fd, buf, n, -1);
}

ptrdiff_t
io_read_at(int fd, void *buf, size_t n, uint64_t at)
{
    return read_to_end(fd, buf, n, (off_t)at);
}

int
io_unnamed(struct err *e)
{
    const char *dir = getenv("TMPDIR");
    char *path = xasprintf("%s/retort-XXXXXX", dir && *dir ? dir : "/tmp");
    const int fd = mkstemp(path);

    if (fd < 0)
        err_set(e, EX_SYS, "%s:", path);
    else
        unlink(path);
    free(path);
    return fd;
}

int
io_write(int fd, const void *buf, size_t n)
{
    size_t done = 0;

    while (done < n) {
        const size_t want = n - done < (1u << 30) ? n - done : 1u << 30;
        const ssize_t put = write(fd, (const char *)buf + done, want);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        done += (size_t)put;
    }
    return 0;
}

void
io_widen_pipe(int fd)
{
    (void)fcntl(fd, F_SETPIPE_SZ, 1 << 20); /* a larger one needs privilege */
}

int
io_slurp(const char *path, size_t max, char **p, size_t *n, struct err *e)
{
    struct buf b = { 0 };
    size_t step = 1 << 16;
    uint64_t size;
    ptrdiff_t got;
    int fd = is_std(path) ? STDIN_FILENO : io_open_file(path, &size, e);
    int r = 0;

    if (fd < 0)
        return -1;
    for (;;) {
        const size_t room = max - b.n;

        /* Reading one byte more than allowed shows whether the file is too
         * long. */
        if (step > room)
            step = room < SIZE_MAX ? room + 1 : room;
        buf_reserve(&b, step);
        got = io_read(fd, b.p + b.n, step);
        if (got < 0) {
            r = err_set(e, EX_SYS, "%s:", io_in_name(path));
            break;
        }
        if ((size_t)got > room) {
            r = err_set(e, EX_INPUT, "%s: longer than %zu bytes",
                io_in_name(path), max);
            break;
        }
        b.n += (size_t)got;
        b.p[b.n] = '\0';
        if ((size_t)got < step)
            break;
        if (step < 1 << 24)
            step *= 2;
    }
    io_close_in(fd);
    if (r < 0) {
        buf_release(&b);
        return -1;
    }
    *p = b.p;
    *n = b.n;
    return 0;
}

/*
 * Paths of temporary files and folders, to be removed when the program ends by
 * exit() or by a signal.  A path is taken out of the table by an atomic
 * exchange, and whoever took it owns it.  So the signal handler never sees a
 * path that is freed.
 */
enum { LIVE = 64 };
static _Atomic(char *) live[LIVE];

/* The thread that ends the program: written once, before `ending` is set, and
 * read after that. */
static atomic_int ending;
static pthread_t ender;

/* Called by a thread that has just made a temporary file, or is about to rename
 * one: if another thread ends the program, sleep. */
static void
rest_at_end(void)
{
    while (atomic_load(&ending) && !pthread_equal(ender, pthread_self()))
        pause();
}

/* Move the paths in the table to name[], which holds n paths already; returns
 * how many paths name[] holds now. */
static size_t
take_live(const char *name[LIVE], size_t n)
{
    for (int i = 0; i < LIVE && n < LIVE; i++) {
        const char *now = atomic_exchange(&live[i], NULL);

        if (now != NULL)
            name[n++] = now;
    }
    return n;
}

/* Remove a file, or a folder with the files in it.  1: done, or impossible; 0:
 * the folder was not empty and stays. */
static int
clear_away(const char *name)
{
    char list[4096];
    ptrdiff_t n;
    int dir;

    if (unlink(name) == 0 || (errno != EISDIR && errno != EPERM))
        return 1;
    dir = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return 1;
    /* readdir() is not allowed in a signal handler. */
    while ((n = getdents64(dir, list, sizeof list)) > 0)
        for (ptrdiff_t at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(list + at);

            unlinkat(dir, d->d_name, 0);
            at += d->d_reclen;
        }
    close(dir);
    return rmdir(name) == 0 || (errno != ENOTEMPTY && errno != EEXIST);
}

void
io_remove_temporaries(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT; /* a second thread may end */
    const struct timespec moment = { .tv_nsec = 1000000 };
    const char *name[LIVE];
    size_t n = 0;

    if (!atomic_flag_test_and_set(&begun)) {
        ender = pthread_self();
        atomic_store(&ending, 1);
    }
    /* Repeat for up to a second: another thread may be making a last file. */
    for (int i = 0; i < 1000; i++) {
        n = take_live(name, n);
        for (size_t k = n; k-- > 0;)
            if (clear_away(name[k]))
                name[k] = name[--n];
        if (n == 0)
            break;
        nanosleep(&moment, NULL);
    }
}

static void
on_death(int sig)
{
    io_remove_temporaries();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Set a handler for the signals that would end the program, except those that
 * are handled or ignored already. */
static void
watch_signals(void)
{
    static const int deadly[] = { SIGHUP, SIGINT, SIGTERM };
    static atomic_flag armed = ATOMIC_FLAG_INIT; /* threads may call this */

    if (atomic_flag_test_and_set(&armed))
        return;
    atexit(io_remove_temporaries);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now, sa = { .sa_handler = on_death };

        sigemptyset(&sa.sa_mask);
        if (sigaction(deadly[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(deadly[i], &sa, NULL);
    }
}

int
io_remember(const char *path)
{
    char *name = xstrdup(path);

    watch_signals();
    for (int i = 0; i < LIVE; i++) {
        char *none = NULL;

        if (atomic_compare_exchange_strong(&live[i], &none, name))
            return i + 1;
    }
    free(name);
    return 0;
}

void
io_forget(int place)
{
    if (place > 0)
        free(atomic_exchange(&live[place - 1], NULL));
}

static void
forget_path(struct io_out *o)
{
    io_forget(o->place);
    o->place = 0;
}

/* Create a new temporary file, without following links, and remember it.  If
 * the name is taken, by a dead process with this process's number or by an
 * attacker, try other names. */
static void
open_temporary(struct io_out *o)
{
    unsigned long number = (unsigned long)getpid();
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 0; i < 100 && o->fd < 0 && (i == 0 || errno == EEXIST); i++) {
        struct timespec t = { 0 };

        free(o->tmp);
        o->tmp = xasprintf("%s.tmp.%lu", o->path, number);
        o->fd = io_openat(AT_FDCWD, o->tmp,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
        clock_gettime(CLOCK_REALTIME, &t);
        number = (unsigned long)t.tv_nsec;
    }
    if (o->fd >= 0)
        o->place = io_remember(o->tmp);
    rest_at_end();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int
io_out_begin(struct io_out *o, const char *path, struct err *e)
{
    struct stat st;
    const int there = stat(path, &st) == 0;

    *o = (struct io_out){ .fd = -1 };
    if (there && S_ISDIR(st.st_mode))
        return err_set(e, EX_SYS, "%s: is a directory", path);
    if (there && !S_ISREG(st.st_mode)) {
        /* Write to a device or pipe directly: to rename a file to /dev/null
         * would be a disaster. */
        o->path = xstrdup(path);
        do
            o->fd = open(path, O_WRONLY | O_CLOEXEC);
        while (o->fd < 0 && errno == EINTR && !stop_asked);
    } else {
        /* Replace the file that a link leads to, not the link. */
        char *real = there ? realpath(path, NULL) : NULL;

        o->path = real != NULL ? real : xstrdup(path);
        open_temporary(o);
    }
    if (o->fd < 0) {
        if (errno == EINTR && stop_asked)
            err_set(e, EX_STOP, "%s: interrupted", path);
        else
            err_set(e, EX_SYS, "%s:", o->tmp != NULL ? o->tmp : path);
        forget_path(o);
        free(o->tmp);
        o->tmp = NULL;
        io_out_abort(o);
        return -1;
    }
    return 0;
}

int
io_out_write(struct io_out *o, const void *buf, size_t n, struct err *e)
{
    if (io_write(o->fd, buf, n) < 0)
        return err_set(e, EX_SYS, "%s:", o->tmp != NULL ? o->tmp : o->path);
    o->n += n;
    return 0;
}

/* The folder that holds path; the caller frees it. */
static char *
folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return xstrdup(".");
    if (slash == path)
        return xstrdup("/");
    return xasprintf("%.*s", (int)(slash - path), path);
}

int
io_out_commit(struct io_out *o, struct err *e)
{
    int r;

    /* Pipes and some devices cannot be synced, which is no failure. */
    if (io_fsync(o->fd) < 0 &&
        (o->tmp != NULL ||
            (errno != EINVAL && errno != EROFS && errno != ENOTSUP)))
        return err_set(e, EX_SYS, "%s:", o->tmp != NULL ? o->tmp : o->path);
    r = close(o->fd);
    o->fd = -1;
    if (r < 0 && errno != EINTR)
        return err_set(e, EX_SYS, "%s:", o->tmp != NULL ? o->tmp : o->path);
    if (o->tmp != NULL) {
        char *dir;

        rest_at_end();
        if (rename(o->tmp, o->path) < 0)
            return err_set(e, EX_SYS, "%s:", o->path);
        forget_path(o);
        free(o->tmp);
        o->tmp = NULL;
        dir = folder_of(o->path);
        r = io_fsync_dir(dir, e);
        free(dir);
        if (r < 0)
            return -1;
    }
    io_out_abort(o); /* frees the names; the file is already closed */
    return 0;
}

void
io_out_abort(struct io_out *o)
{
    if (o->fd >= 0)
        close(o->fd);
    if (o->tmp != NULL)
        unlink(o->tmp);
    forget_path(o);
    free(o->tmp);
    free(o->path);
    o->fd = -1;
    o->tmp = o->path = NULL;
}

int
io_put_file(const char *path, const void *buf, size_t n, struct err *e)
{
    struct io_out o;

    if (io_out_begin(&o, path, e) < 0)
        return -1;
    if (io_out_write(&o, buf, n, e) < 0 || io_out_commit(&o, e) < 0) {
        io_out_abort(&o);
        return -1;
    }
    return 0;
}

int
io_fsync_dir(const char *dir, struct err *e)
{
    const int fd = io_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (fd < 0)
        return err_set(e, EX_SYS, "%s:", dir);
    /* Some file systems have no fsync for folders. */
    if (io_fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        r = err_set(e, EX_SYS, "%s:", dir);
    close(fd);
    return r;
}

int
io_mkdirs(const char *dir, struct err *e)
{
    char *path = xstrdup(dir), *p = path;
    int r = 0;

    if (*dir == '\0') {
        free(path);
        errno = ENOENT;
        return err_set(e, EX_SYS, "folder without a name:");
    }
    do {
        p = strchr(p + 1, '/');
        if (p != NULL)
            *p = '\0';
        if (mkdir(path, 0777) < 0 && (errno != EEXIST || !io_is_dir(path))) {
            /* mkdir says EEXIST if a file is there, which would mislead. */
            if (errno == EEXIST)
                errno = ENOTDIR;
            r = err_set(e, EX_SYS, "%s:", path);
        }
        if (p != NULL)
            *p = '/';
    } while (p != NULL && r == 0);
    free(path);
    return r;
}

int
io_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int
io_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int
io_exists_in(const char *dir, const char *file)
{
    char *path = xasprintf("%s/%s", dir, file);
    const int r = io_exists(path);

    free(path);
    return r;
}
