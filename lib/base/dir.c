/* Folders: see dir.h */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
by_entry_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int
dir_list(const char *dir, struct dir_list *l, struct err *e)
{
    const int fd = io_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    size_t cap = 0;
    struct dirent *f;
    int why;

    *l = (struct dir_list){ 0 };
    if (d == NULL)
        return err_set(e, EX_SYS, "%s:", dir);
    while (errno = 0, (f = readdir(d)) != NULL) {
        if (is_dots(f->d_name))
            continue;
        l->name = xgrow(l->name, l->n, &cap, sizeof(*l->name));
        l->name[l->n++] = xstrdup(f->d_name);
    }
    why = errno;
    closedir(d);
    if (why != 0) {
        dir_list_release(l);
        errno = why;
        err_set(e, EX_SYS, "%s:", dir);
        errno = why;
        return -1;
    }
    if (l->n > 0)
        qsort(l->name, l->n, sizeof(*l->name), by_entry_name);
    return 0;
}

void
dir_list_release(struct dir_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l->name);
    *l = (struct dir_list){ 0 };
}

/* Remove `name`, which is in the folder `at` and may hold up to `depth` levels
 * of folders.  path: the full path of `name`, for errors. */
static int
remove_at(int at, const char *name, const char *path, int depth, struct err *e)
{
    const int fd =
        io_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *f;
    int r = 0;

    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return unlinkat(at, name, 0) < 0 ? err_set(e, EX_SYS, "%s:", path) : 0;
    if (d == NULL || depth < 0) {
        r = depth < 0 ? err_set(e, EX_SYS, "%s: is a folder", path)
                      : err_set(e, EX_SYS, "%s:", path);
        if (fd >= 0)
            close(fd);
        return r;
    }
    while (r == 0 && (errno = 0, f = readdir(d)) != NULL) {
        char *below;

        if (is_dots(f->d_name))
            continue;
        below = xasprintf("%s/%s", path, f->d_name);
        r = remove_at(fd, f->d_name, below, depth - 1, e);
        free(below);
    }
    if (r == 0 && errno != 0)
        r = err_set(e, EX_SYS, "%s:", path);
    closedir(d);
    if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
        r = err_set(e, EX_SYS, "%s:", path);
    return r;
}

int
dir_remove(const char *dir, struct err *e)
{
    return remove_at(AT_FDCWD, dir, dir, 1, e);
}

/* ---- one at a time ---- */

/* Set *e to say who holds the lock, as the lock file tells: "process 12 on
 * host". */
