/* Files of documents; see text_file.h. */
#include "text_file.h"

#include "cli/die.h"
#include "text/unicode.h"

#include <jansson.h>
#include <string.h>

#define KEEP ((size_t)1 << 20) /* bytes of lines */

int
text_file_begin(struct text_file *f, const char *path, struct err *e)
{
    if (!path)
        return 0;
    f->open = 1;
    return io_out_begin(&f->out, path, e);
}

static int
write_lines(struct text_file *f, struct err *e)
{
    const int k = io_out_write(&f->out, f->line.p, f->line.n, e);

    buf_clear(&f->line);
    if (f->line.cap > 4 * KEEP)
        buf_release(&f->line);
    return k;
}

int
text_file_flush(struct text_file *f, struct err *e)
{
    return f->line.n > KEEP ? write_lines(f, e) : 0;
}

int
text_file_end(struct text_file *f, struct err *e)
{
    if (!f->open)
        return 0;
    return write_lines(f, e) < 0 ? -1 : io_out_commit(&f->out, e);
}

void
text_file_release(struct text_file *f)
{
    buf_release(&f->line);
}

static int
add_json(const char *p, size_t n, void *line)
{
    buf_add(line, p, n);
    return 0;
}

int
text_file_record(struct text_file *f, const struct doc *d, const char *source,
    const char *reason, double value, const char *text, size_t n, struct err *e)
{
    const char *name = d->from->name;
    struct buf mended = { 0 };
    json_t *j;

    if (!f->open)
        return 0;
    j = json_object();
    uni_repair(name, strlen(name), &mended);
    json_object_set_new(j, "input", json_stringn_nocheck(mended.p, mended.n));
    json_object_set_new(j, "record", json_integer((json_int_t)d->record));
    json_object_set_new(j, "source", json_string_nocheck(source));
    if (reason) {
        json_object_set_new(j, "reason", json_string_nocheck(reason));
        json_object_set_new(j, "value",
            value < 0 ? json_null() : json_real(value));
    }
    json_object_set_new(j, "text", json_stringn_nocheck(n ? text : "", n));
    if (json_dump_callback(j, add_json, &f->line,
            JSON_COMPACT | JSON_REAL_PRECISION(6)) < 0)
        die(EX_SYS, "out of memory");
    json_decref(j);
    buf_release(&mended);
    buf_addc(&f->line, '\n');
    return text_file_flush(f, e);
}
