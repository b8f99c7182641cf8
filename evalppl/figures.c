/* Computing figures from sums: means over predictions, errors over documents.
 */
#include "figures.h"

#include <math.h>

#define LN2 0.69314718055994530942

static double
unit_value(const struct eval *e, size_t unit, enum quantity q, size_t model)
{
    return units_sums(&e->units, unit, model)->v[q];
}

/* Quantity of a unit for model a of e.  b not NONE: minus the quantity for
 * model b of f. */
static double
paired_value(const struct eval *e, size_t unit, enum quantity q, size_t a,
    const struct eval *f, size_t b)
{
    return unit_value(e, unit, q, a) -
        (b != NONE ? unit_value(f, unit, q, b) : 0.0);
}

/* Sum of a quantity divided by the sum of sizes, by a ratio estimator (Cochran,
 * Sampling Techniques, section 6.3): r = sum x_d / sum n_d over D documents,
 * with variance D / (D - 1) sum (x_d - r n_d)^2 / (sum n_d)^2. */
static struct estimate
ratio_estimate(const struct eval *e, size_t source, enum quantity q, size_t a,
    const struct eval *f, size_t b, double (*size)(const struct unit *))
{
    double x = 0.0, n = 0.0, sq = 0.0, units = 0.0;
    struct estimate m = { NAN, NAN };

    for (size_t u = 0; u < e->units.n; u++)
        if (units_count(&e->units, u, source)) {
            x += paired_value(e, u, q, a, f, b);
            n += size(&e->units.unit[u]);
            units++;
        }
    if (n == 0.0)
        return m;
    m.v = x / n;
    for (size_t u = 0; u < e->units.n; u++)
        if (units_count(&e->units, u, source)) {
            const double r =
                paired_value(e, u, q, a, f, b) - m.v * size(&e->units.unit[u]);

            sq += r * r;
        }
    if (units > 1.0)
        m.se = sqrt(units / (units - 1.0) * sq) / n;
    return m;
}

static double
unit_weight(const struct unit *u)
{
    return u->weight;
}

static double
unit_bytes(const struct unit *u)
{
    return (double)u->bytes * u->weight / (double)u->n;
}

struct estimate
eval_mean(const struct eval *e, size_t source, enum quantity q, size_t a,
    size_t b)
{
    return ratio_estimate(e, source, q, a, e, b, unit_weight);
}

struct estimate
bits_difference(const struct eval *e, size_t a, const struct eval *f, size_t b)
{
    struct estimate m = ratio_estimate(e, NONE, Q_NLL, a, f, b, unit_bytes);

    m.v /= LN2;
    m.se /= LN2;
    return m;
}

/* Fill in the loss per byte and per word.  As in lm-eval, a text without tokens
 * counts too: as one word. */
static void
byte_figures(const struct eval *e, size_t source, size_t model,
    struct figures *f)
{
    double nll = 0.0;

    f->bytes = f->words = 0;
    for (size_t u = 0; u < e->units.n; u++)
        if (source == NONE || e->units.unit[u].source == source) {
            f->bytes += e->units.unit[u].bytes;
            f->words += e->units.unit[u].words;
            nll += unit_value(e, u, Q_NLL, model);
        }
    f->bits = ratio_estimate(e, source, Q_NLL, model, e, NONE, unit_bytes);
    f->bits.v /= LN2;
    f->bits.se /= LN2;
    f->byte_ppl = exp(f->bits.v * LN2);
    f->word_ppl = NAN;
    if (e->protocol != PROTO_LMEVAL || f->bytes == 0)
        return;
    f->byte_ppl = exp(nll / (double)f->bytes);
    f->word_ppl = exp(nll / (double)f->words);
    f->bits.v = log(f->byte_ppl) / LN2;
}

/* Standard error over single predictions, as llama-perplexity prints it. */
static double
token_se(const struct eval *e, size_t model)
{
    double x = 0.0, x2 = 0.0, n = 0.0;

    for (size_t u = 0; u < e->units.n; u++) {
        x += unit_value(e, u, Q_NLL, model);
        x2 += unit_value(e, u, Q_NLL2, model);
        n += (double)e->units.unit[u].n;
    }
    x /= n;
    return n > 1.0 ? sqrt(fmax(x2 / n - x * x, 0.0) / (n - 1.0)) : NAN;
}

struct estimate
eval_cost(const struct eval *e, size_t source)
{
    return eval_mean(e, source, Q_NLL, e->before, e->base);
}

int
eval_cost_shows(const struct estimate *cost)
{
    return cost->v > (isnan(cost->se) ? 0.0 : 2.0 * cost->se);
}

/* Percent of eval_cost that the model has regained: 100 for the base and 0 for
 * e->before; for others NAN if eval_cost_shows is false. */
static double
regained(const struct eval *e, size_t source, size_t model, double nll)
{
    const struct estimate cost = eval_cost(e, source);

    if (model == e->base || model == e->before)
        return model == e->base ? 100.0 : 0.0;
    if (!eval_cost_shows(&cost))
        return NAN;
    return 100.0 * (eval_mean(e, source, Q_NLL, e->before, NONE).v - nll) /
        cost.v;
}

/* Fill in the figures that need the base or e->before. */
static void
compare_figures(const struct eval *e, size_t source, size_t model,
    struct figures *f)
{
    const struct estimate none = { NAN, NAN };
    double base;

    f->kl = f->klt = f->agree = f->accept = none;
    f->ppl_ratio = f->regained = NAN;
    if (e->base == NONE)
        return;
    base = eval_mean(e, source, Q_NLL, e->base, NONE).v;
    f->ppl_ratio = 100.0 * exp(base - f->nll.v);
    if (e->before != NONE)
        f->regained = regained(e, source, model, f->nll.v);
    if (model == e->base) { /* KL to itself is 0 */
        f->kl.v = 0.0;
        f->klt.v = e->temperature != 1.0 ? 0.0 : NAN;
        f->agree.v = f->accept.v = 1.0;
        return;
    }
    f->kl = eval_mean(e, source, Q_KL, model, NONE);
    f->agree = eval_mean(e, source, Q_AGREE, model, NONE);
    f->accept = eval_mean(e, source, Q_ACCEPT, model, NONE);
    if (e->temperature != 1.0)
        f->klt = eval_mean(e, source, Q_KLT, model, NONE);
}

void
eval_figures(const struct eval *e, size_t source, size_t model,
    struct figures *f)
{
    double t;

    f->units = f->n = 0;
    for (size_t u = 0; u < e->units.n; u++)
        if (units_count(&e->units, u, source)) {
            f->units++;
            f->n += e->units.unit[u].n;
        }
    f->nll = eval_mean(e, source, Q_NLL, model, NONE);
    t = t95(f->units);
    if (e->protocol == PROTO_LLAMA) {
        f->nll.se = token_se(e, model);
        t = t95(f->n);
    }
    f->ppl = exp(f->nll.v);
    f->ppl_se = f->ppl * f->nll.se;
    f->low = exp(f->nll.v - t * f->nll.se);
    f->high = exp(f->nll.v + t * f->nll.se);
    byte_figures(e, source, model, f);
    compare_figures(e, source, model, f);
}
