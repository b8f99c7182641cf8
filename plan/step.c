/*
 * Time of a step: see step.h.  A product takes its FLOP over the FLOP/s that
 * large products reach, plus its bytes over the memory bandwidth, so small
 * products are slower.  Other work takes its bytes over the memory bandwidth
 * that it reaches.  A collective takes its latency plus its bytes over the
 * bandwidth of the links.
 */
#include "step.h"
#include "memory.h"

#include <math.h>

double
flop_products(const struct shape *s)
{
    return 2.0 * s->L * shape_products(s) + 2.0 * s->V * s->d;
}

/* Mean number of keys that one of T queries sees with a window of w <= T. */
static double
mean_keys(double T, double w)
{
    return (w * (w + 1.0) / 2.0 + (T - w) * w) / T;
}

double
flop_attention(const struct shape *s, double length, int masked)
{
    const double some = mean_keys(length, fmin(s->window, length));
    const double seen = masked
        ? s->windowed * some + (1.0 - s->windowed) * mean_keys(length, length)
        : length;

    return 4.0 * s->L * s->H * s->D * seen;
}

/* Peak FLOP/s of the products that are not in 8 bits: attention, the head. */
static double
peak_rate(const struct job *j)
{
    return 1e12 * (j->compute == COMPUTE_F8 ? j->m.bf16_tflops : job_peak(j));
}

/* The machine's table for products in bfloat16, which is number `bf16` of enum
 * rates_of, or for products in fp32, which is number bf16 + 1. */
static const struct rates *
rates_in_type(const struct job *j, enum rates_of bf16)
{
    return &j->m.rates[bf16 + (j->compute == COMPUTE_F32)];
}

/* FLOP/s of products of `rows` rows by a matrix of a x b, of a device whose
 * peak is `peak` FLOP/s. */
static double
product_rate(const struct job *j, double peak, double rows, double a, double b)
{
    return peak * j->m.matrix_eff *
        rates_at(rates_in_type(j, BF16_PRODUCTS), rows, sqrt(a * b));
}

/* Seconds of the head's products in one forward pass of a model. */
static double
head_products(const struct job *j, const struct shape *s)
{
    const double tokens = pass_tokens(j), rows = s->V / j->tensor;

    return 2.0 * tokens * rows * s->d /
        product_rate(j, peak_rate(j), tokens, s->d, rows);
}

static double
memory_rate(const struct job *j)
{
    return 1e9 * j->m.memory_gbs * j->m.memory_eff;
}

/* Number of times that norms, activation functions and losses move their bytes.
 * Software that shards weights, such as PyTorch's FSDP, seldom fuses them. */
static double
unfused_times(const struct job *j)
{
    return j->unfused > 0 ? j->unfused : j->shard >= 3 ? 2.0 : 1.0;
}

/* Bytes that attention scores, if stored, move for a token: they are written,
 * scaled, masked, normalised and read; dropout adds two passes and a byte. */
static double
score_moves(const struct job *j, const struct shape *s)
{
    const double a = j->act_bytes;

    return score_numbers(j, 4.0 * a + s->dropout * (2.0 * a + 1.0));
}

/* Bytes that the forward pass of a block moves for a token, besides products.
 * Norms and additions read and write states of width d.  The MLP's activation
 * function reads and writes its channels.  RoPE reads and writes queries and
 * keys.  An expert's tokens are copied together, and its output back. */
static double
block_moves(const struct job *j, const struct shape *s)
{
    const double a = j->act_bytes, all = 1.0 / j->tensor;
    const double around = j->sequence > 0 ? all : 1.0;
    const double norms = around * (10.0 * a + 2.0 * s->dropout) * s->d;
    const double channels = s->mlp + s->active * s->expert_mlp;
    const double inside = all * a *
        (s->gates * channels +
            (s->gates > 2.0 ? 2.0 * (s->H + s->KV) * s->D : 0.0) +
            4.0 * s->active * s->d);

    return norms + inside + score_moves(j, s);
}

/* ---- collectives ---- */

