/*
 * Memory of the fullest rank: see memory.h.  Activations are counted as by
 * Korthikanti et al., arXiv:2205.05198, section 4 and table 2, generalised to
 * any widths; ZeRO is that of Rajbhandari et al., arXiv:1910.02054.
 */
#include "memory.h"
#include "model/pass/stages.h"

#include <math.h>

static struct pipeline
stages_of(const struct job *j, size_t rank)
{
    return (struct pipeline){ rank, (size_t)j->pipeline, (size_t)j->virtual };
}

/* Part of the model that a pipeline rank has with schedule=1f1b. */
static struct slice
one_way(const struct job *j, size_t rank)
{
    const struct shape *s = &j->student;
    const struct pipeline p = stages_of(j, rank);
    const int own_head = stages_last(&p) && (p.n > 1 || s->tied == 0.0);
    const size_t L = (size_t)(s->L + 2.0 * j->edges);
    double blocks = -j->edges * ((rank == 0) + stages_last(&p));

    for (size_t k = rank; k < p.n * p.per; k += p.n)
        blocks += (double)(stages_cut(&p, L, k + 1) - stages_cut(&p, L, k));
    return (struct slice){ .blocks = blocks,
        .dense = blocks * (s->attention + s->dense) / j->tensor +
            blocks * s->vectors,
        .experts =
            blocks * s->experts * s->expert / (j->expert * job_expert_parts(j)),
        .table = (s->V * s->d * ((rank == 0) + own_head) +
                     s->positions * (rank == 0)) /
            j->tensor };
}

struct slice
slice_of(const struct job *j, size_t rank)
{
    struct slice p = one_way(j, rank);

    if (j->schedule == SCHEDULE_DUAL) {
        const struct slice q = one_way(j, (size_t)j->pipeline - 1 - rank);

        p.blocks = (p.blocks + q.blocks) / 2.0;
        p.dense += q.dense;
        p.experts += q.experts;
        p.table += q.table;
    }
    return p;
}

double
pass_tokens(const struct job *j)
{
    return j->micro * j->length / j->context;
}

double
score_numbers(const struct job *j, double tensors)
{
    return j->flash > 0 ? 0.0 : tensors * j->student.H * j->length / j->tensor;
}

/* Bytes that a block stores for each token for the backward pass: inputs of
 * norms and products; queries, keys, values; the MLP's channels; a byte for
 * each number that dropout may zero.  Tensor ranks divide the bytes of
 * attention and MLP and, with `sequence`, also those of norms and residuals. */
static double
block_keeps(const struct job *j)
{
    const struct shape *s = &j->student;
    const double all = 1.0 / j->tensor, a = j->act_bytes;
    const double around = j->sequence > 0 ? all : 1.0;
    const double channels =
        s->gates * (s->mlp + s->active * s->expert_mlp); /* gate, up, product */
    double bytes = around * (4.0 * a + 2.0 * s->dropout) * s->d;

    bytes += all * a *
        ((2.0 * s->H + 2.0 * s->KV) * s->D + channels + 2.0 * s->active * s->d);
    if (j->recompute == RECOMPUTE_NONE) /* softmax, its dropout, the mask */
        bytes += score_numbers(j, a + s->dropout * (a + 1.0));
    return bytes;
}

/* Bytes that n numbers of `each` bytes take on one rank.  From its stage `from`
 * on, ZeRO divides them among `ranks` ranks. */
static double
zero_bytes(double n, double each, int from, const struct job *j, double ranks)
{
    return n * each / (j->shard >= from ? ranks : 1.0);
}

double
rank_bytes(const struct job *j, const struct slice *p, double each, int from)
{
    const double ranks = job_zero(j);

    return zero_bytes(p->dense + p->table, each, from, j, ranks) +
        zero_bytes(p->experts, each, from, j,
            fmax(1.0, ranks * j->tensor / (j->expert * job_expert_parts(j))));
}

/* Bytes that a block stores for each token if it is computed again: its input
 * and, unless recompute is FULL, the outputs of attention and of every second
 * product. */
static double
input_keeps(const struct job *j)
{
    const struct shape *s = &j->student;
    const double products = (s->H + 2.0 * s->KV) * s->D + 2.0 * s->d +
        (s->gates - 1.0) * (s->mlp + s->active * s->expert_mlp);
    const double outputs =
        j->recompute == RECOMPUTE_FULL ? 0.0 : s->H * s->D + products / 2.0;

    return j->act_bytes *
        (s->d / (j->sequence > 0 ? j->tensor : 1.0) + outputs / j->tensor);
}

