/* Figures of tasks; see task_stat.h.  Errors are lm-evaluation-harness's:
 * sample standard deviation / sqrt(n). */
#include "task_stat.h"

#include <math.h>

static const struct request_score *
scores_by(const struct task *t, size_t item, size_t model)
{
    return t->score + model * t->nrequest + t->at[item];
}

/* 1 if the model is right about an item, else 0.  On a tie the first choice
 * counts. */
static double
hit(const struct task *t, size_t item, size_t model, enum task_score score)
{
    const struct task_item *it = &t->item[item];
    const struct request_score *s = scores_by(t, item, model);
    double top = -INFINITY;
    size_t best = 0;

    if (t->form.kind == TASK_CLOZE)
        return s->greedy;
    for (size_t i = 0; i < it->n; i++) {
        const double v = s[i].logp /
            (score == SCORE_NORM           ? it->chars[i]
                    : score == SCORE_BYTES ? it->length[i]
                                           : 1.0);

        if (v > top) {
            top = v;
            best = i;
        }
    }
    return best == it->right;
}

static double
chance(const struct task *t, size_t item)
{
    return t->form.kind == TASK_CLOZE ? 0.0 : 1.0 / (double)t->item[item].n;
}

static int
is_counted(const struct task *t, size_t item, size_t group)
{
    return group == NONE || t->item[item].group == group;
}

/* Sums of x, y, xx, yy and xy for two quantities x and y of n items.
 * moments_end makes them the means and the (co)variances of the means. */
struct moments {
    double n, x, y, xx, yy, xy;
};

static void
moments_end(struct moments *m)
{
    const double k = m->n * (m->n - 1.0);

    m->x /= m->n;
    m->y /= m->n;
    m->xx = (m->xx - m->n * m->x * m->x) / k;
    m->yy = (m->yy - m->n * m->y * m->y) / k;
    m->xy = (m->xy - m->n * m->x * m->y) / k;
}

/* Moments over items of x, the hits of model a, and y, those of model b (NONE:
 * y is 0); less 1: chance is subtracted from x and y. */
static struct moments
hit_moments(const struct task *t, size_t group, size_t a, size_t b,
    enum task_score score, int less)
{
    struct moments m = { 0 };

    for (size_t i = 0; i < t->n; i++) {
        const double c = less ? chance(t, i) : 0.0;
        double x, y;

        if (!is_counted(t, i, group))
            continue;
        x = hit(t, i, a, score) - c;
        y = b != NONE ? hit(t, i, b, score) - c : 0.0;
        m.n++;
        m.x += x;
        m.y += y;
        m.xx += x * x;
        m.yy += y * y;
        m.xy += x * y;
    }
    moments_end(&m);
    return m;
}

/* Square root of a variance, which may be slightly below 0 by rounding; NAN for
 * NAN. */
static double
error_of(double variance)
{
    return isnan(variance) ? NAN : sqrt(fmax(variance, 0.0));
}

static struct estimate
moments_mean(const struct moments *m)
{
    return (struct estimate){ m->x, m->n > 1.0 ? error_of(m->xx) : NAN };
}

/* Set recovery to 100 x / y, and low and high by Fieller's interval (J. R.
 * Stat. Soc. B 16, 1954).  If y is not significantly above 0, all three stay
 * NAN. */
static void
add_recovery(const struct moments *m, struct task_figures *f)
{
    const double t = t95((size_t)m->n), tt = t * t;
    const double a = m->y * m->y - tt * m->yy;
    const double b = m->x * m->y - tt * m->xy, c = m->x * m->x - tt * m->xx;
    const double root = error_of(b * b - a * c);

    if (!(a > 0.0 && m->y > 0.0))
        return;
    f->recovery = 100.0 * m->x / m->y;
    f->low = 100.0 * (b - root) / a;
    f->high = 100.0 * (b + root) / a;
}

/* Set the bits a byte of the right continuations and, for a cloze, the
 * perplexity. */
static void
add_likelihood(const struct task *t, size_t group, size_t model,
    struct task_figures *f)
{
    struct moments m = { 0 };
    double bytes = 0.0;

    for (size_t i = 0; i < t->n; i++) {
        const struct task_item *it = &t->item[i];
        const double x = scores_by(t, i, model)[it->right].logp;

        if (!is_counted(t, i, group))
            continue;
        m.n++;
        m.x += x;
        m.xx += x * x;
        for (const char *p = it->next[it->right]; *p != '\0'; p++)
            bytes++;
    }
    f->bits = -m.x / (bytes * log(2.0));
    if (t->form.kind != TASK_CLOZE)
        return;
    moments_end(&m);
    f->ppl.v = exp(-m.x);
    f->ppl.se = f->ppl.v * moments_mean(&m).se;
}

static void
clear_figures(struct task_figures *f)
{
    const struct estimate none = { NAN, NAN };

    *f = (struct task_figures){ .acc = { none, none, none },
        .ppl = none,
        .bits = NAN,
        .recovery = NAN,
        .low = NAN,
        .high = NAN };
}

void
task_figures(const struct eval *e, const struct task *t, size_t group,
    size_t model, struct task_figures *f)
{
    clear_figures(f);
    for (size_t i = 0; i < t->n; i++)
        if (is_counted(t, i, group)) {
            f->n++;
            f->chance += chance(t, i);
        }
    f->chance /= (double)f->n;
    for (int s = SCORE_ACC; s <= SCORE_BYTES; s++) {
        const struct moments m =
            hit_moments(t, group, model, NONE, (enum task_score)s, 0);

        if (t->form.kind != TASK_CLOZE || s == SCORE_ACC)
            f->acc[s] = moments_mean(&m);
    }
    add_likelihood(t, group, model, f);
    if (e->base != NONE) {
        const struct moments m =
            hit_moments(t, group, model, e->base, t->form.score, 1);

        add_recovery(&m, f);
    }
}

/* Moments of the mean of the tasks' means. */
static struct moments
over_tasks(const struct task *t, size_t nt, size_t group, size_t a, size_t b,
    int less)
{
    struct moments all = { 0 };
    const double k = (double)nt;

    for (size_t i = 0; i < nt; i++) {
        const struct moments m =
            hit_moments(&t[i], group, a, b, t[i].form.score, less);

        all.n += m.n;
        all.x += m.x / k;
        all.y += m.y / k;
        all.xx += m.xx / (k * k);
        all.yy += m.yy / (k * k);
        all.xy += m.xy / (k * k);
    }
    return all;
}

void
task_means(const struct eval *e, const struct task *t, size_t nt, size_t model,
    struct task_figures *f)
{
    struct moments m = over_tasks(t, nt, NONE, model, NONE, 0);

    clear_figures(f);
    f->n = (size_t)m.n;
    f->acc[0] = moments_mean(&m);
    for (size_t i = 0; i < nt; i++) {
        struct task_figures one;

        task_figures(e, &t[i], NONE, model, &one);
        f->chance += one.chance / (double)nt;
    }
    if (e->base == NONE)
        return;
    m = over_tasks(t, nt, NONE, model, e->base, 1);
    add_recovery(&m, f);
}

struct estimate
task_difference(const struct task *t, size_t nt, size_t group, size_t a,
    size_t b)
{
    const struct moments m = over_tasks(t, nt, group, a, b, 0);

    return (struct estimate){ m.x - m.y,
        m.n > (double)nt ? error_of(m.xx + m.yy - 2.0 * m.xy) : NAN };
}
