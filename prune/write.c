/* Writing a model: see write.h. */
#include "write.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "model/files/export.h"
#include "model/files/tokfile.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

const char *const write_types[] = { "f32", "bf16", NULL };

enum dtype
write_dtype(int choice)
{
    return choice == 0 ? DT_F32 : DT_BF16;
}

void
write_check_folder(const char *out, const char *report)
{
    struct err e;

    if (out == NULL)
        die(EX_USAGE, "where to? -o takes a folder to write");
    out_differ("-o", out, "--report", report, NULL);
    if (io_exists(out))
        die(EX_USAGE, "%s: exists already", out);
    if (dir_new_check(out, &e) < 0)
        die_err(&e);
}

const char *
write_tokenizer(const struct model *m, const char *given, const char *out)
{
    int there;
    struct err e;

    if (given != NULL) {
        if (tok_check(given, m->c.V, &e) < 0)
            die_err(&e);
        return given;
    }
    if ((there = tokenizer_is_there(m->path, &e)) < 0)
        die_err(&e);
    if (!there)
        note("%s: holds no tokenizer, so %s will hold none", m->path, out);
    return there ? m->path : NULL;
}

void
write_model(const struct model *m, const char *out, int type,
    const char *tokenizer, const char *by, const struct opt *table,
    const char *scores)
{
    static const char *const own[] = { "model", "output", "threads", "report",
        NULL };
    char *program = xasprintf("%s %s of retort", by, prog_version());
    struct buf changes = { 0 };
    struct card card = { .by = program,
        .from = m->path,
        .tag = "pruned",
        .scores = scores };
    struct err e;

    opt_changes(&changes, table, own);
    card.options = changes.p;
    if (config_windows_lost(&m->c))
        warn("the blocks with a window are not those of llama.cpp any more: "
             "layer_types in config.json says which have one, but llama.cpp's "
             "converter drops it; convert(1) does not");
    prog_catch_stop(); /* so that a write that has begun is finished */
    prog_saving(1);
    if (model_export(m, out, write_dtype(type), tokenizer,
            &(struct export){ .card = &card }, &e) < 0)
        die_err(&e);
    buf_release(&changes);
    free(program);
}
