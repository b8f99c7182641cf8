/* Going on with a run that was broken off; see resume.h. */
#include "resume.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/model.h"

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
    uint64_t with; /* hash of models and options */
};
struct mark {
    uint64_t n, hash; /* of the bytes that follow */
};

struct resume {
    const char *path;
    int fd, ready;        /* the record at hand is from the file */
    uint64_t at, size, n; /* place in the file, its bytes; records of it */
    struct buf b;         /* the record at hand, behind its mark */
    size_t taken;         /* bytes of b passed */
};

/* ---- what it was made with ---- */

/* All that figures depend on, but the input. */
static uint64_t
hash_run(const struct eval *e, int detail)
{
    struct buf b = { 0 };
    uint64_t h;

    buf_addf(&b, "%s %s %zu %zu %g %zu %d %d", kern_name(),
        protocol_name[e->protocol], e->c, e->stride, e->temperature, e->base,
        detail, e->in != NULL);
    for (const struct eval *f = e; f != NULL; f = f->also)
        for (size_t i = 0; i < f->nj; i++)
            if (!f->j[i].recorded) {
                char model[33];

                model_hash(&f->j[i].m, model);
                buf_adds(&b, model);
            }
    h = XXH3_64bits(b.p, b.n);
    buf_release(&b);
    return h;
}

/* ---- the file ---- */

static void
read_all(const struct resume *r, void *p, size_t n)
{
    const ptrdiff_t got = io_read_at(r->fd, p, n, r->at);

    if (got < 0)
        die(EX_SYS, "%s:", r->path);
    if ((size_t)got != n)
        die(EX_SYS, "%s: has become shorter", r->path);
}

static void
write_all(struct resume *r, const void *p, size_t n)
{
    if (lseek(r->fd, (off_t)r->at, SEEK_SET) < 0 || io_write(r->fd, p, n) < 0)
        die(EX_SYS, "%s:", r->path);
    r->at += n;
}

/* What is there must have been made with the same; nothing: it begins. */
static void
read_head(struct resume *r, uint64_t with)
{
    struct head h = { "evalppl1", with }, was;

    if (r->size == 0) {
        write_all(r, &h, sizeof h);
        return;
    }
    if (r->size < sizeof was)
        die(EX_INPUT, "%s: is no file of --resume", r->path);
    read_all(r, &was, sizeof was);
    if (memcmp(was.magic, h.magic, sizeof h.magic) != 0)
        die(EX_INPUT, "%s: is no file of --resume", r->path);
    if (was.with != with)
        die(EX_USAGE,
            "%s: was made with other models, kernels or options that figures "
            "depend on",
            r->path);
    r->at = sizeof was;
}

struct resume *
resume_open(const struct eval *e, const char *path, int detail)
{
    struct resume *r;
    struct stat st;

    if (path == NULL)
        return NULL;
    r = xcalloc(1, sizeof *r);
    r->path = path;
    r->fd = io_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) < 0)
        die(EX_SYS, "%s:", path);
    if (!S_ISREG(st.st_mode))
        die(EX_USAGE, "%s: is no regular file", path);
    if (io_flock(r->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        die(EX_SYS, "%s: another process writes there", path);
    r->size = (uint64_t)st.st_size;
    read_head(r, hash_run(e, detail));
    return r;
}

void
resume_close(struct resume *r)
{
    if (r == NULL)
        return;
    buf_release(&r->b);
    close(r->fd);
    free(r);
}

/* ---- records ---- */

/* The next record, if there is a whole one. */
static int
next_record(struct resume *r)
{
    struct mark m;

    if (r->at + sizeof m > r->size)
        return 0;
    read_all(r, &m, sizeof m);
    if (m.n > r->size - r->at - sizeof m)
        return 0;
    buf_clear(&r->b);
    buf_reserve(&r->b, m.n);
    r->at += sizeof m;
    read_all(r, r->b.p, m.n);
    r->b.n = m.n;
    r->at += m.n;
    if (XXH3_64bits(r->b.p, m.n) == m.hash)
        return 1;
    r->at -= m.n + sizeof m;
    return 0;
}

int
resume_begin(struct resume *r)
{
    if (r == NULL)
        return 0;
    r->taken = 0;
    r->ready = r->at < r->size && next_record(r);
    if (r->ready) {
        r->n++;
        return 1;
    }
    if (r->at < r->size && ftruncate(r->fd, (off_t)r->at) < 0)
        die(EX_SYS, "%s:", r->path);
    if (r->n > 0)
        note("%s: goes on after %" PRIu64 " groups of rows", r->path, r->n);
    r->size = r->n = 0;
    buf_clear(&r->b);
    return 0;
}

static void
other_input(const struct resume *r)
{
    die(EX_USAGE, "%s: was made of another input, or with another -B", r->path);
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
    if (n > r->b.n - r->taken)
        other_input(r);
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
    if (was != h)
        other_input(r);
}

void
resume_end(struct resume *r)
{
    struct mark m;

    if (r == NULL)
        return;
    if (r->ready) {
        if (r->taken != r->b.n)
            other_input(r);
        return;
    }
    m = (struct mark){ r->b.n, XXH3_64bits(r->b.p, r->b.n) };
    write_all(r, &m, sizeof m);
    write_all(r, r->b.p, r->b.n);
}
