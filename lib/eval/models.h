/* Models that are evaluated together: an array [n] that grows as they are
 * opened. */
#ifndef EVAL_MODELS_H
#define EVAL_MODELS_H

#include "base/err.h"
#include "base/mem.h"
#include "model/pass/forward.h"

#include <stddef.h>

struct eval_model {
    int recorded; /* 1: the model has no weights; a file or the stream holds its
                   * predictions */
    int foreign;  /* 1: the model's tokenizer is not the input's */
    char *label, *path;
    struct model m;
    struct fwd *f;
    float *h;                /* [B*T,d] final states of scored predictions */
    struct pair_score *pair; /* [B*T] scores of the last predictions: nll_q
                              * is the model's loss; the other members are
                              * set only if there is a base (--base) */
    size_t params;           /* number of weights */
    size_t bytes;            /* bytes of the weights as stored */
    double seconds;          /* time of its forward passes and head */
};

/* Append an entry whose model is not open yet; the array owns the label. */
struct eval_model *models_add(struct eval_model **j, size_t *n,
    const char *path, char *label);
/* Open and append the model of [label=]path; a label has no slash.  -1 and *e:
 * as model_open, or a weight is not finite.  Call models_close in any case. */
int models_open(struct eval_model **j, size_t *n, const char *spec,
    struct err *e);
/* Open the adapter at path (NULL: none) for each of n models. */
int models_adapt(struct eval_model *j, size_t n, const char *path,
    struct err *e);
/* 0; -1 and *e (EX_USAGE): two models have the same label. */
int models_check(const struct eval_model *j, size_t n, struct err *e);
/* Append the hashes of all open models. */
void models_hash(struct buf *b, const struct eval_model *j, size_t n);
/* Width of a column for the labels: at least 5, at most `most`. */
int models_label_width(const struct eval_model *j, size_t n, size_t most);
void models_close(struct eval_model *j, size_t n);

#endif