/* A ring of n ranks, of which each node has `near`. */
struct ring {
    double n, near;
    double gbs; /* GB/s of a rank; 0: by the machine's links */
};

/* Seconds to gather or scatter an array of `bytes` bytes in `calls` calls. */
static double
gather_time(const struct job *j, const struct ring *r, double bytes,
    double calls)
{
    const struct machine *m = &j->m;
    const int inside = r->n <= r->near;
    const double message = bytes / (r->n * calls);
    const double link = 1e9 * m->link_gbs * m->link_eff *
        rates_at(&m->rates[LINK_MESSAGES], 1.0, message);
    /* each rank of a node has its own ring to other nodes, or a share of one */
    const double net = 1e9 * m->net_gbs * m->net_eff * fmin(r->near, r->n) *
        rates_at(&m->rates[NET_MESSAGES], 1.0, message);
    const double speed = r->gbs > 0 ? 1e9 * r->gbs
        : inside                    ? link
                                    : fmin(link, net);
    const double latency = 1e-6 *
        (inside ? m->link_us * (r->n - 1.0)
                : m->net_call_us + m->net_us * (r->n / r->near - 1.0) +
                    m->link_us * (r->near - 1.0));

    if (r->n <= 1.0)
        return 0.0;
    return calls * latency + bytes * (r->n - 1.0) / (r->n * speed);
}

/* Number of a group's ranks in one node, if the group has every inner-th rank.
 * Tensor ranks are numbered first, then context ranks, then replicas. */
static double
ranks_near(const struct job *j, double inner)
{
    return fmax(1.0, j->m.devices / inner);
}

/* ---- seconds of a pass: block, head, weights, teacher ---- */

/* The time of a forward and backward pass with recomputation, in units of the
 * forward pass: 1 + 2 + what is recomputed.  That is 1 with RECOMPUTE_FULL and
 * `again` with RECOMPUTE_PRODUCTS, which recomputes half of the products: AGAIN
 * is their share. */
#define AGAIN 0.5
static double
forward_times(const struct job *j, double again)
{
    return 3.0 +
        (j->recompute == RECOMPUTE_FULL              ? 1.0
                : j->recompute == RECOMPUTE_PRODUCTS ? again
                                                     : 0.0);
}

/* Parameters of a block's matrices on a rank. */
static double
block_weights(const struct job *j, const struct shape *s)
{
    return (s->attention + s->dense) / j->tensor +
        s->experts * s->expert / (j->expert * job_expert_parts(j));
}

/* Seconds of a block's products in one forward pass, without moving their
 * matrices.  load: experts of a token, times the imbalance of expert ranks. */
static double
block_flop_time(const struct job *j, const struct shape *s, double load)
{
    const double peak = 1e12 * job_peak(j), tokens = pass_tokens(j);
    const double d = s->d, parts = job_expert_parts(j);
    const double expert_rows =
        tokens * parts * load * j->expert / (j->tensor * fmax(1.0, s->experts));

    return 2.0 * tokens / j->tensor *
        (s->attention /
                product_rate(j, peak, tokens, d, s->H * s->D / j->tensor) +
            s->dense / product_rate(j, peak, tokens, d, s->mlp / j->tensor) +
            load * s->expert /
                product_rate(j, peak, expert_rows, d, s->expert_mlp / parts));
}

/* Seconds of the products of `blocks` blocks in one forward pass.  Besides its
 * FLOP, a product moves its input, weights and output product_reads times. */
static double
forward_products(const struct job *j, const struct shape *s, double blocks)
{
    const double tokens = pass_tokens(j), parts = job_expert_parts(j);
    const double heads = 2.0 * (s->H + s->KV) * s->D / j->tensor;
    const double states = (s->mlp > 0 ? 4.0 : 2.0) * s->d;
    const double load = s->active * (j->expert > 1.0 ? j->imbalance : 1.0);
    const double expert =
        (2.0 * s->d + s->gates * s->expert_mlp / parts) * parts / j->tensor;
    const double moved = tokens *
            (states + heads + s->gates * s->mlp / j->tensor + load * expert) +
        block_weights(j, s);

    return blocks *
        (block_flop_time(j, s, load) +
            j->m.product_reads * j->act_bytes * moved / memory_rate(j));
}

