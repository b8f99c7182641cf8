/* prune sparsify - set weights to zero; see prune-sparsify(1) */
#include "commands.h"
#include "input.h"
#include "write.h"
#include "lapack.h"
#include "profile_read.h"
#include "sparsify_walk.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/setup.h"
#include "train/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[] = { "obs", "wanda", "magnitude", NULL };
static const char *const measures[] = { "error", "kl", NULL };

static struct {
    const char *model, *out, *tokenizer, *pattern, *layers, *profile, *report;
    double share, damping;
    size_t rows, threads;
    int method, by, type, compute;
} a = { .pattern = "2:4",
    .layers = "all",
    .share = 1.0,
    .damping = 0.01,
    .rows = 64 };

static const struct opt options[] = { OPT_MODEL(&a.model,
                                          "the model to make sparse"),
    PRUNE_OUT(&a.out), OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
    OPT_GROUP("what becomes zero"), PRUNE_METHOD(&a.method, methods),
    OPT_STR(0, "pattern", &a.pattern, "pattern",
        "keep N of each M neighbours (N:M), or remove a share such as 0.5"),
    OPT_STR(0, "layers", &a.layers, "names",
        "layers to make sparse: all, or some of q,k,v,o,gate,up,down"),
    OPT_REAL(0, "share", &a.share, 0, 1, "share",
        "make only the least sensitive of --layers sparse, up to this share of "
        "their parameters"),
    OPT_ENUM(0, "by", &a.by, measures, "measure",
        "measure of sensitivity by which --share ranks layers"),
    PRUNE_DAMP(&a.damping), OPT_GROUP("calibration"), PRUNE_ROWS(&a.rows),
    PRUNE_PROFILE(&a.profile), PRUNE_REPORT(&a.report), OPT_GROUP("run"),
    OPT_COMPUTE(&a.compute), OPT_DTYPE(&a.type, write_types),
    OPT_THREADS(&a.threads), OPT_END };

static void
check_sparsify(const char *input)
{
    if (a.profile != NULL && input != NULL)
        die(EX_USAGE, "%s: is not read with --profile", input);
    if (a.profile != NULL && a.share < 1.0 && a.by == 1)
        die(EX_USAGE, "--by kl runs the model: give an input, not --profile");
    if (!(a.share > 0.0))
        die(EX_USAGE, "--share 0 makes nothing sparse: give more");
    write_check_folder(a.out, a.report);
}

/* Parse --pattern and store it in m's configuration.  Dies if m is sparse
 * already with another pattern. */
static void
set_pattern(struct model *m, struct pattern *p)
{
    char name[sizeof m->c.sparse] = "unstructured";
    struct err e;

    if (pattern_parse(p, a.pattern, &e) < 0)
        die(EX_USAGE, "--pattern: %s", e.msg);
    if (p->m > 0)
        snprintf(name, sizeof name, "%hhu:%hhu", (unsigned char)p->n,
            (unsigned char)p->m);
    if (m->c.sparse[0] != '\0' && strcmp(m->c.sparse, name) != 0)
        die(EX_USAGE,
            "%s: is sparse already, %s, and one model has one "
            "pattern",
            m->path, m->c.sparse);
    memcpy(m->c.sparse, name, sizeof name);
}

static void
note_sparsified(const struct sparsify *s)
{
    size_t taken = 0, weights = 0, zeros = 0, dead = 0, damped = 0;
    double worst = 0.0, sum = 0.0;

    for (size_t i = 0; i < s->list.n; i++) {
        const struct layer *l = &s->list.l[i];

        if (!l->taken)
            continue;
        taken++;
        weights += l->rows * l->cols;
        zeros += l->zeros;
        dead += l->dead;
        damped += s->method == METHOD_OBS && l->damp > s->damp;
        sum += l->error;
        worst = l->error > worst ? l->error : worst;
    }
    note("%zu of %zu weights in %zu layers are zero; relative error of their "
         "outputs: mean %.4g, largest %.4g",
        zeros, weights, taken, sum / (double)taken, worst);
    if (dead > 0)
        note("%zu channels of their inputs are always zero", dead);
    if (damped > 0)
        warn("%zu layers took more damping than --damp %g", damped, s->damp);
    prog_closing("%zu layers, %s by %s", taken, a.pattern, methods[s->method]);
    prog_detail("forward %.1f s (%.1f s of processors), Hessians %.1f s "
                "(%.1f), layers %.1f s (%.1f)",
        s->spent[SPENT_PASSES] - s->on.seconds,
        s->cpu[SPENT_PASSES] - s->on.cpu, s->on.seconds, s->on.cpu,
        s->spent[SPENT_LAYERS], s->cpu[SPENT_LAYERS]);
}

static void
write_layers(const struct sparsify *s)
{
    struct buf b = { 0 };

    layers_tsv(&s->list, &b);
    out_file(a.report, b.p, b.n);
    buf_release(&b);
}

/* Open the profile, or read the batches, on which layers are evaluated. */
static void
open_judged_input(struct sparsify *s, struct profile *p, struct calib *c,
    const char *input)
{
    struct err e;

    if (a.profile != NULL) {
        if (profile_open(p, a.profile, s->m, &e) < 0)
            die_err(&e);
        s->profile = p;
        return;
    }
    calib_read(c, input, a.rows, s->m,
        a.tokenizer != NULL ? a.tokenizer : a.model);
    calib_note(c, s->m, s->pool, a.compute);
    s->c = c;
}

int
sparsify_main(int argc, char **argv)
{
    char **input = opt_parse(argc, argv, options,
        "set weights to zero where that costs least", "[input]", 0, 1, NULL);
    struct sparsify s = { 0 };
    struct model m;
    struct calib c;
    struct profile p;
    const char *tokenizer;
    struct err e;

    check_sparsify(*input);
    input_dense_model(&m, a.model);
    s.m = &m;
    s.method = (enum method)a.method;
    s.damp = a.damping;
    set_pattern(&m, &s.pattern);
    layers_list(&s.list, &m, &s.pattern, a.layers);
    tokenizer = write_tokenizer(&m, a.tokenizer, a.out);
    setup_kernels(a.compute);
    s.pool = setup_pool(a.threads);
    if (s.method == METHOD_OBS && lapack_open(&e) < 0)
        die(e.code, "%s; or give --method wanda", e.msg);
    open_judged_input(&s, &p, &c, *input);
    if (plan_fits(sparsify_bytes(&s), "fewer --layers or --calib-rows", &e) < 0)
        die_err(&e);
    sparsify_begin(&s);
    if (a.share < 1.0) {
        sparsify_measure(&s, a.by == 1);
        layers_take(&s.list, a.share);
    }
    sparsify_run(&s);
    write_model(&m, a.out, a.type, tokenizer, "prune sparsify", options, NULL);
    if (a.report != NULL)
        write_layers(&s);
    note_sparsified(&s);
    out_done();
    sparsify_end(&s);
    if (s.profile != NULL)
        profile_close(&p);
    else
        calib_release(&c);
    pool_free(s.pool);
    model_close(&m);
    return 0;
}
