/*
 * Times parts of models by their shapes: see latency.h.  A block of the shape
 * is made and timed; the values of its weights do not matter.
 */
#include "latency.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "model/config/family.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "part\tsize\tseconds\n"
enum { REPEATS = 5 };

static const char *const names[] = { "attention", "mlp", "head" };

struct shape_time {
    enum shape_part part;
    size_t n;
    double seconds;
};
struct shapes {
    const struct model *m;
    size_t T;
    struct pool *pool;
    int fd; /* descriptor of the file; -1: none */
    struct shape_time *t;
    size_t n, cap;
    uint32_t *ids, *first; /* [T] the row that is timed: one piece */
};

static void
add_shape_time(struct shapes *s, enum shape_part part, size_t n, double seconds)
{
    s->t = xgrow(s->t, s->n, &s->cap, sizeof(*s->t));
    s->t[s->n++] = (struct shape_time){ part, n, seconds };
}

/* Read the table.  A last line without a newline is cut off: its writer was
 * killed. */
static void
read_times(struct shapes *s, const char *file)
{
    char *text, *p;
    size_t size, line = 1;
    struct err e;

    if (io_slurp(file, 1 << 24, &text, &size, &e) < 0)
        die_err(&e);
    if (size > 0 && strncmp(text, HEADER, sizeof(HEADER) - 1) != 0)
        die(EX_INPUT, "%s: is no table of times by shape", file);
    p = text + (size > 0 ? sizeof(HEADER) - 1 : 0);
    for (char *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        char part[16];
        size_t n, k = 0;
        double seconds;

        line++;
        if (sscanf(p, "%15s %zu %lf", part, &n, &seconds) != 3 ||
            !(seconds >= 0.0))
            die(EX_INPUT, "%s: line %zu: is no part, size and seconds", file,
                line);
        while (k < 3 && strcmp(part, names[k]) != 0)
            k++;
        if (k == 3)
            die(EX_INPUT, "%s: line %zu: is of a part that is none", file,
                line);
        add_shape_time(s, (enum shape_part)k, n, seconds);
    }
    if (ftruncate(s->fd, (off_t)(p - text)) < 0 ||
        (size == 0 && io_write(s->fd, HEADER, sizeof(HEADER) - 1) < 0))
        die(EX_SYS, "%s: cannot be written:", file);
    free(text);
}

struct shapes *
shapes_open(const struct model *m, size_t T, struct pool *pool,
    const char *file)
{
    struct shapes *s = xcalloc(1, sizeof(*s));

    if (m->c.conv > 0)
        die(EX_USAGE,
            "%s: has blocks with the short convolution, which are not timed: "
            "give --params, --ratio or --flops in place of --latency",
            m->path);
    *s = (struct shapes){ .m = m, .T = T, .pool = pool, .fd = -1 };
    s->ids = xcalloc(T, sizeof(*s->ids));
    s->first = xcalloc(T, sizeof(*s->first));
    if (file == NULL)
        return s;
    s->fd =
        io_openat(AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    if (s->fd < 0)
        die(EX_SYS, "%s: cannot be opened:", file);
    read_times(s, file);
    return s;
}

void
shapes_close(struct shapes *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->ids);
    free(s->first);
    free(s->t);
    free(s);
}

/* ---- timing ---- */

/* Make a model of one block with this number of groups and channels. */
static void
make_shape_block(struct model *m, struct block *b, const struct model *of,
    size_t groups, size_t mlp)
{
    struct block_shape shape = { .groups = groups, .mlp = mlp };

    *m = *of;
    m->c.L = 1;
    m->c.H = of->c.H / of->c.KV * groups;
    m->c.KV = groups;
    m->c.mlp = mlp;
    m->block = b;
    memset(b, 0, sizeof(*b));
    b->groups = groups;
    b->mlp = mlp;
    for (int t = 0; t < W_N; t++) {
        size_t rows, cols, n;
        float *v;

        block_dims(&m->c, t, &shape, &rows, &cols);
        if (block_tensor_name(&m->c, t) == NULL || rows * cols == 0)
            continue;
        v = xreallocarray(NULL, rows * cols, sizeof(*v));
        for (n = 0; n < rows * cols; n++)
            v[n] = 0.01f;
        b->w[t] = (struct weight){ .data = (unsigned char *)v,
            .dtype = DT_F32,
            .rows = rows,
            .cols = cols,
            .stride = cols * sizeof(*v) };
    }
}

static double
time_part(struct shapes *s, struct fwd *f, const struct fwd_part *part,
    float *x)
{
    const struct rows r = { 1, s->T, s->ids, s->first };
    const double start = clock_now();

    fwd_block_part(f, 0, &r, x, x, part);
    return clock_now() - start;
}

static double
time_head(struct shapes *s)
{
    struct fwd *f = fwd_new(s->m, s->pool, 1, 1);
    float *h = xcalloc(s->m->c.d, sizeof(*h));
    float *z = xreallocarray(NULL, s->m->c.V, sizeof(*z));
    double best = 1e9;

    for (int i = 0; i <= REPEATS; i++) {
        const double start = clock_now();
        double t;

        fwd_head(f, h, 1, z);
        t = clock_now() - start;
        best = t < best ? t : best;
    }
    free(h);
    free(z);
    fwd_free(f);
    return best;
}

static double
time_shape(struct shapes *s, enum shape_part part, size_t n)
{
    const struct fwd_part only = { .no_attn = part == SHAPE_MLP,
        .no_mlp = part == SHAPE_ATTN };
    struct model m;
    struct block b;
    struct fwd *f;
    float *x;
    double best = 1e9;

    make_shape_block(&m, &b, s->m, part == SHAPE_ATTN ? n : 1,
        part == SHAPE_MLP ? n : 1);
    f = fwd_new_blocks(&m, s->pool, 1, s->T);
    x = xcalloc(s->T * m.c.d, sizeof(*x));
    for (int i = 0; i <= REPEATS; i++) {
        const double t = time_part(s, f, &only, x);

        best = t < best ? t : best;
    }
    fwd_free(f);
    free(x);
    for (int t = 0; t < W_N; t++)
        free((void *)(uintptr_t)b.w[t].data);
    return best;
}

double
shapes_seconds(struct shapes *s, enum shape_part part, size_t n)
{
    double t;
    struct buf b = { 0 };

    for (size_t i = 0; i < s->n; i++)
        if (s->t[i].part == part && s->t[i].n == n)
            return s->t[i].seconds;
    t = part == SHAPE_HEAD ? time_head(s) : time_shape(s, part, n);
    buf_addf(&b, "%s\t%zu\t%.9f\n", names[part], n, t);
    if (s->fd >= 0 && io_write(s->fd, b.p, b.n) < 0)
        die(EX_SYS, "the table of times by shape cannot be written:");
    /* round t as in the file, so that a later run has equal times */
    sscanf(b.p, "%*s %*s %lf", &t);
    buf_release(&b);
    add_shape_time(s, part, n, t);
    return t;
}
