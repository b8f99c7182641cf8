/* plan search: the fastest layouts that fit into memory. */
#include "search.h"
#include "common.h"
#include "predict.h"
#include "table.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keys that the search varies, the outermost loop first.  Values of pipeline
 * divide both blocks and ranks; shard and recompute take all their values,
 * other keys powers of two.  Layouts that job_check refuses are skipped. */
static const char *const varied[] = { "tensor", "pipeline", "virtual",
    "context", "expert", "shard", "recompute", "micro" };
enum { VARIED = sizeof varied / sizeof *varied };

struct found {
    struct job j;
    double step;
};
struct search {
    int set[VARIED];    /* 1: an operand sets the key */
    int sequence;       /* 1: an operand sets the key "sequence" */
    struct found *best; /* [n] of [room], the fastest first */
    size_t n, room, tried;
};

static void
keep_layout(struct search *s, const struct job *j)
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

/* Next value of varied key k after v; v < 0: its first value.  -1: v is the
 * last one. */
static double
next_value(const struct job *j, size_t k, double v)
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
vary_key(struct search *s, struct job *j, size_t k)
{
    const struct key *key = k < VARIED ? job_key(varied[k]) : NULL;

    if (key == NULL) {
        if (!s->sequence)
            j->sequence = j->tensor > 1.0;
        if (job_check(j, NULL) == 0)
            keep_layout(s, j);
        return;
    }
    if (s->set[k]) {
        vary_key(s, j, k + 1);
        return;
    }
    for (double v = next_value(j, k, -1.0); v >= 0.0; v = next_value(j, k, v)) {
        *job_value(j, key) = v;
        vary_key(s, j, k + 1);
    }
}

/* Record which keys the operands set: these are not varied. */
static void
note_set_keys(struct search *s, const struct range *range, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->sequence |= strcmp(range[i].key->name, "sequence") == 0;
        for (size_t k = 0; k < VARIED; k++)
            s->set[k] |= strcmp(range[i].key->name, varied[k]) == 0;
    }
}

static void
put_layouts(struct buf *b, const struct search *s, int format)
{
    static const char *const shown[] = { "memory", "full", "step", "speed",
        "mfu", "bubble", "exposed" };
    enum { SHOWN_FIGURES = sizeof shown / sizeof *shown };
    struct table t = { .ncol = VARIED + SHOWN_FIGURES };
    struct buf cell = { 0 };
    struct figures f;

    for (size_t k = 0; k < VARIED; k++)
        table_add(&t, varied[k]);
    for (size_t i = 0; i < SHOWN_FIGURES; i++)
        table_add(&t, shown[i]);
    for (size_t r = 0; r < s->n; r++) {
        predict(&f, &s->best[r].j);
        for (size_t k = 0; k < VARIED; k++) {
            job_put(&cell, &s->best[r].j, job_key(varied[k]));
            table_add_buf(&t, &cell);
        }
        for (size_t i = 0; i < SHOWN_FIGURES; i++) {
            const struct figure *x = figure_find(&f, shown[i]);

            figure_plain(&cell, x, x->v);
            table_add_buf(&t, &cell);
        }
    }
    table_put(b, &t, format);
    table_release(&t);
    buf_release(&cell);
}

int
search_main(int argc, char **argv)
{
    static struct common in = COMMON_DEFAULTS;
    static struct search s = { .room = 5 };
    const struct opt options[] = { COMMON_MACHINE(&in),
        COMMON_MODELS(&in, COMMON_SHAPE),
        OPT_SIZE(0, "layouts", &s.room, 1, 1000, "n",
            "number of layouts to print"),
        COMMON_FORMAT(&in, table_formats), OPT_END };
    struct range *range;
    struct buf b = { 0 };
    struct job j;
    int n;
    char **operand = opt_parse(argc, argv, options,
        "print the fastest layouts that fit into memory", "[key=value ...]", 0,
        -1, &n);

    common_check(&in, 1);
    range = xcalloc((size_t)n, sizeof *range);
    common_job(&j, &in, range, operand, (size_t)n);
    if (ranges_first(range, (size_t)n) != NULL)
        die(EX_USAGE, "%s: give the key one value, or use plan cluster",
            ranges_first(range, (size_t)n)->key->name);
    common_shapes(&j, &in);
    s.best = xcalloc(s.room, sizeof *s.best);
    note_set_keys(&s, range, (size_t)n);
    vary_key(&s, &j, 0);
    put_layouts(&b, &s, in.format);
    note("%zu layouts were tried", s.tried);
    out_put(b.p, b.n);
    buf_release(&b);
    ranges_free(range, (size_t)n);
    free(range);
    free(s.best);
    out_done();
    return 0;
}