/* Seconds of the products of a block in a pass, including the addition of
 * gradients of weights to sums in fp32. */
static double
product_time(const struct job *j)
{
    const struct shape *s = &j->student;

    if (j->adapters > 0) /* no gradients of weights */
        return (forward_times(j, AGAIN) - 1.0) * forward_products(j, s, 1.0);
    return forward_times(j, AGAIN) * forward_products(j, s, 1.0) +
        (8.0 + j->weight_bytes) * block_weights(j, s) / memory_rate(j);
}

/* Seconds of the attention of `blocks` blocks in one forward pass. */
static double
forward_attention(const struct job *j, const struct shape *s, double blocks)
{
    const double keys = j->text > 0 ? fmin(j->text, j->length) : j->length;
    const double flop = flop_attention(s, keys, j->flash > 0) / s->L;
    const double share = j->flash > 0 ? j->m.attention_eff *
            rates_at(rates_in_type(j, BF16_ATTENTION), keys, s->D)
                                      : j->m.matrix_eff;

    return blocks * pass_tokens(j) * flop / (j->tensor * share * peak_rate(j));
}

/* Seconds of a block's attention in a pass, including scores that the backward
 * pass of flash attention, or `recompute`, computes again. */
static double
attention_time(const struct job *j)
{
    const double scores = j->flash > 0        ? 0.5
        : j->recompute == RECOMPUTE_SELECTIVE ? 1.0
                                              : 0.0;

    return (forward_times(j, 0.0) + scores) *
        forward_attention(j, &j->student, 1.0);
}

/* Time of a block besides products and attention, by the bytes that it moves.
 */
static double
vector_time(const struct job *j)
{
    const double scores =
        j->recompute == RECOMPUTE_SELECTIVE ? score_moves(j, &j->student) : 0.0;

    return unfused_times(j) * pass_tokens(j) *
        (forward_times(j, 1.0) * block_moves(j, &j->student) + scores) /
        memory_rate(j);
}

/* Time of the head and the loss.  fp32 logits are written, and read for the
 * softmax; their gradient is written once and read twice. */
static double
head_time(const struct job *j)
{
    const struct shape *s = &j->student;
    const double tokens = pass_tokens(j), rows = s->V / j->tensor;
    const double moved = tokens * s->d + (s->d + tokens) * rows;
    const double times = j->adapters > 0 ? 2.0 : 3.0;

    return times * head_products(j, s) +
        (times * j->m.product_reads * j->act_bytes * moved +
            20.0 * unfused_times(j) * tokens * rows) /
        memory_rate(j);
}

/* Time of `times` all-reduces of states of width d among tensor ranks, each as
 * long as two gathers. */
static double
reduced_states(const struct job *j, double d, double times)
{
    const struct ring r = { j->tensor, j->m.devices, 0.0 };

    return (1.0 - j->m.tensor_hidden) * times * 2.0 *
        gather_time(j, &r, pass_tokens(j) * d * j->act_bytes, 1.0);
}

/* Time of tensor parallelism.  A block has two all-reduces forward and two
 * backward.  `sequence` replaces them by gathers and scatters of as many bytes,
 * and gathers inputs again for the gradients of weights. */
static double
tensor_time(const struct job *j)
{
    const double times =
        2.0 * (forward_times(j, AGAIN) - 1.0) + (j->sequence > 0 ? 1.0 : 0.0);

    return reduced_states(j, j->student.d, times);
}

/* Time of context parallelism that attention does not hide.  Keys, values and
 * their gradients go round the ranks that share a row. */
static double
context_time(const struct job *j)
{
    const struct shape *s = &j->student;
    const struct ring r = { j->context, ranks_near(j, j->tensor), 0.0 };
    const double bytes =
        j->micro * j->length * 2.0 * s->KV * s->D * j->act_bytes / j->tensor;

    return fmax(0.0,
        forward_times(j, 0.0) * gather_time(j, &r, bytes, 1.0) -
            attention_time(j));
}

