/*
 * A training step without its update (adamw.h): forward, fused head and losses,
 * backward.  Losses (per retort(7), T = temperature, N = scored positions of
 * the whole global batch):
 *   CE = 1/N sum nll      KL = 1/N sum T^2 KL(teacher || student; T)
 *   SquareHead = 1/L sum_l sum_r (n_r/N) |hs-ht|^2 / (|ht|^2 + 1e-6)
 *   Balance = sum_r (n_r/N) E sum_e f_re P_re  (model/pass/balance.h)
 *   loss = w_ce CE + w_kl KL + w_sh SquareHead + w_balance Balance
 * SquareHead is over blocks l and rows r; n_r: scored positions of row r.  hs
 * and ht are the outputs of a block of the student and of the teacher, before
 * the final norm; ht is brought to the width of hs (adaptive_avg_pool1d).  |.|
 * is over the row's tokens, except padding and tokens that targets_aligned
 * leaves out.
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include "base/err.h"
#include "base/pool.h"
#include "format/targets.h"
#include "model/pass/backward.h"
#include "train/pipe.h"

/* The divergence that is multiplied by T^2.  p: the teacher's probabilities at
 * temperature T, q: the student's.
 *   KL_FORWARD  KL(p || q)
 *   KL_REVERSE  KL(q || p)
 *   KL_JS       generalised Jensen-Shannon divergence (arXiv:2306.13649):
 *               beta KL(p || m) + (1-beta) KL(q || m),
 *               m = beta p + (1-beta) q, 0 < beta < 1
 * KL_REVERSE and KL_JS need TARGETS_FINAL or TARGETS_TOP. */
enum kl_direction { KL_FORWARD, KL_REVERSE, KL_JS };

struct loss_sum;

/* The scored tokens of one row of a batch, as passed to logp_loss.row: log
 * probabilities that the model gives, and the gradients that the callback sets.
 * A row's numbers have the same bits whatever other rows are in the pass. */
struct logp_row {
    size_t row; /* index in the message (struct rows of ranks_add) */
    size_t n;   /* scored tokens */
    const uint32_t
        *place;           /* [n] their indices in the row, ascending; entry i of
                           * each array is about the prediction of token
                           * place[i] + 1 */
    const float *logp;    /* [n] log probability of token place[i] + 1, at
                           * temperature tau, nats */
    const float *entropy; /* [n] entropy of the distribution of logp, nats */
    const uint8_t *hit;   /* [n] 1: no other token is more probable */
    /* [n] derivatives of the loss, summed over tokens and not averaged; zero
     * before the callback */
    float *dlogp, *dentropy;
};

/* A loss in place of CE and KL: a sum over rows.  `row` is called once for each
 * row that has scored positions, in order, by one thread: it sets gradients,
 * and adds to sum->own what the caller wants summed over rows and ranks. */
struct logp_loss {
    void (*row)(void *ctx, const struct logp_row *r, struct loss_sum *sum);
    void *ctx;
    int entropy; /* 1: the callback sets dentropy too */
};

struct loss_opt {
    double w_ce, w_kl, w_sh; /* weights of cross entropy, KL, SquareHead */
    double tau;              /* temperature of KL, or of logp */
    enum kl_direction direction;
    double beta; /* for KL_JS */
    int dft;     /* 1: multiply a position's cross entropy by p, its token's
                  * probability, which counts as constant in the gradient
                  * (arXiv:2508.05629, equation 9) */
    const struct logp_loss *logp; /* NULL: CE and KL; else this loss, and
                                   * targets without a distribution */
    double w_balance;             /* weight of the load-balance loss; 0 unless
                                   * all blocks are on this rank */
};

enum { LOSS_OWN = 12 };
struct loss_sum {
    double ce, kl;  /* sums over scored positions; with dft, ce sums p CE */
    double sh;      /* SquareHead of rows, times each row's scored positions */
    double balance; /* load-balance losses of rows, times the same numbers */
    double own[LOSS_OWN]; /* sums of a struct logp_loss */
    size_t n;             /* scored positions */
    size_t tok;           /* non-padding tokens */
};
void loss_sum_add(struct loss_sum *to, const struct loss_sum *from);
/* The weighted sum of CE, KL, SquareHead and load-balance loss, over n. */
double loss_sum_mean(const struct loss_sum *s, const struct loss_opt *o);

struct step;
/* B: rows of a pass, each of at most T tokens.  how: BWD_* flags.  like: kind
 * and widths of the targets.  head: for TARGETS_FINAL the teacher's head
 * [V,d_t], which must outlive the step; NULL: the caller only asks how much
 * memory the step needs. */
struct step *step_new(struct tmodel *t, struct pool *pool,
    const struct loss_opt *o, size_t B, size_t T, int how,
    const struct targets *like, const struct weight *head);
/* Run rows through the stages of all ranks by `pipe`, which must outlive s.
 * The gradients are then those of this rank's stages. */
void step_pipe(struct step *s, struct pipe *pipe);
void step_free(struct step *s);
/* Apply the dropout of the model's adapter (bwd_dropout) in each later
 * step_add, but not in losses without gradients.  key: the step's key; NULL: no
 * dropout. */
void step_dropout(struct step *s, const uint64_t *key);
/* Bytes that steps of `tokens` tokens touch. */
size_t step_bytes(const struct step *s, size_t tokens);

/* Add the gradients and losses of the rows r, B rows in a pass.  scored [B,T]:
 * 1: the prediction at that token counts.  targets: of these rows, with an
 * output for each block of the student, or with no outputs.  Outputs of another
 * width are averaged to width d (adaptive_avg_pool1d). */
void step_add(struct step *s, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, struct loss_sum *sum);
/* The number of passes for `rows` rows. */
size_t step_passes(const struct step *s, size_t rows);
/* Take part in a pass that other ranks make, without rows of this rank.  No
 * gradient or loss is added, but the weights of each block are fetched from
 * other ranks (model/files/fetch.h), and the gradients of each block are handed
 * to t->take (model/pass/tmodel.h), which sums them over ranks. */
void step_pass(struct step *s, const struct rows *r,
    const struct targets *targets);
/* Results of bwd_rounding and bwd_grad_rounding. */
double step_rounding(const struct step *s);
double step_grad_rounding(const struct step *s);
/* Add the gradients that bwd_flush has held back.  Call it after the last
 * step_add of a step, before adamw_step. */
void step_flush(struct step *s);

/* Losses without gradients, computed in the memory of s between two of its
 * steps, for rows at most as long as rows of s.  Targets may have another kind
 * and width than targets of s; outputs of blocks are not compared. */
struct step_judge;
struct step_judge *step_judge_new(struct step *s, const struct loss_opt *o,
    const struct targets *like, const struct weight *head);
void step_judge_free(struct step_judge *j);
/* Bytes that j needs besides those of s. */
size_t step_judge_bytes(const struct step_judge *j);
/* Add the losses of rows r at the head (ce, kl, z, own) to *sum; arguments as
 * for step_add. */
void step_judge_add(struct step_judge *j, const struct rows *r,
    const uint8_t *scored, const struct targets *targets, struct loss_sum *sum);
/* Make a pass without rows, for ranks that have fewer passes than others
 * (step_pass). */
void step_judge_pass(struct step_judge *j, const struct rows *r);

#endif
