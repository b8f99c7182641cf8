/* Buffered files: see file_out.h */
#include "file_out.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/die.h"

#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

void
file_begin(struct file_out *f, const char *path)
{
    struct err e;

    memset(f, 0, sizeof *f);
    if (io_out_begin(&f->out, path, &e) < 0)
        die_err(&e);
}

static void
file_flush(struct file_out *f)
{
    struct err e;

    if (f->b.n && io_out_write(&f->out, f->b.p, f->b.n, &e) < 0)
        die_err(&e);
    buf_clear(&f->b);
}

void
file_add(struct file_out *f, const void *p, size_t n)
{
    buf_add(&f->b, p, n);
    f->n += n;
    if (f->b.n >= BUFFER)
        file_flush(f);
}

void
file_number(struct file_out *f, uint64_t v, int bytes)
{
    unsigned char b[8];

    le_put(b, v, (size_t)bytes);
    file_add(f, b, (size_t)bytes);
}

void
file_ids(struct file_out *f, const uint32_t *ids, size_t n, int bytes)
{
    for (size_t i = 0; i < n; i++)
        buf_add(&f->b, &ids[i], (size_t)bytes);
    f->n += n * (size_t)bytes;
    if (f->b.n >= BUFFER)
        file_flush(f);
}

void
file_head(struct file_out *f, const void *p, size_t n)
{
    size_t done = 0;

    file_flush(f);
    while (done < n) {
        const ssize_t k =
            pwrite(f->out.fd, (const char *)p + done, n - done, (off_t)done);

        if (k < 0)
            die(EX_SYS, "%s:", f->out.path);
        done += (size_t)k;
    }
}

void
file_commit(struct file_out *f)
{
    struct err e;

    file_flush(f);
    if (io_out_commit(&f->out, &e) < 0)
        die_err(&e);
    buf_release(&f->b);
}
