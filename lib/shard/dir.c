/* The folder of a shard directory: names of its files, its lock, and what may
 * be removed; see dir.h */
#include "base/dir.h"
#include "base/io.h"
#include "shard/dir.h"
#include "shard/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

char *
shard_path(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

void
shard_name(char *out, size_t i, enum codec c)
{
    snprintf(out, SHARD_NAME, "%05zu.shard%s", i, codec_suffix(c));
}

void
shard_index_name(char *out, const char *shard)
{
    snprintf(out, SHARD_NAME, "%.5s.index", shard);
}

size_t
shard_number(const char *shard, enum codec c)
{
    char same[SHARD_NAME];
    size_t n = 0;

    for (size_t i = 0; i < 5; i++) {
        if (shard[i] < '0' || shard[i] > '9')
            return SIZE_MAX;
        n = n * 10 + (size_t)(shard[i] - '0');
    }
    shard_name(same, n, c);
    return strcmp(same, shard) == 0 ? n : SIZE_MAX;
}

/* Can a shard directory have a file called `name`?  *n: number of the shard
 * (SIZE_MAX: the file is the manifest); *temp: 1 for a temporary file, which a
 * dead writer left. */
static int
is_ours(const char *name, size_t *n, int *temp)
{
    const char *p = name;

    *temp = 0;
    if (strncmp(name, SHARD_MANIFEST, sizeof SHARD_MANIFEST - 1) == 0) {
        *n = SIZE_MAX;
        p += sizeof SHARD_MANIFEST - 1;
    } else {
        for (*n = 0; p < name + 5; p++) {
            if (*p < '0' || *p > '9')
                return 0;
            *n = *n * 10 + (size_t)(*p - '0');
        }
        if (strncmp(p, ".shard.zst", 10) == 0 ||
            strncmp(p, ".shard.lz4", 10) == 0)
            p += 10;
        else if (strncmp(p, ".index", 6) == 0)
            p += 6;
        else
            return 0;
    }
    if (strncmp(p, ".tmp.", 5) == 0) {
        *temp = 1;
        p += 5;
        p += strspn(p, "0123456789");
    }
    return *p == '\0';
}

static int
is_kept_shard(const struct manifest *m, size_t n)
{
    for (size_t i = 0; i < m->nfile; i++)
        if (shard_number(m->file[i].name, m->codec) == n)
            return 1;
    return n == SIZE_MAX;
}

int
shard_dir_look(const char *dir, size_t *foreign, size_t *shards, struct err *e)
{
    struct dir_list l;

    *foreign = *shards = 0;
    if (dir_list(dir, &l, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n; i++) {
        size_t n;
        int temp;
        const int ours = is_ours(l.name[i], &n, &temp);

        *foreign += !ours;
        *shards += ours && !temp;
    }
    dir_list_release(&l);
    return 0;
}

int
shard_dir_clean(const char *dir, const struct manifest *keep, struct err *e)
{
    struct dir_list l;
    int r = 0;

    if (dir_list(dir, &l, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        size_t n;
        int temp;

        if (is_ours(l.name[i], &n, &temp) &&
            (temp || !is_kept_shard(keep, n))) {
            char *path = shard_path(dir, l.name[i]);

            if (unlink(path) < 0 && errno != ENOENT)
                r = err_set(e, EX_SYS, "%s:", path);
            free(path);
        }
    }
    dir_list_release(&l);
    return r;
}

int
shard_dir_remove(const char *dir, struct err *e)
{
    const struct manifest none = { 0 };
    char *path = shard_path(dir, SHARD_MANIFEST);
    const int ours = manifest_is_ours(dir, e);
    int r = ours < 0 ? -1 : 0;

    /* the manifest, which marks the folder as a shard directory, goes last */
    if (ours > 0)
        r = shard_dir_clean(dir, &none, e);
    if (r == 0 && ours > 0 && unlink(path) < 0)
        r = err_set(e, EX_SYS, "%s:", path);
    if (r == 0 && rmdir(dir) < 0)
        r = ours > 0 ? err_set(e, EX_SYS, "%s:", dir)
                     : err_set(e, EX_USAGE,
                           "%s: is in the way, and no shard directory: give "
                           "another name",
                           dir);
    free(path);
    return r;
}

int
shard_dir_lock(const char *dir, struct err *e)
{
    const int fd = io_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_set(e, EX_SYS, "%s:", dir);
    if (io_flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(fd);
        return err_set(e, EX_SYS, "%s: another process writes there", dir);
    }
    return fd;
}
