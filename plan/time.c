/*
 * Time of a step: see predict.h.  Products take their FLOP by the peak that
 * they reach, all else its bytes by the memory's bandwidth that it reaches;
 * collectives latency and bytes by bandwidth.
 */
#include "predict.h"

#include <math.h>

double
flop_products(const struct shape *s)
{
    return 2.0 * s->L * shape_products(s) + 2.0 * s->V * s->d;
}

/* Keys that a query of T sees, on average, in a window of w <= T. */
static double
keys(double T, double w)
{
    return (w * (w + 1.0) / 2.0 + (T - w) * w) / T;
}

double
flop_attention(const struct shape *s, double length, int masked)
{
    const double some = keys(length, fmin(s->window, length));
    const double seen = masked
        ? s->windowed * some + (1.0 - s->windowed) * keys(length, length)
        : length;

    return 4.0 * s->L * s->H * s->D * seen;
}

static double
rate(const struct job *j)
{
    return 1e12 * j->m.matrix_eff *
        (j->f32 > 0 ? j->m.f32_tflops : j->m.bf16_tflops);
}

/* Bytes that go through memory beside the products, of a token and block
 * forward: two norms and two additions read and write states of width d, gates
 * or GELU channels, rotation queries and keys, experts their tokens; scores of
 * attention are written, scaled, masked and made a softmax, with dropout twice
 * more and a byte, and read. */
static double
block_moves(const struct job *j)
{
    const struct shape *s = &j->student;
    const double a = j->act_bytes, all = 1.0 / j->tensor;
    const double around = j->sequence > 0 ? all : 1.0;
    const double norms = around * (10.0 * a + 2.0 * s->dropout) * s->d;
    const double channels = s->mlp + s->active * s->expert_mlp;
    const double inside = all * a *
        (s->gates * channels +
            (s->gates > 2.0 ? 2.0 * (s->H + s->KV) * s->D : 0.0) +
            4.0 * s->active * s->d);

    return norms + inside +
        score_numbers(j, 4.0 * a + s->dropout * (2.0 * a + 1.0));
}

/* ---- collectives ---- */

/* A ring over n ranks, `near` of which are in a node: V bytes of a whole array
 * gathered or scattered once, by k calls. */
struct ring {
    double n, near;
    double gbs; /* 0: the links' */
};

