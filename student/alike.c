/* Comparing options, models and streams of ranks before the first step; see
 * alike.h. */
#include "alike.h"
#include "student.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "dist/alike.h"
#include "kern/kern.h"

#include <inttypes.h>

/* Die with exit status `code` unless *b has the same lines on all ranks; else
 * free it. */
static void
die_unlike(const struct student *s, struct buf *b, int code)
{
    struct err e;

    if (dist_alike(&s->ranks, b->p, code, &e) < 0)
        die_err(&e);
    buf_release(b);
}

void
alike_options(const struct student *s)
{
    static const char *const own[] = { "threads", "cpus", "numa", "ahead",
        NULL };
    struct buf b = { 0 };

    if (s->ranks.n == 1)
        return;
    buf_addf(&b, "version\t%s\n", prog_version());
    opt_write(&b, s->command->options, own);
    buf_addf(&b, "kernels (RETORT_KERNELS)\t%s\n", kern_name());
    die_unlike(s, &b, EX_USAGE);
}

void
alike_inputs(const struct student *s)
{
    struct buf b = { 0 };

    if (s->ranks.n == 1)
        return;
    buf_addf(&b, "--model\t%s\n", s->model_hash);
    buf_addf(&b, "steps of the checkpoint\t%" PRIu64 "\n", s->st.step);
    buf_addf(&b, "--eval\t%s\n", s->in.eval);
    die_unlike(s, &b, EX_USAGE);
    if (s->command->lines == NULL)
        return;
    s->command->lines(s, &b);
    die_unlike(s, &b, EX_INPUT);
}
