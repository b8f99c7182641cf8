/* report - a page and tables of what a run left behind; see report(1) */
#include "page.h"
#include "base/io.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"

#include <stdlib.h>
#include <string.h>

static int text;
static const char *out;

static const struct opt options[] = { OPT_FLAG(0, "text", &text,
                                          "tables for a terminal, not a page"),
    OPT_STR('o', "output", &out, "file",
        "write there (report.html in dir; - is standard output)"),
    OPT_END };

static void
write_file(const char *path, const struct buf *b)
{
    struct io_out f;
    struct err e;

    if (io_out_begin(&f, path, &e) < 0)
        die_err(&e);
    if (io_out_write(&f, b->p, b->n, &e) < 0 || io_out_commit(&f, &e) < 0) {
        io_out_abort(&f);
        die_err(&e);
    }
}

int
main(int argc, char **argv)
{
    static struct run r;
    struct buf b = { 0 };
    struct err e;
    char **dir = opt_parse(argc, argv, options, "show what a run left behind",
        "dir", 1, 1, NULL);
    char *path = xasprintf("%s/report.html", *dir);
    int status;

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
    if (strcmp(out, "-") == 0)
        out_put(1, b.p, b.n, "<stdout>");
    else
        write_file(out, &b);
    if (!text && out == path)
        note("the page is %s", path);
    buf_release(&b);
    run_release(&r);
    free(path);
    out_done();
    return status;
}
