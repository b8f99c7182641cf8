/* Files of lines; see text_file.h. */
#include "text_file.h"

#include "cli/out.h"

#include <unistd.h>

#define FULL ((size_t)256 << 10) /* bytes of lines gathered for a write */

int
text_file_begin(struct text_file *f, const char *path, struct err *e)
{
    if (!path)
        return 0;
    f->open = 1;
    return io_out_begin(&f->out, path, e);
}

void
text_file_stdout(struct text_file *f)
{
    f->open = f->to_stdout = 1;
    io_widen_pipe(STDOUT_FILENO);
}

static int
write_lines(struct text_file *f, struct err *e)
{
    int bad = 0;

    if (f->to_stdout)
        out_put(f->line.p, f->line.n);
    else
        bad = io_out_write(&f->out, f->line.p, f->line.n, e);
    buf_clear(&f->line);
    if (f->line.cap > 4 * FULL)
        buf_release(&f->line);
    return bad;
}

int
text_file_flush(struct text_file *f, struct err *e)
{
    return f->line.n > FULL ? write_lines(f, e) : 0;
}

int
text_file_end(struct text_file *f, struct err *e)
{
    if (!f->open)
        return 0;
    if (write_lines(f, e) < 0)
        return -1;
    return f->to_stdout ? 0 : io_out_commit(&f->out, e);
}

void
text_file_release(struct text_file *f)
{
    buf_release(&f->line);
}
