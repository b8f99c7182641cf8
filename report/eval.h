/* The file eval.tsv of evalppl(1). */
#ifndef REPORT_EVAL_H
#define REPORT_EVAL_H

#include "table.h"
#include "base/err.h"

#include <stddef.h>

/* Models in the order of the file, and the row of each model and source.  Lines
 * of more models and sources are counted and not shown. */
enum { MODELS = 50, SOURCES = 200 };
struct eval {
    struct lines l;
    struct table t, pair; /* figures; differences of two models */
    const char *protocol; /* "" where the file does not say */
    const char *model[MODELS], *source[SOURCES];
    size_t nmodel, nsource;
    size_t row[MODELS][SOURCES + 1]; /* [m][0]: all sources; or NONE */
    size_t left_out;                 /* lines that are not shown */
    size_t base, from; /* models that KL and regained refer to; or NONE */
};

/* Read the file at path: 1; 0: there is none; -1 and *e. */
int eval_read(struct eval *v, const char *path, struct err *e);
void eval_release(struct eval *v);

/* A figure of a model on a source, NONE for all sources; or NAN. */
double eval_real(const struct eval *v, size_t model, size_t source,
    const char *column);
/* Was the model trained, that is, neither base nor from? */
int eval_trained(const struct eval *v, size_t model);
/* The difference of models i and k in a quantity and its standard error; 0 if
 * the file has none. */
int eval_pair(const struct eval *v, size_t i, size_t k, const char *quantity,
    double *difference, double *se);

#endif
