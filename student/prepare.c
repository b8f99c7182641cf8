/* Preparing a run: see prepare.h. */
#include "prepare.h"
#include "load.h"
#include "rank.h"
#include "student.h"
#include "record.h"
#include "spikes.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "model/files/tokfile.h"
#include "tok/tok.h"
#include "model/config/experts_config.h"
#include "model/files/random.h"
#include "model/files/sparse.h"
#include "train/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --outer, as lib/train takes it. */
static struct outer_opt
outer_options(const struct student *s)
{
    return (struct outer_opt){ s->settings.outer_rate,
        s->settings.outer_momentum, s->a->wire == 1 ? DIST_BF16 : DIST_RING };
}

/* Before parameters, gradients and moments are allocated, die if they do not
 * fit into memory.  Other memory is checked later, when its size is known. */
static void
check_model_memory(const struct student *s, size_t params)
{
    const struct args *a = s->a;
    const size_t n = s->ranks.n, level = a->stages > 0 ? 3 : a->level;
    const struct outer_opt outer = outer_options(s);
    const size_t bytes = 4 * params / (level > 2 ? n : 1) +
        (a->sync > 0 ? outer_each(&outer) : 0) * params +
        (a->grad == 1 ? 2 : 4) * params / (level > 1 ? n : 1) +
        (2 * (a->moments == 1 ? 2 : 4) + (a->ema > 0.0 ? 4 : 0)) * params /
            (level > 0 ? n : 1);
    struct err e;

    if (plan_fits(bytes, "--moments bf16, --grad bf16 or a smaller one", &e) <
        0)
        die(e.code, "%s: %s", a->model, e.msg);
}

int
starts_random(const char *model)
{
    const size_t n = strlen(model), k = strlen(".json");

    return n >= k && strcmp(model + n - k, ".json") == 0;
}

/* Assign pipeline stages of m to this rank.  Dies if m has too few blocks. */
static struct pipeline
rank_stages(const struct student *s, const struct model *m)
{
    const struct pipeline g = { s->ranks.rank, s->ranks.n, s->a->stages };

    if (g.n * g.per > m->c.L)
        die(EX_USAGE,
            "--stages %zu: %zu ranks would have %zu stages, but %s has %zu "
            "blocks: take fewer stages or ranks",
            g.per, g.n, g.n * g.per, s->a->model, m->c.L);
    for (size_t i = 0; i < m->c.L; i++)
        if (m->block[i].sparse != 0)
            die(EX_USAGE,
                "--stages does not train sparse matrices, which %s has: take "
                "--shard-level instead",
                s->a->model);
    return g;
}

/* Warn of matrices with many zeros that training will not keep. */
static void
warn_zeros(const struct student *s, const struct model *m)
{
    const size_t n =
        s->ranks.rank == 0 && s->a->mask == NULL ? sparse_unnamed(m) : 0;

    if (n > 0)
        warn("%s: a quarter or more of the weights is zero in %zu matrices "
             "that its config.json does not name as sparse: training fills "
             "them; --mask 2:4 keeps such a pattern",
            s->a->model, n);
}

/* Copy the parameters of m that this rank has into s->t. */
static void
copy_parameters(struct student *s, const struct model *m)
{
    const struct share share = { s->ranks.rank,
        s->a->level > 1 ? s->ranks.n : 1, s->a->level > 2 };
    struct err e;

    if (config_is_mixture(&m->c) &&
        (s->effective.as != ROUND_NOT || s->effective.of > 0))
        die(EX_USAGE,
            "%s: is a mixture of experts, which --qat and --mask cannot train: "
            "leave them out",
            s->a->model);
    if (share.n > 1) {
        tmodel_init_share(&s->t, m, &share);
    } else if (s->a->stages > 0 && s->ranks.n > 1) {
        const struct pipeline staged = rank_stages(s, m);

        tmodel_init_stages(&s->t, m, &staged);
    } else {
        tmodel_init_as(&s->t, m, s->a->grad == 1 ? DT_BF16 : DT_F32);
    }
    if (effective_begin(&s->t, &s->effective, &e) < 0)
        die(e.code, "--mask: %s: %s", s->a->model, e.msg);
}

