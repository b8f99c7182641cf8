/*
 * The outer step of ranks that exchange their parameters seldom (DiLoCo,
 * arXiv:2311.08105).  Each rank changes a copy of its own for some steps.  Then
 * with a, the parameters after the last exchange, p_r, those of rank r now, and
 * a velocity u that begins as 0,
 *   D = mean over r of a - p_r
 *   u = momentum u + D
 *   p = a - rate (D + momentum u)
 * which is torch.optim.SGD with nesterov=True for the gradient D.  Afterwards
 * all ranks have p, with the same bits.  Rate 1 and momentum 0: p is the mean
 * of the p_r.
 */
#ifndef TRAIN_OUTER_H
#define TRAIN_OUTER_H

#include "base/pool.h"
#include "dist/dist.h"
#include "model/pass/tmodel.h"

struct outer_opt {
    double rate, momentum;
    enum dist_sum wire; /* how the a - p_r are summed over ranks */
};
struct outer;
/* For parameters that every rank of g has whole, with fp32 gradients. */
struct outer *outer_new(const struct outer_opt *o, const struct tmodel *t,
    const struct dist_group *g);
void outer_free(struct outer *o);
/* Bytes of memory of o; o may be NULL. */
size_t outer_bytes(const struct outer *o);
/* Bytes that outer_new takes for a parameter. */
size_t outer_each(const struct outer_opt *o);
/* Take t's present parameters as those after the last exchange. */
void outer_start(struct outer *o, const struct tmodel *t);
/* Exchange parameters, and take the new ones as outer_start does.  All ranks
 * call it.  t's gradients must be 0; they serve as a buffer, and are 0
 * afterwards. */
void outer_step(struct outer *o, struct tmodel *t, struct pool *pool);
/* The velocity of a group of parameters, which o owns; NULL: momentum is 0. */
float *outer_velocity(struct outer *o, size_t group);

#endif
