/* plan compare: one run on two machines, each with its fastest layout. */
#include "commands.h"
#include "request.h"
#include "predict.h"
#include "search.h"
#include "table.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"

#include <math.h>
#include <string.h>

/* A side of the comparison: a machine, and the run on it. */
struct side {
    const char *machine;
    struct job j;
    struct figures f;
};

/* Predict one side with its fastest layout.  Where a key has two values, the
 * first is for side 0 and the second for side 1. */
static void
predict_side(struct side *s, struct request *in, char **operand, size_t n,
    size_t side)
{
    struct ranges r;

    in->machine = s->machine;
    request_job(&s->j, in, &r, operand, n);
    for (size_t i = 0; i < n; i++)
        if (r.v[i].n > 2)
            die(EX_USAGE, "%s: give one value, or one for each machine",
                r.v[i].key->name);
    ranges_set(&s->j, &r, 2, side);
    request_shapes(&s->j, in);
    request_note(&s->j, in, &r);
    search_fastest(&s->j, &r);
    predict(&s->f, &s->j);
    ranges_free(&r);
}

/* Add a row for each key of the layouts that the search chose. */
static void
add_layout_rows(struct table *t, const struct side *side)
{
    struct buf cell = { 0 };

    for (size_t k = 0; search_keys[k] != NULL; k++) {
        const struct key *key = job_key(search_keys[k]);

        table_add(t, key->name);
        for (size_t i = 0; i < 2; i++) {
            job_put(&cell, &side[i].j, key);
            table_add_buf(t, &cell);
        }
        table_add(t, "-");
    }
    buf_release(&cell);
}

static void
put_sides(struct buf *b, const struct side *side, int format)
{
    static const char *const shown[] = { "ranks", "allocated", "memory", "full",
        "step", "likely.step.low", "likely.step.high", "speed", "mfu",
        "exposed", "run.days", "run.device-hours", "run.energy", "run.cost" };
    struct table t = { .ncol = 4 };

    table_add(&t, "figure");
    table_add(&t, side[0].machine);
    table_add(&t, side[1].machine);
    table_add(&t, "ratio");
    add_layout_rows(&t, side);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct figure *x = figure_find(&side[0].f, shown[i]);

        if (x != NULL)
            table_add_figure(&t, x, &side[1].f, 1, format);
    }
    table_put(b, &t, format);
    table_release(&t);
}

/* Say which machine is the cheaper one, if both have a price. */
static void
note_cheaper(const struct side *side)
{
    const double a = figure_of(&side[0].f, "run.cost");
    const double b = figure_of(&side[1].f, "run.cost");
    const int second = b < a;

    if (isfinite(a) && isfinite(b) && a != b)
        note("%s costs %.2f times as much as %s", side[!second].machine,
            fmax(a, b) / fmin(a, b), side[second].machine);
}

int
compare_main(int argc, char **argv)
{
    static struct request in = REQUEST_DEFAULTS;
    static struct side side[2];
    const struct opt options[] = { REQUEST_MODELS(&in, REQUEST_SHAPE),
        REQUEST_TOKENS(&in), OPT_FORMAT(&in.format, figure_formats), OPT_END };
    struct buf b = { 0 };
    int n;
    char **operand = opt_parse(argc, argv, options,
        "compare one run on two machines, each with its fastest layout",
        "machine machine [key=value ...]", 2, -1, &n);

    for (size_t i = 0; i < 2; i++) {
        if (strchr(operand[i], '=') != NULL)
            die(EX_USAGE, "%s: name two machines before the keys", operand[i]);
        side[i].machine = in.machine = operand[i];
    }
    request_check(&in, 1);
    for (size_t i = 0; i < 2; i++)
        predict_side(&side[i], &in, operand + 2, (size_t)n - 2, i);
    put_sides(&b, side, in.format);
    note_cheaper(side);
    out_put(b.p, b.n);
    buf_release(&b);
    out_done();
    return 0;
}