/* Bytes of the activations of `blocks` blocks. */
static double
activations(const struct job *j, double blocks)
{
    const double tokens = pass_tokens(j), one = tokens * block_keeps(j);

    if (j->recompute < RECOMPUTE_PRODUCTS)
        return blocks * one;
    return blocks * tokens * input_keeps(j) + one;
}

/* Bytes of a rank's memory that differ from rank to rank. */
struct held {
    double weights, gradients, states, activations, logits;
};

/* Memory of a pipeline rank.  With 1F1B it holds the activations of stages_lead
 * passes in flight and of the current one.  The last rank holds the logits. */
static struct held
rank_memory(const struct job *j, size_t rank)
{
    const struct slice p = slice_of(j, rank);
    const struct pipeline s = stages_of(j, rank);
    const double passes = fmin(job_passes(j),
        j->schedule == SCHEDULE_DUAL
            ? j->pipeline + 1.0
            : (double)(stages_lead(&s) + 1) / j->virtual);
    const double logits = 4.0 * j->logits * (j->teacher.L > 0 ? 2.0 : 1.0) *
        pass_tokens(j) * j->student.V / j->tensor;

    return (struct held){ .weights = rank_bytes(j, &p, j->weight_bytes, 3),
        .gradients = rank_bytes(j, &p, j->grad_bytes, 2),
        .states = rank_bytes(j, &p, j->state_bytes, 1),
        .activations = activations(j, p.blocks * passes),
        .logits = stages_last(&s) ? logits : 0.0 };
}

static double
sum_held(const struct held *h)
{
    return h->weights + h->gradients + h->states + h->activations + h->logits;
}

/* Memory of the rank that needs the most. */
static struct held
fullest_rank(const struct job *j)
{
    struct held most = rank_memory(j, 0);

    for (size_t r = 1; r < (size_t)j->pipeline; r++) {
        const struct held h = rank_memory(j, r);

        if (sum_held(&h) >= sum_held(&most))
            most = h;
    }
    return most;
}

/* Bytes of gathered weights: the current block and the next one; with hpz also
 * the rank's part of the copy in its node. */
static double
gathered_weights(const struct job *j)
{
    double bytes = 0.0;

    if (j->shard >= 3)
        bytes += 2.0 * j->weight_bytes * shape_block(&j->student) / j->tensor;
    if (j->shard >= 3 && j->hpz > 0)
        bytes += j->weight_bytes * shape_params(&j->student) /
            (j->tensor * fmin(j->m.devices, job_shards(j)));
    return bytes;
}

static double
teacher_weights(const struct job *j)
{
    const double all = j->weight_bytes * shape_params(&j->teacher);
    const double two = 2.0 * j->weight_bytes * shape_block(&j->teacher);
    /* student's copy, which computes the teacher's logits from final states */
    const double head =
        j->top > 0 ? 0.0 : j->weight_bytes * j->teacher.V * j->teacher.d;

    switch ((enum teacher)j->teacher_at) {
    case TEACHER_WHOLE: return all / (j->tensor * j->pipeline);
    case TEACHER_NODE: return all / fmin(j->m.devices, job_world(j)) + two;
    case TEACHER_WORLD: return all / job_world(j) + two;
    case TEACHER_BLOCK: return two / 2.0 + head;
    case TEACHER_CACHED: break;
    }
    return head;
}

static void
add_teacher_memory(struct figures *f, const struct job *j)
{
    const double tokens = pass_tokens(j);
    const double said = j->top > 0 ? 6.0 * j->top + 8.0 : 2.0 * j->teacher.d;

    figure_add(f, "memory.teacher", teacher_weights(j));
    figure_add(f, "memory.targets", tokens * said);
}

void
predict_memory(struct figures *f, const struct job *j)
{
    const struct held h = fullest_rank(j);
    struct figure *const total = f->f + f->n;

    figure_add(f, "allocated", 0.0);
    figure_add(f, "memory", 0.0);
    figure_add(f, "memory.weights", h.weights);
    figure_add(f, "memory.gradients", h.gradients);
    figure_add(f, "memory.states", h.states);
    figure_add(f, "memory.gathered", gathered_weights(j));
    figure_add(f, "memory.activations", h.activations);
    figure_add(f, "memory.logits", h.logits);
    if (j->sync > 0 && !(j->adapters > 0))
        figure_add(f, "memory.outer", job_outer(j) * shape_params(&j->student));
    if (j->teacher.L > 0)
        add_teacher_memory(f, j);
    total[0].v = figure_sum(f, "memory.");
    figure_add(f, "memory.reserve",
        1e9 * j->m.reserve_gb + j->m.reserve_share * total[0].v);
    total[1].v = figure_sum(f, "memory.");
}
