/* convert merge: see convert-merge(1) */
#include "merge.h"
#include "mix.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/hub.h"
#include "cli/prog.h"
#include "cli/setup.h"
#include "cli/sh.h"
#include "cli/shared.h"
#include "model/files/export.h"
#include "model/config/family.h"
#include "model/files/model.h"
#include "model/files/open.h"
#include "model/files/tokfile.h"

#include <stdlib.h>
#include <string.h>

enum merge_how { MERGE_AVERAGE, MERGE_SLERP, MERGE_TIES };
static const char *const methods[] = { "average", "slerp", "ties", NULL };
static const char *const types[] = { "f32", "bf16", NULL };

static int method, type;
static double at = 0.5, density = 0.2;

static const struct opt options[] = { OPT_ENUM(0, "method", &method, methods,
                                          "word",
                                          "method that combines the models"),
    OPT_REAL(0, "at", &at, 0, 1, "x",
        "slerp's fraction of the way from the first model to the second"),
    OPT_REAL(0, "density", &density, 0, 1, "share",
        "share of each model's differences that ties keeps"),
    OPT_DTYPE(&type, types), OPT_END };

/* Die unless all models have the tensors of the first one. */
static void
check_alike(const struct model *m, size_t n)
{
    const size_t count = model_ntensors(&m[0]);

    for (size_t k = 1; k < n; k++) {
        if (model_ntensors(&m[k]) != count || m[k].c.L != m[0].c.L)
            die(EX_INPUT,
                "%s: has another number of blocks or tensors than %s: merge "
                "models of one shape",
                m[k].path, m[0].path);
        if (m[k].c.delta.tiled != m[0].c.delta.tiled)
            die(EX_INPUT,
                "%s: a GGUF has the heads of the gated delta rule in another "
                "order than %s: make a folder of it first (convert %s folder)",
                m[k].c.delta.tiled ? m[k].path : m[0].path,
                m[k].c.delta.tiled ? m[0].path : m[k].path,
                sh_word(m[k].c.delta.tiled ? m[k].path : m[0].path));
        for (size_t i = 0; i < count; i++) {
            struct tensor_out a, b;

            model_tensor(&m[0], i, &a);
            model_tensor(&m[k], i, &b);
            if (strcmp(a.name, b.name) != 0 || a.w->rows != b.w->rows ||
                a.w->cols != b.w->cols)
                die(EX_INPUT,
                    "%s: %s is %zu x %zu, in %s %zu x %zu: merge models of one "
                    "shape",
                    m[k].path, b.name, b.w->rows, b.w->cols, m[0].path,
                    a.w->rows, a.w->cols);
        }
    }
}

/* Read a tensor as fp32, with the constant that the model adds to it. */
static float *
widen_tensor(const struct weight *w)
{
    const size_t n = w->rows * w->cols;
    float *x = xreallocarray(NULL, n, sizeof *x);

    weight_rows(w, 0, w->rows, x);
    for (size_t i = 0; i < n && w->add != 0.0f; i++)
        x[i] += w->add;
    return x;
}

/* Merge one tensor of the n models; the result replaces *into. */
static void
merge_weight(const struct weight *const *from, size_t n, struct weight *into)
{
    const size_t size = from[0]->rows * from[0]->cols;
    float **x = xcalloc(n, sizeof *x);

    for (size_t k = 0; k < n; k++)
        x[k] = widen_tensor(from[k]);
    if (method == MERGE_AVERAGE)
        mix_average(x, n, size, x[0]);
    else if (method == MERGE_SLERP)
        mix_slerp(x, at, size, x[0]);
    else
        mix_ties(x, n, density, size, x[0]);
    *into = (struct weight){ .data = (void *)x[0],
        .dtype = DT_F32,
        .rows = from[0]->rows,
        .cols = from[0]->cols,
        .stride = from[0]->cols * sizeof(float) };
    for (size_t k = 1; k < n; k++)
        free(x[k]);
    free(x);
}

