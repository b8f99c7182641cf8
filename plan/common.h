/* Options that commands share: models and batch of a prediction. */
#ifndef PLAN_COMMON_H
#define PLAN_COMMON_H

#include "figures.h"
#include "job.h"
#include "sweep.h"
#include "cli/opt.h"

#include <stddef.h>

struct common {
    const char *model, *teacher; /* teacher NULL: none */
    const char *machine;         /* NULL: this machine */
    size_t rows, T, micro, top;  /* micro 0: the command chooses it */
    int recompute, format;
    double tokens;      /* tokens of the whole run; 0: not asked for */
    const char *anchor; /* a measured run; NULL: none */
};
#define COMMON_DEFAULTS     \
    {                       \
        .rows = 8, .T = 512 \
    }

#define COMMON_MODELS(c, student)                                             \
    OPT_STR('m', "model", &(c)->model, "model", student),                     \
        OPT_STR(0, "teacher", &(c)->teacher, "model", "the teacher's model"), \
        OPT_SIZE(0, "top", &(c)->top, 0, 1e6, "k",                            \
            "targets hold the k most probable tokens of each prediction (0: " \
            "none)"),                                                         \
        OPT_SIZE('B', "batch-size", &(c)->rows, 1, 1e6, "rows",               \
            "rows of a batch"),                                               \
        OPT_SIZE('T', "length", &(c)->T, 2, 1 << 24, "tokens",                \
            "tokens of a row")
#define COMMON_SHAPE "the student: a model, a config.json, or a shipped shape"
#define COMMON_PASSES(c, none)                                            \
    OPT_SIZE(0, "micro", &(c)->micro, 0, 1e6, "rows",                     \
        "rows computed together (0: " none ")"),                          \
        OPT_FLAG(0, "recompute", &(c)->recompute,                         \
            "keep only the inputs of blocks, and compute the rest again " \
            "(same bits, less memory)"),                                  \
        COMMON_TOKENS(c)
#define COMMON_TOKENS(c)                              \
    OPT_REAL(0, "tokens", &(c)->tokens, 0, 1e18, "n", \
        "number of tokens of the whole run (0: predict one step only)")
#define COMMON_MACHINE(c)                        \
    OPT_STR(0, "machine", &(c)->machine, "name", \
        "machine to predict for: a shipped one, a file, or this")
#define COMMON_ANCHOR(c)                                                 \
    OPT_STR(0, "anchor", &(c)->anchor, "step=s,key=value,...",           \
        "scale the prediction by a measured step of your software: its " \
        "seconds, and what its layout has different")
#define COMMON_FORMAT(c, words) \
    OPT_ENUM(0, "format", &(c)->format, words, "name", "form of the output")

/* Die (EX_USAGE) if no model is named, if --top is given without a teacher or,
 * with `ranks`, if no machine is named. */
void common_check(const struct common *in, int ranks);
/* Die (EX_SYS), and say where models come from, if there is no file of this
 * name. */
void common_model_exists(const char *path);
/* Set *j from the options, the machine if one is named, and the operands
 * "key=value".  Operands with several values change nothing in *j.  All n
 * operands are read into *r; free it by ranges_free.  Dies on errors. */
void common_job(struct job *j, const struct common *in, struct ranges *r,
    char **operand, size_t n);
/* Print a note of models, machine and keys: batch, length, nodes, keys that an
 * operand gives, and keys of the layout that are not at their default.  Keys
 * with several values are left out.  The note says if batch and length are
 * defaults. */
void common_tell(const struct job *j, const struct common *in,
    const struct ranges *r);
/* Read the shapes of the models into *j, and set its key `anchor` by --anchor.
 * Dies on errors. */
void common_shapes(struct job *j, const struct common *in);

#endif
