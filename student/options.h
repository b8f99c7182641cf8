/*
 * Options of the commands of student.  Each command has a table of its own,
 * made of these groups and of options that no other command has; a group's
 * options set the members of one struct args.
 */
#ifndef STUDENT_OPTIONS_H
#define STUDENT_OPTIONS_H

#include "cli/setup.h"
#include "cli/shared.h"
#include "model/pass/compute.h"
#include "train/effective.h"

#include <math.h>
#include <stddef.h>

/* Values of the options of student(1); act, grad, moments: 1: bf16.  If a
 * command lacks an option, its member stays as ARGS_DEFAULT sets it. */
struct args {
    /* the groups below */
    const char *model, *run, *tokenizer, *schedule, *adam, *resume, *override,
        *mask;
    struct opt_list rates;
    struct setup setup;
    size_t seed, steps, micro, warmup, save, keep;
    double lr, decay, clip, spikes, ema, max_time, rank_timeout;
    int recompute, act, grad, moments, deterministic, wire, qat;
    size_t level, stages;
    const char *comm_log, *timeline;
    int overlap, node_copy;
    const char *adapter, *lora_targets;
    size_t lora;
    double lora_alpha, lora_dropout;
    int lora_rs, lora_dora;
    /* student train */
    const char *teacher, *taught_by, *ce, *kl, *sh, *direction, *eval;
    size_t accum, ahead, eval_every, patience, sync;
    const char *outer;
    double tau;
    int published;
};

#define ARGS_DEFAULT                                                          \
    .schedule = "cosine", .adam = "0.9,0.95,1e-8", .accum = 1, .keep = 2,     \
    .save = 200, .lr = NAN, .clip = 1.0, .warmup = OPT_NONE,                  \
    .rank_timeout = 30.0, .ce = "auto", .kl = "auto", .sh = "auto",           \
    .direction = "forward", .eval_every = 200, .tau = NAN, .lora_alpha = NAN, \
    .lora_targets = "all-linear"

/* The words of --act, --grad and --moments; the words of --wire. */
extern const char *const options_dtypes[], *const options_wires[];

/* clang-format off */
#define OPTIONS_MODEL(a)                                                       \
    OPT_MODEL(&(a).model,                                                      \
        "student to begin with (a config.json: random weights)"),              \
    OPT_STR('o', "output", &(a).run, "run",                                    \
        "folder for the checkpoints and the trained model"),                   \
    OPT_TOKENIZER(&(a).tokenizer, OPT_TOKENIZER_MODEL),                        \
    OPT_PLACE((a).setup, OPT_NUMA_RANK), OPT_SEED(&(a).seed)

/* rate: the default of --lr, for -h */
#define OPTIONS_OPTIMISER(a, rate)                                             \
    OPT_GROUP("optimiser"),                                                    \
    OPT_REAL(0, "lr", &(a).lr, 0, 10, "rate",                                  \
        "peak learning rate (default: " rate ")"),                             \
    OPT_STR(0, "schedule", &(a).schedule, "name",                              \
        "learning rate after warm-up: constant, or falling to 0 (cosine, "     \
        "linear), to a share (cosine:0.1), in the last steps (wsd:0.2), or "   \
        "with their root (invsqrt)"),                                          \
    OPT_LIST(0, "rates", &(a).rates, "pattern=x",                              \
        "multiply the rate of tensors with such names; 0 freezes them "        \
        "(repeatable)"),                                                       \
    OPT_SIZE(0, "warmup", &(a).warmup, 0, 1e9, "steps",                        \
        "steps of warm-up (default: 5 % of the steps, at most 100; 0 for a "   \
        "constant schedule)"),                                                 \
    OPT_STR(0, "adam", &(a).adam, "b1,b2,eps",                                 \
        "beta1, beta2 and epsilon of AdamW"),                                  \
    OPT_REAL(0, "weight-decay", &(a).decay, 0, 10, "x",                        \
        "weight decay of matrices"),                                           \
    OPT_REAL(0, "clip-grad", &(a).clip, 0, 1e9, "norm",                        \
        "clip the gradient to this norm (0: never)"),                          \
    OPT_REAL(0, "skip-spikes", &(a).spikes, 0, 1e9, "x",                       \
        "leave out steps whose gradient norm is above x times the mean (0: "   \
        "none)"),                                                              \
    OPT_REAL(0, "ema", &(a).ema, 0, 0.9999999, "x",                            \
        "finish with a moving average of the weights, of which each step "     \
        "keeps this share, such as 0.999 (0: with the last weights)")

#define OPTIONS_WEIGHTS(a)                                                     \
    OPT_GROUP("weights"),                                                      \
    OPT_ENUM(0, "qat", &(a).qat, rounding_names, "type",                       \
        "train with matrices rounded to this type, and save them so"),         \
    OPT_STR(0, "mask", &(a).mask, "n:m",                                       \
        "train with sparse matrices: of every m neighbours in a row keep the " \
        "n largest")