/* Number of copies of a token that leave its node, with experts on `nodes`
 * nodes.  Each rank that has one of the token's experts gets a copy: on average
 * e (1 - (1 - 1/e)^active) of e ranks.  If a token's experts are limited to
 * some groups, a node gets only one copy, and passes it on to its ranks
 * (arXiv:2412.19437, section 3.2.2). */
static double
copies_outside(const struct job *j, double nodes)
{
    const struct shape *s = &j->student;
    const double e = j->expert, others = (nodes - 1.0) / nodes;
    const double ranks = e * (1.0 - pow(1.0 - 1.0 / e, s->active));
    const double most = s->groups > s->group_top
        ? s->group_top * fmax(1.0, nodes / s->groups)
        : ranks;

    return others * fmin(ranks, most);
}

/* Time of expert parallelism that nothing hides.  All-to-all sends tokens to
 * their experts, and results come back.  Links in the node and the network work
 * at the same time.  Tensor ranks that divide an expert gather its tokens and
 * scatter results. */
static double
expert_time(const struct job *j)
{
    const struct shape *s = &j->student;
    const struct machine *m = &j->m;
    const double parts = job_expert_parts(j);
    const double e = j->expert, inside_node = fmin(ranks_near(j, parts), e);
    const double ranks = e * (1.0 - pow(1.0 - 1.0 / e, s->active));
    const double tokens = pass_tokens(j);
    const double copy = tokens / j->tensor * s->d * j->act_bytes;
    const double inside = (inside_node - 1.0) * copy * ranks / e /
        (1e9 * m->link_gbs * m->link_eff);
    const double outside = copies_outside(j, e / inside_node) * copy /
            (1e9 * m->net_gbs * m->net_eff) +
        (e > inside_node ? 1e-6 * (m->net_call_us + m->net_us) : 0.0);
    const struct ring r = { parts, m->devices, 0.0 };

    if (s->experts == 0.0)
        return 0.0;
    return 2.0 * (forward_times(j, AGAIN) - 1.0) *
        (fmax(inside, outside) +
            gather_time(j, &r, tokens * s->active * s->d * j->act_bytes, 1.0));
}

/* Seconds to gather or scatter `each` bytes for every parameter of a slice in
 * `calls` calls, among all ranks with that slice; in_node 1: all but experts
 * only among those in one node.  gbs: see struct ring. */
static double
slice_time(const struct job *j, const struct slice *p, double each,
    double calls, double gbs, int in_node)
{
    const double ranks = job_zero(j), close = ranks_near(j, j->tensor);
    const struct ring dense = { in_node ? fmin(ranks, close) : ranks, close,
        in_node ? 0.0 : gbs };
    const double divided = j->expert * job_expert_parts(j);
    const struct ring experts = { ranks * j->tensor / divided,
        ranks_near(j, divided), gbs };

    return gather_time(j, &dense, (p->dense + p->table) * each, calls) +
        (p->experts > 0.0 ? gather_time(j, &experts, p->experts * each, calls)
                          : 0.0);
}

/* Time of shard = 3: weights are gathered forward and backward, and gradients
 * scattered, block by block. */
static double
sharded_time(const struct job *j, const struct slice *p)
{
    const double gbs = j->gather_gbs;

    if (j->shard < 3)
        return 0.0;
    return slice_time(j, p, j->weight_bytes, p->blocks, gbs, 0) +
        slice_time(j, p, j->weight_bytes, p->blocks, gbs, j->hpz > 0) +
        slice_time(j, p, j->grad_bytes, p->blocks, gbs, 0);
}

/* Time to gather the weights of a sharded teacher. */
static double
teacher_gather(const struct job *j)
{
    const int world = j->teacher_at == TEACHER_WORLD;
    const double ranks =
        world ? job_world(j) : fmin(j->m.devices, job_world(j));
    const struct ring r = { ranks, j->m.devices, world ? j->gather_gbs : 0.0 };

    return world || j->teacher_at == TEACHER_NODE
        ? gather_time(j, &r, j->weight_bytes * shape_params(&j->teacher),
              j->teacher.L)
        : 0.0;
}

