/* --spread: each model's distance from the base on every prediction, kept as
 * floats, and its percentiles. */
#ifndef EVALPPL_SPREAD_H
#define EVALPPL_SPREAD_H

#include "eval.h"
#include "eval/estimate.h"

enum series {
    S_KL,   /* KL(base || model), nats */
    S_BACK, /* KL(model || base) */
    S_DP,   /* probability of the target, the model's less the base's */
    S_KLT,  /* KL(base || model) at --temperature */
    S_BACKT,
    S_N
};

struct spread {
    size_t nj, n, cap;
    int soft;         /* keeps S_KLT and S_BACKT */
    float **v;        /* [nj,S_N] each [cap]; NULL: not kept */
    uint16_t *source; /* [cap], or NULL: figures of sources not wanted */
};

/* Make it for nj models, of which the base has no series; spread_free frees
 * it. */
struct spread *spread_new(size_t nj, size_t base, int soft, int sources);
void spread_free(struct spread *s);
/* Make room for n more predictions, which spread_put fills in any order, k < n
 * (soft may be NULL), and spread_end adds. */
void spread_begin(struct spread *s, size_t n);
void spread_put(struct spread *s, size_t model, size_t k,
    const struct pair_score *p, const struct pair_score *soft);
void spread_end(struct spread *s, const struct eval *e, const size_t *unit,
    size_t n);

/* Probability of the target by the model, less that by the base. */
double delta_p(const struct pair_score *p);

/* The values of a source (NONE: all) in rising order, *n of them; the caller
 * frees. */
float *spread_sorted(const struct spread *s, size_t source, size_t model,
    enum series which, size_t *n);
/* Quantile q of n > 0 sorted numbers: linear between the two at (n - 1) q. */
double spread_rank(const float *sorted, size_t n, double q);

/* Figures of one model; NAN: unknown.  Errors are over documents, under
 * llama.cpp over predictions, as llama-perplexity prints them. */
struct against {
    size_t n;                         /* predictions */
    struct estimate log, ratio, diff; /* ln ppl / ppl, ppl / ppl, ppl - ppl */
    double correlation;               /* between the losses of model and base */
    struct estimate agree, rms;       /* rms: root mean square of S_DP */
    struct estimate mean[S_N];
    float *sorted[S_N]; /* [n], or NULL; against_release */
};
void spread_against(const struct eval *e, size_t source, size_t model,
    struct against *a);
void against_release(struct against *a);

#endif
