/* prune - make a model smaller; see prune(1) */
#include "prune.h"
#include "common.h"
#include "cut.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *model, *out, *tokenizer, *params, *report;
    double ratio; /* NAN: not given */
    size_t blocks, width, multiple, candidates, rows, threads;
    int type, compute;
} a = { .ratio = NAN, .candidates = 8, .rows = 16 };

static const struct opt options[] = { COMMON_MODEL(&a.model,
                                          "the model to cut"),
    OPT_STR('o', "output", &a.out, "folder", "the smaller model"),
    COMMON_TOKENIZER(&a.tokenizer,
        "tokenizer files to export (default: the model's)"),
    OPT_GROUP("goal (at least one)"),
    OPT_STR(0, "params", &a.params, "count",
        "at most so many parameters, such as 84M (84 million)"),
    OPT_REAL(0, "ratio", &a.ratio, 0, 1, "share",
        "remove at least this share of them, such as 0.375"),
    OPT_SIZE(0, "blocks", &a.blocks, 0, 1e6, "n",
        "blocks kept (0: what scores best)"),
    OPT_SIZE(0, "width", &a.width, 0, 1e9, "n",
        "channels kept in each MLP (0: what meets the goal)"),
    OPT_GROUP("search"),
    OPT_SIZE(0, "calib-rows", &a.rows, 0, 1e9, "rows",
        "rows of the input that are used (0: all)"),
    OPT_SIZE(0, "candidates", &a.candidates, 0, 1e6, "n",
        "blocks tried in each round, of least influence (0: all)"),
    OPT_SIZE(0, "multiple", &a.multiple, 0, 65536, "n",
        "widths are multiples of this (0: 64, or less for narrow MLPs)"),
    OPT_STR(0, "report", &a.report, "file",
        "write every configuration that was evaluated there, as TSV"),
    OPT_GROUP("run"), COMMON_COMPUTE(&a.compute), COMMON_DTYPE(&a.type),
    COMMON_THREADS(&a.threads), OPT_END };

/* "84M", "1.5G", "84000000": a count with decimal suffix. */
static size_t
parse_count(const char *text)
{
    static const char suffix[] = "KMGT";
    const size_t n = strlen(text);
    const char *k = n > 0 ? strchr(suffix, text[n - 1]) : NULL;
    const int power = k != NULL ? (int)(k - suffix) + 1 : 0;
    char *digits = xstrdup(text);
    double v = 0.0;
    int bad;

    if (power > 0)
        digits[n - 1] = '\0';
    bad = number_real(digits, 1.0, 1e15, &v) < 0;
    for (int i = 0; i < power; i++)
        v *= 1000.0;
    free(digits);
    if (bad || !(v >= 1.0 && v <= 1e15))
        die(EX_USAGE, "--params: '%s' is not a count", text);
    return (size_t)floor(v);
}

static size_t
max_params(const struct model *m)
{
    size_t most = SIZE_MAX;

    if (a.params != NULL)
        most = parse_count(a.params);
    if (!isnan(a.ratio)) {
        const size_t n =
            (size_t)floor((double)model_params(m) * (1.0 - a.ratio));

        most = n < most ? n : most;
    }
    return most;
}

/* 64, or the largest power of two that is at most 1/32 of a narrower MLP. */
static size_t
auto_multiple(const struct model *m)
{
    size_t n = 64;

    while (n > 1 && n * 32 > m->c.mlp)
        n /= 2;
    return n;
}

static void
set_goal(struct goal *g, const struct model *m)
{
    g->params = max_params(m);
    g->blocks = a.blocks;
    g->width = a.width;
    g->multiple = a.multiple > 0 ? a.multiple : auto_multiple(m);
    g->candidates = a.candidates;
    if (g->blocks > m->c.L)
        die(EX_USAGE, "--blocks %zu: %s has %zu", g->blocks, m->path, m->c.L);
    if (g->width > m->c.mlp)
        die(EX_USAGE, "--width %zu: the MLPs of %s have %zu channels", g->width,
            m->path, m->c.mlp);
    if (g->params == SIZE_MAX && g->blocks == 0)
        g->blocks = m->c.L;
    if (g->multiple > m->c.mlp)
        die(EX_USAGE, "--multiple %zu: the MLPs of %s have %zu channels",
            g->multiple, m->path, m->c.mlp);
}

static void
open_model(struct model *m)
{
    if (a.model == NULL || a.out == NULL)
        die(EX_USAGE, "-m and -o are needed; see prune -h");
    if (a.params == NULL && isnan(a.ratio) && a.blocks == 0 && a.width == 0)
        die(EX_USAGE, "how small? give --params, --ratio, --blocks or --width");
    common_new_folder(a.out);
    common_open(m, a.model);
}

