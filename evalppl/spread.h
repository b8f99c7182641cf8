/* --spread: each model's distance from the base on every prediction, kept as
 * floats, and its percentiles. */
#ifndef EVALPPL_SPREAD_H
#define EVALPPL_SPREAD_H

#include "eval.h"
#include "eval/estimate.h"

enum series {
    S_KL,   /* KL(base || model), nats */
    S_BACK, /* KL(model || base) */
    S_DP,   /* probability of the target, the model's minus the base's */
    S_KLT,  /* KL(base || model) at --temperature */
    S_BACKT,
    S_N
};

struct spread {
    size_t nj, n, cap;
    int soft;         /* 1: keep S_KLT and S_BACKT */
    float **v;        /* [nj,S_N] series, each [cap]; NULL: not kept */
    uint16_t *source; /* [cap], or NULL: no figures of sources */
};

/* Make empty series for nj models except the base; spread_free frees them. */
struct spread *spread_new(size_t nj, size_t base, int soft, int sources);
void spread_free(struct spread *s);
/* Make room for n more predictions. */
void spread_begin(struct spread *s, size_t n);
/* Set the model's values of prediction k of the n for which spread_begin made
 * room, in any order.  soft NULL: not those of S_KLT and S_BACKT. */
void spread_put(struct spread *s, size_t model, size_t k,
    const struct pair_score *p, const struct pair_score *soft);
/* Add the n predictions set since spread_begin; unit [n]: their units. */
void spread_end(struct spread *s, const struct eval *e, const size_t *unit,
    size_t n);

/* Probability of the target by the model minus that by the base. */
double delta_p(const struct pair_score *p);

/* Returns the *n values of a source (NONE: all) in rising order; the caller
 * frees them. */
float *spread_sorted(const struct spread *s, size_t source, size_t model,
    enum series which, size_t *n);
/* Quantile q of n > 0 sorted numbers: interpolated linearly at index (n - 1) q.
 */
double spread_rank(const float *sorted, size_t n, double q);

/* Figures of one model against the base; NAN: unknown.  Standard errors are
 * over documents, but under llama.cpp's protocol over predictions, as in
 * llama-perplexity. */
struct against {
    size_t n;                   /* predictions */
    struct estimate ratio;      /* the model's perplexity / the base's */
    struct estimate log;        /* ln(ratio) */
    struct estimate diff;       /* perplexity minus the base's */
    double correlation;         /* between the losses of model and base */
    struct estimate agree, rms; /* rms: root mean square of S_DP */
    struct estimate mean[S_N];
    float *sorted[S_N]; /* [n] in rising order, or NULL */
};
/* Fill in *a, which against_release frees. */
void spread_against(const struct eval *e, size_t source, size_t model,
    struct against *a);
void against_release(struct against *a);

#endif
