/* What the subcommands share; see common.h. */
#include "common.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "tok/tok.h"

const char *const common_types[] = { "f32", "bf16", NULL };

enum dtype
common_dtype(int choice)
{
    return choice == 0 ? DT_F32 : DT_BF16;
}

void
common_open(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0 || model_check_finite(m, &e) < 0)
        die_err(&e);
}

void
common_new_folder(const char *out)
{
    struct err e;

    if (io_exists(out))
        die(EX_USAGE, "%s: exists already", out);
    if (dir_new_check(out, &e) < 0)
        die_err(&e);
}

const char *
common_tokenizer(const struct model *m, const char *given, const char *out)
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
common_write(const struct model *m, const char *out, int type,
    const char *tokenizer)
{
    struct err e;

    if (config_windows_lost(&m->c))
        warn("blocks with a window are not five of six any more: layer_types "
             "in config.json says which have one, but llama.cpp's converter "
             "drops it; convert(1) does not");
    prog_catch_stop(); /* what is written from here on is not broken off */
    prog_saving(1);
    if (model_export(m, out, common_dtype(type), tokenizer, &e) < 0)
        die_err(&e);
}
