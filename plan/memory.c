/*
 * Memory of the fullest rank: see predict.h.  Activations are those of
 * Korthikanti et al., arXiv:2205.05198, section 4 and table 2, written for any
 * widths; what ZeRO cuts is of Rajbhandari et al., arXiv:1910.02054.
 */
#include "predict.h"

#include <math.h>

struct slice
slice_of(const struct job *j)
{
    const struct shape *s = &j->student;
    const double blocks = ceil(s->L / j->pipeline);

    return (struct slice){ .blocks = blocks,
        .dense = blocks * (s->attention + s->dense) / j->tensor +
            blocks * s->vectors,
        .experts = blocks * s->experts * s->expert / j->expert,
        .table = s->V * s->d / j->tensor *
            (j->pipeline > 1 || s->tied > 0 ? 1.0 : 2.0) };
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

/* What a block keeps for the backward pass, bytes a token: inputs of norms and
 * of products; queries, keys, values; the MLP's channels; a byte a number for
 * where dropout fell.  Tensor ranks divide what is inside attention and MLP,
 * with `sequence` also what is around them. */
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
    if (j->recompute == RECOMPUTE_NONE) /* softmax, what is left of it, mask */
        bytes += score_numbers(j, a + s->dropout * (a + 1.0));
    return bytes;
}

/* Bytes that n parameters take on this rank. */
static double
cut(double n, double each, int from, const struct job *j, double ranks)
{
    return n * each / (j->shard >= from ? ranks : 1.0);
}

double
rank_bytes(const struct job *j, double each, int from)
{
    const struct slice p = slice_of(j);
    const double ranks = job_shards(j);

    return cut(p.dense + p.table, each, from, j, ranks) +
        cut(p.experts, each, from, j, fmax(1.0, ranks * j->tensor / j->expert));
}

/* Activations of so many passes at once. */
static double
activations(const struct job *j, double passes)
{
    const struct slice p = slice_of(j);
    const double tokens = pass_tokens(j), one = tokens * block_keeps(j);

    if (j->recompute < RECOMPUTE_FULL)
        return p.blocks * one * passes;
    return p.blocks * passes * tokens * j->act_bytes * j->student.d /
        (j->sequence > 0 ? j->tensor : 1.0) +
        one;
}

/* Of the stage that holds more: one forward, one backward (1F1B), the first is
 * ahead by as many passes as there are stages, interleaved by a part more; the
 * last has the logits, and, interleaved, passes of its other parts. */
static void
add_activations(struct figures *f, const struct job *j)
{
    const double p = j->pipeline, v = j->virtual, m = job_passes(j);
    const double first = fmin(m, p) * (v > 1 ? 1.0 + (p - 1.0) / (p * v) : 1.0);
    const double last = fmin(m, ((v - 1.0) * p + 1.0) / v);
    const double logits = 4.0 * j->logits * (j->teacher.L > 0 ? 2.0 : 1.0) *
        pass_tokens(j) * j->student.V / j->tensor;
    const int at_end =
        activations(j, last) + logits >= activations(j, first) || p == 1.0;

    figure_add(f, "memory.activations", "bytes",
        activations(j, at_end ? last : first),
        "blocks of a stage x passes in flight x tokens x what a block keeps "
        "(arXiv:2205.05198, table 2); full recompute: its input, and one "
        "block; of the first stage, or the last with its logits");
    figure_add(f, "memory.logits", "bytes", at_end ? logits : 0.0,
        "4 logits tokens V / tensor, twice with a teacher; 0 where the first "
        "stage holds more than the last");
}

/* Blocks whose weights are gathered, this and the next one's; whole tensor
 * slices. */
static double
live(const struct job *j)
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

    switch ((enum teacher)j->teacher_at) {
    case TEACHER_WHOLE: return all / (j->tensor * j->pipeline);
    case TEACHER_NODE: return all / fmin(j->m.devices, job_world(j)) + two;
    case TEACHER_WORLD: return all / job_world(j) + two;
    case TEACHER_CACHED: break;
    }
    return 0.0;
}

static void
add_teacher(struct figures *f, const struct job *j)
{
    const double tokens = pass_tokens(j);
    const double said = j->top > 0 ? 6.0 * j->top + 8.0 : 2.0 * j->teacher.d;

    figure_add(f, "memory.teacher", "bytes", teacher_weights(j),
        "weight_bytes Pt / (tensor pipeline, the node's or all ranks), and two "
        "gathered blocks; 0 if cached");
    figure_add(f, "memory.targets", "bytes", tokens * said,
        "tokens (2 d of the teacher, or 6 top + 8)");
}

void
predict_memory(struct figures *f, const struct job *j)
{
    const size_t total = f->n;

    figure_add(f, "memory", "bytes", 0.0, "the sum of the following");
    figure_add(f, "memory.weights", "bytes", rank_bytes(j, j->weight_bytes, 3),
        "weight_bytes P, P = (attention + MLP) / tensor + experts / expert + "
        "vocabulary / tensor, of a stage; / ranks if shard = 3");
    figure_add(f, "memory.gradients", "bytes", rank_bytes(j, j->grad_bytes, 2),
        "grad_bytes P; / ranks if shard >= 2");
    figure_add(f, "memory.states", "bytes", rank_bytes(j, j->state_bytes, 1),
        "state_bytes P; / ranks if shard >= 1");
    figure_add(f, "memory.gathered", "bytes", live(j),
        "shard = 3: 2 weight_bytes (parameters of a block) / tensor; with hpz "
        "a copy of the weights / ranks of a node");
    add_activations(f, j);
    if (j->teacher.L > 0)
        add_teacher(f, j);
    f->f[total].v = figure_sum(f, "memory.");
}
