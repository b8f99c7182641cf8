/* A .gguf file and its parts; see gguf_file.h. */
#include "format/gguf_file.h"

#include "base/mem.h"
#include "format/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 99999 /* the numbers have five digits */

/* Map and parse one more file; f owns name from here on. */
static int
add_split_part(struct gguf_file *f, char *name, int tensors, struct err *e)
{
    const size_t i = f->n;
    int r;

    f->name = xreallocarray(f->name, i + 1, sizeof *f->name);
    f->map = xreallocarray(f->map, i + 1, sizeof *f->map);
    f->part = xreallocarray(f->part, i + 1, sizeof *f->part);
    if ((r = io_map(&f->map[i], name, e)) == 0) {
        const struct io_map *m = &f->map[i];

        r = tensors ? gguf_parse(&f->part[i], m->p, m->n, e)
                    : gguf_parse_metadata(&f->part[i], m->p, m->n, e);
        if (r < 0) {
            err_prefix(e, "%s", name);
            io_unmap(&f->map[i]);
        }
    }
    if (r < 0) {
        free(name);
        return -1;
    }
    f->name[i] = name;
    f->n++;
    return 0;
}

/* Read the number of the part, counted from 0, and the number of parts; 0 and
 * 1: the file is not split. */
static int
read_split(const struct gguf *g, size_t *no, size_t *count, struct err *e)
{
    *no = 0;
    *count = 1;
    return gguf_size(g, "split.count", 0, PARTS_MAX, count, e) < 0 ||
            gguf_size(g, "split.no", 0, PARTS_MAX, no, e) < 0
        ? -1
        : 0;
}

/* The path of part `want`, from that of part `no`; NULL and *e: path does not
 * have the form of a part's name. */
static char *
part_name(const char *path, size_t no, size_t count, size_t want, struct err *e)
{
    char end[64];
    const size_t n = strlen(path),
                 k = (size_t)snprintf(end, sizeof end, "-%05zu-of-%05zu.gguf",
                     no + 1, count);

    if (n < k || strcmp(path + n - k, end) != 0) {
        err_set(e, EX_INPUT,
            "%s: is part %zu of %zu of a split model, but its name does not "
            "end in %s: give the parts such names, or merge them with "
            "llama-gguf-split --merge",
            path, no + 1, count, end);
        return NULL;
    }
    return xasprintf("%.*s-%05zu-of-%05zu.gguf", (int)(n - k), path, want + 1,
        count);
}

/* Add part `want` of the file whose part `no` is at path. */
static int
add_named(struct gguf_file *f, const char *path, size_t no, size_t count,
    size_t want, int tensors, struct err *e)
{
    char *name = part_name(path, no, count, want, e);
    size_t is, of;

    if (name == NULL)
        return -1;
    if (!io_exists(name)) {
        err_set(e, EX_INPUT,
            "%s: part %zu of %zu of the model is missing: put all parts into "
            "one folder",
            name, want + 1, count);
        free(name);
        return -1;
    }
    if (add_split_part(f, name, tensors, e) < 0)
        return -1;
    if (read_split(&f->part[f->n - 1], &is, &of, e) < 0)
        return err_prefix(e, "%s", name);
    if (is != want || of != count)
        return err_set(e, EX_INPUT,
            "%s: is part %zu of %zu, not part %zu of %zu of %s", name, is + 1,
            of, want + 1, count, path);
    return 0;
}

/* Join the tensors of all parts in f->g; the parts own the tensors' names. */
static int
join_parts(struct gguf_file *f, struct err *e)
{
    const char **name, *twice;
    size_t n = 0, want = 0;

    for (size_t i = 0; i < f->n; i++)
        n += f->part[i].nt;
    f->g = f->part[0];
    f->g.t = xcalloc(n + 1, sizeof *f->g.t);
    f->g.nt = 0;
    name = xcalloc(n + 1, sizeof *name);
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->part[i].nt; k++) {
            name[f->g.nt] = f->part[i].t[k].name;
            f->g.t[f->g.nt++] = f->part[i].t[k];
        }
    twice = names_twice(name, n);
    free(name);
    if (twice != NULL)
        return err_set(e, EX_INPUT, "%s: tensor %s is in two parts", f->name[0],
            twice);
    want = n;
    if (f->n > 1 &&
        gguf_size(&f->g, "split.tensors.count", 0, SIZE_MAX / 2, &want, e) < 0)
        return err_prefix(e, "%s", f->name[0]);
    if (want != n)
        return err_set(e, EX_INPUT,
            "%s: has %zu tensors in all parts by split.tensors.count, the "
            "parts have %zu",
            f->name[0], want, n);
    return 0;
}

/* Open all parts; without tensors, only the first. */
static int
open_parts(struct gguf_file *f, const char *path, int tensors, struct err *e)
{
    size_t no, count;

    if (add_split_part(f, xstrdup(path), tensors, e) < 0)
        return -1;
    if (read_split(f->part, &no, &count, e) < 0)
        return err_prefix(e, "%s", path);
    if (no > 0) { /* path is another part: begin with the first instead */
        io_unmap(&f->map[0]);
        gguf_release(&f->part[0]);
        free(f->name[0]);
        f->n = 0;
        if (add_named(f, path, no, count, 0, tensors, e) < 0)
            return -1;
    }
    while (tensors && f->n < count)
        if (add_named(f, path, no, count, f->n, 1, e) < 0)
            return -1;
    return join_parts(f, e);
}

static int
map_first_part(struct gguf_file *f, const char *path, int tensors,
    struct err *e)
{
    int r;

    memset(f, 0, sizeof *f);
    if ((r = open_parts(f, path, tensors, e)) < 0)
        gguf_close(f);
    return r;
}

int
gguf_is_name(const char *path)
{
    const size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

int
gguf_open(struct gguf_file *f, const char *path, struct err *e)
{
    return map_first_part(f, path, 1, e);
}

int
gguf_open_metadata(struct gguf_file *f, const char *path, struct err *e)
{
    return map_first_part(f, path, 0, e);
}

void
gguf_close(struct gguf_file *f)
{
    for (size_t i = 0; i < f->n; i++) {
        io_unmap(&f->map[i]);
        gguf_release(&f->part[i]);
        free(f->name[i]);
    }
    free(f->g.t); /* the first part owns the rest of f->g */
    free(f->map);
    free(f->part);
    free(f->name);
    memset(f, 0, sizeof *f);
}
