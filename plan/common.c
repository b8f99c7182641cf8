/* Options that commands share: see common.h */
#include "common.h"
#include "anchor.h"
#include "machine.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"

#include <string.h>

void
common_check(const struct common *in, int ranks)
{
    if (in->model == NULL)
        die(EX_USAGE, "name a model by -m; see %s -h", progname);
    if (in->top > 0 && in->teacher == NULL)
        die(EX_USAGE, "--top needs a teacher: name one by --teacher");
    if (ranks && in->machine == NULL)
        die(EX_USAGE, "name a machine by --machine; see %s -h", progname);
}

void
common_job(struct job *j, const struct common *in, struct range *range,
    char **operand, size_t n)
{
    struct err e;

    job_init(j);
    j->batch = (double)in->rows;
    j->length = (double)in->T;
    j->micro = in->micro > 0 ? (double)in->micro : 1.0;
    j->recompute = in->recompute ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    j->top = (double)in->top;
    j->tokens = in->tokens;
    if ((in->machine != NULL && machine_open(j, in->machine, &e) < 0) ||
        ranges_read(range, operand, n, &e) < 0 ||
        ranges_set(j, range, n, &e) < 0)
        die_err(&e);
}

void
common_shapes(struct job *j, const struct common *in)
{
    struct err e;

    if (shape_open(&j->student, in->model, &e) < 0 ||
        (in->teacher != NULL && shape_open(&j->teacher, in->teacher, &e) < 0) ||
        (in->anchor != NULL && anchor_set(j, in->anchor, &e) < 0))
        die_err(&e);
}

/* Has the key several values? */
static int
key_swept(const struct key *k, const struct range *range, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].key == k && range[i].n > 1)
            return 1;
    return 0;
}

/* Was the key given one value by an operand? */
static int
key_given(const struct key *k, const struct range *range, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].key == k && range[i].n == 1)
            return 1;
    return 0;
}

void
common_tell(const struct job *j, const struct common *in,
    const struct range *range, size_t n)
{
    struct job usual, own = *j;
    struct buf b = { 0 };

    job_init(&usual);
    buf_addf(&b, "%s on %s", in->model, in->machine);
    if (in->teacher != NULL)
        buf_addf(&b, ", taught by %s", in->teacher);
    buf_addc(&b, ':');
    for (const struct key *k = job_keys; k->name != NULL; k++) {
        const int same = *job_value(&usual, k) == *job_value(&own, k);
        const int rows = strcmp(k->name, "batch") == 0;
        const int tokens = strcmp(k->name, "length") == 0;

        if (key_swept(k, range, n) ||
            ((k->machine || same) && !key_given(k, range, n) &&
                !(rows || tokens || strcmp(k->name, "nodes") == 0)))
            continue;
        buf_addf(&b, " %s=", k->name);
        job_put(&b, j, k);
        if ((rows || tokens) && same && !key_given(k, range, n))
            buf_addf(&b, " (the default; set it by -%c)", rows ? 'B' : 'T');
    }
    note("%s", b.p);
    buf_release(&b);
}
