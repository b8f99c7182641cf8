/* report - a page, tables and images of the files of a run; see report(1) */
#include "cost.h"
#include "flow.h"
#include "losses.h"
#include "page.h"
#include "predictions.h"
#include "rows.h"
#include "tables.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct args {
    int text;
    const char *out; /* NULL: beside what is read */
};

static int
begins_with(const struct lines *l, const char *header)
{
    return l->n > 0 && strncmp(l->line[0], header, strlen(header)) == 0;
}

static int
is_rows(const struct lines *l)
{
    return begins_with(l, ROWS_HEADER);
}

static int
is_flow(const struct lines *l)
{
    return begins_with(l, FLOW_HEADER);
}

/* Kinds of files.  Each function appends to b; -1 and *e. */
static const struct kind {
    int (*known)(const struct lines *l); /* NULL: of any other file */
    int (*draw)(struct buf *b, const char *path, struct err *e);
    int (*text)(struct buf *b, const char *path, struct err *e); /* or NULL */
    const char *ending, *what;
} kinds[] = {
    { is_rows, rows_image, NULL, ".svg", "image" },
    { is_flow, flow_image, NULL, ".svg", "image" },
    { cost_known, cost_image, cost_table, ".svg", "image" },
    { predictions_known, predictions_image, NULL, ".svg", "image" },
    { NULL, losses_page, NULL, ".html", "page" },
};

static const struct kind *
file_kind(const char *path)
{
    const struct kind *k = kinds;
    struct lines l = { .n = 0 };
    struct err e;

    if (lines_read(&l, path, &e) <= 0)
        memset(&l, 0, sizeof l); /* draw tells why */
    while (k->known != NULL && !k->known(&l))
        k++;
    lines_release(&l);
    return k;
}

/* FILE.html, or FILE.svg without the .tsv of FILE. */
static char *
file_output(const char *file, const struct kind *k)
{
    size_t n = strlen(file);

    if (k->known != NULL && n > 4 && strcmp(file + n - 4, ".tsv") == 0)
        n -= 4;
    return xasprintf("%.*s%s", (int)n, file, k->ending);
}

static int
report_file(const char *file, const struct args *a)
{
    const struct kind *k = file_kind(file);
    char *path = a->text ? xstrdup("-") : file_output(file, k);
    struct buf b = { 0 };
    struct err e;

    if (a->text && k->text == NULL)
        die(EX_USAGE, "%s: --text has no table of it: leave --text out", file);
    if ((a->text ? k->text : k->draw)(&b, file, &e) < 0)
        die_err(&e);
    out_file(a->out != NULL ? a->out : path, b.p, b.n);
    if (a->out == NULL && !a->text)
        note("the %s is %s", k->what, path);
    buf_release(&b);
    free(path);
    return EX_OK;
}

static int
report_folder(const char *dir, const struct args *a)
{
    static struct run r;
    char *path = a->text ? xstrdup("-") : xasprintf("%s/report.html", dir);
    struct buf b = { 0 };
    struct err e;
    int status;

    if (run_read(&r, dir, &e) < 0)
        die_err(&e);
    for (size_t i = 0; i < r.nproblem; i++)
        warn("%s; it is left out", r.problem[i].msg);
    status = r.nproblem > 0 ? r.problem[0].code : EX_OK;
    (a->text ? terminal : page)(&b, &r);
    out_file(a->out != NULL ? a->out : path, b.p, b.n);
    if (a->out == NULL && !a->text)
        note("the page is %s", path);
    buf_release(&b);
    run_release(&r);
    free(path);
    return status;
}

int
main(int argc, char **argv)
{
    static struct args a;
    const struct opt options[] = { OPT_FLAG(0, "text", &a.text,
                                       "print tables for a terminal, no page"),
        OPT_STR('o', "output", &a.out, "file",
            "write to this file, or to - (default: beside the input)"),
        OPT_END };
    const char *path = *opt_parse(argc, argv, options,
        "show the files of a run as a page, or a file as an image", "path", 1,
        1, NULL);
    struct stat st;
    int status;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        status = report_file(path, &a);
    else
        status = report_folder(path, &a);
    out_done();
    return status;
}
