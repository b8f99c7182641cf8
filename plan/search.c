/* The best layouts: see sweep.h */
#include "sweep.h"
#include "predict.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is varied, the outermost first.  Values are powers of two and, for
 * stages, what divides the blocks; what job_check refuses is passed over. */
static const char *const varied[] = { "tensor", "pipeline", "virtual",
    "context", "expert", "shard", "recompute", "micro" };
enum { VARIED = sizeof varied / sizeof *varied };

struct found {
    struct job j;
    double step;
};
struct search {
    int set[VARIED]; /* by the ranges */
    int sequence;    /* that too */
    struct found *best;
    size_t n, room, tried;
};

static void
keep(struct search *s, const struct job *j)
{
    struct figures f;
    double step;
    size_t at;

    predict(&f, j);
    s->tried++;
    step = figure_of(&f, "step");
    if (!(figure_of(&f, "full") <= 1.0))
        return;
    for (at = s->n; at > 0 && step < s->best[at - 1].step; at--)
        if (at < s->room)
            s->best[at] = s->best[at - 1];
    if (at < s->room)
        s->best[at] = (struct found){ *j, step };
    s->n += s->n < s->room;
}

/* The next value of varied key k, 0 at first; 0: there is none. */
static double
after(const struct job *j, size_t k, double v)
{
    static const double most[VARIED] = { 0, 0, 8, 64, 1024, 3, 2, 64 };
    const struct shape *m = &j->student;
    double limit = most[k];

    if (strcmp(varied[k], "shard") == 0 || strcmp(varied[k], "recompute") == 0)
        return v < 0.0 ? 0.0 : v + 1.0 <= limit ? v + 1.0 : -1.0;
    if (strcmp(varied[k], "pipeline") == 0) {
        for (v = v < 1.0 ? 1.0 : v + 1.0; v <= m->L; v++)
            if (fmod(m->L, v) == 0.0 && fmod(job_world(j), v) == 0.0)
                return v;
        return -1.0;
    }
    limit = k == 0                          ? j->m.devices
        : strcmp(varied[k], "context") == 0 ? fmax(1.0, j->length / 4096.0)
        : strcmp(varied[k], "expert") == 0 && m->experts == 0.0 ? 1.0
                                                                : limit;
    v = v < 1.0 ? 1.0 : 2.0 * v;
    return v <= limit ? v : -1.0;
}

static void
vary(struct search *s, struct job *j, size_t k)
{
    const struct key *key = k < VARIED ? job_key(varied[k]) : NULL;

    if (key == NULL) {
        if (!s->sequence)
            j->sequence = j->tensor > 1.0;
        if (job_check(j, NULL) == 0)
            keep(s, j);
        return;
    }
    if (s->set[k]) {
        vary(s, j, k + 1);
        return;
    }
    for (double v = after(j, k, -1.0); v >= 0.0; v = after(j, k, v)) {
        *job_value(j, key) = v;
        vary(s, j, k + 1);
    }
}

size_t
search_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, size_t best, int format)
{
    static const char *const shown[] = { "memory", "full", "step", "speed",
        "mfu", "bubble", "exposed" };
    struct search s = { .room = best };
    struct job trial = *j;
    struct table t = { 0 };
    struct buf cell = { 0 };

    s.best = xcalloc(best, sizeof *s.best);
    for (size_t i = 0; i < n; i++)
        s.sequence |= strcmp(range[i].key->name, "sequence") == 0;
    for (size_t k = 0; k < VARIED; k++) {
        for (size_t i = 0; i < n; i++)
            s.set[k] |= strcmp(range[i].key->name, varied[k]) == 0;
        table_add(&t, varied[k]);
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        table_add(&t, shown[i]);
    t.ncol = t.n;
    vary(&s, &trial, 0);
    for (size_t r = 0; r < s.n; r++) {
        struct figures f;

        predict(&f, &s.best[r].j);
        for (size_t k = 0; k < VARIED; k++) {
            job_put(&cell, &s.best[r].j, job_key(varied[k]));
            table_take(&t, &cell);
        }
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
            const struct figure *x = figure_find(&f, shown[i]);

            figure_plain(&cell, x, x->v);
            table_take(&t, &cell);
        }
    }
    table_put(b, &t, format);
    table_release(&t);
    buf_release(&cell);
    free(s.best);
    return s.tried;
}
