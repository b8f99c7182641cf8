/* Means by context, class and confidence; see detail.h. */
#include "detail.h"
#include "eval/resume.h"
#include "model/pass/head.h"
#include "model/pass/head_top.h"
#include "spread.h"
#include "vocab.h"
#include "base/mem.h"
#include "format/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 15, POWERS = 64 };

/* Columns of the tables in their order: means over predictions, except T_ECE.
 */
enum {
    T_NLL,
    T_KL,
    T_ENTROPY,
    T_CONFIDENCE,
    T_RIGHT,
    T_ECE,
    T_BACK,
    T_DP,
    T_AGREE,
    T_N
};

/* Weighted sums over predictions. */
struct tally {
    size_t n;
    double weight, v[T_N];
};

/* Tallies of one model. */
struct tables {
    struct tally all, context[POWERS], class[CLASS_N], bin[BINS];
    struct tally *source; /* [nsource], or NULL */
    struct head_top *top;
};

struct detail {
    struct tables *model; /* [nj] */
    size_t nj, cap;
    /* [cap] head_top_rows's results for the predictions being added */
    float *lse, *logp;
    double *self;
    uint32_t *top;
};

struct detail *
detail_new(const struct eval *e)
{
    struct detail *d = xcalloc(1, sizeof(*d));

    d->nj = e->nj;
    d->model = xcalloc(e->nj, sizeof(*d->model));
    return d;
}

static void
grow_rows(struct detail *d, size_t n)
{
    if (n <= d->cap)
        return;
    d->cap = n;
    d->lse = xreallocarray(d->lse, n, 2 * sizeof(*d->lse));
    d->logp = xreallocarray(d->logp, n, sizeof(*d->logp));
    d->self = xreallocarray(d->self, n, sizeof(*d->self));
    d->top = xreallocarray(d->top, n, sizeof(*d->top));
}

static void
add_tally(struct tally *to, double weight, const double v[T_N])
{
    to->n++;
    to->weight += weight;
    for (int i = 0; i < T_N; i++)
        to->v[i] += weight * v[i];
}

static size_t
power_of_two(size_t n)
{
    size_t k = 0;

    while (n >>= 1)
        k++;
    return k;
}

/* Bin k holds confidences in (k/15, (k+1)/15], as in Guo et al.,
 * arXiv:1706.04599. */
static size_t
confidence_bin(double confidence)
{
    const double k = ceil(confidence * BINS) - 1.0;

    return k < 0.0 ? 0 : k >= BINS ? BINS - 1 : (size_t)k;
}

/* Add prediction k and the values of its columns to the tables. */
static void
add_prediction(struct tables *t, const struct eval *e, const struct pack *p,
    size_t k, const double v[T_N])
{
    const size_t at = p->at[k], source = e->units.unit[p->unit[k]].source;
    const size_t context = at % p->T - p->first[at] + 1;
    const double w = p->weight[k];

    add_tally(&t->all, w, v);
    add_tally(&t->source[source], w, v);
    add_tally(&t->context[power_of_two(context)], w, v);
    add_tally(&t->bin[confidence_bin(v[T_CONFIDENCE])], w, v);
    if (e->vocab != NULL)
        add_tally(&t->class[vocab_class(e->vocab, p->ids[at], p->target[k])], w,
            v);
}

