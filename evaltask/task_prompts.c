/* Tasks that are prompts of one task; see task_prompts.h. */
#include "task_prompts.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of a name before "_p" and a number; 0: it has no such end. */
static size_t
stem_length(const char *name)
{
    const char *p = strrchr(name, '_');

    if (p == NULL || p[1] != 'p' || p[2] == '\0' ||
        p[2 + strspn(p + 2, "0123456789")] != '\0')
        return 0;
    return (size_t)(p - name);
}

size_t
prompts_of(const struct task *t, size_t nt)
{
    const size_t stem = stem_length(t->name);
    size_t n = 1;

    while (stem > 0 && n < nt && stem_length(t[n].name) == stem &&
        strncmp(t[n].name, t->name, stem) == 0)
        n++;
    return n;
}

char *
prompts_name(const struct task *t)
{
    return xasprintf("%.*s", (int)stem_length(t->name), t->name);
}

void
prompts_best(const struct eval *e, const struct task *t, size_t n, size_t model,
    struct task_figures *f)
{
    task_figures(e, t, NONE, model, f);
    for (size_t i = 1; i < n; i++) {
        struct task_figures one;

        task_figures(e, &t[i], NONE, model, &one);
        if (one.acc[t[i].form.score].v > f->acc[t->form.score].v)
            *f = one;
    }
}

static int
number_order(const void *x, const void *y)
{
    const double *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

/* The median of v [n], which is sorted; NAN if one of them is NAN. */
static double
median(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(v[i]))
            return NAN;
    qsort(v, n, sizeof(*v), number_order);
    return (v[(n - 1) / 2] + v[n / 2]) / 2.0;
}

void
prompts_median(const struct eval *e, const struct task *t, size_t n,
    size_t model, struct task_figures *f)
{
    enum { PPL = SCORE_BYTES + 1, BITS, CHANCE, FIGURES };
    double *v = xreallocarray(NULL, FIGURES * n, sizeof(*v));

    for (size_t i = 0; i < n; i++) {
        task_figures(e, &t[i], NONE, model, f);
        for (int s = SCORE_ACC; s <= SCORE_BYTES; s++)
            v[(size_t)s * n + i] = f->acc[s].v;
        v[PPL * n + i] = f->ppl.v;
        v[BITS * n + i] = f->bits;
        v[CHANCE * n + i] = f->chance;
    }
    for (int s = SCORE_ACC; s <= SCORE_BYTES; s++)
        f->acc[s] = (struct estimate){ median(v + (size_t)s * n, n), NAN };
    f->ppl = (struct estimate){ median(v + PPL * n, n), NAN };
    f->bits = median(v + BITS * n, n);
    f->chance = median(v + CHANCE * n, n);
    f->recovery = f->low = f->high = NAN;
    free(v);
}
