/* prune cut - cut a model to a choice of its parts; see prune-cut(1) */
#include "commands.h"
#include "input.h"
#include "write.h"
#include "cut_model.h"
#include "lapack.h"
#include "profile_read.h"
#include "repair.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/setup.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>

static struct {
    const char *model, *choice, *out, *tokenizer, *profile;
    double damp;
    size_t rows, threads;
    int plain, type, compute;
} a = { .damp = NAN, .rows = REPAIR_ROWS };

static const struct opt options[] = { OPT_MODEL(&a.model, "the model to cut"),
    OPT_STR(0, "choice", &a.choice, "file", "choice of the parts to keep"),
    PRUNE_OUT(&a.out), OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
    OPT_GROUP("repair"), PRUNE_NO_REPAIR(&a.plain), PRUNE_PROFILE(&a.profile),
    PRUNE_DAMP(&a.damp), PRUNE_ROWS(&a.rows), OPT_GROUP("run"),
    OPT_COMPUTE(&a.compute), OPT_DTYPE(&a.type, write_types),
    OPT_THREADS(&a.threads), OPT_END };

static void
repair_by_input(struct repair *r, const char *input)
{
    struct calib calib;
    struct err e;

    calib_read(&calib, input, a.rows, r->m,
        a.tokenizer != NULL ? a.tokenizer : a.model);
    if (plan_fits(repair_bytes(r, &calib), "fewer --calib-rows", &e) < 0)
        die_err(&e);
    calib_note(&calib, r->m, r->pool, a.compute);
    repair_calib(r, &calib);
    calib_release(&calib);
}

static void
repair_cut(struct repair *r, const char *input)
{
    struct profile p;
    struct err e;

    setup_kernels(a.compute);
    r->pool = setup_pool(a.threads);
    if (lapack_open(&e) < 0)
        die(e.code, "%s; or give --no-repair", e.msg);
    if (a.profile == NULL) {
        repair_by_input(r, input);
    } else {
        if (profile_open(&p, a.profile, r->m, &e) < 0)
            die_err(&e);
        repair_profile(r, &p);
        profile_close(&p);
    }
    pool_free(r->pool);
}

int
cut_main(int argc, char **argv)
{
    char **input = opt_parse(argc, argv, options,
        "cut a model to a choice of its parts", "[input]", 0, 1, NULL);
    struct arena mem = { 0 };
    struct choice choice;
    struct model m, small;
    struct repair r = { .m = &m, .small = &small, .c = &choice };
    const char *tokenizer;
    struct err e;

    r.damp = a.damp;
    if (a.choice == NULL)
        die(EX_USAGE,
            "which choice? --choice takes a file that prune search "
            "writes");
    if ((a.plain || a.profile != NULL) && *input != NULL)
        die(EX_USAGE, "%s: is not read with %s", *input,
            a.plain ? "--no-repair" : "--profile");
    write_check_folder(a.out, NULL);
    input_dense_model(&m, a.model);
    if (choice_read(&choice, a.choice, &m, &e) < 0)
        die_err(&e);
    tokenizer = write_tokenizer(&m, a.tokenizer, a.out);
    model_cut(&small, &m, &choice, &mem);
    if (!a.plain && repair_wanted(&m, &choice))
        repair_cut(&r, *input);
    note("%zu of %zu parameters, %zu of %zu blocks", model_params(&small),
        model_params(&m), small.c.L, m.c.L);
    repair_note(&r);
    write_model(&small, a.out, a.type, tokenizer, "prune cut", options, NULL);
    prog_closing("%zu of %zu parameters", model_params(&small),
        model_params(&m));
    repair_release(&r);
    choice_release(&choice);
    model_cut_free(&small, &mem);
    model_close(&m);
    return 0;
}
