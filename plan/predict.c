/* Rates, energy and cost from memory and time: see predict.h */
#include "predict.h"
#include "interval.h"
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
    const struct shape *s = &j->student;

    switch ((enum recompute)j->recompute) {
    case RECOMPUTE_FULL:
        return 2.0 * s->L * shape_products(s) + flop_attention(s, j->length, 0);
    case RECOMPUTE_PRODUCTS: return s->L * shape_products(s);
    case RECOMPUTE_SELECTIVE: return flop_attention(s, j->length, 0);
    case RECOMPUTE_NONE: break;
    }
    return 0.0;
}

static void
add_models(struct figures *f, const struct job *j)
{
    figure_add(f, "parameters", "", shape_params(&j->student),
        "V d (once if tied) + blocks x parameters of a block + d");
    if (j->student.experts > 0)
        figure_add(f, "parameters.active", "", shape_active(&j->student),
            "those that a token meets");
    if (j->teacher.L > 0)
        figure_add(f, "teacher.parameters", "", shape_params(&j->teacher),
            "as parameters");
    figure_add(f, "ranks", "", job_world(j), "nodes devices");
    figure_add(f, "replicas", "", job_data(j),
        "ranks / (tensor pipeline context)");
    figure_add(f, "passes", "", job_passes(j), "batch / (replicas micro)");
    figure_add(f, "token.flop", "FLOP", model_flop(j),
        "6 parameters of products + 12 L H D T; and a live teacher's forward "
        "pass, a third of that");
}

static void
add_rates(struct figures *f, const struct job *j)
{
    const double step = figure_of(f, "step"), ranks = job_world(j);
    const double speed = j->batch * j->length / step;
    const double peak = 1e12 * ranks * job_peak(j);

    figure_add(f, "speed", "tokens/s", speed, "batch length / step");
    figure_add(f, "speed.rank", "tokens/s", speed / ranks, "speed / ranks");
    figure_add(f, "mfu", "share", speed * model_flop(j) / peak,
        "speed token.flop / (ranks peak)");
    figure_add(f, "hfu", "share",
        speed * (model_flop(j) + again_flop(j)) / peak,
        "the same with what is computed again");
    figure_add(f, "exposed", "share",
        (figure_of(f, "step.tensor") + figure_of(f, "step.context") +
            figure_of(f, "step.expert") + figure_of(f, "step.hand-over") +
            figure_of(f, "step.gather") + figure_of(f, "step.reduce")) /
            step,
        "communication that nothing hides / step");
}

static void
add_cluster_run(struct figures *f, const struct job *j)
{
    const double seconds = j->tokens / figure_of(f, "speed");
    const double watts =
        j->nodes * (j->m.devices * j->m.device_watts + j->m.node_watts);

    figure_add(f, "run.days", "days", seconds / 86400.0,
        "tokens / speed / 86400");
    figure_add(f, "run.device-hours", "", seconds / 3600.0 * job_world(j),
        "ranks x hours");
    figure_add(f, "run.energy", "MWh", watts * seconds / 3.6e9,
        "nodes (devices device_watts + node_watts) x hours: at full power");
    if (j->price > 0)
        figure_add(f, "run.cost", "price",
            j->price * seconds / 3600.0 * job_world(j), "price device-hours");
    if (j->teacher.L > 0)
        figure_add(f, "run.targets", "bytes",
            j->tokens * (j->top > 0 ? 6.0 * j->top + 8.0 : 2.0 * j->teacher.d),
            "stored: tokens (2 d, or 6 top + 8)");
}

void
predict(struct figures *f, const struct job *given)
{
    struct job own = *given;
    const struct job *j = &own;

    if (own.adapters > 0) /* an adapter has few parameters */
        own.grad_bytes = own.state_bytes = 0.0;
    f->n = 0;
    add_models(f, j);
    predict_memory(f, j);
    figure_add(f, "full", "share",
        figure_of(f, "memory") / (1e9 * j->m.memory_gb),
        "memory / memory_gb; above 1 it does not fit");
    predict_time(f, j);
    add_rates(f, j);
    add_interval(f, j);
    if (j->tokens > 0)
        add_cluster_run(f, j);
}
