/* evaltask - score models on tasks; see evaltask(1) */
#include "task.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/setup.h"
#include "cli/shared.h"
#include "eval/options.h"
#include "kern/kern.h"
#include "model/pass/compute.h"

static struct {
    struct opt_list models, tasks;
    const char *adapter, *base, *items, *out, *resume;
    size_t rows, threads;
    int format, per_source, compare, compute;
} a;

static const struct opt options[] = { EVAL_MODEL_OPTIONS(a),
    OPT_LIST(0, "task", &a.tasks, "form=file",
        "score the items of a file by a form; may be repeated"),
    EVAL_REPORT_OPTIONS(a),
    OPT_STR(0, "items", &a.items, "file",
        "write the log probability of every choice, as TSV"),
    EVAL_RUN_OPTIONS(a), OPT_END };

static void
open_task_models(struct eval *e)
{
    struct err err;

    if (a.base != NULL && models_open(&e->j, &e->nj, a.base, &err) < 0)
        die_err(&err);
    e->base = a.base != NULL ? 0 : NONE;
    for (size_t i = 0; i < a.models.n; i++)
        if (models_open(&e->j, &e->nj, a.models.v[i], &err) < 0)
            die_err(&err);
    if (models_adapt(e->j + (a.base != NULL), a.models.n, a.adapter, &err) < 0)
        die_err(&err);
    if (models_check(e->j, e->nj, &err) < 0)
        die_err(&err);
}

/* Open the file of --resume.  A file that other models or kernels made is
 * refused. */
static struct resume *
open_task_resume(const struct eval *e)
{
    struct resume *r;
    struct buf b = { 0 };
    struct err err;

    buf_addf(&b, "evaltask %s ", kern_name());
    models_hash(&b, e->j, e->nj);
    if ((r = resume_open(a.resume, &b, &err)) == NULL)
        die_err(&err);
    buf_release(&b);
    return r;
}

int
main(int argc, char **argv)
{
    struct eval e = { 0 };
    struct buf b = { 0 };

    opt_parse(argc, argv, options,
        "score models on tasks, and tell how much of a teacher's scores each "
        "keeps",
        "", 0, 0, NULL);
    if (a.models.n == 0)
        die(EX_USAGE, "name a model by -m; see evaltask -h");
    if (a.tasks.n == 0)
        die(EX_USAGE, "give a task by --task form=file; see evaltask -h");
    out_differ("-o", a.out != NULL ? a.out : "-", "--items", a.items,
        "--resume", a.resume, NULL);
    setup_kernels(a.compute);
    open_task_models(&e);
    e.rows = a.rows;
    e.pool = setup_pool(a.threads);
    e.resume = a.resume != NULL ? open_task_resume(&e) : NULL;
    tasks_run(&e,
        &(struct task_args){ a.tasks.v, a.tasks.n, a.items,
            (enum format)a.format, a.per_source, a.compare },
        &b);
    out_file(a.out, b.p, b.n);
    out_done();
    buf_release(&b);
    resume_close(e.resume);
    models_close(e.j, e.nj);
    pool_free(e.pool);
    return 0;
}
