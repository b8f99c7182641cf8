/* AdamW with clipping; averages of the parameters; the optimiser's state for
 * checkpoints and plans. */
#ifndef TRAIN_ADAMW_H
#define TRAIN_ADAMW_H

#include "base/err.h"
#include "base/pool.h"
#include "dist/dist.h"
#include "model/pass/backward.h"

#include <stdint.h>

struct adamw_opt {
    double lr, beta1, beta2, eps;
    double decay;      /* weight decay of blocks' matrices */
    double clip;       /* largest norm of the gradient; 0: no clipping */
    double limit;      /* a gradient of larger norm is not applied; 0: no
                        * limit */
    double mask_decay; /* SR-STE (train/effective.h): mask_decay times each
                        * masked weight is added to its gradient */
    double average;    /* after an update the average m of a parameter p becomes
                        * average * m + (1 - average) * p (adamw_average);
                        * with 1 it stays */
};
struct adamw; /* moments m and v of every group, step count */
/* moments: type of the moments: DT_F32, or DT_BF16 for half the memory.  They
 * are rounded to bfloat16 stochastically, so that small changes are not lost;
 * step and index determine the random numbers. */
struct adamw *adamw_new(const struct tmodel *t, enum dtype moments);
/* adamw_new for the ranks of g (NULL: this rank alone).  Each rank has the
 * moments of its part of every group.  adamw_step updates that part from its
 * gradients, and gives the new parameters to all ranks.  The norm is taken over
 * all parts.  even: sum the norm over finer spans, so that its bits do not
 * depend on the number of ranks; without `even` the last bits differ.  `even`
 * is implied if g has several ranks and the model is not in stages. */
struct adamw *adamw_new_parts(const struct tmodel *t, enum dtype moments,
    const struct dist_group *g, int even);
void adamw_free(struct adamw *a);
/* Multiply the learning rate of each tensor by rate(ctx, NAME), for its Hugging
 * Face name.  A tensor of rate 0 is frozen: its gradients do not count in the
 * norm, and it does not change; after tmodel_freeze most of these gradients are
 * not computed.  Without adamw_rates all rates are 1. */
void adamw_rates(struct adamw *a, const struct tmodel *t,
    double (*rate)(const void *ctx, const char *name), const void *ctx);
/* Keep an exponential moving average of t's parameters, which begins with their
 * present values.  adamw_swap, which all ranks call, exchanges parameters and
 * averages. */
void adamw_average(struct adamw *a, const struct tmodel *t);
void adamw_swap(struct adamw *a, struct tmodel *t);
/* Update the averages by themselves: m becomes keep * m + (1 - keep) * p. */
void adamw_follow(struct adamw *a, const struct tmodel *t, double keep);
/* Scale gradient sums by 1/n, clip by global norm, update, zero gradients.
 * *norm: gradient norm before clipping.  Returns 0; 1: the norm is above the
 * limit; -1 (EX_NUM): the norm is not finite.  With 1 or -1 no parameter has
 * changed. */
int adamw_step(struct adamw *a, struct tmodel *t, struct pool *pool,
    const struct adamw_opt *o, size_t n, double *norm, struct err *e);

/* Are the moments divided into parts of several ranks? */
int adamw_in_parts(const struct adamw *a);
/* The borders of the ranks' parts of a group, an array [n+1] that `a` owns:
 * rank r has the elements from border r on, up to border r+1. */
const size_t *adamw_part(const struct adamw *a, size_t group);
/* adamw_rank: this process's rank.  adamw_own: how many elements of a group are
 * in this rank's part. */
size_t adamw_rank(const struct adamw *a);
size_t adamw_own(const struct adamw *a, size_t group);
/* Bytes of both moments of t's parameters; if t is in stages, of this rank's
 * stages. */
size_t adamw_bytes(const struct tmodel *t, enum dtype moments);
enum dtype adamw_dtype(const struct adamw *a);
/* adamw_moment: the state of kind `which` for this rank's part of a group, laid
 * out as the parameters and owned by `a`.  Kinds, adamw_kinds in number: 0:
 * first moments, 1: second moments, 2: averages. */
int adamw_kinds(const struct adamw *a);
enum dtype adamw_kind_dtype(const struct adamw *a, int which);
void *adamw_moment(struct adamw *a, size_t group, int which);
/* Relative rounding error |rounded - m| / |m| of all moments in the first step
 * after adamw_new.  0 for fp32 moments, and before that step. */
double adamw_rounding(const struct adamw *a);
/* The number of steps done. */
uint64_t adamw_count(const struct adamw *a);
void adamw_set_count(struct adamw *a, uint64_t t);

#endif
