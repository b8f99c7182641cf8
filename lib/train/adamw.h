/* AdamW with clipping, the schedule of its rate, and its state for checkpoints
 * and plans. */
#ifndef TRAIN_ADAMW_H
#define TRAIN_ADAMW_H

#include "base/err.h"
#include "base/pool.h"
#include "dist/dist.h"
#include "model/backward.h"

#include <stdint.h>

struct adamw_opt {
    double lr, beta1, beta2, eps;
    double decay;      /* of matrices of blocks */
    double clip;       /* norm of the gradient; 0: never clipped */
    double mask_decay; /* of weights that a mask leaves out, where masks are
                        * chosen anew (model/effective.h): part of each that is
                        * added to its gradient */
};
struct adamw; /* moments m and v of every group, step count */
/* moments: DT_F32, or DT_BF16: half the memory, each rounded up or down by
 * chance (fixed by step and place), so that small changes are not lost. */
struct adamw *adamw_new(const struct tmodel *t, enum dtype moments);
/* adamw_new for the ranks of g (NULL: this one alone): each has the moments of
 * a part of every group, and adamw_step updates that part from its gradients
 * and gives the new parameters to all; the norm is that of all parts.  even:
 * parts, and what the norm is summed by, are cut finer, which changes the
 * norm's last bits, but then no number of ranks does; always so when g has more
 * than one, but of a model in stages. */
struct adamw *adamw_new_parts(const struct tmodel *t, enum dtype moments,
    const struct dist_group *g, int even);
void adamw_free(struct adamw *a);
/* Scale gradient sums by 1/n, clip by global norm, update, zero gradients.
 * *norm: gradient norm before clipping.  -1 (EX_NUM) and nothing applied when
 * the norm is not finite. */
int adamw_step(struct adamw *a, struct tmodel *t, struct pool *pool,
    const struct adamw_opt *o, size_t n, double *norm, struct err *e);

/* Is there more than one part? */
int adamw_in_parts(const struct adamw *a);
/* Elements of a group at which parts begin, [n+1], owned by a: rank r has
 * [r]..[r+1]. */
const size_t *adamw_part(const struct adamw *a, size_t group);
/* Number of this process's part, and its elements in a group. */
size_t adamw_rank(const struct adamw *a);
size_t adamw_own(const struct adamw *a, size_t group);
/* Bytes of both moments of t's groups. */
size_t adamw_bytes(const struct tmodel *t, enum dtype moments);
enum dtype adamw_dtype(const struct adamw *a);
/* First (which = 0) or second moment of a group, or of its part: [group.n] of
 * that type, laid out as its parameters; owned by a. */
void *adamw_moment(struct adamw *a, size_t group, int which);
/* |rounded - m| / |m| over all moments of the first step since adamw_new; 0
 * for fp32 and before. */
double adamw_rounding(const struct adamw *a);
/* Steps that have been applied. */
uint64_t adamw_count(const struct adamw *a);
void adamw_set_count(struct adamw *a, uint64_t t);

enum sched { SCHED_COSINE, SCHED_LINEAR, SCHED_CONST };
/* Learning rate of step k (0-based) of n, as transformers has it: k/w of lr
 * while k < w, then to floor*lr at step n by cosine or line. */
double sched_lr(enum sched s, double lr, size_t k, size_t n, size_t w,
    double floor);

#endif