#define OPTIONS_LORA(a)                                                        \
    OPT_GROUP("adapter: trained instead of the weights, which stay as they "   \
              "are stored"),                                                   \
    OPT_SIZE(0, "lora", &(a).lora, 0, 65536, "rank",                           \
        "train a new adapter of this rank (0: none)"),                         \
    OPT_REAL(0, "lora-alpha", &(a).lora_alpha, 0, 1e6, "alpha",                \
        "scale of the adapter, divided by the rank (default: twice the "       \
        "rank)"),                                                              \
    OPT_FLAG(0, "lora-rs", &(a).lora_rs,                                       \
        "divide alpha by the root of the rank instead (rsLoRA)"),              \
    OPT_FLAG(0, "lora-dora", &(a).lora_dora,                                   \
        "train the lengths of the matrices' rows too (DoRA)"),                 \
    OPT_REAL(0, "lora-dropout", &(a).lora_dropout, 0, 0.99, "p",               \
        "probability that an element of the adapter's input is dropped"),      \
    OPT_STR(0, "lora-targets", &(a).lora_targets, "names",                     \
        "matrices that the adapter changes: all-linear, or names such as "     \
        "q_proj,v_proj"),                                                      \
    OPT_ADAPTER(&(a).adapter)

#define OPTIONS_STEPS(a)                                                       \
    OPT_GROUP("run"),                                                          \
    OPT_SIZE(0, "steps", &(a).steps, 0, 1e12, "n",                             \
        "stop after n steps (0: when the stream ends)"),                       \
    OPT_TIME(0, "max-time", &(a).max_time, 0, 1e9, "time",                     \
        "end after this time, such as 30m or 2h (0: no limit)")

#define OPTIONS_PASSES(a)                                                      \
    OPT_SIZE(0, "micro", &(a).micro, 0, 1e6, "rows",                           \
        "rows computed together (0: one, or as many as 1024 tokens hold)"),    \
    OPT_FLAG(0, "recompute", &(a).recompute,                                   \
        "keep only the inputs of blocks, and compute the rest again (same "    \
        "bits, less memory)")

#define OPTIONS_PRECISION(a)                                                   \
    OPT_COMPUTE(&(a).setup.compute),                                         \
    OPT_ENUM(0, "act", &(a).act, options_dtypes, "type",                       \
        "type of the activations kept for the backward pass"),                 \
    OPT_ENUM(0, "grad", &(a).grad, options_dtypes, "type",                     \
        "type of the blocks' gradients"),                                      \
    OPT_ENUM(0, "moments", &(a).moments, options_dtypes, "type",               \
        "type of the optimiser's moments")

#define OPTIONS_RANKS(a)                                                       \
    OPT_GROUP("ranks, started by mpirun"),                                     \
    OPT_SIZE(0, "shard-level", &(a).level, 0, 3, "level",                      \
        "what is split over ranks: 1 moments, 2 also gradients, 3 also "       \
        "parameters"),                                                         \
    OPT_SIZE(0, "stages", &(a).stages, 0, 4096, "n",                           \
        "pipeline stages of each rank (0: every rank has all blocks)"),        \
    OPT_FLAG(0, "node-copy", &(a).node_copy,                                   \
        "keep a copy of the parameters in each node (for --shard-level 3)"),   \
    OPT_FLAG(0, "overlap", &(a).overlap,                                       \
        "gather the next block while one is computed"),                        \
    OPT_FLAG(0, "deterministic", &(a).deterministic,                           \
        "train to the same bits with 1, 2, 4 or 8 ranks"),                     \
    OPT_ENUM(0, "wire", &(a).wire, options_wires, "type",                      \
        "type in which ranks send gradients"),                                 \
    OPT_TIME(0, "rank-timeout", &(a).rank_timeout, 0.1, 1e9, "time",           \
        "end the run when a rank is silent for this long"),                    \
    OPT_STR(0, "comm-log", &(a).comm_log, "prefix",                            \
        "write logs of what ranks send: prefix.log, prefix.tsv, "              \
        "prefix-log2.tsv, prefix.json"),                                       \
    OPT_STR(0, "timeline", &(a).timeline, "file",                              \
        "write a trace of what each rank does when, for ui.perfetto.dev")

#define OPTIONS_SAVE(a)                                                        \
    OPT_GROUP("checkpoints"),                                                  \
    OPT_SIZE(0, "save", &(a).save, 0, 1e12, "n",                               \
        "write a checkpoint every n steps (0: only at the end)"),              \
    OPT_SIZE(0, "keep", &(a).keep, 0, 1e6, "n",                                \
        "number of checkpoints to keep (0: all)")

/* The last group of a table. */
#define OPTIONS_RESUME(a)                                                      \
    OPT_MAYBE(0, "resume", &(a).resume, "path",                                \
        "continue the interrupted run that wrote to this path (default: -o)"), \
    OPT_STR(0, "override", &(a).override, "names",                             \
        "options that may differ from those of the run that --resume "         \
        "continues, such as lr,schedule")
/* clang-format on */

#endif
