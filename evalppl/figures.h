/* Figures of a report: means over predictions, their errors over units. */
#ifndef EVALPPL_FIGURES_H
#define EVALPPL_FIGURES_H

#include "eval.h"
#include "eval/estimate.h"

struct figures {
    size_t units;         /* number of units with a scored prediction */
    size_t n;             /* number of scored predictions */
    size_t bytes, words;  /* 0: unknown */
    struct estimate bits; /* loss, bits per byte */
    double byte_ppl, word_ppl;
    struct estimate nll, kl, klt, agree, accept;
    double ppl, low, high, ppl_se; /* perplexity, 95 % interval, error */
    double ppl_ratio;              /* 100 ppl(base) / ppl */
    double regained; /* 100 (nll(before) - nll) / (nll(before) - nll(base));
                      * NAN where eval_cost_shows is false, except for base
                      * and before */
};
void eval_figures(const struct eval *e, size_t source, size_t model,
    struct figures *f);
/* Mean of a quantity of model a over the predictions of a source (NONE: all).
 * b not NONE: mean of the difference a - b instead, paired by unit. */
struct estimate eval_mean(const struct eval *e, size_t source, enum quantity q,
    size_t a, size_t b);
/* Mean loss of e->before minus mean loss of e->base, nats per token, paired by
 * unit; neither model may be NONE. */
struct estimate eval_cost(const struct eval *e, size_t source);
/* Is the cost above twice its standard error?  If the error is not known: is it
 * above 0? */
int eval_cost_shows(const struct estimate *cost);
/* Bits per byte of model a of e minus bits per byte of model b of f, over the
 * same documents. */
struct estimate bits_difference(const struct eval *e, size_t a,
    const struct eval *f, size_t b);

#endif
