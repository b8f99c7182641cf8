/* A batch of student grpo: texts, their rewards and advantages, and the loss of
 * their tokens. */
#ifndef STUDENT_GRPO_BATCH_H
#define STUDENT_GRPO_BATCH_H

#include "reference.h"
#include "rollout.h"
#include "policy.h"

struct grpo_opt {
    size_t group;          /* texts of a prompt */
    size_t iterations;     /* steps of a batch */
    int scale;             /* enum policy_scale */
    int drop;              /* 1: groups of equal rewards are left out */
    struct opt_list judge; /* reward programs */
    double *weight;        /* [judge.n] */
    double seconds;        /* time limit of a program for a batch */
    const char *reference; /* model; NULL: the one that the run began with */
    struct policy_opt policy;
};

/* Figures of a step, over all ranks. */
struct grpo_figures {
    struct policy_rewards rewards;
    struct rollout_sums written;
    size_t dropped; /* groups left out */
    double low_min, high_max;
    double drift; /* largest |log p of training - log p of generation|, if the
                   * temperature is 1; else NAN */
};

/* Indices in loss_sum.own of the sums of a step. */
enum { GRPO_LOSS, GRPO_KL, GRPO_ENTROPY, GRPO_LOW, GRPO_HIGH, GRPO_TOKENS };

struct grpo {
    const struct grpo_opt *o;
    struct rollout roll;
    struct reference *reference; /* NULL: beta is 0 */
    size_t iteration;            /* steps made of the batch; 0: none yet, or
                                  * all */
    double *told;       /* [all rows, judge.n + 1], rows in the order of ranks:
                         * each program's reward, then the number of tokens */
    double *reward;     /* [all rows]; NAN: no program gave the text one */
    int *silent;        /* [judge.n] 1: the program wrote null for all texts */
    double *advantage;  /* [all rows] */
    struct text **kept; /* [n] texts that are trained on */
    double *kept_advantage, *kept_weight; /* [n] */
    size_t nkept, kept_of_all; /* number of kept texts: on this rank, in all */
    float *old, *ref; /* [n,longest text] log probabilities in the batch's first
                       * step; those of the reference (NULL: beta is 0) */
    struct grpo_figures figures;
    struct logp_loss loss;
};
void grpo_begin(struct grpo *g, struct student *s, const struct grpo_opt *o);
void grpo_release(struct grpo *g);
size_t grpo_bytes(const struct grpo *g);

/* Write and judge the texts of the next batch.  0; -1 and *e: this rank or
 * another failed. */
int grpo_write(struct grpo *g, struct student *s, struct err *e);
/* Choose the texts to train on, from g->reward, g->advantage and the numbers of
 * tokens in g->told; set their weights and rows. */
void grpo_keep(struct grpo *g, const struct student *s);
/* Make a step of the batch: add its gradients and losses. */
void grpo_step(struct grpo *g, struct student *s, struct loss_sum *sum);

#endif