/* Initialise parameters at random for the configuration --model. */
static void
make_parameters(struct student *s)
{
    struct arena arena = { 0 };
    struct block_shape *shape;
    struct config c;
    struct model m;
    struct err e;

    if (config_load(&c, &shape, s->a->model, &e) < 0)
        die_err(&e);
    check_model_memory(s, config_params(&c, shape));
    model_random(&m, &c, shape, s->a->seed, &arena);
    free(shape);
    copy_parameters(s, &m);
    model_random_free(&m);
    arena_release(&arena);
}

/* Read the parameters of --model, or those of a checkpoint. */
static void
read_parameters(struct student *s, const char *checkpoint)
{
    struct model m;
    struct err e;

    if (model_open(&m, checkpoint != NULL ? checkpoint : s->a->model, &e) < 0)
        die_err(&e);
    check_model_memory(s, model_params(&m));
    if (model_check_finite(&m, &e) < 0)
        die_err(&e);
    if (checkpoint == NULL)
        warn_zeros(s, &m);
    copy_parameters(s, &m);
    model_close(&m);
}

/* Open --model and an adapter: the checkpoint's, --adapter, or a new one. */
static void
open_adapter(struct student *s, const char *checkpoint)
{
    const struct args *a = s->a;
    const char *from = checkpoint != NULL ? checkpoint : a->adapter;
    const struct adapter_opt o = { a->lora, a->lora_alpha, a->lora_dropout,
        a->lora_rs, a->lora_dora, a->lora_targets, a->seed };
    struct err e;
    int r;

    setup_model(&s->base, a->model, NULL);
    r = from != NULL ? adapter_open(&s->adapter, from, &s->base, s->pool, &e)
                     : adapter_new(&s->adapter, &o, &s->base, s->pool, &e);
    if (r < 0 || adapter_trains(&s->base, s->adapter.dropout, &e) < 0)
        die_err(&e);
    if (adapter_params(&s->adapter) == 0 || s->adapter.whole)
        die(EX_INPUT,
            "%s: only the matrices of blocks can be trained: its tensors of "
            "embedding or head cannot",
            from);
    if (s->adapter.dora && s->adapter.dropout > 0.0)
        die(EX_INPUT,
            "%s: a DoRA with lora_dropout cannot be trained: set it "
            "to 0 in adapter_config.json",
            from);
    check_model_memory(s, adapter_params(&s->adapter));
    tmodel_init_adapter(&s->t, &s->base, &s->adapter);
}

/* Die if options ask for other tensors than the run's checkpoints hold. */
static void
check_record(const struct student *s)
{
    const struct record r = { .run = s->a->run,
        .options = s->command->options,
        .defaults = s->defaults,
        .override = s->a->override,
        .depends = &s->depends };

    record_check(&r);
}

/* Bytes of code and heap that are first touched in a step, so that
 * prog_resident does not count them before: 0.9 to 2.2 MB in
 * tests/student/memory.sh. */
enum { FIRST_STEP = 1600000 };