/* Make *out the merged model: m[0] with merged weights in new memory. */
static void
merge_models(const struct model *m, size_t n, struct model *out)
{
    const struct weight **from = xcalloc(n, sizeof *from);

    *out = m[0];
    out->block = xcalloc(m[0].c.L, sizeof *out->block);
    for (size_t b = 0; b < m[0].c.L; b++) {
        out->block[b] = m[0].block[b];
        for (int w = 0; w < W_N; w++) {
            for (size_t k = 0; k < n; k++)
                from[k] = &m[k].block[b].w[w];
            if (from[0]->rows * from[0]->cols > 0)
                merge_weight(from, n, &out->block[b].w[w]);
        }
    }
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].embed;
    merge_weight(from, n, &out->embed);
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].norm;
    merge_weight(from, n, &out->norm);
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].norm_bias;
    if (from[0]->rows > 0)
        merge_weight(from, n, &out->norm_bias);
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].positions;
    if (from[0]->rows > 0)
        merge_weight(from, n, &out->positions);
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].head;
    if (m[0].c.tied)
        out->head = out->embed;
    else
        merge_weight(from, n, &out->head);
    for (size_t k = 0; k < n; k++)
        from[k] = &m[k].head_bias;
    if (from[0]->rows > 0)
        merge_weight(from, n, &out->head_bias);
    model_set_bias(out);
    free(from);
}

static void
free_merged(struct model *out)
{
    for (size_t b = 0; b < out->c.L; b++)
        for (int w = 0; w < W_N; w++)
            if (out->block[b].w[w].rows * out->block[b].w[w].cols > 0)
                free((void *)(uintptr_t)out->block[b].w[w].data);
    free((void *)(uintptr_t)out->embed.data);
    free((void *)(uintptr_t)out->norm.data);
    if (out->norm_bias.rows > 0)
        free((void *)(uintptr_t)out->norm_bias.data);
    if (out->positions.rows > 0)
        free((void *)(uintptr_t)out->positions.data);
    if (!out->c.tied)
        free((void *)(uintptr_t)out->head.data);
    if (out->head_bias.rows > 0)
        free((void *)(uintptr_t)out->head_bias.data);
    free(out->block);
}

/* Open the models, and check that they can be merged. */
static struct model *
open_models(char **path, size_t n)
{
    struct model *m = xcalloc(n, sizeof *m);

    for (size_t k = 0; k < n; k++) {
        setup_model(&m[k], hub_path(path[k]), NULL);
        for (size_t b = 0; b < m[k].c.L; b++)
            if (m[k].block[b].sparse != 0)
                die(EX_INPUT,
                    "%s: has sparse matrices, whose zeros a merge would fill: "
                    "merge dense models",
                    m[k].path);
    }
    check_alike(m, n);
    return m;
}

static void
write_merged(const struct model *m, const char *out)
{
    char *by = xasprintf("convert merge %s of retort", prog_version());
    struct card card = { .by = by, .from = m->path, .tag = "merge" };
    struct buf changes = { 0 };
    struct err e;
    const int there = tokenizer_is_there(m->path, &e);

    if (there < 0)
        die_err(&e);
    opt_changes(&changes, options, (const char *const[]){ NULL });
    card.options = changes.p;
    if (model_export(m, out, type == 0 ? DT_F32 : DT_BF16,
            there ? m->path : NULL, &(struct export){ .card = &card }, &e) < 0)
        die_err(&e);
    buf_release(&changes);
    free(by);
}

int
merge_main(int argc, char **argv)
{
    struct model *m, merged;
    const char *out;
    int n;
    char **path =
        opt_parse(argc, argv, options, "merge models of one shape into one",
            "model model ... output", 3, -1, &n);
    const size_t models = (size_t)n - 1;

    out = path[models];
    if (method == MERGE_SLERP && models != 2)
        die(EX_USAGE, "--method slerp goes between two models: name two");
    if (method == MERGE_TIES && models < 3)
        die(EX_USAGE,
            "--method ties needs the base and two models made from it: name "
            "the base first");
    if (io_exists(out))
        die(EX_USAGE, "%s: exists already; name another output", out);
    setup_kernels(0);
    m = open_models(path, models);
    merge_models(m, models, &merged);
    write_merged(&merged, out);
    prog_closing("%zu parameters of %zu models", model_params(&m[0]), models);
    free_merged(&merged);
    for (size_t k = 0; k < models; k++)
        model_close(&m[k]);
    free(m);
    return 0;
}
