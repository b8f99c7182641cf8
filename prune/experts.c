/* prune experts - remove experts of a mixture; see prune-experts(1) */
#include "experts.h"
#include "commands.h"
#include "input.h"
#include "write.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/setup.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"

#include <stdlib.h>

static const char *const methods[] = { "reap", "mass", NULL };

static struct {
    const char *model, *out, *tokenizer, *report;
    size_t keep, rows, threads;
    int method, type, compute;
} a;

static const struct opt options[] = { OPT_MODEL(&a.model, "the model to cut"),
    PRUNE_OUT(&a.out), OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
    OPT_GROUP("what is kept"),
    OPT_SIZE(0, "experts", &a.keep, 0, ROUTER_EXPERTS, "n",
        "number of experts to keep in each block"),
    PRUNE_METHOD(&a.method, methods), PRUNE_ROWS(&a.rows),
    PRUNE_REPORT(&a.report), OPT_GROUP("run"), OPT_COMPUTE(&a.compute),
    OPT_DTYPE(&a.type, write_types), OPT_THREADS(&a.threads), OPT_END };

static void
check_model(const struct model *m)
{
    const struct router *r = &m->c.router;

    if (!config_is_mixture(&m->c))
        die(EX_INPUT,
            "%s: has no experts to remove: prune blocks and channels instead "
            "(prune search)",
            a.model);
    if (family_of(&m->c)->joined)
        die(EX_INPUT,
            "%s: is a %s, whose experts have biases: removing these is not "
            "implemented, so give another mixture",
            a.model, m->c.arch);
    if (r->groups > 1)
        die(EX_INPUT,
            "%s: its experts form %zu groups, from which removing some is not "
            "implemented: give another mixture",
            a.model, r->groups);
    if (a.keep < r->k || a.keep >= r->n)
        die(EX_USAGE,
            "--experts: %zu is outside %zu to %zu: %s has %zu experts in a "
            "block, of which a token uses %zu",
            a.keep, r->k, r->n - 1, a.model, r->n, r->k);
}

/* Is expert e in the list kept [n]? */
static int
is_kept(const uint32_t *kept, size_t n, size_t e)
{
    for (size_t i = 0; i < n; i++)
        if (kept[i] == e)
            return 1;
    return 0;
}

static void
write_measures(const struct model *m, const struct expert_sums *s,
    const uint32_t *kept)
{
    struct buf b = { 0 };

    buf_adds(&b, "block\texpert\ttokens\tmass\treap\tkept\n");
    for (size_t i = 0; i < s->L; i++)
        for (size_t e = 0; e < m->block[i].experts; e++)
            buf_addf(&b, "%zu\t%zu\t%.0f\t%.6g\t%.6g\t%d\n", i, e,
                s->n[i * s->E + e], s->mass[i * s->E + e],
                experts_value(s, RANK_REAP, i, e),
                is_kept(kept + i * a.keep, a.keep, e));
    out_file(a.report, b.p, b.n);
    buf_release(&b);
}

/* The share of the routed mass that the kept experts had. */
static double
kept_mass(const struct expert_sums *s, const uint32_t *kept)
{
    double all = 0.0, in = 0.0;

    for (size_t i = 0; i < s->L; i++)
        for (size_t e = 0; e < s->E; e++) {
            all += s->mass[i * s->E + e];
            in += is_kept(kept + i * a.keep, a.keep, e) ? s->mass[i * s->E + e]
                                                        : 0.0;
        }
    return all > 0.0 ? in / all : 1.0;
}

int
experts_main(int argc, char **argv)
{
    char **input = opt_parse(argc, argv, options,
        "remove the experts of a mixture that matter least", "[input]", 0, 1,
        NULL);
    struct expert_sums sums;
    struct expert_cut cut;
    const char *tokenizer;
    struct pool *pool;
    struct calib c;
    struct model m;
    uint32_t *kept;

    if (a.keep == 0)
        die(EX_USAGE, "how many experts? --experts takes their number");
    write_check_folder(a.out, a.report);
    input_model(&m, a.model);
    check_model(&m);
    calib_read(&c, *input, a.rows, &m,
        a.tokenizer != NULL ? a.tokenizer : a.model);
    tokenizer = write_tokenizer(&m, a.tokenizer, a.out);
    setup_kernels(a.compute);
    pool = setup_pool(a.threads);
    kept = xcalloc(m.c.L * a.keep, sizeof *kept);
    experts_measure(&sums, &m, &c, pool);
    experts_choose(&sums, (enum expert_rank)a.method, a.keep, kept);
    experts_cut(&cut, &m, kept, a.keep);
    note("the experts kept had %.4f of the weights on %zu tokens",
        kept_mass(&sums, kept), c.ntok);
    write_model(&cut.m, a.out, a.type, tokenizer, "prune experts", options,
        NULL);
    if (a.report != NULL)
        write_measures(&m, &sums, kept);
    out_done();
    prog_closing("%zu of %zu experts, %zu of %zu parameters", a.keep,
        m.c.router.n, model_params(&cut.m), model_params(&m));
    free(kept);
    experts_cut_free(&cut);
    experts_release(&sums);
    calib_release(&c);
    pool_free(pool);
    model_close(&m);
    return 0;
}
