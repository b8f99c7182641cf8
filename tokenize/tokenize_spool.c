/* Bytes that go to a file when they are many; see tokenize_spool.h. */
#include "tokenize_spool.h"

#include "base/io.h"

#include <string.h>
#include <unistd.h>

static int
failed(struct err *e)
{
    return err_set(e, EX_SYS, "a file in TMPDIR:");
}

static int
write_rest(struct spool *s, struct err *e)
{
    if (!s->open && (s->fd = io_unnamed(e)) < 0)
        return -1;
    s->open = 1;
    if (io_write(s->fd, s->rest.p, s->rest.n) < 0)
        return failed(e);
    s->file += s->rest.n;
    buf_clear(&s->rest);
    return 0;
}

int
spool_add(struct spool *s, const void *p, size_t n, struct err *e)
{
    if (s->rest.n > 0 && s->rest.n + n > SPOOL_KEEP && write_rest(s, e) < 0)
        return -1;
    buf_add(&s->rest, p, n);
    return 0;
}

int
spool_read(const struct spool *s, uint64_t at, void *p, size_t n, size_t *got,
    struct err *e)
{
    size_t k = 0;

    if (at < s->file) {
        k = s->file - at < n ? (size_t)(s->file - at) : n;
        if (io_read_at(s->fd, p, k, at) != (ptrdiff_t)k)
            return failed(e);
    }
    *got = k;
    if (k < n && at + k < spool_size(s)) {
        const size_t from = (size_t)(at + k - s->file);

        n = s->rest.n - from < n - k ? s->rest.n - from : n - k;
        memcpy((char *)p + k, s->rest.p + from, n);
        *got += n;
    }
    return 0;
}

int
spool_text(const struct spool *s, uint64_t *at, size_t most, struct buf *part,
    struct err *e)
{
    size_t n;

    buf_clear(part);
    buf_reserve(part, most);
    if (spool_read(s, *at, part->p, most, &n, e) < 0)
        return -1;
    if (n == most) {                /* perhaps not the end */
        size_t k = n - 1;

        while (k > 0 && ((unsigned char)part->p[k] & 0xc0) == 0x80)
            k--;
        n = k > 0 ? k : n;
    }
    part->n = n;
    *at += n;
    return n > 0;
}

int
spool_cut(struct spool *s, uint64_t n, struct err *e)
{
    if (n >= s->file) {
        s->rest.n = (size_t)(n - s->file);
        return 0;
    }
    buf_clear(&s->rest);
    s->file = n;
    if (ftruncate(s->fd, (off_t)n) < 0 ||
        lseek(s->fd, (off_t)n, SEEK_SET) < 0)
        return failed(e);
    return 0;
}

void
spool_release(struct spool *s)
{
    if (s->open)
        close(s->fd);
    buf_release(&s->rest);
    *s = (struct spool){ 0 };
}
