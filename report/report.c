/* report - a page, tables and images of the files of a run; see report(1) */
#include "answers.h"
#include "cost.h"
#include "export.h"
#include "flow.h"
#include "losses.h"
#include "page.h"
#include "predictions.h"
#include "rows.h"
#include "tables.h"
#include "watch.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/sub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct args {
    int text;
    const char *out; /* NULL: next to the file that is read */
};

/* Kinds of files, tried in this order: a file is of a kind if its first line
 * begins with `begins` or, where that is NULL, if `known` returns 1.  Every
 * file fits the last kind.  draw appends a page or image to *b, and text a
 * table for a terminal (NULL: there is none).  Both return 0, or -1 and *e. */
static const struct kind {
    const char *begins;
    int (*known)(const struct lines *l);
    int (*draw)(struct buf *b, const char *path, struct err *e);
    int (*text)(struct buf *b, const char *path, struct err *e);
} kinds[] = {
    { ROWS_HEADER, NULL, rows_image, NULL },
    { FLOW_HEADER, NULL, flow_image, NULL },
    { NULL, cost_known, cost_image, cost_table },
    { NULL, predictions_known, predictions_image, NULL },
    { "", NULL, losses_page, NULL },
};

static int
is_kind(const struct lines *l, const struct kind *k)
{
    return k->begins != NULL
        ? strncmp(l->line[0], k->begins, strlen(k->begins)) == 0
        : k->known(l);
}

static const struct kind *
file_kind(const char *path)
{
    const struct kind *k = kinds;
    struct lines l;
    struct err e;

    if (lines_read(&l, path, &e) <= 0)
        return k; /* the functions of kind k will report the error */
    while (l.n > 0 && !is_kind(&l, k))
        k++;
    lines_release(&l);
    return k;
}

/* Make the name of the output: FILE.html, or FILE.svg without FILE's .tsv. */
static char *
file_output(const char *file, int is_page)
{
    const size_t n = strlen(file);
    const int tsv = n > 4 && strcmp(file + n - 4, ".tsv") == 0;

    return is_page ? xasprintf("%s.html", file)
                   : xasprintf("%.*s.svg", (int)(tsv ? n - 4 : n), file);
}

static int
report_file(const char *file, const struct args *a)
{
    const struct kind *k = file_kind(file);
    const int is_page = k->draw == losses_page;
    char *path = a->text ? xstrdup("-") : file_output(file, is_page);
    struct buf b = { 0 };
    struct err e;

    if (a->text && k->text == NULL)
        die(EX_USAGE, "%s: --text has no table of it: leave --text out", file);
    if ((a->text ? k->text : k->draw)(&b, file, &e) < 0)
        die_err(&e);
    out_file(a->out != NULL ? a->out : path, b.p, b.n);
    if (a->out == NULL && !a->text)
        note("the %s is %s", is_page ? "page" : "image", path);
    buf_release(&b);
    free(path);
    return EX_OK;
}

static int
report_folder(const char *operand, const struct args *a)
{
    static struct run r;
    char *dir = run_folder(operand, "");
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
    free(dir);
    return status;
}

int
main(int argc, char **argv)
{
    static const struct sub commands[] = {
        { "watch", watch_main, "show runs in the terminal while they train" },
        { "export", export_main, "write logs of runs for TensorBoard" },
        { "answers", answers_main, "count questions and answers" },
        { NULL, NULL, NULL }
    };
    static struct args a;
    const struct opt options[] = {
        OPT_FLAG(0, "text", &a.text,
            "print tables for a terminal instead of a page"),
        OPT_STR('o', "output", &a.out, "file",
            "file to write, - for standard output (default: beside the input)"),
        OPT_END
    };
    const int ran = sub_run(argc, argv, commands);
    const char *path;
    struct stat st;
    int status;

    if (ran >= 0)
        return ran;
    path = *opt_parse(argc, argv, options,
        sub_about("show the files of a run as a page, or a file as an image; "
                  "or use a command",
            commands),
        "path", 1, 1, NULL);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        status = report_file(path, &a);
    else
        status = report_folder(path, &a);
    out_done();
    return status;
}