static int
set_in_use(int fd, const char *dir, struct err *e)
{
    char text[200], *end;
    const ptrdiff_t n = io_read_at(fd, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    if ((end = strchr(text, '\n')) != NULL)
        *end = '\0';
    if (end == NULL || strncmp(text, "process ", 8) != 0)
        strcpy(text, "another process");
    return err_set(e, EX_SYS, "%s: is in use by %s", dir, text);
}

/* Remove the lock file, unless a living process holds its lock: then -1 and
 * *e. */
static int
leave_out(const char *dir, const char *name, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, name);
    const int fd =
        io_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int r = 0;

    if (fd >= 0 && io_flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        r = set_in_use(fd, dir, e);
    else if (fd >= 0)
        unlink(path);
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}

/* Remove the lock files that dead ranks left.  -1 and *e: a rank of an earlier
 * run still lives. */
static int
lock_ranks(const char *dir, struct err *e)
{
    struct dir_list l;
    int r = dir_list(dir, &l, e);

    for (size_t i = 0; i < l.n && r == 0; i++)
        if (strncmp(l.name[i], DIR_LOCK ".", strlen(DIR_LOCK ".")) == 0)
            r = leave_out(dir, l.name[i], e);
    dir_list_release(&l);
    return r;
}

/* Is path still the name of the open file?  The process that held the lock may
 * have removed it. */
static int
is_same(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino;
}

static int
lock_file(const char *dir, const char *path, struct err *e)
{
    for (;;) {
        const int fd = io_openat(AT_FDCWD, path,
            O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int why = 0;

        if (fd < 0)
            return err_set(e, EX_SYS, "%s:", path);
        if (io_flock(fd, LOCK_EX | LOCK_NB) < 0)
            why = errno;
        if (why == 0 && is_same(fd, path))
            return fd;
        if (why == EWOULDBLOCK) {
            set_in_use(fd, dir, e);
            close(fd);
            return -1;
        }
        if (why != 0) {
            warn("%s: cannot be locked (%s): let only one process use %s", path,
                strerror(why), dir);
            return fd;
        }
        close(fd);
    }
}

/* Write into the lock file who holds it. */
static int
sign(const struct dir_lock *l, struct err *e)
{
    char host[100] = "", *text;
    int r = 0;

    (void)gethostname(host, sizeof(host) - 1);
    text = xasprintf("process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(l->fd, 0) < 0 || io_write(l->fd, text, strlen(text)) < 0)
        r = err_set(e, EX_SYS, "%s:", l->path);
    free(text);
    return r;
}

int
dir_lock(struct dir_lock *l, const char *dir, size_t rank, struct err *e)
{
    int r = 0;

    l->path = rank == 0 ? xasprintf("%s/" DIR_LOCK, dir)
                        : xasprintf("%s/" DIR_LOCK ".%zu", dir, rank);
    l->place = 0;
    l->fd = lock_file(dir, l->path, e);
    if (l->fd < 0 || (rank == 0 && lock_ranks(dir, e) < 0) || sign(l, e) < 0)
        r = -1;
    else
        l->place = io_remember(l->path);
    if (r < 0 && l->fd >= 0)
        unlink(l->path);
    if (r < 0)
        dir_unlock(l);
    return r;
}

void
dir_unlock(struct dir_lock *l)
{
    if (l->place > 0)
        unlink(l->path);
    io_forget(l->place);
    if (l->fd >= 0)
        close(l->fd);
    free(l->path);
    *l = (struct dir_lock){ -1, 0, NULL };
}

/* ---- a folder that is made ---- */

/* Look for a folder called tmp.  0: there is none; 1: one that a dead process
 * left; -1 and *e: something else. */
static int
check_tmp(const char *tmp, struct err *e)
{
    const int at = io_openat(AT_FDCWD, tmp,
        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dir_list l = { 0 };
    int mark, r = 1;

    if (at < 0 && errno == ENOENT)
        return 0;
    if (at < 0 && errno != ENOTDIR && errno != ELOOP)
        return err_set(e, EX_SYS, "%s:", tmp);
    mark = at < 0 ? -1
                  : io_openat(at, DIR_MARK,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (mark >= 0 && io_flock(mark, LOCK_EX | LOCK_NB) < 0 &&
        errno == EWOULDBLOCK)
        r = err_set(e, EX_SYS, "%s: another process writes there", tmp);
    /* An empty folder without the mark: its maker died before making the
     * mark. */
    if (mark < 0 && (at < 0 || dir_list(tmp, &l, e) == 0)) {
        if (at < 0 || l.n > 0)
            r = err_set(e, EX_USAGE,
                "%s: is in the way, and not of our making: move it, or choose "
                "another name",
                tmp);
        dir_list_release(&l);
    } else if (mark < 0) {
        r = -1;
    }
    if (mark >= 0)
        close(mark);
    if (at >= 0)
        close(at);
    return r;
}

static char *
tmp_of(const char *path)
{
    return xasprintf("%s.tmp", path);
}

int
dir_new_check(const char *path, struct err *e)
{
    char *tmp = tmp_of(path);
    const int r = check_tmp(tmp, e);

    free(tmp);
    return r < 0 ? -1 : 0;
}

/* Create the file DIR_MARK in tmp, which marks a folder that is being written,
 * and lock it.  Returns its descriptor, or -1. */
static int
put_mark(const char *tmp, struct err *e)
{
    char *path = xasprintf("%s/" DIR_MARK, tmp);
    int fd;

    fd = io_openat(AT_FDCWD, path,
        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err_set(e, EX_SYS, "%s:", path);
    else
        (void)io_flock(fd, LOCK_EX | LOCK_NB);
    free(path);
    return fd;
}

/* Make the temporary folder, and remember it, so that it is removed if the
 * program ends. */
static int
make_temporary(struct dir_new *d, struct err *e)
{
    sigset_t all, old;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (mkdir(d->tmp, 0777) < 0)
        r = err_set(e, EX_SYS, "%s:", d->tmp);
    else
        d->place = io_remember(d->tmp);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

int
dir_new_begin(struct dir_new *d, const char *path, struct err *e)
{
    char *up, *slash;
    int r;

    *d = (struct dir_new){ xstrdup(path), tmp_of(path), -1, 0 };
    up = xstrdup(path);
    slash = strrchr(up, '/');
    if (slash != NULL)
        *slash = '\0';
    r = slash != NULL && *up != '\0' ? io_mkdirs(up, e) : 0;
    free(up);
    if (r == 0 && (r = check_tmp(d->tmp, e)) > 0)
        r = dir_remove(d->tmp, e);
    if (r == 0)
        r = make_temporary(d, e);
    if (r < 0) {
        free(d->tmp); /* do not remove what another process made */
        d->tmp = NULL;
    } else {
        d->mark = put_mark(d->tmp, e);
        r = d->mark < 0 ? -1 : 0;
    }
    if (r < 0)
        dir_new_abort(d);
    return r;
}

static void
release_dir_new(struct dir_new *d)
{
    if (d->mark >= 0)
        close(d->mark);
    free(d->path);
    free(d->tmp);
    *d = (struct dir_new){ NULL, NULL, -1, 0 };
}

/* The mark is removed after the renaming.  So a kill at any moment leaves
 * either a marked temporary folder or a whole one. */
int
dir_new_commit(struct dir_new *d, struct err *e)
{
    char *mark = xasprintf("%s/" DIR_MARK, d->path), *slash;
    int r = io_fsync_dir(d->tmp, e);

    if (r == 0 && rename(d->tmp, d->path) < 0)
        r = err_set(e, EX_SYS, "%s: cannot be renamed to %s:", d->tmp, d->path);
    if (r == 0 && unlink(mark) < 0)
        r = err_set(e, EX_SYS, "%s:", mark);
    free(mark);
    if (r == 0)
        r = io_fsync_dir(d->path, e);
    if (r < 0)
        return -1;
    io_forget(d->place);
    free(d->tmp);
    d->tmp = NULL;
    slash = strrchr(d->path, '/');
    if (slash != NULL)
        slash[slash == d->path] = '\0';
    r = io_fsync_dir(slash != NULL ? d->path : ".", e);
    release_dir_new(d);
    return r;
}

void
dir_new_abort(struct dir_new *d)
{
    /* io_remove_temporaries tries again at the end. */
    if (d->tmp != NULL && dir_remove(d->tmp, NULL) == 0)
        io_forget(d->place);
    release_dir_new(d);
}