/* Load parameters and optimiser state from --model or the newest checkpoint. */
static void
load_state(struct student *s)
{
    struct err e;
    char *dir = NULL;
    size_t here, mine;

    if (s->a->resume)
        dir = rank_newest(s);
    if (dir != NULL && s->ranks.rank == 0)
        check_record(s);
    if (s->a->lora > 0 || s->a->adapter != NULL)
        open_adapter(s, dir);
    else if (dir == NULL && starts_random(s->a->model))
        make_parameters(s);
    else
        read_parameters(s, dir);
    mem_trim();
    here = prog_resident();
    mine = arena_resident(&s->t.arena);
    s->program = plan_program((here > mine ? here - mine : 0) + FIRST_STEP,
        pool_size(s->pool));
    s->opt = adamw_new_parts(&s->t, s->a->moments == 1 ? DT_BF16 : DT_F32,
        s->a->level > 0 || stages_any(&s->t.stages) ? &s->ranks : NULL,
        s->a->deterministic);
    if (s->a->rates.n > 0) {
        adamw_rates(s->opt, &s->t, settings_rate, &s->settings.rates);
        if (s->t.adapter == NULL)
            tmodel_freeze(&s->t, settings_rate, &s->settings.rates);
    }
    if (s->a->stages == 0) /* else other ranks have other tensors */
        settings_rates_used(&s->settings.rates);
    if (s->a->ema > 0.0)
        adamw_average(s->opt, &s->t);
    if (s->t.share.n > 1 && s->t.share.params)
        s->parts = param_shards_new(&s->t, s->opt, &s->ranks);
    if (stages_any(&s->t.stages))
        s->pipe = pipe_new(&s->ranks, &s->t);
    s->saver.fetch = s->pipe != NULL ? pipe_fetch(s->pipe) : s->t.m.fetch;
    if (s->parts != NULL && s->a->node_copy)
        param_shards_keep(s->parts, dist_node());
    effective_choose(&s->t, s->pool);
    if (s->a->sync > 0) {
        const struct outer_opt outer = outer_options(s);

        s->saver.outer = s->outer = outer_new(&outer, &s->t, &s->ranks);
        outer_start(s->outer, &s->t);
    }
    if (dir != NULL) {
        if (load_checkpoint(dir, &s->t, s->opt, s->outer, &s->st, &e) < 0)
            die_err(&e);
        note("%s: resumed after step %" PRIu64, dir, s->st.step);
    } else if (s->a->resume) {
        note("%s: no checkpoint yet, starting from the beginning", s->a->run);
    }
    effective_make(&s->t, s->pool);
    s->saved = s->st.step;
    s->before = s->st.tokens;
    free(dir);
}

/* Set the number of steps of the schedule (--steps, or as many as the input has
 * batches for) and of its warm-up. */
static void
choose_schedule(struct student *s)
{
    s->total = s->a->steps;
    if (s->total == 0 && s->in.batches > 0)
        s->total = (s->in.batches + s->in.accum - 1) / s->in.accum;
    if (s->total == 0 && sched_ends(s->settings.schedule))
        die(EX_USAGE,
            "the stream does not say how long it is: give --steps or "
            "--schedule constant");
    s->warmup = s->a->warmup;
    if (s->warmup == OPT_NONE)
        s->warmup = s->settings.schedule == SCHED_CONST ? 0
            : s->total < 2000                           ? s->total / 20
                                                        : 100;
}

/* Has the input ended, or --steps or --patience been reached? */
static int
run_is_over(const struct student *s)
{
    return s->in.rows == 0 || held_out_over(s) ||
        (s->a->steps > 0 && s->st.step >= s->a->steps);
}

/* Compare this run with RUN/options.json, write the file, and set s->finished:
 * see record_keep. */
static void
keep_record(struct student *s)
{
    struct record r = {
        .run = s->a->run,
        .command = s->command->name,
        .options = s->command->options,
        .defaults = s->defaults,
        .override = s->a->override,
        .depends = &s->depends,
        .step = s->st.step,
        .over = run_is_over(s),
        .ce = s->loss.w_ce,
        .kl = s->loss.w_kl,
        .squarehead = s->loss.w_sh,
        .steps = sched_ends(s->settings.schedule) ? s->total : 0,
        .rows = s->rows_of_all,
        .length = s->in.T,
        .last = s->in.last,
    };

    if (s->ranks.rank == 0)
        s->finished = record_keep(&r);
    dist_broadcast(&s->ranks, &s->finished, sizeof(s->finished), 0);
}

/* Copy the tokenizer's files into RUN.  This is done before training, because
 * making them from a GGUF takes a few hundred bytes of memory for each id.
 * Refuses a stream with another tokenizer than the model's. */
static void
put_tokenizer(struct student *s)
{
    const char *from = s->a->tokenizer != NULL ? s->a->tokenizer
        : starts_random(s->a->model)           ? NULL
                                               : s->a->model;
    struct err e;
    int r;

    if (from == NULL || s->ranks.rank > 0)
        return;
    r = tok_matches(from, s->in.tokenizer, &e);
    if (r == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            s->in.name, from);
    if (r < 0 && s->a->tokenizer != NULL)
        die_err(&e);
    if (r < 0)
        note("%s: no tokenizer in it, so none goes with the result", from);
    else if (tokenizer_export(from, s->a->run, &e) < 0)
        die_err(&e);
    else
        s->saver.tokenizer = 1;
}

