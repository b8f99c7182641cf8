/* student - train or distil a model on a stream of batches; see student(1) */
#include "again.h"
#include "card.h"
#include "prepare.h"
#include "rank.h"
#include "record.h"
#include "student.h"
#include "train.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "model/compute.h"
#include "msg/addr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtypes[] = { "f32", "bf16", NULL };
static const char *const wires[] = { "f32", "bf16", NULL };

static struct args a = {
    .ce = "auto",
    .kl = "auto",
    .sh = "auto",
    .direction = "forward",
    .schedule = "cosine",
    .adam = "0.9,0.95,1e-8",
    .accum = 1,
    .keep = 2,
    .save = 200,
    .eval_every = 200,
    .lr = NAN,
    .tau = NAN,
    .clip = 1.0,
    .warmup = OPT_NONE,
    .rank_timeout = 30.0,
    .remask = 10,
    .mask_decay = 2e-4,
};

static const struct opt options[] = {
    OPT_STR('m', "model", &a.model, "model",
        "student to begin with (a config.json: random weights)"),
    OPT_STR('o', "output", &a.run, "run",
        "folder for the checkpoints and the trained model"),
    OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
        "tokenizer.json, model directory or .gguf (default: the model's)"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_STR(0, "cpus", &a.cpus, "list",
        "run on these processors, such as 0-3,8"),
    OPT_STR(0, "numa", &a.numa, "node",
        "run on this memory node (rank: spread ranks over the nodes in turn)"),
    OPT_SIZE('s', "seed", &a.seed, 0, 1e18, "seed",
        "seed of the random numbers"),
    OPT_GROUP("loss (auto: CE 0.25; KL, SquareHead 1 if the stream has them; "
              "CE alone 1)"),
    OPT_STR(0, "ce", &a.ce, "weight", "weight of cross entropy"),
    OPT_STR(0, "kl", &a.kl, "weight", "weight of KL(teacher || student)"),
    OPT_STR(0, "kl-direction", &a.direction, "name",
        "direction of KL: forward (teacher || student), reverse, or js:beta "
        "(Jensen-Shannon)"),
    OPT_STR(0, "squarehead", &a.sh, "weight",
        "weight of the SquareHead loss on hidden states"),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T",
        "temperature of the softmax (default: 1)"),
    OPT_FLAG(0, "published", &a.published,
        "use the published loss: T = 3; weights 0.25 of CE, 1 of KL, 1 of "
        "SquareHead"),
    OPT_STR(0, "teacher", &a.teacher, "model", "the teacher's model"),
    OPT_GROUP("optimiser"),
    OPT_REAL(0, "lr", &a.lr, 0, 10, "rate",
        "peak learning rate (default: 1e-4, with random weights 3e-4)"),
    OPT_STR(0, "schedule", &a.schedule, "name",
        "learning rate after warm-up: constant, or falling to 0 (cosine, "
        "linear) or to a share (cosine:0.1)"),
    OPT_SIZE(0, "warmup", &a.warmup, 0, 1e9, "steps",
        "steps of warm-up (default: 5 % of the steps, at most 100; 0 for a "
        "constant schedule)"),
    OPT_STR(0, "adam", &a.adam, "b1,b2,eps",
        "beta1, beta2 and epsilon of AdamW"),
    OPT_REAL(0, "weight-decay", &a.decay, 0, 10, "x",
        "weight decay of matrices"),
    OPT_REAL(0, "clip-grad", &a.clip, 0, 1e9, "norm",
        "clip the gradient to this norm (0: never)"),
    OPT_GROUP("weights"),
    OPT_ENUM(0, "qat", &a.qat, rounding_names, "type",
        "train with matrices rounded to this type, and save them so"),
    OPT_STR(0, "mask", &a.mask, "n:m",
        "train with sparse matrices: of every m neighbours in a row keep the n "
        "largest"),
    OPT_SIZE(0, "remask", &a.remask, 1, 1e12, "steps",
        "steps after which the masked weights are chosen again"),
    OPT_REAL(0, "mask-decay", &a.mask_decay, 0, 10, "x",
        "weight decay of the masked weights (SR-STE)"),
    OPT_GROUP("run"),
    OPT_SIZE(0, "steps", &a.steps, 0, 1e12, "n",
        "stop after n steps (0: when the stream ends)"),
    OPT_TIME(0, "max-time", &a.max_time, 0, 1e9, "time",
        "save and stop after this time, such as 30m or 2h (0: never)"),
    OPT_SIZE(0, "grad-accum", &a.accum, 1, 1e6, "n",
        "batches of the stream in one step"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows computed together (0: one, or as many as 1024 tokens hold)"),
    OPT_FLAG(0, "recompute", &a.recompute,
        "keep only the inputs of blocks, and compute the rest again (same "
        "bits, less memory)"),
    OPT_SIZE(0, "ahead", &a.ahead, 0, 1e15, "bytes",
        "bytes of the next batch to read while a step runs (0: all)"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "type that the factors of matrix products have"),
    OPT_ENUM(0, "act", &a.act, dtypes, "type",
        "type of the activations kept for the backward pass"),
    OPT_ENUM(0, "grad", &a.grad, dtypes, "type",
        "type of the blocks' gradients"),
    OPT_ENUM(0, "moments", &a.moments, dtypes, "type",
        "type of the optimiser's moments"),
    OPT_GROUP("ranks, started by mpirun"),
    OPT_SIZE(0, "shard-level", &a.level, 0, 3, "level",
        "what is split over ranks: 1 moments, 2 also gradients, 3 also "
        "parameters"),
    OPT_SIZE(0, "stages", &a.stages, 0, 4096, "n",
        "pipeline stages of each rank (0: every rank has all blocks)"),
    OPT_FLAG(0, "node-copy", &a.node_copy,
        "keep a copy of the parameters in each node (for --shard-level 3)"),
    OPT_FLAG(0, "overlap", &a.overlap,
        "gather the next block while one is computed"),
    OPT_FLAG(0, "deterministic", &a.deterministic,
        "train to the same bits with 1, 2, 4 or 8 ranks"),
    OPT_ENUM(0, "wire", &a.wire, wires, "type",
        "type in which ranks send gradients"),
    OPT_TIME(0, "rank-timeout", &a.rank_timeout, 0.1, 1e9, "time",
        "end the run when a rank is silent for this long"),
    OPT_STR(0, "comm-log", &a.comm_log, "prefix",
        "write logs of what ranks send: prefix.log, prefix.tsv, "
        "prefix-log2.tsv, prefix.json"),
    OPT_STR(0, "timeline", &a.timeline, "file",
        "write a trace of what each rank does when, for ui.perfetto.dev"),
    OPT_GROUP("checkpoints"),
    OPT_SIZE(0, "save", &a.save, 0, 1e12, "n",
        "write a checkpoint every n steps (0: only at the end)"),
    OPT_SIZE(0, "keep", &a.keep, 0, 1e6, "n",
        "number of checkpoints to keep (0: all)"),
    OPT_STR(0, "eval", &a.eval, "input",
        "evaluate the student on these held-out batches"),
    OPT_SIZE(0, "eval-every", &a.eval_every, 1, 1e12, "n",
        "steps from one evaluation to the next"),
    OPT_SIZE(0, "patience", &a.patience, 0, 1e12, "n",
        "stop after n evaluations that are no better (0: never)"),
    OPT_MAYBE(0, "resume", &a.resume, "path",
        "continue an interrupted run, kept at this path (default: -o)"),
    OPT_STR(0, "override", &a.override, "names",
        "options that may differ from those of the run that --resume "
        "continues, such as lr,schedule"),
    OPT_END
};

