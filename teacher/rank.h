/* A process as one of several ranks (--mpi); a process alone is rank 0 of 1. */
#ifndef TEACHER_RANK_H
#define TEACHER_RANK_H

#include <stddef.h>

struct args;
struct lane;
struct teacher;
/* Number of ranks that run the same rows. */
size_t rank_together(const struct args *a);
/* Join the other ranks; before threads are started. */
void rank_begin(struct teacher *t);
/* Die (EX_USAGE), on all ranks, if they have other models. */
void rank_same_model(const struct teacher *t);
/* Leave the other ranks; after all else. */
void rank_end(struct teacher *t);
/* Set t->run, when t->m and, with --shard, t->last are known. */
void rank_share(struct teacher *t);
/* fwd_sum's function; ctx: t->team. */
void rank_sum(void *ctx, float *x, size_t n);
/* fwd_context's function; ctx: t->team. */
void rank_context(void *ctx, float *x, const size_t *at);
/* Open the streams from `input` to --output; dies when they do not fit the
 * ranks. */
void rank_open(struct teacher *t, const char *input);
void rank_close(struct teacher *t);
/* Give the batch l->m, which rank 0 of the team has unless `there` is 0, to
 * t->batch of all its ranks, and divide its rows.  0: there is none. */
int rank_batch(struct teacher *t, struct lane *l, int there);
/* Give the states of the tokens that each rank of the team has run to all of
 * them. */
void rank_gather(const struct teacher *t);
/* Sum over all ranks. */
double rank_total(double tokens);
/* Has this rank, or one that it gathers blocks with, a batch? */
int rank_any(const struct teacher *t, int there);

#endif
