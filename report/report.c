/* report - a page and tables of what a run left behind; see report(1) */
#include "flow.h"
#include "losses.h"
#include "page.h"
#include "rows.h"
#include "table.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int text;
static const char *out;

static const struct opt options[] = { OPT_FLAG(0, "text", &text,
                                          "tables for a terminal, not a page"),
    OPT_STR('o', "output", &out, "file",
        "write there (report.html in dir; - is standard output)"),
    OPT_END };

/* A file whose first line begins so is drawn as an image. */
static const struct image {
    const char *begins;
    int (*draw)(struct buf *b, const char *path, struct err *e);
} images[] = { { ROWS_HEADER, rows_image }, { FLOW_HEADER, flow_image } };

static const struct image *
known_image(const char *path)
{
    const struct image *known = NULL;
    struct lines l;
    struct err e;

    if (lines_read(&l, path, &e) <= 0)
        return NULL;
    for (size_t i = 0; l.n > 0 && i < sizeof images / sizeof *images; i++)
        if (strncmp(l.line[0], images[i].begins, strlen(images[i].begins)) == 0)
            known = &images[i];
    lines_release(&l);
    return known;
}

/* A file, instead of a run's folder: a table for an image, or tokens. */
static int
one_file(const char *file)
{
    struct buf b = { 0 };
    struct err e;
    const struct image *i = known_image(file);
    const size_t n = strlen(file);
    const int tsv = i != NULL && n > 4 && strcmp(file + n - 4, ".tsv") == 0;
    char *path = i != NULL ? xasprintf("%.*s.svg", (int)(tsv ? n - 4 : n), file)
                           : xasprintf("%s.html", file);

    if (text)
        die(EX_USAGE, "%s: is shown as a page or an image, not as --text",
            file);
    if ((i != NULL ? i->draw : losses_page)(&b, file, &e) < 0)
        die_err(&e);
    out_file(out != NULL ? out : path, b.p, b.n);
    if (out == NULL)
        note("the %s is %s", i != NULL ? "image" : "page", path);
    buf_release(&b);
    free(path);
    out_done();
    return EX_OK;
}

int
main(int argc, char **argv)
{
    static struct run r;
    struct buf b = { 0 };
    struct err e;
    char **dir = opt_parse(argc, argv, options, "show what a run left behind",
        "dir", 1, 1, NULL);
    char *path;
    struct stat st;
    int status;

    if (stat(*dir, &st) == 0 && S_ISREG(st.st_mode))
        return one_file(*dir);
    path = xasprintf("%s/report.html", *dir);
    if (out == NULL)
        out = text ? "-" : path;
    if (run_read(&r, *dir, &e) < 0)
        die_err(&e);
    for (size_t i = 0; i < r.nproblem; i++)
        warn("%s; it is left out", r.problem[i].msg);
    status = r.nproblem > 0 ? r.problem[0].code : EX_OK;
    if (text)
        terminal(&b, &r);
    else
        page(&b, &r);
    out_file(out, b.p, b.n);
    if (!text && out == path)
        note("the page is %s", path);
    buf_release(&b);
    run_release(&r);
    free(path);
    out_done();
    return status;
}