/* Set the run's folder, which -o, --resume or both name. */
static void
choose_run(void)
{
    if (a.resume == opt_absent)
        a.resume = a.run;
    if (a.run == NULL)
        a.run = a.resume;
    if (a.model == NULL || a.run == NULL)
        die(EX_USAGE,
            "give the model with -m and the run with -o; see "
            "student -h");
    if (a.resume != NULL && strcmp(a.resume, a.run) != 0)
        die(EX_USAGE,
            "--resume %s: is another run than -o %s: give --resume alone, "
            "before an option or as the last word",
            a.resume, a.run);
    if (a.override != NULL && a.resume == NULL)
        die(EX_USAGE,
            "--override changes a run that goes on: give --resume "
            "too");
}

/* Choose values that options leave open, and refuse options that contradict
 * each other. */
static void
choose_options(struct student *s)
{
    const char *const weight[] = { "0.25", "1", "1" };
    const char **const given[] = { &a.ce, &a.kl, &a.sh };
    struct err e;

    if (isnan(a.tau))
        a.tau = a.published ? 3.0 : 1.0;
    if (isnan(a.lr))
        a.lr = starts_random(a.model) ? 3e-4 : 1e-4;
    for (int i = 0; i < 3 && a.published; i++)
        if (strcmp(*given[i], "auto") == 0)
            *given[i] = weight[i];
    if (a.patience > 0 && a.eval == NULL)
        die(EX_USAGE, "--patience counts evaluations: give --eval too");
    settings_parse(&s->settings, &a);
    if (effective_parse(&s->effective, a.qat, a.mask, &e) < 0)
        die_err(&e);
    if (a.mask != NULL && a.grad == 1)
        die(EX_USAGE, "--mask does not go with --grad bf16: leave one out");
}

static void
release_run(struct student *s)
{
    held_out_close(s);
    feed_close(&s->feed);
    ranks_free(s->sum);
    step_free(s->step);
    param_shards_free(s->parts);
    pipe_free(s->pipe);
    adamw_free(s->opt);
    tmodel_release(&s->t);
    pool_free(s->pool);
    json_decref(s->defaults);
    free(s->command);
    free(s->changes);
    saver_close(&s->saver);
}

int
main(int argc, char **argv)
{
    static struct student s = { .a = &a, .options = options };
    struct buf changes = { 0 };
    char **input, *from;
    double start;
    int status;

    s.defaults = record_values(options);
    s.command = again_command(argc, argv);
    input = opt_parse(argc, argv, options,
        "train or distil a model on a stream of batches", "[input]", 0, 1,
        NULL);
    opt_changes(&changes, options, run_card_own);
    s.changes = changes.p;
    choose_run();
    choose_options(&s);
    prog_catch_stop();
    if (a.max_time > 0.0)
        prog_stop_after(a.max_time);
    mem_settle();
    rank_begin(&s);
    from = addr_of_rank(*input, s.ranks.rank);
    prepare(&s, from);
    start = clock_now();
    progress_begin("training", (double)s.total, "steps");
    progress_from((double)s.st.step);
    status = s.finished ? EX_OK : train(&s);
    progress_end();
    finish(&s, status, clock_now() - start);
    release_run(&s);
    free(from);
    rank_end(&s);
    return status;
}
