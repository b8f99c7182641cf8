/* Named segments of shared memory: see shm_name.h */
#define _GNU_SOURCE
#include "msg/shm_name.h"
#include "base/dir.h"
#include "base/mem.h"
#include "base/note.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Seconds; the writer of a younger segment may not have locked it yet. */
enum { YOUNG = 10 };

int
shm_lock(int fd, int role)
{
    struct flock l = { .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = role,
        .l_len = 1 };

    return fcntl(fd, F_SETLK, &l);
}

pid_t
shm_holder(int fd, int role)
{
    struct flock l = { .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = role,
        .l_len = 1 };

    if (fcntl(fd, F_GETLK, &l) < 0)
        return -1;
    return l.l_type == F_UNLCK ? 0 : l.l_pid > 0 ? l.l_pid : -1;
}

char *
shm_name(const struct addr *a)
{
    return xasprintf("/retort-%lu-%s", (unsigned long)geteuid(), a->name);
}

/* Is the segment older than YOUNG, this user's, and without a writer? */
static int
is_left(const char *path)
{
    struct stat st;
    int fd, left;

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_uid != geteuid() || time(NULL) - st.st_mtime <= YOUNG ||
        (fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
        return 0;
    left = shm_holder(fd, 0) == 0;
    close(fd);
    return left;
}

void
shm_note_left(const struct addr *a)
{
    /* Several threads open addresses; only the first one looks. */
    static atomic_flag looked = ATOMIC_FLAG_INIT;
    struct dir_list l = { 0 };
    struct buf b = { 0 };
    struct err none;
    char *own, *prefix;

    if (atomic_flag_test_and_set(&looked) ||
        dir_list("/dev/shm", &l, &none) < 0)
        return;
    own = shm_name(a);
    prefix = xasprintf("retort-%lu-", (unsigned long)geteuid());
    for (size_t i = 0; i < l.n; i++) {
        char *path = xasprintf("/dev/shm/%s", l.name[i]);

        if (strncmp(l.name[i], prefix, strlen(prefix)) == 0 &&
            strcmp(l.name[i], own + 1) != 0 && is_left(path))
            buf_addf(&b, " %s", path);
        free(path);
    }
    if (b.n > 0)
        note("%s: killed programs have left shared memory; to free it: rm%s",
            a->text, b.p);
    buf_release(&b);
    free(prefix);
    free(own);
    dir_list_release(&l);
}
