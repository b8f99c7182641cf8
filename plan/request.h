/* Options of a prediction that several commands of plan have. */
#ifndef PLAN_REQUEST_H
#define PLAN_REQUEST_H

#include "figures.h"
#include "job.h"
#include "sweep.h"
#include "cli/shared.h"

#include <stddef.h>

struct request {
    const char *model, *teacher; /* teacher NULL: none */
    const char *machine;         /* NULL: this machine */
    size_t rows, T, micro, top;  /* micro 0: the command chooses it */
    int recompute, format;
    double tokens; /* tokens of the whole run; 0: not asked for */
    double ratio;  /* share of the parameters that the student lacks, cut off as
                    * whole blocks; 0: none */
    const char *anchor; /* a measured run; NULL: none */
};
#define REQUEST_DEFAULTS    \
    {                       \
        .rows = 8, .T = 512 \
    }

#define REQUEST_MODELS(c, student)                                            \
    OPT_MODEL(&(c)->model, student),                                          \
        OPT_STR(0, "teacher", &(c)->teacher, "model", "the teacher's model"), \
        OPT_SIZE(0, "top", &(c)->top, 0, 1e6, "k",                            \
            "targets hold the k most probable tokens of each prediction (0: " \
            "none)"),                                                         \
        OPT_SIZE('B', "batch-size", &(c)->rows, 1, 1e6, "rows",               \
            "rows of a batch"),                                               \
        OPT_SIZE('T', "length", &(c)->T, 2, 1 << 24, "tokens",                \
            "tokens of a row")
#define REQUEST_SHAPE "the student: a model, a config.json, or a shipped model"
#define REQUEST_PASSES(c, none)                                           \
    OPT_SIZE(0, "micro", &(c)->micro, 0, 1e6, "rows",                     \
        "rows computed together (0: " none ")"),                          \
        OPT_FLAG(0, "recompute", &(c)->recompute,                         \
            "keep only the inputs of blocks, and compute the rest again " \
            "(same bits, less memory)"),                                  \
        REQUEST_TOKENS(c)
#define REQUEST_TOKENS(c)                              \
    OPT_COUNT(0, "tokens", &(c)->tokens, 0, 1e18, "n", \
        "number of tokens of the whole run (0: predict one step only)")
#define REQUEST_RATIO(c)                             \
    OPT_REAL(0, "ratio", &(c)->ratio, 0, 1, "share", \
        "remove at least this share of the parameters, such as 0.375")
#define REQUEST_MACHINE(c)                       \
    OPT_STR(0, "machine", &(c)->machine, "name", \
        "machine to predict for: a shipped one, a file, or this")
#define REQUEST_ANCHOR(c)                                                \
    OPT_STR(0, "anchor", &(c)->anchor, "step=s,key=value,...",           \
        "scale the prediction by a measured step of your software: its " \
        "seconds, and what its layout has different")

/* Die (EX_USAGE) if no model is named, if --top is given without a teacher or,
 * with `ranks`, if no machine is named. */
void request_check(const struct request *in, int ranks);
/* Die (EX_USAGE): a student of one block still has the part `left`, 0 to 1, of
 * the parameters, which is more than in->ratio allows. */
_Noreturn void request_ratio_failed(const struct request *in, double left);
/* Set *j from the options, the machine if one is named, and the operands
 * "key=value".  Operands with several values change nothing in *j.  All n
 * operands are read into *r; free it by ranges_free.  Dies on errors. */
void request_job(struct job *j, const struct request *in, struct ranges *r,
    char **operand, size_t n);
/* Print a note of models, machine and keys: batch, length, nodes, keys that an
 * operand gives, and keys of the layout that are not at their default.  Keys
 * with several values are left out.  The note says if batch and length are
 * defaults. */
void request_note(const struct job *j, const struct request *in,
    const struct ranges *r);
/* Read the shapes of the models into *j, and set its key `anchor` by --anchor.
 * Dies on errors. */
void request_shapes(struct job *j, const struct request *in);

#endif
