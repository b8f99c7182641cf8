/* Shared steps of the subcommands: see common.h. */
#include "common.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/sh.h"
#include "model/delta_config.h"
#include "model/experts_config.h"
#include "model/export.h"
#include "model/tokfile.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

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

    if (path == NULL)
        die(EX_USAGE,
            "which model? -m takes a model directory or a .gguf file");
    if (model_open(m, path, &e) < 0 || model_check_finite(m, &e) < 0)
        die_err(&e);
}

void
common_open_dense(struct model *m, const char *path)
{
    common_open(m, path);
    if (config_is_mixture(&m->c))
        die(EX_INPUT,
            "%s: is a mixture of experts, of which only experts can "
            "be removed (prune experts); or distil it into a dense model "
            "(teacher -m %s | student -m SMALL)",
            path, sh_word(path));
    if (config_has_delta(&m->c))
        die(EX_INPUT,
            "%s: has blocks with the gated delta rule (linear_attention), "
            "which cannot be pruned: distil it into a dense model (teacher -m "
            "%s | student -m SMALL)",
            path, sh_word(path));
}

struct pool *
common_pool(int compute, size_t threads)
{
    struct pool *pool;
    struct err e;

    if (compute_init(compute, &e) < 0 || (pool = pool_new(threads, &e)) == NULL)
        die_err(&e);
    return pool;
}

void
common_new_folder(const char *out, const char *report)
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
common_head(struct stream_info *info, const struct msg_in *in,
    const struct st *head, const char *content, const char *tokenizer)
{
    const char *name = msg_in_name(in);
    struct err e, none;

    if (stream_info_read(info, head, &e) < 0)
        die(e.code, "%s: %s", name, e.msg);
    if (content != NULL && strcmp(info->content, content) != 0)
        die(EX_INPUT, "%s: holds %s, not %s", name, info->content,
            strcmp(content, "docs") == 0 ? "documents (see tokenize(1))"
                                         : "batches (see stream(1))");
    if (tok_matches(tokenizer, info->tokenizer, &none) == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            name, tokenizer);
}

void
common_write(const struct model *m, const char *out, int type,
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
    if (model_export(m, out, common_dtype(type), tokenizer,
            &(struct export){ .card = &card }, &e) < 0)
        die_err(&e);
    buf_release(&changes);
    free(program);
}
