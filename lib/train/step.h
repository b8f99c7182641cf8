/*
 * One training step: forward, fused head and losses, backward, clipping,
 * AdamW.  Losses (per retort(7), T = temperature, N = scored positions of the
 * whole global batch):
 *   CE = 1/N sum nll      KL = 1/N sum T^2 KL(teacher || student; T)
 *   SquareHead = 1/L sum_l sum_r (n_r/N) |hs-ht|^2 / (|ht|^2 + 1e-6), norms
 *     over the non-padding tokens of row r, h the output of a block before
 *     the final norm, ht as wide as hs (adaptive_avg_pool1d where it is not),
 *     n_r the scored positions of the row
 *   loss = w_ce CE + w_kl KL + w_sh SquareHead
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include "base/err.h"
#include "base/pool.h"
#include "format/targets.h"
#include "model/backward.h"
#include "train/pipe.h"

/* KL(teacher || student); KL(student || teacher); generalised Jensen-Shannon
 * divergence (arXiv:2306.13649), with p the teacher's and q the student's
 * probabilities and 0 < beta < 1
 *   beta KL(p || m) + (1-beta) KL(q || m),  m = beta p + (1-beta) q
 * Each at temperature T and times T^2.  The last two for TARGETS_FINAL
 * alone. */
enum kl_direction { KL_FORWARD, KL_REVERSE, KL_JS };

struct loss_opt {
    double w_ce, w_kl, w_sh, tau;
    enum kl_direction direction;
    double beta;
};

/* Sums over scored positions (sh: n_r-weighted ratios, mean over layers). */
struct loss_sum {
    double ce, kl, sh;
    size_t n;   /* scored positions */
    size_t tok; /* non-padding tokens */
};
void loss_sum_add(struct loss_sum *to, const struct loss_sum *from);

struct step;
/* B: rows at a time.  how: BWD_RECOMPUTE, BWD_BF16 or 0.  like: the kind
 * and widths of the targets; head: the teacher's [V,d_t] for TARGETS_FINAL,
 * which outlives this, or NULL for a step that is only counted. */
struct step *step_new(struct tmodel *t, struct pool *pool,
    const struct loss_opt *o, size_t B, size_t T, int how,
    const struct targets *like, const struct weight *head);
/* Of a model in stages: rows go through those of other ranks by this, which
 * outlives s.  The sums that are made then are those of this rank's stages. */
void step_pipe(struct step *s, struct pipe *pipe);
void step_free(struct step *s);
/* Memory it will have touched when steps are of so many tokens. */
size_t step_bytes(const struct step *s, size_t tokens);

/* Add the gradients and losses of rows r, so many at a time as step_new was
 * told.  scored [B,T]: does the prediction made at a token count?  targets: of
 * these rows, its outputs of blocks one for each block of the student, or none;
 * of another width they are brought to d by adaptive averages. */
void step_add(struct step *s, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, struct loss_sum *sum);
/* Passes over so many rows, at as many at a time as step_new was told. */
size_t step_passes(const struct step *s, size_t rows);
/* A pass over none of the rows: nothing is added, but weights are fetched and
 * gradients taken (model/backward.h), as ranks do together.  targets: as of
 * step_add. */
void step_pass(struct step *s, const struct rows *r,
    const struct targets *targets);
/* bwd_rounding, bwd_grad_rounding. */
double step_rounding(const struct step *s);
double step_grad_rounding(const struct step *s);
/* After the last step_add of a step, before adamw_step: gradients that were
 * held back are added (bwd_flush). */
void step_flush(struct step *s);

/*
 * Losses without gradients, by the forward pass and in the memory of s, between
 * two of its steps; rows as long as its own or shorter.  Arguments as of
 * step_new, but targets may be of another kind and width; blocks
 * are not compared.
 */
struct step_judge;
struct step_judge *step_judge_new(struct step *s, const struct loss_opt *o,
    const struct targets *like, const struct weight *head);
void step_judge_free(struct step_judge *j);
size_t step_judge_bytes(const struct step_judge *j); /* beside those of s */
/* As step_add; *sum: ce and kl. */
void step_judge_add(struct step_judge *j, const struct rows *r,
    const uint8_t *scored, const struct targets *targets, struct loss_sum *sum);
/* A pass over none of the rows of r, as step_pass: where ranks have parts of
 * the parameters all make as many passes. */
void step_judge_pass(struct step_judge *j, const struct rows *r);

struct adamw_opt {
    double lr, beta1, beta2, eps, decay, clip; /* clip 0: none */
    double lr_embed; /* factor on lr of embed and head */
    int decay_embed;
    double mask_decay; /* of W to gradients where a mask that is chosen anew
                        * leaves it out (model/effective.h) */
};
struct adamw; /* moments m and v of every group, step count */
/* moments: DT_F32, or DT_BF16: half the memory, each rounded up or down by
 * chance (fixed by step and place), so that small changes are not lost. */
struct adamw *adamw_new(const struct tmodel *t, enum dtype moments);
void adamw_free(struct adamw *a);
/* Scale gradient sums by 1/n, clip by global norm, update, zero gradients.
 * *norm: gradient norm before clipping.  -1 (EX_NUM) and nothing applied when
 * the norm is not finite. */
int adamw_step(struct adamw *a, struct tmodel *t, struct pool *pool,
    const struct adamw_opt *o, size_t n, double *norm, struct err *e);

enum sched { SCHED_COSINE, SCHED_LINEAR, SCHED_CONST };
/* Learning rate of step k (0-based) of n, as transformers has it: k/w of lr
 * while k < w, then to floor*lr at step n by cosine or line. */
double sched_lr(enum sched s, double lr, size_t k, size_t n, size_t w,
    double floor);

#endif