static void
refuse_memory(const struct model *m, const struct calib *c)
{
    const size_t need = judge_bytes(m, c), limit = plan_limit();

    if (need > limit)
        die(EX_SYS,
            "%.1f GB are needed for %zu rows of %zu tokens and this machine "
            "has %.1f GB: use fewer --calib-rows",
            (double)need * 1e-9, c->R, c->T, (double)limit * 1e-9);
}

/* The model that the chosen trial describes. */
static void
cut(struct model *small, const struct model *m, const struct trial *t,
    size_t *const *chan, struct arena *mem)
{
    struct choice c = { t->s.n, xcalloc(t->s.n, sizeof(*c.b)) };

    for (size_t i = 0; i < c.n; i++) {
        struct choice_block *b = &c.b[i];

        b->block = t->s.block[i];
        b->ngroups = choice_all_groups(m, b->block);
        b->chan = chan[b->block]; /* borrowed */
        b->nchan = t->s.width[i];
    }
    model_cut(small, m, &c, mem);
    free(c.b);
}

static void
write_report(const struct search *s)
{
    struct buf b = { 0 };

    report_tsv(s, &b);
    out_file(a.report, b.p, b.n);
    buf_release(&b);
}

/* Score the cut model itself, as a check, and say what it is. */
static void
judge_cut(struct search *s, struct judge *j, const struct model *small)
{
    const struct trial best = s->t[s->best];
    const double start = clock_now();
    struct trial *t = search_add(s, "cut");
    char kept[8192];

    t->s.n = best.s.n;
    t->s.block = xcalloc(best.s.n, sizeof(size_t));
    t->s.width = xcalloc(best.s.n, sizeof(size_t));
    memcpy(t->s.block, best.s.block, best.s.n * sizeof(size_t));
    memcpy(t->s.width, best.s.width, best.s.n * sizeof(size_t));
    t->width = best.width;
    t->params = model_params(small);
    t->taken = 1;
    judge_model(j, small, &t->score);
    t->seconds = clock_now() - start;
    shape_text(&t->s, kept, sizeof(kept));
    note("%zu of %zu parameters: blocks %s, MLP width %zu", t->params,
        s->t[0].params, kept, t->width);
    note("calibration: perplexity %.3f (whole model %.3f), KL %.4f",
        exp(t->score.nll), exp(s->t[0].score.nll), t->score.kl);
}

static const struct {
    const char *name;
    int (*main)(int argc, char **argv, const char *program);
} subs[] = {
    { "profile", profile_main },
    { "sparsify", sparsify_main },
    { "vocab", vocab_main },
};

int
main(int argc, char **argv)
{
    char **input;
    struct model m, small;
    struct arena mem = { 0 };
    struct goal goal;
    struct calib calib;
    struct judge judge;
    struct search search;
    struct pool *pool;
    const char *tokenizer;
    size_t **chan;
    struct err e;

    for (size_t i = 0; argc > 1 && i < sizeof subs / sizeof *subs; i++)
        if (strcmp(argv[1], subs[i].name) == 0)
            return subs[i].main(argc - 1, argv + 1, argv[0]);
    input = opt_parse(argc, argv, options,
        "make a model smaller (its vocabulary: prune vocab -h)", "[input]", 0,
        1, NULL);
    open_model(&m);
    set_goal(&goal, &m);
    tokenizer = common_tokenizer(&m, a.tokenizer, a.out);
    if (compute_init(a.compute, &e) < 0)
        die_err(&e);
    calib_read(&calib, *input, a.rows, &m,
        a.tokenizer != NULL ? a.tokenizer : a.model);
    refuse_memory(&m, &calib);
    if ((pool = pool_new(a.threads, &e)) == NULL)
        die_err(&e);
    compute_tell(&m, pool, &(struct rows){ 1, calib.T, calib.ids, calib.first },
        a.compute, a.model);
    judge_init(&judge, &m, &calib, pool);
    search_run(&search, &judge, &goal, &chan);
    cut(&small, &m, &search.t[search.best], chan, &mem);
    judge_cut(&search, &judge, &small);
    if (config_windows_lost(&small.c))
        warn("blocks with a window are not five of six any more: layer_types "
             "in config.json says which have one, but llama.cpp's converter "
             "drops it; convert(1) does not");
    prog_catch_stop(); /* what is written from here on is not broken off */
    prog_saving(1);
    if (model_export(&small, a.out, common_dtype(a.type), tokenizer, &e) < 0)
        die_err(&e);
    if (a.report != NULL)
        write_report(&search);
    prog_closing("%zu configurations on %zu tokens", search.n, calib.ntok);
    out_done();
    for (size_t i = 0; i < m.c.L; i++)
        free(chan[i]);
    free(chan);
    search_release(&search);
    judge_release(&judge);
    model_cut_free(&small, &mem);
    calib_release(&calib);
    pool_free(pool);
    model_close(&m);
    return 0;
}
