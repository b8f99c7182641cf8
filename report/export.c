/* report export: logs of runs as event files of TensorBoard. */
#include "export.h"
#include "events.h"
#include "run.h"
#include "table.h"
#include "base/io.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Append the cells of a table as scalars GROUP/COLUMN.  last: time of the last
 * row, from which the column `seconds` gives the times of earlier rows. */
static void
add_table(struct buf *b, const struct table *t, const char *group, double last)
{
    const size_t step = table_column(t, "step");
    const size_t seconds = table_column(t, "seconds");
    double when = last;

    for (size_t i = 0; i < t->nrow; i++)
        when -= i > 0 ? fmax(0.0, table_real(t, i, seconds)) : 0.0;
    for (size_t i = 0; i < t->nrow; i++) {
        if (i > 0)
            when += fmax(0.0, table_real(t, i, seconds));
        for (size_t c = 0; c < t->ncol; c++) {
            const double v = table_real(t, i, c);
            char tag[200];

            if (c == step || !isfinite(v))
                continue;
            snprintf(tag, sizeof tag, "%s/%s", group, t->cell[c]);
            events_scalar(b, when, (uint64_t)table_real(t, i, step), tag, v);
        }
    }
}

/* Append the scalars of the table in a file.  Returns the table's number of
 * rows; 0: there is no file. */
static size_t
add_file(struct buf *b, const char *dir, const char *file, const char *group)
{
    char *path = xasprintf("%s/%s", dir, file);
    struct lines l;
    struct table t = { 0 };
    size_t at = 0, n = 0;
    struct stat st;
    struct err e;
    const int got = lines_read(&l, path, &e);

    if (got < 0)
        die_err(&e);
    if (got > 0) {
        lines_whole(&l);
        if (table_parse(&t, &l, &at, &e) < 0 ||
            table_need(&t, "step loss", 1, &e) < 0)
            die(e.code, "%s: %s", path, e.msg);
        n = t.nrow;
        add_table(b, &t, group, stat(path, &st) == 0 ? (double)st.st_mtime : 0);
        table_release(&t);
        lines_release(&l);
    }
    free(path);
    return n;
}

/* The last name in the path of a folder, or "run" if it has none. */
static char *
run_name(const char *dir)
{
    char *real = realpath(dir, NULL), *name;
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;

    name = xstrdup(slash != NULL && slash[1] != '\0' ? slash + 1 : "run");
    free(real);
    return name;
}

static void
make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        die(EX_SYS, "%s:", path);
}

/* Write the event file of a run to a folder with the run's name in `to`. */
static void
export_run(const char *run, const char *to)
{
    char *dir = run_folder(run, "/distilled"), *name = run_name(run),
         *folder = xasprintf("%s/%s", to, name);
    char *path = xasprintf("%s/events.out.tfevents.retort", folder);
    struct buf b = { 0 };

    events_begin(&b);
    if (add_file(&b, dir, "metrics.tsv", "train") == 0)
        die(EX_INPUT,
            "%s: has no steps in metrics.tsv: give the folder that "
            "student -o names",
            dir);
    add_file(&b, dir, "held-out.tsv", "held-out");
    make_folder(to);
    make_folder(folder);
    out_file(path, b.p, b.n);
    buf_release(&b);
    free(path);
    free(folder);
    free(name);
    free(dir);
}

int
export_main(int argc, char **argv)
{
    static const char *to;
    const struct opt options[] = { OPT_STR(0, "tensorboard", &to, "directory",
                                       "write event files to this directory"),
        OPT_END };

    argv = opt_parse(argc, argv, options, "write logs of runs for TensorBoard",
        "run ...", 1, -1, NULL);
    if (to == NULL)
        die(EX_USAGE, "name a directory, such as --tensorboard logs");
    for (; *argv != NULL; argv++)
        export_run(*argv, to);
    return EX_OK;
}
