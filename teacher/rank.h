/* A process as one of several ranks (--mpi); a process alone is rank 0 of 1. */
#ifndef TEACHER_RANK_H
#define TEACHER_RANK_H

#include <stddef.h>

struct args;
struct lane;
struct teacher;
/* Number of ranks that run the same rows (--tensor or --context-ranks). */
size_t rank_together(const struct args *a);
/* Join the other ranks.  Call it before threads are started. */
void rank_begin(struct teacher *t);
/* Die (EX_USAGE) on all ranks if their models differ. */
void rank_same_model(const struct teacher *t);
/* Die (EX_USAGE) on all ranks if they have different tokenizers of the student,
 * or send the outputs of different blocks.  Call it after choose_taps. */
void rank_same_student(const struct teacher *t);
/* Leave the other ranks.  Call it last. */
void rank_end(struct teacher *t);
/* Set t->run, the model that this rank runs.  Call it when t->m and, with
 * --shard, t->last are known. */
void rank_share(struct teacher *t);
/* Callback for fwd_sum; ctx: &t->team. */
void rank_sum(void *ctx, float *x, size_t n);
/* Callback for fwd_context; ctx: &t->team. */
void rank_context(void *ctx, float *x, const size_t *at);
/* Open the streams from `input` to --output; dies if their number does not fit
 * the ranks. */
void rank_open(struct teacher *t, const char *input);
void rank_close(struct teacher *t);
/* Broadcast the batch l->m of the team's rank 0 to t->batch of all the team's
 * ranks, and divide the rows among these.  there: on rank 0, 1 if it has a
 * batch.  Returns 1; 0: rank 0 has no batch. */
int rank_batch(struct teacher *t, struct lane *l, int there);
/* All-gather the states in t->x within the team. */
void rank_gather(const struct teacher *t);
/* Sum of `tokens` over all ranks. */
double rank_total(double tokens);
/* Returns 1 if this rank has a batch (there = 1).  With --shard: 1 if any rank
 * with which it gathers blocks has a batch.  Else 0. */
int rank_any(const struct teacher *t, int there);

#endif
