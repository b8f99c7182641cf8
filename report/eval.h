/* Reading the file eval.tsv of evalppl(1). */
#ifndef REPORT_EVAL_H
#define REPORT_EVAL_H

#include "table.h"
#include "base/err.h"

#include <stddef.h>

/* Largest number of models and of sources shown.  Lines of further models and
 * sources are only counted. */
enum { MODELS = 50, SOURCES = 200 };
struct eval {
    struct lines l;
    struct table t;       /* figures of each model */
    struct table pair;    /* differences of two models */
    const char *protocol; /* "" if the file does not say */
    const char *model[MODELS],
        *source[SOURCES]; /* names, in order of the file */
    size_t nmodel, nsource;
    size_t row[MODELS]
              [SOURCES + 1]; /* row of t, or NONE; [m][0]: all sources */
    size_t left_out;         /* number of lines that are not shown */
    size_t base, from;       /* models that KL and `regained` are relative
                              * to; NONE: the file has no such model */
};

/* Read the file at path.  Returns 1; 0: there is none; -1 and *e. */
int eval_read(struct eval *v, const char *path, struct err *e);
void eval_release(struct eval *v);

/* Figure `column` of a model on a source (NONE: on all sources together); NAN:
 * the file does not have it. */
double eval_real(const struct eval *v, size_t model, size_t source,
    const char *column);
/* Was the model trained, that is, is it neither v->base nor v->from? */
int eval_trained(const struct eval *v, size_t model);
/* Set *difference to a quantity of model i minus that of model k, and *se to
 * its standard error, and return 1; 0: the file does not have them. */
int eval_pair(const struct eval *v, size_t i, size_t k, const char *quantity,
    double *difference, double *se);

#endif
