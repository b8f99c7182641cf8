/* student - train or distil a model on a stream of batches; see student(1) */
#include "student.h"
#include "record.h"
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

static const char *const dtypes[] = { "f32", "bf16", NULL };
static const char *const wires[] = { "f32", "bf16", NULL };
static const char *const schedules[] = { "cosine", "linear", "constant", NULL };

static const char *const directions[] = { "forward", "reverse", "js", NULL };

static struct args a = {
    .ce = "auto",
    .kl = "auto",
    .sh = "auto",
    .kl_beta = NAN,
    .accum = 1,
    .keep = 2,
    .save = 200,
    .eval_every = 200,
    .lr = 3e-4,
    .tau = 3.0,
    .beta1 = 0.9,
    .beta2 = 0.95,
    .eps = 1e-8,
    .decay = 0.0,
    .clip = 1.0,
    .lr_embed = 1.0,
    .rank_timeout = 30.0,
    .remask = 10,
    .mask_decay = 2e-4,
};

static const struct opt options[] = {
    OPT_STR('m', "model", &a.model, "model",
        "student's weights; a config.json starts from random ones"),
    OPT_STR('o', "output", &a.run, "run", "folder of checkpoints and result"),
    OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
        "tokenizer files to export (default: the model's)"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_STR(0, "cpus", &a.cpus, "list",
        "run on these processors, such as 0-3,8"),
    OPT_STR(0, "numa", &a.numa, "node",
        "run on this memory node; rank: ranks take them in turn"),
    OPT_SIZE('s', "seed", &a.seed, 0, 1e18, "seed", "seed of random weights"),
    OPT_GROUP("loss (auto: 0.25, 1, 1 for what the stream holds; CE alone: 1)"),
    OPT_STR(0, "ce", &a.ce, "weight", "weight of cross entropy"),
    OPT_STR(0, "kl", &a.kl, "weight", "weight of KL(teacher || student)"),
    OPT_ENUM(0, "kl-direction", &a.kl_direction, directions, "name",
        "teacher || student, the reverse, Jensen-Shannon"),
    OPT_REAL(0, "kl-beta", &a.kl_beta, 0, 1, "weight",
        "weight of the teacher in Jensen-Shannon's mixture (default: 0.5)"),
    OPT_STR(0, "squarehead", &a.sh, "weight",
        "weight of SquareHead on hidden states"),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T", "temperature of KL"),
    OPT_STR(0, "teacher", &a.teacher, "model",
        "take the teacher's head from this model"),
    OPT_GROUP("optimiser"),
    OPT_REAL(0, "lr", &a.lr, 0, 10, "rate", "peak learning rate"),
    OPT_REAL(0, "lr-embed", &a.lr_embed, 0, 1000, "factor",
        "factor on it for embeddings and head"),
    OPT_ENUM(0, "schedule", &a.schedule, schedules, "name",
        "course of the learning rate"),
    OPT_SIZE(0, "warmup", &a.warmup, 0, 1e9, "steps", "steps of warm-up"),
    OPT_REAL(0, "min-lr-ratio", &a.floor, 0, 1, "fraction",
        "final learning rate as a share of the peak"),
    OPT_REAL(0, "beta1", &a.beta1, 0, 0.9999999, "x", "AdamW, first moment"),
    OPT_REAL(0, "beta2", &a.beta2, 0, 0.9999999, "x", "AdamW, second moment"),
    OPT_REAL(0, "eps", &a.eps, 1e-20, 1, "x", "AdamW, epsilon"),
    OPT_REAL(0, "weight-decay", &a.decay, 0, 10, "x",
        "weight decay of matrices"),
    OPT_FLAG(0, "decay-embed", &a.decay_embed, "decay embeddings too"),
    OPT_REAL(0, "clip-grad", &a.clip, 0, 1e9, "norm",
        "clip the gradient to this norm (0: never)"),
    OPT_GROUP("weights"),
    OPT_ENUM(0, "qat", &a.qat, rounding_names, "type",
        "see matrices as that type has them, and save them so"),
    OPT_STR(0, "mask", &a.mask, "n:m",
        "train sparse weights: of every m in a row keep the n largest"),
    OPT_SIZE(0, "remask", &a.remask, 1, 1e12, "steps",
        "choose them anew every so many steps"),
    OPT_REAL(0, "mask-decay", &a.mask_decay, 0, 10, "x",
        "weight decay of the masked weights, as SR-STE"),
    OPT_GROUP("run"),
    OPT_SIZE(0, "steps", &a.steps, 0, 1e12, "n",
        "stop after n steps (0: when the stream ends)"),
    OPT_TIME(0, "max-time", &a.max_time, 0, 1e9, "time",
        "save and stop then, after 30m or 2h (0: never)"),
    OPT_SIZE(0, "grad-accum", &a.accum, 1, 1e6, "n", "messages a step"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_FLAG(0, "recompute", &a.recompute,
        "keep block inputs only; same bits, less memory"),
    OPT_SIZE(0, "ahead", &a.ahead, 0, 1e15, "bytes",
        "read so much of the next message beside a step (0: all)"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "what matrix products multiply"),
    OPT_ENUM(0, "act", &a.act, dtypes, "type",
        "type of the activations kept for the backward pass"),
    OPT_ENUM(0, "grad", &a.grad, dtypes, "type",
        "type of the blocks' gradients"),
    OPT_ENUM(0, "moments", &a.moments, dtypes, "type",
        "type of the optimiser's moments"),
    OPT_GROUP("ranks, started by mpirun"),
    OPT_SIZE(0, "shard-level", &a.level, 0, 3, "level",
        "what ranks split: 1 moments, 2 gradients too, 3 parameters too"),
    OPT_SIZE(0, "stages", &a.stages, 0, 4096, "n",
        "each rank has so many stages of blocks (0: all blocks)"),
    OPT_FLAG(0, "node-copy", &a.node_copy,
        "keep a copy in each node at level 3: gather it once a step"),
    OPT_FLAG(0, "overlap", &a.overlap,
        "gather the next block while one is computed"),
    OPT_FLAG(0, "deterministic", &a.deterministic,
        "same bits for 1, 2, 4, 8 ranks"),
    OPT_ENUM(0, "wire", &a.wire, wires, "type",
        "type in which ranks send gradients"),
    OPT_TIME(0, "rank-timeout", &a.rank_timeout, 0.1, 1e9, "time",
        "end when one is not heard of so long, or 3 steps"),
    OPT_STR(0, "comm-log", &a.comm_log, "prefix",
        "log what ranks send: prefix.log, .tsv, -log2.tsv, .json"),
    OPT_FLAG(0, "deepspeed-compat", &a.deepspeed,
        "the log's numbers as DeepSpeed has them"),
    OPT_STR(0, "timeline", &a.timeline, "file",
        "what was done when, for ui.perfetto.dev"),
    OPT_GROUP("checkpoints"),
    OPT_SIZE(0, "save", &a.save, 0, 1e12, "n",
        "checkpoint every n steps (0: at the end)"),
    OPT_SIZE(0, "keep", &a.keep, 0, 1e6, "n", "checkpoints kept (0: all)"),
    OPT_STR(0, "eval", &a.eval, "input",
        "held-out batches, judged beside training: file or shard directory"),
    OPT_SIZE(0, "eval-every", &a.eval_every, 1, 1e12, "n", "every n steps"),
    OPT_SIZE(0, "patience", &a.patience, 0, 1e12, "n",
        "stop after n evaluations that are no better (0: never)"),
    OPT_FLAG(0, "resume", &a.resume, "continue from the newest checkpoint"),
    OPT_STR(0, "override", &a.override, "names",
        "what --resume may change, such as lr,schedule"),
    OPT_END
};

int
main(int argc, char **argv)
{
    static struct student s = { .a = &a, .options = options };
    char **input, *from;
    struct err e;
    double start;
    int status;

    s.defaults = record_values(options);
    s.command = again_command(argc, argv);
    input = opt_parse(argc, argv, options,
        "train or distil a model on a stream of batches", "[input]", 0, 1,
        NULL);
    if (a.model == NULL || a.run == NULL)
        die(EX_USAGE, "-m and -o are needed; see student -h");
    if (!isnan(a.kl_beta) &&
        (a.kl_direction != KL_JS || a.kl_beta == 0.0 || a.kl_beta == 1.0))
        die(EX_USAGE,
            "--kl-beta goes with --kl-direction js and is above 0 and below 1: "
            "at both ends that divergence is 0, use forward or reverse");
    if (isnan(a.kl_beta))
        a.kl_beta = 0.5;
    if (a.override != NULL && !a.resume)
        die(EX_USAGE,
            "--override: there is nothing to change without --resume");
    if (a.patience > 0 && a.eval == NULL)
        die(EX_USAGE, "--patience: there are no evaluations without --eval");
    if (effective_parse(&s.effective, a.qat, a.mask, &e) < 0)
        die_err(&e);
    if (a.mask != NULL && a.grad == 1)
        die(EX_USAGE, "--mask: it does not go with --grad bf16");
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
    held_out_close(&s);
    feed_close(&s.feed);
    ranks_free(s.sum);
    step_free(s.step);
    param_shards_free(s.parts);
    pipe_free(s.pipe);
    adamw_free(s.opt);
    tmodel_release(&s.t);
    pool_free(s.pool);
    json_decref(s.defaults);
    free(from);
    free(s.command);
    saver_close(&s.saver);
    rank_end(&s);
    return status;
}
