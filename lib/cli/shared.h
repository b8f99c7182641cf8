/* Options that several programs have: the row of each, with its one sentence.
 * cli/opt.h has the OPT_ macros, model/pass/compute.h has compute_names. */
#ifndef CLI_SHARED_H
#define CLI_SHARED_H

#include "cli/opt.h"

/* `most` threads are allowed; zero: what 0 means. */
#define OPT_THREADS_OF(d, most, zero) \
    OPT_SIZE('j', "threads", d, 0, most, "threads", "threads (0: " zero ")")
#define OPT_THREADS(d) OPT_THREADS_OF(d, 4096, "all processors")
#define OPT_CPUS(d) \
    OPT_STR(0, "cpus", d, "list", "run on these processors, such as 0-3,8")
/* rank: OPT_NUMA_RANK in programs that mpirun starts, else "". */
#define OPT_NUMA(d, rank) \
    OPT_STR(0, "numa", d, "node", "run on this memory node" rank)
#define OPT_NUMA_RANK " (rank: spread ranks over the nodes in turn)"
#define OPT_COMPUTE(d)                               \
    OPT_ENUM(0, "compute", d, compute_names, "type", \
        "type that the factors of matrix products have")
#define OPT_COMPUTE_FASTEST(d)                                         \
    OPT_ENUM(0, "compute", d, compute_names, "type",                   \
        "type that the factors of matrix products have (default: the " \
        "fastest here of amx, avx512bf16 and f32)")
#define OPT_EXACT(d)                                                           \
    OPT_FLAG(0, "exact", d,                                                    \
        "multiply quantised weights in floating point, as training does, not " \
        "in 8-bit integers")
/* Rows of the members of struct setup s (cli/setup.h).  OPT_PLACE: -j, --cpus,
 * --numa.  OPT_SETUP: these, --compute and --exact, for programs that generate
 * texts. */
#define OPT_PLACE(s, rank) \
    OPT_THREADS(&(s).threads), OPT_CPUS(&(s).cpus), OPT_NUMA(&(s).numa, rank)
#define OPT_SETUP(s) \
    OPT_PLACE(s, ""), OPT_COMPUTE(&(s).compute), OPT_EXACT(&(s).exact)

/* what: what the program does with its model. */
#define OPT_MODEL(d, what) OPT_STR('m', "model", d, "model", what)
#define OPT_ADAPTER(d)                    \
    OPT_STR(0, "adapter", d, "directory", \
        "adapter of the model, in PEFT's format")
/* usual: OPT_TOKENIZER_MODEL in programs with a model, else "". */
#define OPT_TOKENIZER(d, usual)               \
    OPT_STR('t', "tokenizer", d, "tokenizer", \
        "tokenizer.json, model directory or .gguf" usual)
#define OPT_TOKENIZER_MODEL " (default: the model's)"
#define OPT_TEMPLATE(d) \
    OPT_STR(0, "template", d, "file", "chat template (default: the model's)")
#define OPT_DATE(d)               \
    OPT_STR(0, "date", d, "date", \
        "date for chat templates that ask for it, such as 2026-01-31")
#define OPT_SEED(d) \
    OPT_SIZE('s', "seed", d, 0, 1e18, "seed", "seed of the random numbers")
#define OPT_MAX_NEW_TOKENS(d, least)                         \
    OPT_SIZE('n', "max-new-tokens", d, least, 1e6, "tokens", \
        "end a text after this many tokens")
#define OPT_AT_ONCE(d)                          \
    OPT_SIZE(0, "at-once", d, 1, 4096, "texts", \
        "number of texts computed together")
#define OPT_SLICE(d)                          \
    OPT_SIZE(0, "slice", d, 1, 1e6, "tokens", \
        "read at most this many tokens of prompts in a step")
#define OPT_FORMAT(d, words) \
    OPT_ENUM(0, "format", d, words, "name", "form of the output")
#define OPT_DTYPE(d, words) \
    OPT_ENUM(0, "dtype", d, words, "type", "type of the tensors written")
#define OPT_RESUME(d)               \
    OPT_STR(0, "resume", d, "path", \
        "continue the interrupted run that wrote to this path")
#define OPT_PARTIAL(d) \
    OPT_FLAG(0, "partial", d, "accept a directory whose stream ended too early")

#endif
