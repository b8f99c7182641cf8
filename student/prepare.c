/* Preparing a run: see prepare.h. */
#include "prepare.h"
#include "alike.h"
#include "rank.h"
#include "student.h"
#include "record.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "model/tokfile.h"
#include "tok/tok.h"
#include "model/random.h"
#include "model/sparse.h"
#include "train/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Before parameters, gradients and moments are allocated, die if they do not
 * fit into memory.  Other memory is checked later, when its size is known. */
static void
check_model_memory(const struct student *s, size_t params)
{
    const struct args *a = s->a;
    const size_t n = s->ranks.n, level = a->stages > 0 ? 3 : a->level;
    const size_t bytes = 4 * params / (level > 2 ? n : 1) +
        (a->grad == 1 ? 2 : 4) * params / (level > 1 ? n : 1) +
        2 * (a->moments == 1 ? 2 : 4) * params / (level > 0 ? n : 1);
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

/* Assign pipeline stages of m to this rank. */
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
    int r;

    if (share.n > 1) {
        r = tmodel_init_share(&s->t, m, &share, &e);
    } else if (s->a->stages > 0 && s->ranks.n > 1) {
        const struct pipeline staged = rank_stages(s, m);

        r = tmodel_init_stages(&s->t, m, &staged, &e);
    } else {
        r = tmodel_init_as(&s->t, m, s->a->grad == 1 ? DT_BF16 : DT_F32, &e);
    }
    if (r < 0)
        die_err(&e);
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

/* Load parameters and optimiser state from --model or the newest checkpoint. */
static void
load_state(struct student *s)
{
    struct err e;
    char *dir = NULL;
    size_t here, mine;

    if (s->a->resume)
        dir = rank_newest(s);
    if (dir == NULL && starts_random(s->a->model))
        make_parameters(s);
    else
        read_parameters(s, dir);
    mem_trim();
    here = prog_resident();
    mine = arena_resident(&s->t.arena);
    s->program =
        plan_program(here > mine ? here - mine : 0, pool_size(s->pool));
    s->opt = adamw_new_parts(&s->t, s->a->moments == 1 ? DT_BF16 : DT_F32,
        s->a->level > 0 || stages_any(&s->t.stages) ? &s->ranks : NULL,
        s->a->deterministic);
    if (s->t.share.n > 1 && s->t.share.params)
        s->parts = param_shards_new(&s->t, s->opt, &s->ranks);
    if (stages_any(&s->t.stages))
        s->pipe = pipe_new(&s->ranks, &s->t);
    s->saver.fetch = s->pipe != NULL ? pipe_fetch(s->pipe) : s->t.m.fetch;
    if (s->parts != NULL && s->a->node_copy)
        param_shards_keep(s->parts, dist_node());
    effective_choose(&s->t, s->pool);
    if (dir != NULL) {
        if (load_checkpoint(dir, &s->t, s->opt, &s->st, &e) < 0)
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

/* Weight of a loss term: the number in text; for auto: `value` if the stream
 * has what the term needs (`present`), else 0. */
static double
loss_weight(const char *what, const char *text, int present, double value)
{
    double w;

    if (strcmp(text, "auto") == 0)
        return present ? value : 0.0;
    if (number_real(text, 0, 1e6, &w) < 0)
        die(EX_USAGE, "--%s: '%s' is neither a number of at least 0 nor auto",
            what, text);
    if (w > 0.0 && !present)
        die(EX_INPUT, "--%s %s: the stream holds no %s", what, text,
            strcmp(what, "kl") == 0 ? "final states or tokens of a teacher"
                                    : "hidden states of the student's blocks");
    return w;
}

/* Print a note of the loss; how: more words about KL. */
static void
note_loss(const struct loss_opt *l, const char *how)
{
    static const char *const name[] = { "KL", "reverse KL", "JS" };
    char ce[40] = "", kl[160] = "", sh[40] = "", beta[40] = "";

    if (l->w_ce > 0.0)
        snprintf(ce, sizeof(ce), " + %g CE", l->w_ce);
    if (l->direction == KL_JS)
        snprintf(beta, sizeof(beta), ", beta = %g", l->beta);
    if (l->w_kl > 0.0)
        snprintf(kl, sizeof(kl), " + %g %s (T = %g%s%s)", l->w_kl,
            name[l->direction], l->tau, beta, how);
    if (l->w_sh > 0.0)
        snprintf(sh, sizeof(sh), " + %g SquareHead", l->w_sh);
    if (*ce || *kl || *sh) {
        char sum[sizeof(ce) + sizeof(kl) + sizeof(sh)];

        snprintf(sum, sizeof(sum), "%s%s%s", ce, kl, sh);
        note("loss = %s", sum + strlen(" + "));
    }
}

/* Print notes on which ids and blocks of teacher and student are compared. */
static void
note_match(const struct feed *f)
{
    struct buf list = { 0 };
    char wide[80] = "";

    if (f->targets.vocab > 0)
        note("KL is over the tokenizer's %zu ids: the teacher's vocabulary is "
             "%zu, the student's %zu",
            f->targets.vocab,
            f->targets.kind == TARGETS_FINAL ? f->head.rows : f->vocab, f->V);
    if (f->targets.nblock == 0)
        return;
    for (size_t i = 0, n; i < f->L; i += n) {
        for (n = 1; i + n < f->L && f->map[i + n] == f->map[i] + n; n++)
            ;
        buf_addf(&list, "%s%zu", i > 0 ? "," : "", f->map[i]);
        if (n > 1)
            buf_addf(&list, "-%zu", f->map[i] + n - 1);
    }
    if (f->targets.depth != f->d)
        snprintf(wide, sizeof(wide), "; their %zu numbers averaged to %zu",
            f->targets.depth, f->d);
    note("SquareHead: the teacher's blocks %s of %zu, %s%s", list.p, f->tL,
        f->map_how, wide);
    buf_release(&list);
}

/* Set the weights of losses when there is no batch that shows what the stream
 * has; auto becomes NAN (not known). */
static void
choose_unseen(struct student *s)
{
    s->loss.w_ce = loss_weight("ce", s->a->ce, 1, NAN);
    s->loss.w_kl = loss_weight("kl", s->a->kl, 1, NAN);
    s->loss.w_sh = loss_weight("squarehead", s->a->sh, 1, NAN);
}

static void
choose_losses(struct student *s)
{
    const enum targets_kind kind = feed_kind(&s->feed);
    const int sh = feed_has_hidden(&s->feed);
    char how[60] = "";

    s->loss.tau = s->a->tau;
    s->loss.direction = s->settings.direction;
    s->loss.beta = s->settings.beta;
    if (!s->feed.ahead) {
        choose_unseen(s);
        return;
    }
    s->loss.w_kl = loss_weight("kl", s->a->kl, kind != TARGETS_NONE, 1.0);
    s->loss.w_sh = loss_weight("squarehead", s->a->sh, sh, 1.0);
    s->loss.w_ce = loss_weight("ce", s->a->ce, 1,
        s->loss.w_kl > 0.0 || s->loss.w_sh > 0.0 ? 0.25 : 1.0);
    if (s->loss.direction != KL_FORWARD && kind != TARGETS_FINAL)
        die(EX_INPUT,
            "--kl-direction %s is exact from final states and the teacher's "
            "head alone, and the stream holds %s",
            s->loss.direction == KL_JS ? "js" : "reverse",
            kind == TARGETS_TOP         ? "its top tokens"
                : kind == TARGETS_DRAWS ? "tokens drawn from it"
                                        : "neither");
    feed_use(&s->feed, s->loss.w_kl > 0.0 ? kind : TARGETS_NONE,
        s->loss.w_sh > 0.0, s->a->tau);
    if (s->feed.targets.kind == TARGETS_DRAWS)
        snprintf(how, sizeof(how), ", %zu draws", s->feed.targets.width);
    if (s->feed.targets.kind == TARGETS_TOP)
        snprintf(how, sizeof(how), ", top %zu and their rest",
            s->feed.targets.width);
    note_loss(&s->loss, how);
    note_match(&s->feed);
}

/* Set the number of steps of the schedule (--steps, or the number of batches
 * that the stream announces) and of its warm-up. */
static void
choose_schedule(struct student *s)
{
    const char *n = st_meta(msg_in_head(s->feed.in), "batches");
    size_t batches;

    s->total = s->a->steps;
    if (s->total == 0 && n != NULL && number_size(n, 1, 1e18, &batches) == 0)
        s->total = (batches + s->a->accum - 1) / s->a->accum;
    if (s->total == 0 && s->settings.schedule != SCHED_CONST)
        die(EX_USAGE,
            "the stream does not say how long it is: give --steps or "
            "--schedule constant");
    s->warmup = s->a->warmup;
    if (s->warmup == OPT_NONE)
        s->warmup = s->settings.schedule == SCHED_CONST ? 0
            : s->total < 2000                           ? s->total / 20
                                                        : 100;
}

/* Hash the model.  One rank of a node does it, and sends the hash to the
 * others, whose --model is the same file. */
static void
hash_model(struct student *s)
{
    const struct dist_group *node = dist_node();
    struct err e;

    if (node->rank == 0 && ckpt_hash_model(s->a->model, s->model_hash, &e) < 0)
        die_err(&e);
    dist_broadcast(node, s->model_hash, sizeof(s->model_hash), 0);
}

/* Has the stream ended, or --steps or --patience been reached? */
static int
run_is_over(const struct student *s)
{
    return !s->feed.ahead || held_out_over(s) ||
        (s->a->steps > 0 && s->st.step >= s->a->steps);
}

/* Write or compare RUN/options.json; sets s->finished. */
static void
keep_record(struct student *s, size_t length)
{
    const struct feed *f = &s->feed;
    const char *n = st_meta(msg_in_head(f->in), "batches");
    size_t batches;
    struct record r = {
        .run = s->a->run,
        .options = s->options,
        .defaults = s->defaults,
        .override = s->a->override,
        .step = s->st.step,
        .over = run_is_over(s),
        .ce = s->loss.w_ce,
        .kl = s->loss.w_kl,
        .squarehead = s->loss.w_sh,
        .steps = s->settings.schedule == SCHED_CONST ? 0 : s->total,
        .rows = s->rows_of_all,
        .length = length,
        .last = f->ahead && n != NULL &&
            number_size(n, 1, 1e18, &batches) == 0 && f->first.seq >= batches,
    };

    if (s->ranks.rank == 0) {
        memcpy(r.model, s->model_hash, sizeof(r.model));
        record_stream(&f->info, r.stream);
        memcpy(r.teacher, f->head_hash, sizeof(r.teacher));
        memcpy(r.eval, s->held.hash, sizeof(r.eval));
        s->finished = record_keep(&r);
    }
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
    r = tok_matches(from, s->feed.info.tokenizer, &e);
    if (r == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            s->feed.name, from);
    if (r < 0 && s->a->tokenizer != NULL)
        die_err(&e);
    if (r < 0)
        note("%s: no tokenizer in it, so none goes with the result", from);
    else if (tokenizer_export(from, s->a->run, &e) < 0)
        die_err(&e);
    else
        s->saver.tokenizer = 1;
}

/* Make s->step for messages of rows[0] rows of rows[1] tokens, and print a note
 * of its plan. */
static void
make_step(struct student *s, const size_t *rows)
{
    struct plan_load l = {
        .T = rows[1],
        .tokens = s->a->accum * s->rows * rows[1],
        .head = s->feed.head.rows * s->feed.head.stride,
        .input = msg_in_memory(s->feed.in, s->feed.first.nraw),
        .program = s->program,
        .moments = adamw_dtype(s->opt),
        .parts = s->a->level > 0 ? s->ranks.n : 1,
    };
    const struct ranks_opt o = {
        .group = &s->ranks,
        .deterministic = s->a->deterministic,
        .wire = s->a->wire == 1 ? DIST_BF16 : DIST_RING,
        .rows = s->rows,
        .messages = s->a->accum,
    };
    struct plan p;
    struct err e;

    s->step = step_new(&s->t, s->pool, &s->loss,
        plan_micro(s->a->micro, s->most_rows, rows[1]),
        s->held.T > rows[1] ? s->held.T : rows[1],
        (s->a->recompute ? BWD_RECOMPUTE : 0) | (s->a->act == 1 ? BWD_BF16 : 0),
        &s->feed.targets, &s->feed.head);
    if (s->pipe != NULL)
        step_pipe(s->step, s->pipe);
    s->sum = ranks_new(&o, s->step, &s->t, s->opt, s->pool);
    l.ranks = ranks_bytes(s->sum);
    l.buffers = param_shards_bytes(s->parts) + pipe_bytes(s->pipe);
    held_out_plan(s, &l);
    plan_make(&p, &s->t, s->step, &l);
    mem_trim();
    plan_note(&p);
    if (plan_fits(p.total, "fewer rows (--micro), --recompute, or a shorter T",
            &e) < 0)
        die_err(&e);
}

/* Divide the rows of the first batch among ranks.  Returns the whole batch's
 * number of rows and tokens of a row, [2]; NULL: there is no batch. */
static const size_t *
share_first(struct student *s)
{
    const size_t *shape;

    if (!s->feed.ahead && s->st.step == 0)
        die(EX_INPUT, "%s: no batches", s->feed.name);
    if (!s->feed.ahead)
        return NULL;
    shape = feed_shape(&s->feed);
    if (s->ranks.rank == 0)
        config_tell_positions(&s->t.m.c, shape[1], s->a->model);
    rank_rows(s, shape[0]);
    return shape;
}

void
prepare(struct student *s, const char *input)
{
    const size_t *first;
    struct err e;

    if ((s->pool = pool_new(dist_threads(s->a->threads), &e)) == NULL)
        die_err(&e);
    saver_open(&s->saver, s->a->run, s->a->resume != NULL);
    s->saver.keep = s->a->keep;
    load_state(s);
    /* check now, not at the first checkpoint after hours */
    if (s->a->tokenizer != NULL &&
        tok_check(s->a->tokenizer, s->t.m.c.V, &e) < 0)
        die_err(&e);
    feed_open(&s->feed, input, s->a->teacher, s->a->ahead, s->a->compute != 0,
        &s->t.m);
    if (s->a->resume != NULL && s->st.step > 0)
        feed_check_successor(&s->feed, &s->at);
    /* a new model takes the stream's EOS */
    if (s->t.m.c.neos == 0 && s->feed.info.eos >= 0)
        s->t.m.c.eos[s->t.m.c.neos++] = s->feed.info.eos;
    if (s->t.m.c.bos < 0)
        s->t.m.c.bos = s->feed.info.bos;
    choose_losses(s);
    choose_schedule(s);
    held_out_open(s);
    hash_model(s);
    alike_inputs(s);
    first = share_first(s);
    keep_record(s, first != NULL ? first[1] : 0);
    if (s->finished)
        return;
    put_tokenizer(s);
    metrics_open(&s->saver, s->st.step);
    held_out_begin(s);
    if (first != NULL)
        make_step(s, first);
    saver_started(&s->saver);
}
