/* The prediction for a process of student: see process.h */
#include "process.h"
#include "shipped.h"
#include "model/pass/head_top.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/place.h"
#include "dist/dist.h"
#include "format/json.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bytes of student besides models: code, libraries and heap before the first
 * step.  6 MB are an estimate, as the system decides which pages are in memory;
 * student itself measures its size.  A rank under a launcher loads larger
 * libraries, so its figure is the size of this process. */
static size_t
program_bytes(void)
{
    return dist_world()->n > 1 ? prog_resident() : 6000000;
}

static void
layout_from_model(struct layout *s, const char *path, const struct process *o,
    size_t number)
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
        : w->rows * w->cols * number;
    s->window = plan_window(&m, o->in.rows * o->in.T, o->in.top > 0);
    model_close(&m);
}

/* text: that of a configuration that is built in; NULL: it is in a file. */
static void
layout_from_config(struct layout *s, const char *path, const char *text,
    size_t number)
{
    struct err e;
    json_t *j = NULL;

    if (text == NULL) {
        if (config_load(&s->c, &s->block, path, &e) < 0)
            die_err(&e);
    } else if ((j = js_parse(text, strlen(text), &e)) == NULL) {
        die_err(&e);
    } else if (json_object_get(j, "model_type") == NULL) {
        die(EX_INPUT, "%s: has sizes that only plan cluster reads", path);
    } else if (config_read(&s->c, &s->block, j, &e) < 0) {
        die_err(&e);
    }
    json_decref(j);
    s->head_bytes = s->c.V * s->c.d * number;
}

/* Open a .gguf, a config.json, a directory with at least config.json, or a
 * model that is built in. */
static void
open_layout(struct layout *s, const char *path, const struct process *o)
{
    char *config =
        io_is_dir(path) ? xasprintf("%s/config.json", path) : xstrdup(path);
    char *weights = xasprintf("%s/model.safetensors", path);
    const char *text = shipped_model(path);
    const size_t n = strlen(path);
    /* bytes of a number in student's copy of a head that is stored in fp32 */
    const size_t number = o->compute != 0 ? sizeof(uint16_t) : sizeof(float);
    struct err e;

    if (shipped_or_file(path, 0, &e) < 0)
        die_err(&e);
    if (text != NULL && (path == o->in.model || strcmp(path, o->in.model) != 0))
        note("%s: by its built-in sizes (%s)", path,
            shipped_about("models", path));
    memset(s, 0, sizeof(*s));
    if ((n > 5 && strcmp(path + n - 5, ".gguf") == 0) || io_exists(weights))
        layout_from_model(s, path, o, number);
    else
        layout_from_config(s, config, text, number);
    s->params = config_params(&s->c, s->block);
    s->fetched = text == NULL ? 0.0 : shipped_bytes(path, (double)s->params);
    free(config);
    free(weights);
}

/* Cut off the last blocks of the student until at least in->ratio of its
 * parameters is gone. */
static void
drop_last_blocks(struct layout *s, const struct request *in)
{
    const double all = (double)s->params;
    const double kept = (1.0 - in->ratio) * all;

    while (s->c.L > 1 && (double)s->params > kept) {
        s->c.L--;
        s->params = config_params(&s->c, s->block);
    }
    if ((double)s->params > kept)
        request_ratio_failed(in, (double)s->params / all);
}

/* Bytes of a token's k top tokens in a message. */
static size_t
top_bytes(size_t k)
{
    return 6 * k + 8;
}

/* Does the teacher send the states of its blocks? */
static int
sends_blocks(const struct process *o)
{
    return o->in.teacher != NULL && o->in.top == 0 && !o->final;
}

/* Bytes of a batch: ids, the teacher's final states or top tokens, and the
 * states of its blocks in bf16.  The header and the list of documents in the
 * rows, whose number depends on the text, count as 4 KB. */
static size_t
message_bytes(const struct layout *m, const struct layout *t,
    const struct process *o)
{
    const size_t tok = o->in.rows * o->in.T;
    size_t n = tok * (m->c.V <= 65536 ? 2 : 4) + 4096;

    if (t != NULL)
        n += tok * (o->in.top > 0 ? top_bytes(o->in.top) : 2 * t->c.d);
    if (sends_blocks(o))
        n += tok * 2 * t->c.d * t->c.L;
    return n;
}

size_t
process_ranks(const struct process *o)
{
    return dist_world()->n * (size_t)o->network.nodes;
}

/* ---- the student ---- */

