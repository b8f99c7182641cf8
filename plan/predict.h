/*
 * The prediction: memory of the fullest rank by part (memory.c), time of a step
 * by part (time.c) and what follows of them (predict.c).  retort-plan(7) has
 * the formulas with their sources, and what they were compared with.
 */
#ifndef PLAN_PREDICT_H
#define PLAN_PREDICT_H

#include "figures.h"
#include "job.h"

/* All of it; j is one that job_check takes, with a machine. */
void predict(struct figures *f, const struct job *j);

/* "memory" and "memory.*", bytes. */
void predict_memory(struct figures *f, const struct job *j);
/* "step" and "step.*", seconds, which add up to it; "bubble". */
void predict_time(struct figures *f, const struct job *j);

/* ---- what both use ---- */

/* Parameters that a rank of the pipeline multiplies with: of its blocks, its
 * part of them; of their experts; and of an embedding or head.  Stages are
 * those of model/stages.h, by which the last rank has the most blocks. */
struct slice {
    double blocks;
    double dense, experts, table;
};
struct slice slice_of(const struct job *j, size_t rank);
/* Bytes of a kind of numbers, `each` a parameter, that the rank has, where ZeRO
 * divides them from that level on.  Experts are on fewer ranks. */
double rank_bytes(const struct job *j, const struct slice *p, double each,
    int from);
/* Tokens of a pass that a rank has. */
double pass_tokens(const struct job *j);
/* Of a token and block: bytes that scores of attention take, as a multiple of
 * act_bytes, for so many tensors of them. */
double score_numbers(const struct job *j, double tensors);

/* Operations a token: forward, in products and in attention; flash attention
 * leaves out what is masked, the usual count of a model's FLOP does not. */
double flop_products(const struct shape *s);
double flop_attention(const struct shape *s, double length, int masked);

#endif
