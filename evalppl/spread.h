/*
 * How far a model is from the base, prediction by prediction: what --spread
 * keeps, one float each of a prediction, and its percentiles.
 */
#ifndef EVALPPL_SPREAD_H
#define EVALPPL_SPREAD_H

#include "eval.h"
#include "eval/estimate.h"

enum series {
    S_KL,   /* KL(base || model), nats */
    S_BACK, /* KL(model || base) */
    S_DP,   /* the target's probability: the model's less the base's */
    S_KLT,  /* at --temperature */
    S_BACKT,
    S_N
};

struct spread {
    size_t nj, n, cap;
    int soft;         /* S_KLT and S_BACKT too */
    float **v;        /* [nj,S_N] each [cap]; NULL: not kept */
    uint16_t *source; /* [cap], or NULL: figures of sources not wanted */
};

/* For nj models, of which `base` has none; to be freed. */
struct spread *spread_new(size_t nj, size_t base, int soft, int sources);
void spread_free(struct spread *s);
/* Room for n predictions more, which spread_put fills in any order, k < n; soft
 * may be NULL.  Then spread_end. */
void spread_begin(struct spread *s, size_t n);
void spread_put(struct spread *s, size_t model, size_t k,
    const struct pair_score *p, const struct pair_score *soft);
void spread_end(struct spread *s, const struct eval *e, const size_t *unit,
    size_t n);

/* The change of the target's probability. */
double delta_p(const struct pair_score *p);

/* The predictions of a source (NONE: all) in rising order; the caller frees.
 * *n: their number. */
float *spread_sorted(const struct spread *s, size_t source, size_t model,
    enum series which, size_t *n);
/* What a share q of n > 0 sorted numbers lies below: linear between the two
 * at (n - 1) q. */
double spread_rank(const float *sorted, size_t n, double q);

/* Figures of one model; NAN: unknown.  Errors are over documents; under
 * llama.cpp over predictions, as llama-perplexity prints them. */
struct against {
    size_t n;                         /* predictions */
    struct estimate log, ratio, diff; /* ln ppl / ppl, ppl / ppl, ppl - ppl */
    double correlation;               /* of the losses of a prediction */
    struct estimate agree, rms;       /* rms of the change of probability */
    struct estimate mean[S_N];
    float *sorted[S_N]; /* [n], or NULL; against_release */
};
void spread_against(const struct eval *e, size_t source, size_t model,
    struct against *a);
void against_release(struct against *a);

#endif
