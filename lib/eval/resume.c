/* Results of models saved in a file; see resume.h. */
#include "eval/resume.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct head {
    char magic[8];
    uint64_t with; /* hash of what the results depend on */
};
struct mark {
    uint64_t n, hash; /* size and hash of the record that follows */
};

struct resume {
    const char *path;
    int fd, ready; /* ready: 1: b is a record of the file, 0: a new one */
    uint64_t at;   /* offset at which the file is read or written next */
    uint64_t size; /* bytes of the file */
    uint64_t n;    /* records read so far */
    struct buf b;  /* the current record, without its mark */
    size_t taken;  /* bytes of b that resume_pass has read */
    int failed;    /* 1: the input is not the file's; `why` says how it
                           * differs */
    struct err why;
};

/* ---- the file ---- */

static int
read_saved(const struct resume *r, void *p, size_t n, struct err *e)
{
    const ptrdiff_t got = io_read_at(r->fd, p, n, r->at);

    if (got < 0)
        return err_set(e, EX_SYS, "%s:", r->path);
    if ((size_t)got != n)
        return err_set(e, EX_SYS, "%s: has become shorter", r->path);
    return 0;
}

static int
write_saved(struct resume *r, const void *p, size_t n, struct err *e)
{
    if (lseek(r->fd, (off_t)r->at, SEEK_SET) < 0 || io_write(r->fd, p, n) < 0)
        return err_set(e, EX_SYS, "%s:", r->path);
    r->at += n;
    return 0;
}

/* Check that the file was made with the same models and options; an empty file
 * gets a head. */
static int
read_resume_head(struct resume *r, uint64_t with, struct err *e)
{
    struct head h = { "evalppl1", with }, was;

    if (r->size == 0)
        return write_saved(r, &h, sizeof h, e);
    if (r->size < sizeof was)
        return err_set(e, EX_INPUT, "%s: is no file of --resume", r->path);
    if (read_saved(r, &was, sizeof was, e) < 0)
        return -1;
    if (memcmp(was.magic, h.magic, sizeof h.magic) != 0)
        return err_set(e, EX_INPUT, "%s: is no file of --resume", r->path);
    if (was.with != with)
        return err_set(e, EX_USAGE,
            "%s: was made with other models, kernels or options that figures "
            "depend on",
            r->path);
    r->at = sizeof was;
    return 0;
}

struct resume *
resume_open(const char *path, const struct buf *with, struct err *e)
{
    struct resume *r = xcalloc(1, sizeof *r);
    struct stat st;
    int bad;

    r->path = path;
    r->fd = io_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) < 0)
        bad = err_set(e, EX_SYS, "%s:", path);
    else if (!S_ISREG(st.st_mode))
        bad = err_set(e, EX_USAGE, "%s: is no regular file", path);
    else if (io_flock(r->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        bad = err_set(e, EX_SYS, "%s: another process writes there", path);
    else {
        r->size = (uint64_t)st.st_size;
        bad = read_resume_head(r, XXH3_64bits(with->p, with->n), e);
    }
    if (bad == 0)
        return r;
    resume_close(r);
    return NULL;
}

void
resume_close(struct resume *r)
{
    if (r == NULL)
        return;
    buf_release(&r->b);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

/* ---- records ---- */

/* Read the next record into r->b.  Returns 1; 0: no complete record follows. */
static int
next_record(struct resume *r, struct err *e)
{
    struct mark m;

    if (r->at + sizeof m > r->size)
        return 0;
    if (read_saved(r, &m, sizeof m, e) < 0)
        return -1;
    if (m.n > r->size - r->at - sizeof m)
        return 0;
    buf_clear(&r->b);
    buf_reserve(&r->b, m.n);
    r->at += sizeof m;
    if (read_saved(r, r->b.p, m.n, e) < 0)
        return -1;
    r->b.n = m.n;
    r->at += m.n;
    if (XXH3_64bits(r->b.p, m.n) == m.hash)
        return 1;
    r->at -= m.n + sizeof m;
    return 0;
}

int
resume_begin(struct resume *r, struct err *e)
{
    if (r == NULL)
        return 0;
    r->taken = 0;
    r->ready = r->at < r->size ? next_record(r, e) : 0;
    if (r->ready < 0)
        return -1;
    if (r->ready) {
        r->n++;
        return 1;
    }
    if (r->at < r->size && ftruncate(r->fd, (off_t)r->at) < 0)
        return err_set(e, EX_SYS, "%s:", r->path);
    if (r->n > 0)
        note("%s: goes on after %" PRIu64 " groups of rows", r->path, r->n);
    r->size = r->n = 0;
    buf_clear(&r->b);
    return 0;
}

static void
other_input(struct resume *r)
{
    r->failed = 1;
    err_set(&r->why, EX_USAGE,
        "%s: was made of another input, or with another -B", r->path);
}

void
resume_pass(struct resume *r, void *p, size_t n)
{
    if (r == NULL)
        return;
    if (!r->ready) {
        buf_add(&r->b, p, n);
        return;
    }
    if (!r->failed && n > r->b.n - r->taken)
        other_input(r);
    if (r->failed) {
        memset(p, 0, n);
        return;
    }
    memcpy(p, r->b.p + r->taken, n);
    r->taken += n;
}

void
resume_same(struct resume *r, const void *p, size_t n)
{
    uint64_t h, was;

    if (r == NULL)
        return;
    was = h = XXH3_64bits(p, n);
    resume_pass(r, &was, sizeof was);
    if (was != h && !r->failed)
        other_input(r);
}

int
resume_end(struct resume *r, struct err *e)
{
    struct mark m;

    if (r == NULL)
        return 0;
    if (r->ready && !r->failed && r->taken != r->b.n)
        other_input(r);
    if (r->failed) {
        *e = r->why;
        return -1;
    }
    if (r->ready)
        return 0;
    m = (struct mark){ r->b.n, XXH3_64bits(r->b.p, r->b.n) };
    if (write_saved(r, &m, sizeof m, e) < 0)
        return -1;
    return write_saved(r, r->b.p, r->b.n, e);
}
