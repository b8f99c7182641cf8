/* Rows of tokens: they are filled, every model scores them, and the scores are
 * added to the sums of the tokens' units. */
#ifndef EVALPPL_PACK_H
#define EVALPPL_PACK_H

#include "eval.h"

struct pack {
    size_t B, T;
    uint32_t *ids, *first;   /* [B,T] as in struct rows */
    size_t *used;            /* [B] tokens of a row that are filled */
    size_t rows;             /* rows begun */
    int told_compute;        /* 1: compute_note has been called for the
                              * models */
    int known;               /* 1: e->resume has the results for these rows */
    size_t n;                /* predictions to score */
    size_t *at;              /* [n] index in [B,T] of the token before the
                              * target */
    uint32_t *target;        /* [n] */
    size_t *unit;            /* [n] */
    size_t *pos;             /* [n] place of the target in its document */
    double *weight;          /* [n] 1; less in later windows of protocol hf */
    float *x;                /* [B,T,d] final states; d: largest width */
    double *nll;             /* [n] losses of one model */
    float *z;                /* logits for head_score_draft, or NULL */
    struct pair_score *soft; /* [n] one model's scores at --temperature */
};

/* Make room for rows of T tokens.  The models must be open. */
void pack_init(struct pack *p, struct eval *e, size_t T);
void pack_release(struct pack *p);
/* Score the filled rows, and empty them. */
void pack_flush(struct pack *p, struct eval *e);
/* Add predictions k..k+n-1 of the rows to the sums: the scores of model i
 * against the base, from e->j[i].pair and p->soft, or from e->resume.  first
 * 1: add the base's own loss too. */
void pack_add_pairs(struct eval *e, const struct pack *p, size_t i, size_t k,
    size_t n, int first);

#endif
