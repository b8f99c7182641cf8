/* plan - predict memory and arithmetic of a run; see plan(1) */
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "model/compute.h"
#include "train/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtypes[] = { "f32", "bf16", NULL };
static const char *const formats[] = { "text", "tsv", NULL };

static struct {
    const char *model, *teacher;
    size_t rows, T, micro, threads, top;
    int recompute, format, compute, act, grad, moments;
} a = { .rows = 8, .T = 512 };

static const struct opt options[] = {
    OPT_STR('m', "model", &a.model, "model",
        "the student: a model, or a config.json alone"),
    OPT_STR(0, "teacher", &a.teacher, "model",
        "distilled from this model, or config.json"),
    OPT_SIZE(0, "top", &a.top, 0, 1e6, "k",
        "by its top k tokens, as teacher --top (0: by final states)"),
    OPT_SIZE('B', "batch-size", &a.rows, 1, 1e6, "rows", "rows of a batch"),
    OPT_SIZE('T', "length", &a.T, 2, 1 << 24, "tokens", "tokens of a row"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_FLAG(0, "recompute", &a.recompute,
        "keep block inputs only, as student --recompute"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "as student --compute"),
    OPT_ENUM(0, "act", &a.act, dtypes, "type", "as student --act"),
    OPT_ENUM(0, "grad", &a.grad, dtypes, "type", "as student --grad"),
    OPT_ENUM(0, "moments", &a.moments, dtypes, "type", "as student --moments"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_ENUM(0, "format", &a.format, formats, "name", "of the answer"), OPT_END
};

/* Pages of student's code and libraries and its heap before the first step,
 * about: which of them are in memory is the system's choice, and differs by the
 * library and the kernel, so that there is no sum of them.  student measures
 * its own. */
#define PROGRAM ((size_t)6000000)

/* A model by its shape; its weights are not read. */
struct shape {
    struct config c;
    struct block_shape *block; /* [L] */
    size_t params;
    size_t head_bytes; /* of student's copy of the head */
    size_t window;     /* plan_window of the weights as stored; or 0 */
};

/* A number of a head that comes in fp32, as student holds it. */
static size_t
head_size(void)
{
    return a.compute != 0 ? sizeof(uint16_t) : sizeof(float);
}

static void
from_model(struct shape *s, const char *path)
{
    const struct weight *w;
    struct model m;
    struct err e;

    if (model_open(&m, path, &e) < 0)
        die_err(&e);
    s->c = m.c;
    s->block = xcalloc(m.c.L, sizeof(*s->block));
    model_shape(&m, s->block);
    w = &m.head;
    s->head_bytes = w->dtype == DT_BF16 || w->dtype == DT_F16
        ? w->rows * w->stride
        : w->rows * w->cols * head_size();
    s->window = plan_window(&m, a.rows * a.T, a.top > 0);
    model_close(&m);
}

static void
from_config(struct shape *s, const char *path)
{
    struct err e;

    if (config_load(&s->c, &s->block, path, &e) < 0)
        die_err(&e);
    s->head_bytes = s->c.V * s->c.d * head_size();
}

/* A .gguf, a config.json, or a directory, of which config.json is enough. */
static void
open_shape(struct shape *s, const char *path)
{
    char *config =
        io_is_dir(path) ? xasprintf("%s/config.json", path) : xstrdup(path);
    char *weights = xasprintf("%s/model.safetensors", path);
    const size_t n = strlen(path);

    memset(s, 0, sizeof(*s));
    if ((n > 5 && strcmp(path + n - 5, ".gguf") == 0) || io_exists(weights))
        from_model(s, path);
    else
        from_config(s, config);
    s->params = config_params(&s->c, s->block);
    free(config);
    free(weights);
}

/* Bytes of one batch: ids, the teacher's final states or top tokens and the
 * states of its blocks in bf16; and 4 KB, about, for its header and for the
 * documents that its rows are made of, whose number the text decides. */
static size_t
message_bytes(const struct shape *m, const struct shape *t)
{
    const size_t tok = a.rows * a.T;
    size_t n = tok * (m->c.V <= 65536 ? 2 : 4) + 4096;

    if (t != NULL)
        n += tok * 2 * t->c.d * t->c.L +
            tok * (a.top > 0 ? 6 * a.top + 8 : 2 * t->c.d);
    return n;
}

struct answer {
    struct plan p;
    size_t embed, blocks, head; /* parameters by part */
    size_t teacher_params, teacher_weights, teacher_work, teacher_states;
    double forward, teacher_forward; /* operations a token */
    size_t micro;
};

static void
make_step(struct answer *r, const struct shape *m, const struct shape *t,
    struct pool *pool)
{
    const struct loss_opt loss = {
        .w_ce = t != NULL ? 0.25 : 1.0,
        .w_kl = t != NULL,
        .w_sh = t != NULL,
        .tau = 3.0,
    };
    struct tmodel tm;
    struct step *s;

    tmodel_layout(&tm, &m->c, m->block, a.grad == 1 ? DT_BF16 : DT_F32);
    s = step_new(&tm, pool, &loss, r->micro, a.T,
        (a.recompute ? BWD_RECOMPUTE : 0) | (a.act == 1 ? BWD_BF16 : 0),
        &(struct said){
            .kind = t == NULL ? SAID_NOTHING
                : a.top > 0   ? SAID_TOP
                              : SAID_FINAL,
            .width = t == NULL ? 0
                : a.top > 0    ? a.top
                               : t->c.d,
            .nblock = t != NULL ? m->c.L : 0,
            .depth = t != NULL ? t->c.d : 0,
        },
        NULL);
    plan_make(&r->p, &tm, s,
        &(struct plan_load){
            .T = a.T,
            .tokens = a.rows * a.T,
            .head = t != NULL && a.top == 0 ? t->head_bytes : 0,
            .input = 2 * message_bytes(m, t),
            .program = plan_program(PROGRAM, pool_size(pool)),
            .moments = a.moments == 1 ? DT_BF16 : DT_F32,
        });
    step_free(s);
    tmodel_release(&tm);
}

static void
make_teacher(struct answer *r, const struct shape *t, struct pool *pool)
{
    struct tmodel tm;
    struct head_top *top;
    struct fwd *f;

    tmodel_layout(&tm, &t->c, t->block, DT_F32);
    f = fwd_new_blocks(&tm.m, pool, plan_teacher_micro(0, a.rows, a.T), a.T);
    r->teacher_params = t->params;
    r->teacher_weights =
        t->window > 0 ? t->window : plan_window(&tm.m, a.rows * a.T, a.top > 0);
    r->teacher_work = fwd_bytes(f);
    if (a.top > 0) {
        top = head_top_new(&tm.m, pool, a.top, 0);
        r->teacher_work += head_top_bytes(top);
        head_top_free(top);
    }
    /* of a whole batch: fp32, and as they are sent */
    r->teacher_states = plan_states(&tm.m, a.rows * a.T) * 3 / 2 +
        a.rows * a.T * (a.top > 0 ? 10 * a.top + 16 : 0);
    r->teacher_forward = plan_flop_forward(&t->c, t->block, a.T);
    fwd_free(f);
    tmodel_release(&tm);
}

static void
make_answer(struct answer *r, const struct shape *m, const struct shape *t)
{
    struct pool *pool;
    struct err e;

    if (compute_init(a.compute, &e) < 0)
        die_err(&e);
    if ((pool = pool_new(a.threads, &e)) == NULL)
        die_err(&e);
    memset(r, 0, sizeof(*r));
    r->micro = plan_micro(a.micro, a.rows, a.T);
    arena_overcommit();
    make_step(r, m, t, pool);
    if (t != NULL)
        make_teacher(r, t, pool);
    r->embed = m->c.V * m->c.d;
    r->head = m->c.tied ? 0 : r->embed;
    r->blocks = m->params - r->embed - r->head - m->c.d;
    r->forward = plan_flop_forward(&m->c, m->block, a.T);
    pool_free(pool);
}

static void
put_size(struct buf *b, const char *name, size_t v)
{
    if (a.format == 1)
        buf_addf(b, "%s\t%zu\n", name, v);
    else
        buf_addf(b, "%-26s %15zu\n", name, v);
}

static void
put_bytes(struct buf *b, const char *name, size_t v)
{
    if (a.format == 1)
        buf_addf(b, "%s\t%zu\n", name, v);
    else
        buf_addf(b, "%-26s %15.1f MB\n", name, (double)v * 1e-6);
}

static void
put_flop(struct buf *b, const char *name, double v)
{
    if (a.format == 1)
        buf_addf(b, "%s\t%.0f\n", name, v);
    else
        buf_addf(b, "%-26s %15.6g GFLOP\n", name, v * 1e-9);
}

static void
print(const struct answer *r, const struct shape *m, int teacher, struct buf *b)
{
    put_size(b, "parameters", r->p.params);
    put_size(b, "parameters.embedding", r->embed);
    put_size(b, "parameters.blocks", r->blocks);
    put_size(b, "parameters.norm", m->c.d);
    put_size(b, "parameters.head", r->head);
    put_bytes(b, "memory", r->p.total);
    put_bytes(b, "memory.program", r->p.program);
    put_bytes(b, "memory.weights", r->p.weights);
    put_bytes(b, "memory.gradients", r->p.gradients);
    put_bytes(b, "memory.moments", r->p.moments);
    put_bytes(b, "memory.work", r->p.work);
    put_bytes(b, "memory.teacher-head", r->p.teacher_head);
    put_bytes(b, "memory.input", r->p.input);
    put_flop(b, "token.forward", r->forward);
    put_flop(b, "token.train", r->p.flop);
    if (!teacher)
        return;
    put_size(b, "teacher.parameters", r->teacher_params);
    put_bytes(b, "teacher.memory.weights", r->teacher_weights);
    put_bytes(b, "teacher.memory.work", r->teacher_work);
    put_bytes(b, "teacher.memory.states", r->teacher_states);
    put_flop(b, "teacher.token.forward", r->teacher_forward);
}

int
main(int argc, char **argv)
{
    struct shape m, t = { 0 };
    struct answer r;
    struct buf b = { 0 };

    opt_parse(argc, argv, options, "predict memory and arithmetic of a run", "",
        0, 0, NULL);
    if (a.model == NULL)
        die(EX_USAGE, "-m is needed; see plan -h");
    open_shape(&m, a.model);
    if (a.teacher != NULL) {
        open_shape(&t, a.teacher);
        if (a.top > 0 && t.c.V != m.c.V)
            die(EX_INPUT, "--top: %s has a vocabulary of %zu, %s one of %zu",
                a.teacher, t.c.V, a.model, m.c.V);
    }
    if (a.top > 0 && a.teacher == NULL)
        die(EX_USAGE, "--top needs --teacher");
    if (a.top > m.c.V)
        die(EX_USAGE, "--top %zu: the vocabulary is %zu", a.top, m.c.V);
    make_answer(&r, &m, a.teacher != NULL ? &t : NULL);
    if (r.p.params != m.params)
        die(EX_SYS, "%s: its parts add up to %zu parameters, not %zu", a.model,
            r.p.params, m.params);
    print(&r, &m, a.teacher != NULL, &b);
    if (a.format == 0 && r.p.total > plan_limit())
        note("this machine (or its cgroup) has only %.1f GB",
            (double)plan_limit() * 1e-9);
    out_put(b.p, b.n);
    buf_release(&b);
    out_done();
    free(m.block);
    free(t.block);
    return 0;
}