static void
add_plan(struct figures *f, const struct plan *p, const struct layout *m,
    size_t T)
{
    const size_t d = m->c.d;
    const size_t biases = family_has_outer(&m->c, OUTER_HEAD_BIAS) ? m->c.V : 0;
    const size_t head = (m->c.tied ? 0 : m->c.V * d) + biases;
    const size_t learned =
        family_has_outer(&m->c, OUTER_POSITIONS) ? m->c.max_pos * d : 0;
    const size_t embed = m->c.V * d + learned;
    const size_t norm = family_has_outer(&m->c, OUTER_NORM_BIAS) ? 2 * d : d;

    figure_add(f, "parameters", (double)p->params);
    figure_add(f, "parameters.embedding", (double)embed);
    figure_add(f, "parameters.blocks",
        (double)(m->params - embed - head - norm));
    figure_add(f, "parameters.norm", (double)norm);
    figure_add(f, "parameters.head", (double)head);
    figure_add(f, "memory", (double)p->total);
    figure_add(f, "memory.program", (double)p->program);
    figure_add(f, "memory.weights", (double)p->weights);
    figure_add(f, "memory.gradients", (double)p->gradients);
    figure_add(f, "memory.moments", (double)p->moments);
    figure_add(f, "memory.buffers", (double)p->buffers);
    figure_add(f, "memory.work", (double)p->work);
    figure_add(f, "memory.teacher-head", (double)p->teacher_head);
    figure_add(f, "memory.input", (double)p->input);
    figure_add(f, "token.forward", plan_flop_forward(&m->c, m->block, T));
    figure_add(f, "token.train", p->flop);
}

static void
add_student(struct figures *f, const struct layout *m, const struct layout *t,
    const struct process *o, struct pool *pool)
{
    const struct loss_opt loss = {
        .w_ce = t != NULL ? 0.25 : 1.0,
        .w_kl = t != NULL,
        .w_sh = sends_blocks(o),
        .tau = 3.0,
    };
    struct tmodel tm;
    struct step *s;
    struct plan p;
    struct err e;

    tmodel_layout(&tm, &m->c, m->block, o->grad == 1 ? DT_BF16 : DT_F32);
    if (effective_begin(&tm, &o->effective, &e) < 0)
        die(e.code, "--mask: %s: %s", o->in.model, e.msg);
    s = step_new(&tm, pool, &loss, o->in.micro, o->in.T,
        (o->in.recompute ? BWD_RECOMPUTE : 0) | (o->act == 1 ? BWD_BF16 : 0),
        &(struct targets){
            .kind = t == NULL   ? TARGETS_NONE
                : o->in.top > 0 ? TARGETS_TOP
                                : TARGETS_FINAL,
            .width = t == NULL  ? 0
                : o->in.top > 0 ? o->in.top
                                : t->c.d,
            .nblock = sends_blocks(o) ? m->c.L : 0,
            .depth = sends_blocks(o) ? t->c.d : 0,
        },
        NULL);
    plan_make(&p, &tm, s,
        &(struct plan_load){
            .T = o->in.T,
            .tokens = o->in.rows * o->in.T,
            .head = t != NULL && o->in.top == 0 ? t->head_bytes : 0,
            .input = 2 * process_ranks(o) * message_bytes(m, t, o),
            .program = plan_program(program_bytes(), pool_size(pool)),
            .moments = o->moments == 1 ? DT_BF16 : DT_F32,
            .ranks = dist_bytes(process_ranks(o)),
            .buffers = (size_t)job_outer(&o->network) * m->params,
        });
    step_free(s);
    tmodel_release(&tm);
    if (p.params != m->params)
        die(EX_SYS, "%s: its parts add up to %zu parameters, not %zu",
            o->in.model, p.params, m->params);
    add_plan(f, &p, m, o->in.T);
}

/* ---- its teacher ---- */

