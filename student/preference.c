/* Losses of preferences; see preference.h. */
#include "preference.h"

#include <math.h>

const char *const preference_names[] = { "sigmoid", "sigmoid_norm", "ipo",
    "hinge", "robust", "exo_pair", "nca_pair", "bco_pair", "apo_zero",
    "apo_down", "sppo_hard", "discopop", NULL };

/* sigmoid_at: s(x) = 1 / (1 + exp(-x)); log_sigmoid: log s(x); sigmoid_slope:
 * the derivative of s at x */
static double
sigmoid_at(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double
log_sigmoid(double x)
{
    return x < 0.0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}

static double
sigmoid_slope(double x)
{
    return sigmoid_at(x) * sigmoid_at(-x);
}

/* Losses that depend on x alone; *slope: their derivative. */
static double
difference_loss(enum preference loss, double e, double x, double *slope)
{
    const double s = sigmoid_at(x), m = sigmoid_at(x / 0.05);
    const double weight = log(e) - log1p(-e);

    switch (loss) {
    case PREFERENCE_HINGE:
        *slope = x < 1.0 ? -1.0 : 0.0;
        return x < 1.0 ? 1.0 - x : 0.0;
    case PREFERENCE_ROBUST:
        *slope = (-(1.0 - e) * sigmoid_at(-x) - e * s) / (1.0 - 2.0 * e);
        return (-(1.0 - e) * log_sigmoid(x) + e * log_sigmoid(-x)) /
            (1.0 - 2.0 * e);
    case PREFERENCE_EXO_PAIR:
        *slope = sigmoid_slope(x) * (x + weight);
        return s * (log_sigmoid(x) - log1p(-e)) +
            sigmoid_at(-x) * (log_sigmoid(-x) - log(e));
    case PREFERENCE_DISCOPOP:
        *slope = -sigmoid_at(-x) * (1.0 - m) - exp(-x) * m +
            (exp(-x) + log_sigmoid(x)) * sigmoid_slope(x / 0.05) / 0.05;
        return -log_sigmoid(x) * (1.0 - m) + exp(-x) * m;
    default: *slope = -sigmoid_at(-x); return -log_sigmoid(x);
    }
}

/* Return a loss that depends on c and r, not on x alone; c and r are log ratios
 * times beta.  Set *g to the loss's derivatives with respect to c and r. */
static double
single_loss(enum preference loss, double c, double r, struct preference_grad *g)
{
    switch (loss) {
    case PREFERENCE_NCA_PAIR:
        g->chosen = -sigmoid_at(-c) + 0.5 * sigmoid_at(c);
        g->rejected = 0.5 * sigmoid_at(r);
        return -log_sigmoid(c) - 0.5 * log_sigmoid(-c) - 0.5 * log_sigmoid(-r);
    case PREFERENCE_BCO_PAIR:
        g->chosen = -sigmoid_at(-c);
        g->rejected = sigmoid_at(r);
        return -log_sigmoid(c) - log_sigmoid(-r);
    case PREFERENCE_APO_ZERO:
        g->chosen = -sigmoid_slope(c);
        g->rejected = sigmoid_slope(r);
        return sigmoid_at(-c) + sigmoid_at(r);
    default: /* apo_down */
        g->chosen = sigmoid_slope(c) - sigmoid_slope(c - r);
        g->rejected = sigmoid_slope(c - r);
        return sigmoid_at(c) + sigmoid_at(r - c);
    }
}

double
preference_loss(enum preference loss, double beta, double smoothing,
    const struct preference_pair *p, double w, struct preference_grad *g)
{
    const double c = p->chosen, r = p->rejected, half = 0.5 / beta;
    const double mean = c / p->nchosen - r / p->nrejected;
    struct preference_grad one = { 0.0, 0.0 };
    double value, slope;

    switch (loss) {
    case PREFERENCE_IPO:
        value = (mean - half) * (mean - half);
        one.chosen = 2.0 * (mean - half) / p->nchosen;
        one.rejected = -2.0 * (mean - half) / p->nrejected;
        break;
    case PREFERENCE_SPPO_HARD:
        value = (c - half) * (c - half) + (r + half) * (r + half);
        one.chosen = 2.0 * (c - half);
        one.rejected = 2.0 * (r + half);
        break;
    case PREFERENCE_SIGMOID_NORM:
        value = difference_loss(loss, smoothing, beta * mean, &slope);
        one.chosen = beta * slope / p->nchosen;
        one.rejected = -beta * slope / p->nrejected;
        break;
    case PREFERENCE_NCA_PAIR:
    case PREFERENCE_BCO_PAIR:
    case PREFERENCE_APO_ZERO:
    case PREFERENCE_APO_DOWN:
        value = single_loss(loss, beta * c, beta * r, &one);
        one.chosen *= beta;
        one.rejected *= beta;
        break;
    default:
        value = difference_loss(loss, smoothing, beta * (c - r), &slope);
        one.chosen = beta * slope;
        one.rejected = -beta * slope;
    }
    g->chosen += w * one.chosen;
    g->rejected += w * one.rejected;
    return value;
}
