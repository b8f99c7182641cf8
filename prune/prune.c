/* prune - make a model smaller: search and cut at once; see prune(1) */
#include "commands.h"
#include "write.h"
#include "cut_model.h"
#include "lapack.h"
#include "repair.h"
#include "session.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/sub.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>

static struct session_options o = SESSION_DEFAULT;
static const char *out, *report;
static int type, plain;

static const struct opt options[] = {
    OPT_MODEL(&o.model, "the model to cut"),
    PRUNE_OUT(&out),
    OPT_TOKENIZER(&o.tokenizer, OPT_TOKENIZER_MODEL),
    OPT_GROUP("goal (at least one)"),
    GOAL_OPTIONS(o.goal),
    OPT_GROUP("search"),
    PRUNE_ROWS(&o.rows),
    SESSION_METHOD(o),
    GOAL_MULTIPLE(o.goal),
    PRUNE_REPORT(&report),
    OPT_GROUP("repair"),
    PRUNE_NO_REPAIR(&plain),
    OPT_SIZE(0, "repair-rows", &o.read, 1, 1e9, "rows",
        "repair layers on this many rows of the input"),
    OPT_GROUP("run"),
    OPT_COMPUTE(&o.compute),
    OPT_DTYPE(&type, write_types),
    OPT_THREADS(&o.threads),
    OPT_END,
};

/* Repair a cut model on the first --repair-rows rows of the input. */
static void
repair_found(const struct session *x, struct repair *r)
{
    struct calib rows;
    struct err e;

    calib_first(&x->read, o.read, &rows);
    if (plan_fits(repair_bytes(r, &rows), "fewer --repair-rows", &e) < 0)
        die_err(&e);
    repair_calib(r, &rows);
    repair_note(r);
}

/* Write the cut model with its scores. */
static void
write_found(const struct session *x, const struct model *small,
    const char *tokenizer)
{
    const struct score *s = &x->log.t[x->log.n - 1].score;
    char *scores = xasprintf("perplexity on calibration rows\t%.3f\n"
                             "KL to the whole model there\t%.4f\n",
        exp(s->nll), s->kl);

    write_model(small, out, type, tokenizer, "prune", options, scores);
    free(scores);
}

/* Score the cut model, to check the cut. */
static void
score_cut(struct session *x, const struct model *small)
{
    const double start = clock_now();
    struct row_score *row = xcalloc(x->c.R, sizeof(*row));
    struct trial t = x->log.t[x->s.best];

    judge_model(&x->j, small, row);
    t.kind = "cut";
    t.cost.params = (double)model_params(small);
    t.score = score_rows(&x->s, row, x->c.R);
    t.seconds = clock_now() - start;
    search_log_add(&x->log, &t);
    session_note(x, &t);
    free(row);
}

static void
write_trials(const struct search_log *l)
{
    struct buf b = { 0 };

    search_log_report(l, &b);
    out_file(report, b.p, b.n);
    buf_release(&b);
}

static const struct sub commands[] = {
    { "profile", profile_main, "measure what the layers of a model read" },
    { "search", search_main, "choose the parts to keep" },
    { "cut", cut_main, "cut a model to the chosen parts" },
    { "sparsify", sparsify_main, "set weights to zero, such as 2 of every 4" },
    { "experts", experts_main, "remove experts of a mixture" },
    { "vocab", vocab_main, "cut the vocabulary to what a corpus uses" },
    { NULL, NULL, NULL },
};

int
main(int argc, char **argv)
{
    const int status = sub_run(argc, argv, commands);
    struct session x;
    struct model small;
    struct arena mem = { 0 };
    struct repair r = { .m = &x.m, .small = &small, .damp = NAN };
    const char *tokenizer;
    struct err e;

    if (status >= 0)
        return status;
    o.read = REPAIR_ROWS;
    o.input = *opt_parse(argc, argv, options,
        sub_about("choose the parts to keep and cut the model, or use a "
                  "command",
            commands),
        "[input]", 0, 1, NULL);
    o.read = plain ? 0 : o.read;
    write_check_folder(out, report);
    session_open(&x, &o);
    tokenizer = write_tokenizer(&x.m, o.tokenizer, out);
    session_begin(&x);
    r.pool = x.pool;
    r.c = &session_search(&x)->choice;
    model_cut(&small, &x.m, r.c, &mem);
    if (!plain && repair_wanted(&x.m, r.c) && lapack_open(&e) < 0)
        warn("%s: the model is not repaired", e.msg);
    else if (!plain && repair_wanted(&x.m, r.c))
        repair_found(&x, &r);
    score_cut(&x, &small);
    write_found(&x, &small, tokenizer);
    if (report != NULL)
        write_trials(&x.log);
    prog_closing("%zu configurations on %zu tokens", x.log.n, x.c.ntok);
    out_done();
    repair_release(&r);
    model_cut_free(&small, &mem);
    session_end(&x);
    return 0;
}