/* Make s->step, and print a note of its plan. */
static void
make_step(struct student *s)
{
    static const struct targets none;
    static const struct dist_group alone = { "alone", 0, 1, NULL };
    const struct weight *head = s->in.head;
    struct plan_load l = {
        .T = s->in.T,
        .tokens = s->in.accum * s->rows * s->in.T,
        .head = head != NULL ? head->rows * head->stride : 0,
        .input = s->in.memory,
        .program = s->program,
        .moments = adamw_dtype(s->opt),
        .average = s->a->ema > 0.0,
        .parts = s->a->level > 0 ? s->ranks.n : 1,
    };
    const struct ranks_opt o = {
        .group = s->outer != NULL ? &alone : &s->ranks,
        .deterministic = s->a->deterministic,
        .wire = s->a->wire == 1 ? DIST_BF16 : DIST_RING,
        .rows = s->rows,
        .messages = s->in.accum,
    };
    struct plan p;
    struct err e;

    s->step = step_new(&s->t, s->pool, &s->loss,
        plan_micro(s->a->micro, s->most_rows, s->in.T), s->in.longest,
        (s->a->recompute ? BWD_RECOMPUTE : 0) | (s->a->act == 1 ? BWD_BF16 : 0),
        s->in.targets != NULL ? s->in.targets : &none, head);
    if (s->pipe != NULL)
        step_pipe(s->step, s->pipe);
    s->sum = ranks_new(&o, s->step, &s->t, s->opt, s->pool);
    l.ranks = ranks_bytes(s->sum);
    l.buffers = param_shards_bytes(s->parts) + pipe_bytes(s->pipe) +
        outer_bytes(s->outer) + (s->outer != NULL ? dist_bytes(s->ranks.n) : 0);
    if (s->command->planned != NULL)
        s->command->planned(s, &l);
    plan_make(&p, &s->t, s->step, &l);
    mem_trim();
    plan_note(&p);
    if (plan_fits(p.total, "fewer rows (--micro), --recompute, or a shorter T",
            &e) < 0)
        die_err(&e);
}

/* Die on all ranks if their inputs differ. */
static void
compare_ranks(struct student *s)
{
    struct buf lines = { 0 };

    buf_addf(&lines, "steps of the checkpoint\t%" PRIu64 "\n", s->st.step);
    if (s->command->lines != NULL)
        s->command->lines(s, &lines);
    depends_alike(s, lines.p);
    buf_release(&lines);
}

/* Divide the rows of the next batch among ranks, if there is one. */
static void
share_first(struct student *s)
{
    struct err e;

    if (s->in.rows == 0 && s->st.step == 0)
        die(EX_INPUT, "%s: no batches", s->in.name);
    if (s->in.rows == 0)
        return;
    if (s->ranks.rank == 0 &&
        config_check_positions(&s->t.m.c, s->in.T, s->a->model, &e) < 0)
        die_err(&e);
    rank_rows(s);
}

void
prepare(struct student *s, const char *input)
{
    struct err e;

    s->pool = setup_rank_pool(s->a->setup.threads);
    saver_open(&s->saver, s->a->run, s->a->resume != NULL);
    s->saver.keep = s->a->keep;
    depends_on_model(s, "model", s->a->model);
    depends_on_model(s, "adapter", s->a->adapter);
    depends_alike(s, NULL);
    load_state(s);
    /* check now, not at the first checkpoint after hours */
    if (s->a->tokenizer != NULL &&
        tok_check(s->a->tokenizer, s->t.m.c.V, &e) < 0)
        die_err(&e);
    s->command->open(s, input);
    choose_schedule(s);
    compare_ranks(s);
    share_first(s);
    keep_record(s);
    if (s->finished)
        return;
    put_tokenizer(s);
    metrics_open(&s->saver, s->command->columns, s->st.step);
    spikes_begin(s);
    if (s->command->begin != NULL)
        s->command->begin(s);
    if (s->in.rows > 0)
        make_step(s);
    round_note(s);
    saver_started(&s->saver);
}
