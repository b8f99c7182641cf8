/* prune - make a model smaller; see prune(1) */
#include "common.h"
#include "cut.h"
#include "lapack.h"
#include "repair.h"
#include "session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/sub.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct session_options o = SESSION_DEFAULT;
static const char *out, *report;
static int type, plain;

static const struct opt options[] = { COMMON_MODEL(&o.model,
                                          "the model to cut"),
    OPT_STR('o', "output", &out, "folder", "the smaller model"),
    COMMON_TOKENIZER(&o.tokenizer,
        "tokenizer files to export (default: the model's)"),
    OPT_GROUP("goal (at least one)"), GOAL_OPTIONS(o.goal), OPT_GROUP("search"),
    OPT_SIZE(0, "calib-rows", &o.rows, 0, 1e9, "rows",
        "rows of the input that are used (0: all)"),
    OPT_ENUM(0, "method", &o.method, method_names, "word", "how to search"),
    OPT_SIZE(0, "candidates", &o.candidates, 0, 1e6, "n",
        "of greedy: blocks tried in each round, of least influence (0: all)"),
    GOAL_MULTIPLE(o.goal),
    OPT_STR(0, "report", &report, "file",
        "write every configuration that was evaluated there, as TSV"),
    OPT_GROUP("run"),
    OPT_FLAG(0, "no-repair", &plain,
        "leave the weights that are kept as they are"),
    COMMON_COMPUTE(&o.compute), COMMON_DTYPE(&type), COMMON_THREADS(&o.threads),
    OPT_END };

static void
open_model(struct model *m)
{
    if (o.model == NULL || out == NULL)
        die(EX_USAGE, "-m and -o are needed; see prune -h");
    if (!goal_given(&o.goal))
        die(EX_USAGE, "how small? give --params, --ratio, --blocks or --width");
    common_new_folder(out);
    common_open(m, o.model);
}

/* Make what is left of layers make up for the rest, on the same data. */
static void
repair(struct session *x, struct model *small)
{
    const struct choice *c = &x->log.t[x->s.best].choice;
    struct repair r = { .m = &x->m,
        .small = small,
        .c = c,
        .pool = x->pool,
        .damp = REPAIR_DAMP };
    struct err e;

    if (plain || !repair_wanted(c))
        return;
    if (lapack_open(&e) < 0) { /* not to lose what was searched for */
        warn("%s: what is left is not repaired", e.msg);
        return;
    }
    repair_calib(&r, &x->c);
    repair_tell(&r);
}

/* Score the cut model itself, as a check. */
static void
judge_cut(struct session *x, const struct model *small)
{
    const double start = clock_now();
    struct row_score *row = xcalloc(x->c.R, sizeof(*row));
    struct trial t = x->log.t[x->s.best];

    judge_model(&x->j, small, row);
    t.kind = "cut";
    t.cost.params = (double)model_params(small);
    t.score = score_rows(&x->s, row, x->c.R);
    t.seconds = clock_now() - start;
    trials_add(&x->log, &t);
    session_tell(x, &t);
    free(row);
}

static void
write_report(const struct trials *t)
{
    struct buf b = { 0 };

    trials_report(t, &b);
    out_file(report, b.p, b.n);
    buf_release(&b);
}

static const struct sub commands[] = {
    { "profile", profile_main, "measure what the parts of a model are worth" },
    { "search", search_main, "choose the parts to keep" },
    { "cut", cut_main, "write the parts that were chosen" },
    { "sparsify", sparsify_main, "make weights zero, 2 of every 4" },
    { "vocab", vocab_main, "keep fewer tokens of the vocabulary" },
    { NULL, NULL, NULL },
};

int
main(int argc, char **argv)
{
    const int status = sub_run(argc, argv, commands);
    struct session x;
    struct model small;
    struct arena mem = { 0 };
    const char *tokenizer;
    struct err e;

    if (status >= 0)
        return status;
    o.input = *opt_parse(argc, argv, options,
        sub_about("search for what to keep and write it in one step, or use a "
                  "command",
            commands),
        "[input]", 0, 1, NULL);
    open_model(&x.m);
    tokenizer = common_tokenizer(&x.m, o.tokenizer, out);
    if (compute_init(o.compute, &e) < 0)
        die_err(&e);
    session_begin(&x, &o);
    session_search(&x);
    model_cut(&small, &x.m, &x.log.t[x.s.best].choice, &mem);
    repair(&x, &small);
    judge_cut(&x, &small);
    common_write(&small, out, type, tokenizer);
    if (report != NULL)
        write_report(&x.log);
    prog_closing("%zu configurations on %zu tokens", x.log.n, x.c.ntok);
    out_done();
    model_cut_free(&small, &mem);
    session_end(&x);
    return 0;
}
