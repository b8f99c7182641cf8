/* Losses of a policy whose texts have rewards; see policy.h. */
#include "policy.h"

#include <math.h>

/* As in TRL: GUARD is added to a standard deviation; a standard deviation of at
 * most ZERO counts as 0. */
#define GUARD 1e-4
#define ZERO 1e-8

/* ---- advantages ---- */

struct moments {
    double mean, std; /* NAN: too few numbers */
};

/* Mean and standard deviation of the elements of x [n] that are not NAN. */
static struct moments
number_moments(const double *x, size_t n)
{
    struct moments m = { 0.0, 0.0 };
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) {
            m.mean += x[i];
            k++;
        }
    m.mean = k > 0 ? m.mean / (double)k : NAN;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            m.std += (x[i] - m.mean) * (x[i] - m.mean);
    m.std = k > 1 ? sqrt(m.std / (double)(k - 1)) : NAN;
    return m;
}

void
policy_advantages(const double *reward, size_t groups, size_t n,
    enum policy_scale scale, double *advantage, struct policy_rewards *r)
{
    const struct moments all = number_moments(reward, groups * n);

    *r = (struct policy_rewards){ all.mean, all.std, 0.0 };
    for (size_t g = 0; g < groups; g++, reward += n, advantage += n) {
        const struct moments own = number_moments(reward, n);
        const double s = scale == POLICY_BATCH ? all.std : own.std;

        r->zero += (s <= ZERO) / (double)groups;
        for (size_t i = 0; i < n; i++) {
            double a = reward[i] - own.mean;

            if (scale != POLICY_NONE)
                a /= s + GUARD;
            advantage[i] = isnan(a) ? 0.0 : a;
        }
    }
}

int
policy_equal(const double *reward, size_t n)
{
    double first = NAN;

    for (size_t i = 0; i < n; i++) {
        if (isnan(first))
            first = reward[i];
        if (!isnan(reward[i]) && reward[i] != first)
            return 0;
    }
    return 1;
}

/* ---- the loss ---- */

double
policy_weight(const struct policy_opt *o, size_t texts, size_t tokens,
    size_t own)
{
    switch (o->kind) {
    case POLICY_SAPO:
    case POLICY_GRPO: return 1.0 / ((double)texts * (double)own);
    case POLICY_DR_GRPO: return 1.0 / ((double)texts * (double)o->longest);
    default: return 1.0 / (double)tokens;
    }
}

/* The loss of a token and its derivative in logp. */
struct token_loss {
    double loss, grad;
    double kl;
    int low, high; /* 1: clipped at that end */
};

static struct token_loss
token_loss(const struct policy_opt *o, double advantage, double logp,
    double old, double ref)
{
    const double rho = exp(logp - old), lo = 1.0 - o->low, hi = 1.0 + o->high;
    const double kept = rho < lo ? lo : rho > hi ? hi : rho;
    struct token_loss t = { .low = rho < lo && advantage<0.0, .high = rho> hi &&
            advantage > 0.0 };

    if (o->kind == POLICY_CISPO) {
        t.low = 0;
        t.grad = -fmin(rho, hi) * advantage;
        t.loss = t.grad * logp;
    } else if (o->kind == POLICY_SAPO) {
        const double tau = advantage > 0.0 ? 1.0 : 1.05;
        const double gate = 1.0 / (1.0 + exp(-tau * (rho - 1.0)));

        t.low = t.high = 0;
        t.loss = -4.0 * gate / tau * advantage;
        t.grad = -4.0 * gate * (1.0 - gate) * rho * advantage;
    } else {
        t.loss = -fmin(rho * advantage, kept * advantage);
        t.grad = t.low || t.high ? 0.0 : -rho * advantage;
    }
    if (o->beta != 0.0) {
        const double d = ref - logp, factor = o->corrected ? rho : 1.0;
        const double k = expm1(d) - d;

        t.kl = factor * k;
        t.loss += o->beta * t.kl;
        t.grad += o->beta * factor * (-expm1(d) + (o->corrected ? k : 0.0));
    }
    return t;
}

void
policy_loss(const struct policy_opt *o, const struct policy_text *t,
    struct policy_sum *sum, float *grad)
{
    struct policy_sum own = { .texts = 1, .tokens = t->n };

    for (size_t i = 0; i < t->n; i++) {
        const struct token_loss l = token_loss(o, t->advantage, t->logp[i],
            t->old != NULL ? t->old[i] : t->logp[i],
            o->beta != 0.0 ? t->ref[i] : 0.0);

        own.loss += t->weight * l.loss;
        own.kl += l.kl;
        own.low += l.low;
        own.high += l.high;
        grad[i] = (float)(t->weight * l.grad);
    }
    if (t->n > 0) {
        own.low_min = own.low / (double)t->n;
        own.high_max = own.high / (double)t->n;
        policy_sum_add(sum, &own);
    }
}

void
policy_sum_add(struct policy_sum *to, const struct policy_sum *from)
{
    if (from->texts == 0)
        return;
    to->low_min =
        to->texts == 0 ? from->low_min : fmin(to->low_min, from->low_min);
    to->high_max = fmax(to->high_max, from->high_max);
    to->loss += from->loss;
    to->kl += from->kl;
    to->low += from->low;
    to->high += from->high;
    to->texts += from->texts;
    to->tokens += from->tokens;
}