/* Time of the teacher's forward pass, or of only its head on stored states. */
static double
teacher_pass_time(const struct job *j)
{
    const struct shape *t = &j->teacher;
    const double blocks = t->L / j->pipeline;
    const double head = head_products(j, t);

    if (t->L == 0)
        return 0.0;
    if (j->teacher_at == TEACHER_CACHED)
        return j->top > 0 ? 0.0 : head;
    return forward_products(j, t, blocks) + forward_attention(j, t, blocks) +
        blocks *
        (unfused_times(j) * pass_tokens(j) * block_moves(j, t) /
                memory_rate(j) +
            reduced_states(j, t->d, 2.0)) +
        head / j->pipeline;
}

/* ---- a pass of a rank ---- */

/* Seconds of a pass through a rank's stages, by part.  The head is included, as
 * if each rank had it. */
struct pass {
    double matrix, attention, vector, head, tensor, context, expert, hand,
        teacher;
    double busy; /* the sum of these parts */
    double all;  /* busy plus the part of gathers that `busy` does not hide */
};

static struct pass
make_pass(const struct job *j, const struct slice *s)
{
    const double state = pass_tokens(j) * j->student.d * j->act_bytes;
    const double gathered =
        sharded_time(j, s) + (j->teacher.L > 0 ? teacher_gather(j) : 0.0);
    struct pass p = { .matrix = s->blocks * product_time(j),
        .attention = s->blocks * attention_time(j),
        .vector = s->blocks * vector_time(j),
        .head = head_time(j),
        .tensor = s->blocks * tensor_time(j),
        .context = s->blocks * context_time(j),
        .expert = s->blocks * expert_time(j),
        .teacher = teacher_pass_time(j) };

    /* a stage sends states on and gets gradients back; each tensor rank moves
     * its share; interleaved stages hide this time */
    if (j->pipeline > 1 && j->virtual == 1)
        p.hand = 2.0 * state / (j->tensor * 1e9 * j->m.net_gbs * j->m.net_eff);
    if (j->schedule == SCHEDULE_DUAL) { /* every second pass has the head */
        p.head /= 2.0;
        p.expert = fmax(0.0, p.expert - p.matrix - p.attention - p.vector);
    }
    p.busy = p.matrix + p.attention + p.vector + p.head + p.tensor + p.context +
        p.expert + p.hand + p.teacher;
    p.all =
        fmax(p.busy, gathered) + (1.0 - j->overlap) * fmin(p.busy, gathered);
    return p;
}

/* ---- a step ---- */

/* Time to sum gradients over ranks that hold copies of one share of ZeRO. */
static double
copies_time(const struct job *j, const struct slice *s)
{
    const double zero = job_zero(j);
    const struct ring copies = { job_copies(j) / zero,
        ranks_near(j, j->tensor * zero), 0.0 };

    return 2.0 *
        gather_time(j, &copies,
            j->grad_bytes * (s->dense + s->table + s->experts) / zero, 2.0);
}

double
exchange_bytes(const struct job *j, double params)
{
    const double ranks = job_world(j);

    return job_exchanged(j) * params * (ranks - 1.0) / ranks;
}

double
exchange_time(const struct job *j, double params)
{
    const struct ring all = { job_world(j), j->m.devices, 0.0 };

    return gather_time(j, &all, params * job_exchanged(j), 2.0);
}

double
sync_least(double e, double c)
{
    return fmax(1.0, ceil(9.0 * e / c));
}

/* Time of the exchange of gradients once a step, partly hidden by the backward
 * part of the last pass.  shard = 0: all ranks get the sums.  1 and 2: each
 * rank gets the sums of its part and sends new weights to all, partly hidden by
 * the forward part of the next step.  3: only copies_time remains.  With sync,
 * weights are exchanged once every `sync` steps, and nothing hides it. */