static void
add_model(struct detail *d, const struct eval *e, const struct pack *p,
    size_t i)
{
    struct tables *t = &d->model[i];
    const struct eval_model *j = &e->j[i];

    if (t->top == NULL) {
        t->top = head_top_new(&j->m, e->pool, 1, 0);
        t->source = xcalloc(e->info.nsource, sizeof(*t->source));
    }
    if (!p->known)
        head_top_rows(t->top, j->f, j->h, p->n, 1.0,
            &(struct head_targets){ .lse = d->lse,
                .self = d->self,
                .ids = d->top,
                .logp = d->logp });
    resume_pass(e->resume, d->self, p->n * sizeof *d->self);
    resume_pass(e->resume, d->top, p->n * sizeof *d->top);
    resume_pass(e->resume, d->logp, p->n * sizeof *d->logp);
    for (size_t k = 0; k < p->n; k++) {
        const struct pair_score *s = &j->pair[k];
        const double x[T_N] = { [T_NLL] = s->nll_q,
            [T_KL] = s->kl,
            [T_ENTROPY] = -d->self[k],
            [T_CONFIDENCE] = exp((double)d->logp[k]),
            [T_RIGHT] = d->top[k] == p->target[k],
            [T_BACK] = s->back,
            [T_DP] = i == e->base ? 0.0 : delta_p(s),
            [T_AGREE] = i == e->base || s->agree };

        add_prediction(t, e, p, k, x);
    }
}

void
detail_add(struct detail *d, const struct eval *e, const struct pack *p)
{
    grow_rows(d, p->n);
    for (size_t i = 0; i < e->nj; i++)
        if (e->j[i].f != NULL)
            add_model(d, e, p, i);
}

/* ---- report ---- */

/* Expected calibration error: mean over predictions of |confidence - accuracy|
 * of the prediction's bin. */
static double
ece(const struct tables *t)
{
    double sum = 0.0;

    for (size_t k = 0; k < BINS; k++)
        sum += fabs(t->bin[k].v[T_CONFIDENCE] - t->bin[k].v[T_RIGHT]);
    return sum / t->all.weight;
}

/* Append a row for model i; error: the ECE of the row's predictions, or NAN. */
static void
list_tally(struct sheet *s, const struct eval *e, size_t i, const char *table,
    const char *name, const struct tally *t, double error)
{
    if (t->n == 0)
        return;
    sheet_row(s, TEXT(e->j[i].label), TEXT(table), TEXT(name), COUNT(t->n));
    for (int k = 0; k < T_N; k++) {
        const int beside = k == T_KL || k >= T_BACK;

        sheet_row(s,
            NUMBER("%.8f",
                k == T_ECE                      ? error
                    : beside && e->base == NONE ? NAN
                                                : t->v[k] / t->weight));
    }
}

static void
list_tables(const struct eval *e, const struct tables *t, size_t i,
    struct sheet *s)
{
    char name[64];

    list_tally(s, e, i, "all", "-", &t->all, ece(t));
    for (size_t k = 0; k < e->info.nsource; k++)
        list_tally(s, e, i, "source", e->info.source[k], &t->source[k], NAN);
    for (size_t k = 0; k < POWERS; k++) {
        snprintf(name, sizeof(name), "%zu..%zu", (size_t)1 << k,
            ((size_t)1 << k) + (((size_t)1 << k) - 1));
        list_tally(s, e, i, "context", name, &t->context[k], NAN);
    }
    for (size_t k = 0; k < CLASS_N; k++)
        list_tally(s, e, i, "class", class_name[k], &t->class[k], NAN);
    for (size_t k = 0; k < BINS; k++) {
        snprintf(name, sizeof(name), "%.4f..%.4f", (double)k / BINS,
            (double)(k + 1) / BINS);
        list_tally(s, e, i, "confidence", name, &t->bin[k], NAN);
    }
}

void
detail_print(const struct detail *d, const struct eval *e, struct buf *b)
{
    static const char *const column[] = { "model", "table", "row", "tokens",
        "nll", "kl", "entropy", "confidence", "accuracy", "ece", "kl_back",
        "delta_p", "agree", NULL };
    struct sheet s;

    sheet_open(&s, b, FMT_TSV);
    sheet_list(&s, "detail", column);
    for (size_t i = 0; i < d->nj; i++)
        if (d->model[i].all.n > 0)
            list_tables(e, &d->model[i], i, &s);
}

void
detail_free(struct detail *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->nj; i++)
        if (d->model[i].top != NULL) {
            head_top_free(d->model[i].top);
            free(d->model[i].source);
        }
    free(d->model);
    free(d->lse);
    free(d->logp);
    free(d->self);
    free(d->top);
    free(d);
}
