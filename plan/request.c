/* Options of predictions: see request.h */
#include "request.h"
#include "predict.h"
#include "shipped.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/die.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
request_check(const struct request *in, int ranks)
{
    if (in->model == NULL)
        die(EX_USAGE, "name a model by -m; see %s -h", progname);
    if (in->top > 0 && in->teacher == NULL)
        die(EX_USAGE, "--top needs a teacher: name one by --teacher");
    if (ranks && in->machine == NULL)
        die(EX_USAGE, "name a machine by --machine; see %s -h", progname);
}

_Noreturn void
request_ratio_failed(const struct request *in, double left)
{
    die(EX_USAGE,
        "--ratio %g: with a single block %.3g of the parameters are left: give "
        "a smaller share",
        in->ratio, left);
}

void
request_job(struct job *j, const struct request *in, struct ranges *r,
    char **operand, size_t n)
{
    job_init(j);
    j->batch = (double)in->rows;
    j->length = (double)in->T;
    j->micro = in->micro > 0 ? (double)in->micro : 1.0;
    j->recompute = in->recompute ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    j->top = (double)in->top;
    j->tokens = in->tokens;
    if (in->machine != NULL)
        machine_open(j, in->machine);
    ranges_read(r, operand, n);
    ranges_set(j, r, 1, 0);
}

/* Set j->anchor to measured / predicted time of a step of the user's software.
 * text is "step=SECONDS,key=value,...": the measured time, and the keys by
 * which the measured job differs from *j. */
static void
set_anchor(struct job *j, const char *text)
{
    const size_t n = strcspn(text, ",");
    struct job measured = *j;
    struct figures f;
    double seconds;
    char *first = xasprintf("%.*s", (int)n, text);

    if (strncmp(first, "step=", 5) != 0 ||
        number_real(first + 5, 1e-6, 1e6, &seconds) < 0)
        die(EX_USAGE,
            "--anchor %s: write step=SECONDS,key=value,... of a measured run",
            SHOWN(text));
    free(first);
    job_change(&measured, "--anchor", text + n + (text[n] == ','));
    measured.anchor = 0.0;
    predict(&f, &measured);
    j->anchor = seconds / figure_of(&f, "step");
}

/* Cut off the last blocks of s until at least in->ratio of the parameters is
 * gone. */
static void
cut_blocks(struct shape *s, const struct request *in)
{
    const double all = shape_params(s);

    s->L -= fmin(s->L - 1.0, ceil(in->ratio * all / shape_block(s)));
    if (shape_params(s) > (1.0 - in->ratio) * all)
        request_ratio_failed(in, shape_params(s) / all);
}

void
request_shapes(struct job *j, const struct request *in)
{
    struct err e;

    if (shape_open(&j->student, in->model, &e) < 0 ||
        (in->teacher != NULL && shape_open(&j->teacher, in->teacher, &e) < 0))
        die_err(&e);
    if (in->ratio > 0.0)
        cut_blocks(&j->student, in);
    if (in->anchor != NULL)
        set_anchor(j, in->anchor);
}

/* Number of values that operands give the key; 0: no operand names it. */
static size_t
key_values(const struct key *k, const struct ranges *r)
{
    size_t n = r->n;

    while (n > 0 && r->v[n - 1].key != k)
        n--;
    return n > 0 ? r->v[n - 1].n : 0;
}

void
request_note(const struct job *j, const struct request *in,
    const struct ranges *r)
{
    struct job usual, own = *j;
    struct buf b = { 0 };

    job_init(&usual);
    buf_addf(&b, "%s on %s", in->model, in->machine);
    if (in->teacher != NULL)
        buf_addf(&b, ", taught by %s", in->teacher);
    buf_addc(&b, ':');
    for (const struct key *k = job_keys(); k->name != NULL; k++) {
        const size_t values = key_values(k, r);
        const int same = *job_value(&usual, k) == *job_value(&own, k);
        const int rows = strcmp(k->name, "batch") == 0;
        const int tokens = strcmp(k->name, "length") == 0;
        const int told = rows || tokens || strcmp(k->name, "nodes") == 0 ||
            strcmp(k->name, "compute") == 0;

        if (values > 1 || ((k->machine || same) && values == 0 && !told))
            continue;
        buf_addf(&b, " %s=", k->name);
        job_put(&b, j, k);
        if ((rows || tokens) && same && values == 0)
            buf_addf(&b, " (the default; set it by -%c)", rows ? 'B' : 'T');
        else if (told && same && values == 0)
            buf_adds(&b, " (the default)");
    }
    note("%s", b.p);
    if (shipped_about("machines", in->machine) != NULL)
        note("%s: %s", in->machine, shipped_about("machines", in->machine));
    buf_release(&b);
}