static double
reduce_time(const struct job *j, const struct slice *s, const struct pass *p)
{
    const double busy = p->matrix + p->attention + p->vector;
    const double hides = j->shard < 1 ? busy * 2.0 / 3.0 : busy;
    const double wire = j->wire_bytes > 0 ? j->wire_bytes : j->grad_bytes;
    const double sent = j->shard >= 3 || j->adapters > 0 ? 0.0
        : j->shard < 1                                   ? job_exchanged(j)
                       : wire + j->weight_bytes;
    const double once = sent > 0 ? slice_time(j, s, sent, 2.0, 0.0, 0) : 0.0;

    if (j->sync > 0)
        return sent > 0 ? exchange_time(j, shape_params(&j->student)) / j->sync
                        : 0.0;
    return fmax(0.0, once + copies_time(j, s) - j->overlap * hides);
}

/* Time of the optimiser, which reads and writes moments and master weights,
 * reads gradients and writes weights. */
static double
optimiser_time(const struct job *j, const struct slice *s)
{
    return rank_bytes(j, s,
               2.0 * j->state_bytes + j->grad_bytes + j->weight_bytes, 1) /
        memory_rate(j);
}

/* Number of passes of other ranks that a rank waits for in a step.  dual: as in
 * arXiv:2412.19437, table 2, where a forward pass and the part of a backward
 * pass for weights take 1 each. */
static double
passes_waited(const struct job *j)
{
    const double all = forward_times(j, 1.0);

    return j->schedule == SCHEDULE_DUAL
        ? (j->pipeline / 2.0 - 1.0) * (2.0 * all - 4.0) / all
        : (j->pipeline - 1.0) / j->virtual;
}

/* Seconds of a pass through a rank's blocks, without the head. */
static struct pass
headless_pass(const struct job *j, const struct slice *s)
{
    struct pass p = make_pass(j, s);

    p.busy -= p.head;
    p.all -= p.head;
    p.head = 0.0;
    return p;
}

/* All ranks wait for the slowest: the last, which has the head, or with `edges`
 * the second, which has more blocks. */
void
predict_time(struct figures *f, const struct job *j)
{
    const double m = job_passes(j), fill = passes_waited(j);
    const struct slice last = slice_of(j, (size_t)j->pipeline - 1);
    const struct slice second = slice_of(j, j->pipeline > 2 ? 1 : 0);
    const struct pass with = make_pass(j, &last);
    const struct pass without = headless_pass(j, &second);
    const int at_second = without.all > with.all;
    const struct pass p = at_second ? without : with;
    const double rest =
        j->student.L - (at_second ? second.blocks : last.blocks);
    const struct slice mean = { .blocks = rest / fmax(1.0, j->pipeline - 1.0) };
    const struct pass o =
        headless_pass(j, j->schedule == SCHEDULE_DUAL ? &last : &mean);
    const size_t total = f->n;
    double step;

    figure_add(f, "step", 0.0);
    figure_add(f, "step.matrix", m * p.matrix);
    figure_add(f, "step.attention", m * p.attention);
    figure_add(f, "step.vector", m * p.vector);
    figure_add(f, "step.head", m * p.head);
    figure_add(f, "step.tensor", m * p.tensor);
    figure_add(f, "step.context", m * p.context);
    figure_add(f, "step.expert", m * p.expert);
    figure_add(f, "step.hand-over", m * p.hand);
    figure_add(f, "step.teacher", m * p.teacher);
    figure_add(f, "step.gather", m * (p.all - p.busy));
    figure_add(f, "step.bubble", fill * o.all);
    figure_add(f, "step.reduce", reduce_time(j, &last, &p));
    figure_add(f, "step.optimiser", optimiser_time(j, &last));
    step = figure_sum(f, "step.");
    figure_add(f, "step.stragglers",
        step * j->spread * sqrt(2.0 * log(job_world(j))));
    if (j->anchor > 0.0)
        figure_add(f, "step.anchor",
            (j->anchor - 1.0) * figure_sum(f, "step."));
    f->f[total].v = figure_sum(f, "step.");
    figure_add(f, "bubble", fill / (m + fill));
}