static void
add_teacher_process(struct figures *f, const struct layout *t,
    const struct process *o, struct pool *pool)
{
    const size_t tokens = o->in.rows * o->in.T;
    struct tmodel tm;
    struct head_top *top;
    struct fwd *w;
    size_t work, states;

    tmodel_layout(&tm, &t->c, t->block, DT_F32);
    w = fwd_new_blocks(&tm.m, pool, plan_teacher_micro(0, o->in.rows, o->in.T),
        o->in.T);
    if (plan_holds(&tm.m))
        fwd_hold(w);
    work = fwd_bytes(w);
    if (o->in.top > 0) {
        top = head_top_new(&tm.m, pool, o->in.top, 0);
        work += head_top_bytes(top);
        head_top_free(top);
    }
    /* states of a whole batch, in fp32 and in the type that is sent */
    states = plan_states(&tm.m, tokens) * 3 / 2 +
        tokens * (o->in.top > 0 ? 10 * o->in.top + 16 : 0);
    figure_add(f, "teacher.parameters", (double)t->params);
    figure_add(f, "teacher.memory.weights",
        (double)(t->window > 0 ? t->window
                               : plan_window(&tm.m, tokens, o->in.top > 0)));
    figure_add(f, "teacher.memory.work", (double)work);
    figure_add(f, "teacher.memory.states", (double)states);
    figure_add(f, "teacher.token.forward",
        plan_flop_forward(&t->c, t->block, o->in.T));
    fwd_free(w);
    tmodel_release(&tm);
}

/* ---- the whole run (--tokens) ---- */

struct programs
process_programs(const struct figures *f)
{
    const double program = figure_of(f, "memory.program");
    const double states = figure_sum(f, "teacher.memory.");

    return (struct programs){ .student = figure_of(f, "memory"),
        .teacher = states > 0.0 ? states + program : 0.0,
        .stream = program + figure_of(f, "memory.input") };
}

static void
add_process_run(struct figures *f, const struct layout *m,
    const struct layout *t, const struct process *o)
{
    const double n = o->in.tokens, ids = m->c.V <= 65536 ? 2.0 : 4.0;
    const double step = figure_of(f, "time.step");
    const int same = t != NULL && strcasecmp(o->in.model, o->in.teacher) == 0;
    const double fetched = m->fetched + (t != NULL && !same ? t->fetched : 0.0);
    const struct programs all = process_programs(f);

    figure_add(f, "run.memory", all.student + all.teacher + all.stream);
    figure_add(f, "run.steps", ceil(n / (double)(o->in.rows * o->in.T)));
    if (isfinite(step))
        figure_add(f, "run.hours",
            ceil(n / (double)(o->in.rows * o->in.T)) * step / 3600.0);
    figure_add(f, "run.disk.ids", n * ids);
    if (fetched > 0.0)
        figure_add(f, "run.disk.fetched", fetched);
    if (t == NULL)
        return;
    figure_add(f, "run.disk.final", n * (ids + (double)(2 * t->c.d)));
    figure_add(f, "run.disk.top",
        n * (ids + (double)top_bytes(o->in.top > 0 ? o->in.top : PROCESS_TOP)));
    figure_add(f, "run.disk.hidden",
        n * (ids + (double)(2 * t->c.d * (1 + m->c.L))));
}

/* ---- the prediction ---- */

void
process_predict(struct figures *f, const struct process *all)
{
    const size_t ranks = process_ranks(all);
    struct process one = *all, *o = &one;
    struct layout m, t = { 0 };
    const struct layout *teacher = o->in.teacher != NULL ? &t : NULL;
    struct pool *pool;

    setup_kernels(o->compute);
    one.in.rows = (all->in.rows + ranks - 1) / ranks;
    one.in.micro = plan_micro(all->in.micro, all->in.rows, all->in.T);
    open_layout(&m, o->in.model, o);
    if (o->in.ratio > 0.0) {
        const size_t whole = m.params;

        drop_last_blocks(&m, &o->in);
        note("--ratio %g: %.4g of %.4g million parameters stay", o->in.ratio,
            1e-6 * (double)m.params, 1e-6 * (double)whole);
    }
    if (teacher != NULL)
        open_layout(&t, o->in.teacher, o);
    if (teacher != NULL && t.c.V != m.c.V && o->in.top == 0)
        note("vocabularies of %zu and %zu ids: if the tokenizers differ, the "
             "run needs teacher --student-tokenizer --top",
            m.c.V, t.c.V);
    if (o->in.top > m.c.V)
        die(EX_USAGE, "--top %zu is more than the vocabulary: give %zu or less",
            o->in.top, m.c.V);
    pool = setup_rank_pool(o->threads);
    arena_overcommit();
    add_student(f, &m, teacher, o, pool);
    network_add(f, &o->network, (double)m.params);
    if (teacher != NULL)
        add_teacher_process(f, teacher, o, pool);
    if (o->measure)
        measure_step(f, &m, teacher, o, pool);
    if (o->in.tokens > 0)
        add_process_run(f, &m, teacher, all);
    pool_free(pool);
    free(m.block);
    free(t.block);
}
