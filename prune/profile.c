/* prune profile - what the layers of a model read; see prune-profile(1) */
#include "commands.h"
#include "input.h"
#include "write.h"
#include "profile_grad.h"
#include "profile_merge.h"
#include "profile_walk.h"
#include "profile_write.h"
#include "base/dir.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/setup.h"
#include "train/plan.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *model, *out, *tokenizer;
    size_t rows, mem, threads;
    int hessian, gradient, add, compute;
} a = { .rows = 128 };

static const struct opt options[] = { OPT_MODEL(&a.model,
                                          "the model to profile"),
    OPT_STR('o', "output", &a.out, "folder", "folder to write the profile to"),
    OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL), OPT_GROUP("profile"),
    PRUNE_ROWS(&a.rows),
    OPT_FLAG(0, "hessian", &a.hessian,
        "also write the Hessian of each linear layer's input"),
    PRUNE_GRADIENT(&a.gradient),
    OPT_FLAG(0, "add", &a.add,
        "add up the profiles that are given as operands"),
    OPT_GROUP("run"),
    OPT_SIZE(0, "mem", &a.mem, 0, 1e18, "bytes",
        "memory that may be used (0: what the machine has)"),
    OPT_COMPUTE(&a.compute), OPT_THREADS(&a.threads), OPT_END };

static struct dir_new out;

static void
commit_folder(void)
{
    struct err e;

    if (dir_new_commit(&out, &e) < 0)
        die_err(&e);
}

static void
begin_folder(void)
{
    struct err e;

    if (dir_new_begin(&out, a.out, &e) < 0)
        die_err(&e);
}

static void
merge_profiles(char **name, size_t n)
{
    struct profile *p = xcalloc(n, sizeof *p);
    struct err e;

    if (a.model != NULL || a.hessian || a.gradient)
        die(EX_USAGE,
            "--add adds up profiles as they are: leave -m, "
            "--hessian and --gradient out");
    for (size_t i = 0; i < n; i++)
        if (profile_open(&p[i], name[i], NULL, &e) < 0)
            die_err(&e);
    begin_folder();
    if (profile_merge(p, n, out.tmp, &e) < 0)
        die_err(&e);
    commit_folder();
    for (size_t i = 0; i < n; i++)
        profile_close(&p[i]);
    free(p);
    prog_closing("%zu profiles", n);
}

static void
write_profile(const struct model *m, const struct calib *c,
    const struct profile_sums *s)
{
    char hash[33];
    const struct profile_about about = { m->path, hash,
        compute_names[a.compute], c->tokenizer, 1, a.hessian };
    struct err e;

    model_hash(m, hash);
    prog_catch_stop(); /* so that a write that has begun is finished */
    prog_saving(1);
    if (profile_write(s, &about, out.tmp, &e) < 0)
        die_err(&e);
    commit_folder();
}

static void
refuse_memory(size_t need, size_t limit)
{
    if (need > limit)
        die(EX_SYS, "%.1f MB are needed for gradients and there are %.1f MB",
            (double)need * 1e-6, (double)limit * 1e-6);
}

static void
profile_model(const char *input)
{
    const struct walk_opt o = { a.hessian, a.mem > 0 ? a.mem : plan_limit(),
        a.compute == 0 ? PROFILE_OFF_F32 : PROFILE_OFF_BF16 };
    struct profile_sums s;
    struct pool *pool;
    struct calib c;
    struct model m;

    input_dense_model(&m, a.model);
    calib_read(&c, input, a.rows, &m,
        a.tokenizer != NULL ? a.tokenizer : a.model);
    setup_kernels(a.compute);
    pool = setup_pool(a.threads);
    if (a.gradient)
        refuse_memory(gradients_bytes(&m, &c, pool), o.limit);
    begin_folder();
    profile_walk(&s, &m, &c, pool, &o, out.tmp);
    if (a.gradient)
        gradients_walk(&s, &m, &c, pool);
    write_profile(&m, &c, &s);
    if (a.hessian)
        vnote("Hessians in fp32 are off by %.2g", s.hess_off);
    prog_closing("%zu blocks on %zu tokens", s.L, c.ntok);
    profile_sums_release(&s);
    calib_release(&c);
    pool_free(pool);
    model_close(&m);
}

int
profile_main(int argc, char **argv)
{
    char **input = opt_parse(argc, argv, options,
        "measure what the layers of a model read", "[input ...]", 0, -1, NULL);
    size_t n = 0;

    while (input[n] != NULL)
        n++;
    if (a.add && n == 0)
        die(EX_USAGE, "which profiles? --add adds up its operands");
    if (!a.add && n > 1)
        die(EX_USAGE,
            "%s: is a second input: give one, or --add to add up "
            "profiles",
            input[1]);
    write_check_folder(a.out, NULL);
    if (a.add)
        merge_profiles(input, n);
    else
        profile_model(*input);
    return 0;
}