static double
gather(const struct job *j, const struct ring *r, double bytes, double calls)
{
    const struct machine *m = &j->m;
    const int inside = r->n <= r->near;
    const double link = 1e9 * m->link_gbs * m->link_eff;
    /* each of a node's ranks has a ring, or a share of it, of its own */
    const double net = 1e9 * m->net_gbs * m->net_eff * fmin(r->near, r->n);
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

/* Ranks of tensor groups are neighbours, then those of context, then
 * replicas. */
static double
near(const struct job *j, double inner)
{
    return fmax(1.0, j->m.devices / inner);
}

/* ---- seconds of a block, and of what is beside the blocks ---- */

/* A pass forward is 1; backward 2, and what is made again. */
static double
products(const struct job *j)
{
    const struct shape *s = &j->student;
    const double attention = flop_attention(s, j->length, j->flash > 0) / s->L;
    const double again = j->recompute == RECOMPUTE_FULL ? 1.0 : 0.0;
    /* scores made again: by flash attention itself, or as asked */
    const double scores = j->flash > 0        ? 0.5
        : j->recompute == RECOMPUTE_SELECTIVE ? 1.0
                                              : 0.0;

    return pass_tokens(j) / j->tensor / rate(j) *
        ((3.0 + again) * 2.0 * shape_products(s) +
            (3.0 + again + scores) * attention);
}

static double
vectors(const struct job *j)
{
    const double again = j->recompute == RECOMPUTE_FULL ? 1.0 : 0.0;
    const double scores = j->recompute == RECOMPUTE_SELECTIVE
        ? score_numbers(j,
              4.0 * j->act_bytes +
                  j->student.dropout * (2.0 * j->act_bytes + 1.0))
        : 0.0;

    return pass_tokens(j) * ((3.0 + again) * block_moves(j) + scores) /
        (1e9 * j->m.memory_gbs * j->m.memory_eff);
}

/* Logits in fp32: written, read for the softmax, their gradient written and
 * read twice. */
static double
head(const struct job *j)
{
    const struct shape *s = &j->student;
    const double tokens = pass_tokens(j) / j->tensor;

    return tokens *
        (6.0 * s->V * s->d / rate(j) +
            20.0 * s->V / (1e9 * j->m.memory_gbs * j->m.memory_eff));
}

/* Two all-reduces a block forward and backward, twice a gather each; with
 * `sequence` gathers and scatters of the same bytes, and inputs gathered again
 * for the gradients of weights. */
static double
tensor(const struct job *j)
{
    const struct shape *s = &j->student;
    const struct ring r = { j->tensor, j->m.devices, 0.0 };
    const double bytes = pass_tokens(j) * s->d * j->act_bytes;
    const double times = 4.0 + (j->recompute == RECOMPUTE_FULL ? 2.0 : 0.0) +
        (j->sequence > 0 ? 1.0 : 0.0);

    return times * 2.0 * gather(j, &r, bytes, 1.0);
}

/* Keys and values go round the ranks of a row, their gradients too. */
static double
context(const struct job *j)
{
    const struct shape *s = &j->student;
    const struct ring r = { j->context, near(j, j->tensor), 0.0 };
    const double bytes =
        j->micro * j->length * 2.0 * s->KV * s->D * j->act_bytes / j->tensor;

    return (3.0 + (j->recompute == RECOMPUTE_FULL)) * gather(j, &r, bytes, 1.0);
}

/* Every token goes once to each rank that has some of its experts, e (1 - (1 -
 * 1/e)^active) of e by chance, and comes back: all to all.  What stays in the
 * node goes by its links at the same time. */
static double
expert(const struct job *j)
{
    const struct shape *s = &j->student;
    const struct machine *m = &j->m;
    const double e = j->expert, near = fmin(m->devices, e);
    const double ranks = e * (1.0 - pow(1.0 - 1.0 / e, s->active));
    const double each =
        pass_tokens(j) / j->tensor * s->d * j->act_bytes * ranks / e;
    const double inside =
        (near - 1.0) * each / (1e9 * m->link_gbs * m->link_eff);
    const double outside = (e - near) * each / (1e9 * m->net_gbs * m->net_eff) +
        (e > near ? 1e-6 * (m->net_call_us + m->net_us) : 0.0);

    if (s->experts == 0.0)
        return 0.0;
    return (4.0 + 2.0 * (j->recompute == RECOMPUTE_FULL)) *
        fmax(inside, outside);
}

/* So many bytes of every parameter that the rank has a slice of, gathered or
 * scattered once among those with the same slice, by so many calls; or, for a
 * copy in the node, among those of the node. */
static double
among(const struct job *j, const struct slice *p, double each, double calls,
    double gbs, int in_node)
{
    const double ranks = job_shards(j), close = near(j, j->tensor);
    const struct ring dense = { in_node ? fmin(ranks, close) : ranks, close,
        in_node ? 0.0 : gbs };
    const struct ring experts = { ranks * j->tensor / j->expert,
        near(j, j->expert), gbs };

    return gather(j, &dense, (p->dense + p->table) * each, calls) +
        (p->experts > 0.0 ? gather(j, &experts, p->experts * each, calls)
                          : 0.0);
}

/* Weights of shard = 3: gathered forward and backward, gradients scattered;
 * one bucket a block. */
static double
weights(const struct job *j, const struct slice *p)
{
    const double gbs = j->gather_gbs;

    if (j->shard < 3)
        return 0.0;
    return among(j, p, j->weight_bytes, p->blocks, gbs, 0) +
        among(j, p, j->weight_bytes, p->blocks, gbs, j->hpz > 0) +
        among(j, p, j->grad_bytes, p->blocks, gbs, 0);
}

static double
teacher_gather(const struct job *j)
{
    const double bytes = j->weight_bytes * shape_params(&j->teacher);
    const struct ring all = { job_world(j), j->m.devices, j->gather_gbs };
    const struct ring node = { fmin(j->m.devices, job_world(j)), j->m.devices,
        0.0 };

    switch ((enum teacher)j->teacher_at) {
    case TEACHER_NODE: return gather(j, &node, bytes, j->teacher.L);
    case TEACHER_WORLD: return gather(j, &all, bytes, j->teacher.L);
    case TEACHER_WHOLE:
    case TEACHER_CACHED: break;
    }
    return 0.0;
}

/* The teacher's forward pass, and its logits made of stored states. */
static double
teach(const struct job *j)
{
    const struct shape *t = &j->teacher;
    const double tokens = pass_tokens(j) / j->tensor;
    const double head = j->top > 0 ? 0.0 : 2.0 * t->V * t->d;

    if (t->L == 0)
        return 0.0;
    if (j->teacher_at == TEACHER_CACHED)
        return tokens * head / rate(j);
    return tokens *
        (flop_products(t) + flop_attention(t, j->length, j->flash > 0)) /
        (j->pipeline * rate(j));
}

/* ---- a pass of a rank ---- */

/* Seconds by part, of one pass through the stages of a rank with a head. */
struct pass {
    double matrix, vector, head, tensor, context, expert, hand, teacher;
    double busy; /* the sum of these */
    double all;  /* and what they do not hide of weights that are gathered */
};

static struct pass
make_pass(const struct job *j, const struct slice *s)
{
    const double state = pass_tokens(j) * j->student.d * j->act_bytes;
    const double gathered =
        weights(j, s) + (j->teacher.L > 0 ? teacher_gather(j) : 0.0);
    struct pass p = { .matrix = s->blocks * products(j),
        .vector = s->blocks * vectors(j),
        .head = head(j),
        .tensor = s->blocks * tensor(j),
        .context = s->blocks * context(j),
        .expert = s->blocks * expert(j),
        .teacher = teach(j) };

    /* a state to the next stage, its gradient back, of every part of a stage;
     * tensor ranks send a share each */
    if (j->pipeline > 1)
        p.hand = 2.0 * j->virtual * state /
            (j->tensor * 1e9 * j->m.net_gbs * j->m.net_eff);
    p.busy = p.matrix + p.vector + p.head + p.tensor + p.context + p.expert +
        p.hand + p.teacher;
    p.all =
        fmax(p.busy, gathered) + (1.0 - j->overlap) * fmin(p.busy, gathered);
    return p;
}

/* ---- a step ---- */

/* Gradients once a step, of shards 0 to 2, beyond the last pass's backward
 * half that hides them: reduced and given to all, or reduced to their owners,
 * whose new weights go to all. */
static double
reduce(const struct job *j, const struct slice *s, const struct pass *p)
{
    const double backward = (p->matrix + p->vector) * 2.0 / 3.0;
    const double sent =
        j->shard < 1 ? 2.0 * j->grad_bytes : j->grad_bytes + j->weight_bytes;

    return j->shard >= 3
        ? 0.0
        : fmax(0.0, among(j, s, sent, 2.0, 0.0, 0) - j->overlap * backward);
}

/* Moments and master weights are read and written, gradients read, weights
 * written. */
static double
optimiser(const struct job *j, const struct slice *s)
{
    return rank_bytes(j, s,
               2.0 * j->state_bytes + j->grad_bytes + j->weight_bytes, 1) /
        (1e9 * j->m.memory_gbs * j->m.memory_eff);
}

/* The slowest rank is the last: it has the head, and no rank more blocks. */
void
predict_time(struct figures *f, const struct job *j)
{
    const double m = job_passes(j), fill = (j->pipeline - 1.0) / j->virtual;
    const struct slice last = slice_of(j, (size_t)j->pipeline - 1);
    const struct slice other = { .blocks = (j->student.L - last.blocks) /
            fmax(1.0, j->pipeline - 1.0) };
    const struct pass p = make_pass(j, &last), o = make_pass(j, &other);
    const size_t total = f->n;
    double step;

    figure_add(f, "step", "s", 0.0, "the sum of the following");
    figure_add(f, "step.matrix", "s", m * p.matrix,
        "passes x (3 + recomputed) x 2 tokens (parameters of products, of the "
        "last rank's blocks, / tensor) / (peak matrix_eff), and attention: 4 H "
        "D a key");
    figure_add(f, "step.vector", "s", m * p.vector,
        "passes x (3 + recomputed) x bytes of norms, additions, channels and "
        "scores / (memory_gbs memory_eff)");
    figure_add(f, "step.head", "s", m * p.head,
        "passes x tokens / tensor x (6 V d / (peak matrix_eff) + 20 V / "
        "(memory_gbs memory_eff))");
    figure_add(f, "step.tensor", "s", m * p.tensor,
        "passes x blocks x (4; 6 if recomputed; 1 more with sequence) "
        "all-reduces of act_bytes tokens d: 2 (n - 1) / n bytes / (link_gbs "
        "link_eff)");
    figure_add(f, "step.context", "s", m * p.context,
        "passes x blocks x 3 x keys and values of a row round its ranks");
    figure_add(f, "step.expert", "s", m * p.expert,
        "passes x blocks x 4 (6 if recomputed) x act_bytes tokens d / tensor x "
        "e (1 - (1 - 1 / e)^active) / e to each rank, by ports or links");
    figure_add(f, "step.hand-over", "s", m * p.hand,
        "passes x 2 virtual act_bytes tokens d / (tensor net_gbs net_eff)");
    figure_add(f, "step.teacher", "s", m * p.teacher,
        "passes x tokens x 2 Pt / (tensor pipeline peak matrix_eff); cached: "
        "its head only, with top nothing");
    figure_add(f, "step.gather", "s", m * (p.all - p.busy),
        "passes x (max(a, g) + (1 - overlap) min(a, g) - a); a: arithmetic, g: "
        "weights gathered twice, gradients scattered, the teacher gathered; "
        "(n - 1) / n bytes / bandwidth + calls x latency");
    figure_add(f, "step.bubble", "s", fill * (o.all - o.head),
        "passes of all ranks but the last / virtual, without the head");
    figure_add(f, "step.reduce", "s", reduce(j, &last, &p),
        "gradients of shard 0 to 2, less overlap x the last backward pass");
    figure_add(f, "step.optimiser", "s", optimiser(j, &last),
        "P (2 state_bytes + grad_bytes + weight_bytes) / (memory_gbs "
        "memory_eff); / ranks if shard >= 1");
    step = figure_sum(f, "step.");
    figure_add(f, "step.stragglers", "s",
        step * j->spread * sqrt(2.0 * log(job_world(j))),
        "the rest x spread sqrt(2 ln ranks)");
    f->f[total].v = figure_sum(f, "step.");
    figure_add(f, "bubble", "share", fill / (m + fill),
        "(pipeline - 1) / (pipeline - 1 + passes virtual)");
}
