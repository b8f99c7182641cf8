/* Rates, energy and cost from memory and time: see predict.h */
#include "predict.h"
#include "memory.h"
#include "step.h"

#include <math.h>
#include <string.h>

/* FLOP of a token in training, as MFU counts them (Chowdhery et al.,
 * arXiv:2204.02311, appendix B): three times those of the forward pass, as the
 * backward pass has twice as many, with attention to all T keys; and those of
 * the forward pass of a teacher that runs. */
static double
model_flop(const struct job *j)
{
    const struct shape *s = &j->student, *t = &j->teacher;
    double flop = 3.0 * (flop_products(s) + flop_attention(s, j->length, 0));

    if (t->L > 0 && j->teacher_at != TEACHER_CACHED)
        flop += flop_products(t) + flop_attention(t, j->length, 0);
    return flop;
}

/* FLOP of a token that recomputation adds. */
static double
again_flop(const struct job *j)
{
    const double products = 2.0 * j->student.L * shape_products(&j->student);
    const double attention = flop_attention(&j->student, j->length, 0);

    return j->recompute == RECOMPUTE_FULL     ? products + attention
        : j->recompute == RECOMPUTE_PRODUCTS  ? products / 2.0
        : j->recompute == RECOMPUTE_SELECTIVE ? attention
                                              : 0.0;
}

static void
add_models(struct figures *f, const struct job *j)
{
    figure_add(f, "parameters", shape_params(&j->student));
    if (j->student.experts > 0)
        figure_add(f, "parameters.active", shape_active(&j->student));
    if (j->teacher.L > 0)
        figure_add(f, "teacher.parameters", shape_params(&j->teacher));
    figure_add(f, "ranks", job_world(j));
    figure_add(f, "replicas", job_data(j));
    figure_add(f, "passes", job_passes(j));
    figure_add(f, "token.flop", model_flop(j));
}

static void
add_rates(struct figures *f, const struct job *j)
{
    const double step = figure_of(f, "step"), ranks = job_world(j);
    const double speed = j->batch * j->length / step;
    const double peak = 1e12 * ranks * job_peak(j);

    figure_add(f, "speed", speed);
    figure_add(f, "speed.rank", speed / ranks);
    figure_add(f, "mfu", speed * model_flop(j) / peak);
    figure_add(f, "hfu", speed * (model_flop(j) + again_flop(j)) / peak);
    figure_add(f, "exposed",
        (figure_of(f, "step.tensor") + figure_of(f, "step.context") +
            figure_of(f, "step.expert") + figure_of(f, "step.hand-over") +
            figure_of(f, "step.gather") + figure_of(f, "step.reduce")) /
            step);
}

/* How long ranks that have the whole model wait for one another. */
static void
add_exchange(struct figures *f, const struct job *j)
{
    const double params = shape_params(&j->student);
    const double e = exchange_time(j, params);
    const double work = figure_of(f, "step") - figure_of(f, "step.reduce");

    figure_add(f, "exchange.bytes", exchange_bytes(j, params));
    figure_add(f, "exchange.time", e);
    figure_add(f, "working", 1.0 - figure_of(f, "exposed"));
    figure_add(f, "sync.least", sync_least(e, work));
}

static void
add_cluster_run(struct figures *f, const struct job *j)
{
    const double seconds = j->tokens / figure_of(f, "speed");
    const double watts =
        j->nodes * (j->m.devices * j->m.device_watts + j->m.node_watts);

    figure_add(f, "run.days", seconds / 86400.0);
    if (job_exchanges(j))
        figure_add(f, "run.days.working",
            seconds / 86400.0 * figure_of(f, "working"));
    figure_add(f, "run.device-hours", seconds / 3600.0 * job_world(j));
    figure_add(f, "run.energy", watts * seconds / 3.6e9);
    if (j->price > 0)
        figure_add(f, "run.cost", j->price * seconds / 3600.0 * job_world(j));
    if (j->teacher.L > 0)
        figure_add(f, "run.targets",
            j->tokens * (j->top > 0 ? 6.0 * j->top + 8.0 : 2.0 * j->teacher.d));
}

/* Give sizes of numbers that the user left at 0 their default: those of
 * training in fp32 or, for other products, in mixed precision. */
static void
settle_bytes(struct job *j)
{
    const int f32 = j->compute == COMPUTE_F32;
    double *const size[] = { &j->weight_bytes, &j->grad_bytes, &j->act_bytes };

    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (*size[i] == 0.0)
            *size[i] = f32 ? 4.0 : 2.0;
    if (j->state_bytes == 0.0)
        j->state_bytes = f32 ? 8.0 : 12.0;
}

void
predict(struct figures *f, const struct job *given)
{
    struct job own = *given;
    const struct job *j = &own;

    settle_bytes(&own);
    if (own.adapters > 0) /* an adapter has few parameters */
        own.grad_bytes = own.state_bytes = 0.0;
    f->n = 0;
    add_models(f, j);
    predict_memory(f, j);
    figure_add(f, "full", figure_of(f, "memory") / (1e9 * j->m.memory_gb));
    predict_time(f, j);
    add_rates(f, j);
    if (job_exchanges(j))
        add_exchange(f, j);
    add_interval(f, j);
    if (j->tokens > 0)
        add_cluster_run(f, j);
}
