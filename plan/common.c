/* Options that commands share: see common.h */
#include "common.h"
#include "machine.h"
#include "base/err.h"
#include "base/note.h"
#include "cli/die.h"

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
        (in->teacher != NULL && shape_open(&j->teacher, in->teacher, &e) < 0))
        die_err(&e);
}
