/* student - train or distil a model on a stream of batches; see student(1) */
#include "student.h"
#include "record.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/profile.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "tok/tok.h"
#include "kern/kern.h"
#include "model/random.h"
#include "train/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtypes[] = { "f32", "bf16", NULL };
static const char *const schedules[] = { "cosine", "linear", "constant", NULL };

struct args {
    const char *model, *run, *tokenizer, *teacher, *ce, *kl, *sh, *override;
    size_t threads, seed, steps, accum, micro, warmup, save, keep, ahead;
    double lr, floor, tau, beta1, beta2, eps, decay, clip, lr_embed;
    int schedule, recompute, resume, decay_embed, act, grad, moments;
};

static struct args a = {
    .ce = "auto",
    .kl = "auto",
    .sh = "auto",
    .accum = 1,
    .keep = 2,
    .save = 200,
    .lr = 3e-4,
    .tau = 3.0,
    .beta1 = 0.9,
    .beta2 = 0.95,
    .eps = 1e-8,
    .decay = 0.0,
    .clip = 1.0,
    .lr_embed = 1.0,
};

static const struct opt options[] = {
    OPT_STR('m', "model", &a.model, "model",
        "student's weights; a config.json starts from random ones"),
    OPT_STR('o', "output", &a.run, "run", "folder of checkpoints and result"),
    OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
        "tokenizer files to export (default: the model's)"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_SIZE('s', "seed", &a.seed, 0, 1e18, "seed", "seed of random weights"),
    OPT_GROUP("loss (auto: 0.25, 1, 1 for what the stream holds; CE alone: 1)"),
    OPT_STR(0, "ce", &a.ce, "weight", "weight of cross entropy"),
    OPT_STR(0, "kl", &a.kl, "weight", "weight of KL(teacher || student)"),
    OPT_STR(0, "squarehead", &a.sh, "weight",
        "weight of SquareHead on hidden states"),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T", "temperature of KL"),
    OPT_STR(0, "teacher", &a.teacher, "model",
        "take the teacher's head from this model"),
    OPT_GROUP("optimiser"),
    OPT_REAL(0, "lr", &a.lr, 0, 10, "rate", "peak learning rate"),
    OPT_REAL(0, "lr-embed", &a.lr_embed, 0, 1000, "factor",
        "factor on it for embeddings and head"),
    OPT_ENUM(0, "schedule", &a.schedule, schedules, "name",
        "of the learning rate"),
    OPT_SIZE(0, "warmup", &a.warmup, 0, 1e9, "steps", "steps of warm-up"),
    OPT_REAL(0, "min-lr-ratio", &a.floor, 0, 1, "fraction",
        "of the peak rate where the schedule ends"),
    OPT_REAL(0, "beta1", &a.beta1, 0, 0.9999999, "x", "AdamW, first moment"),
    OPT_REAL(0, "beta2", &a.beta2, 0, 0.9999999, "x", "AdamW, second moment"),
    OPT_REAL(0, "eps", &a.eps, 0, 1, "x", "AdamW, epsilon"),
    OPT_REAL(0, "weight-decay", &a.decay, 0, 10, "x", "of matrices"),
    OPT_FLAG(0, "decay-embed", &a.decay_embed, "decay embeddings too"),
    OPT_REAL(0, "clip-grad", &a.clip, 0, 1e9, "norm",
        "clip the gradient to this norm (0: never)"),
    OPT_GROUP("run"),
    OPT_SIZE(0, "steps", &a.steps, 0, 1e12, "n",
        "stop after n steps (0: when the stream ends)"),
    OPT_SIZE(0, "grad-accum", &a.accum, 1, 1e6, "n", "messages a step"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_FLAG(0, "recompute", &a.recompute,
        "keep block inputs only; same bits, less memory"),
    OPT_SIZE(0, "ahead", &a.ahead, 0, 1e15, "bytes",
        "of the next message read beside a step (0: all)"),
    OPT_ENUM(0, "act", &a.act, dtypes, "type",
        "of activations kept for the backward pass"),
    OPT_ENUM(0, "grad", &a.grad, dtypes, "type", "of the blocks' gradients"),
    OPT_ENUM(0, "moments", &a.moments, dtypes, "type",
        "of the optimiser's moments"),
    OPT_SIZE(0, "save", &a.save, 0, 1e12, "n",
        "checkpoint every n steps (0: at the end)"),
    OPT_SIZE(0, "keep", &a.keep, 0, 1e6, "n", "checkpoints kept (0: all)"),
    OPT_FLAG(0, "resume", &a.resume, "continue from the newest checkpoint"),
    OPT_STR(0, "override", &a.override, "names",
        "what --resume may change, such as lr,schedule"),
    OPT_END
};

struct student {
    struct pool *pool;
    struct tmodel t;
    struct adamw *opt;
    struct step *step;
    struct feed feed;
    struct saver saver;
    struct loss_opt loss;
    struct progress_state st;
    struct position at; /* of the last step applied */
    uint64_t saved;     /* step of the last checkpoint */
    uint64_t before;    /* tokens of earlier runs */
    double last;        /* loss of the last step */
    size_t program;     /* memory in use beside the weights */
    size_t *map, total, micro;
};

static void
open_config(struct model *m, const char *path, struct arena *arena)
{
    struct config c;
    struct err e;

    if (config_load(&c, path, &e) < 0)
        die_err(&e);
    model_random(m, &c, a.seed, arena);
}

static int
ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* The parameters: random, of a model, or of the checkpoint `from`. */
static void
load_model(struct student *s, const char *from)
{
    struct arena random = { 0 };
    struct model m;
    struct err e;
    size_t *mlp;
    const int fresh = from == NULL && ends_with(a.model, ".json");

    if (fresh)
        open_config(&m, a.model, &random);
    else if (model_open(&m, from != NULL ? from : a.model, &e) < 0)
        die_err(&e);
    if (!fresh && model_check_finite(&m, &e) < 0)
        die_err(&e);
    if (tmodel_init_as(&s->t, &m, a.grad == 1 ? DT_BF16 : DT_F32, &e) < 0)
        die_err(&e);
    s->map = xcalloc(m.c.L, sizeof(*s->map));
    mlp = xcalloc(m.c.L, sizeof(*mlp));
    model_shape(&m, mlp, s->map);
    free(mlp);
    if (fresh) {
        model_random_free(&m);
        arena_release(&random);
    } else {
        model_close(&m);
    }
}

/* Start, or take up where the newest checkpoint ends. */
static void
load_state(struct student *s)
{
    struct err e;
    char *dir = NULL;
    size_t here, mine;

    if (a.resume && ckpt_newest(a.run, &dir, NULL, &s->at, &e) < 0)
        die_err(&e);
    load_model(s, dir);
    mem_trim();
    here = prog_resident();
    mine = arena_resident(&s->t.arena);
    s->program = plan_program(here > mine ? here - mine : 0);
    s->opt = adamw_new(&s->t, a.moments == 1 ? DT_BF16 : DT_F32);
    if (dir != NULL) {
        if (load_checkpoint(dir, &s->t, s->opt, &s->st, &e) < 0)
            die_err(&e);
        note("%s: resumed after step %" PRIu64, dir, s->st.step);
    } else if (a.resume) {
        note("%s: no checkpoint yet, starting from the beginning", a.run);
    }
    s->saved = s->st.step;
    s->before = s->st.tokens;
    free(dir);
}

/* Weight of a loss term: a number, or auto. */
static double
weight_of(const char *what, const char *text, int present, double value)
{
    double w;

    if (strcmp(text, "auto") == 0)
        return present ? value : 0.0;
    if (number_real(text, 0, 1e6, &w) < 0)
        die(EX_USAGE, "--%s: '%s' is neither a weight nor auto", what, text);
    if (w > 0.0 && !present)
        die(EX_INPUT, "--%s %s: the stream holds no %s", what, text,
            strcmp(what, "kl") == 0 ? "final states or tokens of a teacher"
                                    : "hidden states of the student's blocks");
    return w;
}

/* The losses of some weight; how is more about KL. */
static void
note_loss(const struct loss_opt *l, const char *how)
{
    char ce[40] = "", kl[160] = "", sh[40] = "";

    if (l->w_ce > 0.0)
        snprintf(ce, sizeof(ce), " + %g CE", l->w_ce);
    if (l->w_kl > 0.0)
        snprintf(kl, sizeof(kl), " + %g KL (T = %g%s)", l->w_kl, l->tau, how);
    if (l->w_sh > 0.0)
        snprintf(sh, sizeof(sh), " + %g SquareHead", l->w_sh);
    if (*ce || *kl || *sh) {
        char sum[sizeof(ce) + sizeof(kl) + sizeof(sh)];

        snprintf(sum, sizeof(sum), "%s%s%s", ce, kl, sh);
        note("loss = %s", sum + strlen(" + "));
    }
}

static void
choose_losses(struct student *s)
{
    const int final = feed_has_final(&s->feed);
    const int sh = feed_has_hidden(&s->feed);
    char how[60] = "";

    s->loss.tau = a.tau;
    s->loss.w_kl = weight_of("kl", a.kl,
        final || s->feed.draws > 0 || s->feed.top > 0, 1.0);
    s->loss.w_sh = weight_of("squarehead", a.sh, sh, 1.0);
    s->loss.w_ce = weight_of("ce", a.ce, 1,
        s->loss.w_kl > 0.0 || s->loss.w_sh > 0.0 ? 0.25 : 1.0);
    s->feed.use_final = s->loss.w_kl > 0.0 && final;
    s->feed.use_draws = s->loss.w_kl > 0.0 && !final && s->feed.draws > 0;
    s->feed.use_top = s->loss.w_kl > 0.0 && !final && !s->feed.use_draws;
    if (s->feed.use_draws)
        snprintf(how, sizeof(how), ", %zu draws", s->feed.draws);
    if (s->feed.use_top)
        snprintf(how, sizeof(how), ", top %zu and their rest", s->feed.top);
    if (s->feed.use_draws || s->feed.use_top)
        feed_check_tokens(&s->feed, a.tau);
    s->feed.use_hidden = s->loss.w_sh > 0.0;
    note_loss(&s->loss, how);
}

/* Steps the schedule spans: --steps, or what the stream announces. */
static void
choose_length(struct student *s)
{
    const char *n = st_meta(msg_in_head(s->feed.in), "batches");
    size_t batches;

    s->total = a.steps;
    if (s->total == 0 && n != NULL && number_size(n, 1, 1e18, &batches) == 0)
        s->total = (batches + a.accum - 1) / a.accum;
    if (s->total == 0 && a.schedule != SCHED_CONST)
        die(EX_USAGE,
            "the stream does not say how long it is: give --steps "
            "or --schedule constant");
}

/* A run is continued as it was begun. */
static void
keep_record(struct student *s)
{
    const struct feed *f = &s->feed;
    const struct st_tensor *ids = st_find(&f->first.st, "ids");
    const char *n = st_meta(msg_in_head(f->in), "batches");
    size_t batches;
    struct record r = {
        .run = a.run,
        .options = options,
        .override = a.override,
        .step = s->st.step,
        .ce = s->loss.w_ce,
        .kl = s->loss.w_kl,
        .squarehead = s->loss.w_sh,
        .steps = a.schedule == SCHED_CONST ? 0 : s->total,
        .rows = ids->shape[0],
        .length = ids->shape[1],
        .last = n != NULL && number_size(n, 1, 1e18, &batches) == 0 &&
            f->first.seq >= batches,
    };
    struct err e;

    if (record_model(a.model, r.model, &e) < 0)
        die_err(&e);
    record_stream(&f->info, r.stream);
    memcpy(r.teacher, f->head_hash, sizeof(r.teacher));
    record_keep(&r);
}

/* Where tokenizer files come from: known before the training, not after it.
 * Ids of another tokenizer than the model's are refused. */
static void
choose_tokenizer(struct student *s)
{
    const char *from = a.tokenizer != NULL ? a.tokenizer
        : ends_with(a.model, ".json")      ? NULL
                                           : a.model;
    struct err e;
    int r;

    if (from == NULL)
        return;
    r = tok_matches(from, s->feed.info.tokenizer, &e);
    if (r == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            s->feed.name, from);
    if (r < 0 && a.tokenizer != NULL)
        die_err(&e);
    if (r < 0)
        note("%s: no tokenizer in it, so none goes with the result", from);
    else
        s->saver.tokenizer = from;
}

static void
begin(struct student *s, const char *input)
{
    const char *why;
    const struct st_tensor *ids;
    const size_t *rows;
    struct plan p;
    struct err e;

    if ((why = kern_init()) != NULL)
        die(EX_SYS, "%s", why);
    if ((s->pool = pool_new(a.threads, &e)) == NULL)
        die_err(&e);
    saver_open(&s->saver, a.run, a.resume);
    s->saver.keep = a.keep;
    load_state(s);
    /* Not after hours, at the first checkpoint. */
    if (a.tokenizer != NULL && tok_check(a.tokenizer, s->t.m.c.V, &e) < 0)
        die_err(&e);
    feed_open(&s->feed, input, a.teacher, a.ahead, &s->t.m, s->map);
    if (a.resume && s->st.step > 0)
        feed_check_successor(&s->feed, &s->at);
    choose_tokenizer(s);
    /* a new model ends its documents as the stream does */
    if (s->t.m.c.neos == 0 && s->feed.info.eos >= 0)
        s->t.m.c.eos[s->t.m.c.neos++] = s->feed.info.eos;
    if (s->t.m.c.bos < 0)
        s->t.m.c.bos = s->feed.info.bos;
    choose_losses(s);
    choose_length(s);
    if (!s->feed.ahead) {
        metrics_open(&s->saver, s->st.step);
        return;
    }
    ids = st_find(&s->feed.first.st, "ids");
    if (ids == NULL || ids->ndim != 2 || ids->n == 0)
        die(EX_INPUT, "%s: message %llu: ids are not [B,T]", s->feed.name,
            (unsigned long long)s->feed.first.seq);
    keep_record(s);
    metrics_open(&s->saver, s->st.step);
    rows = ids->shape;
    s->micro = plan_micro(a.micro, rows[0], rows[1]);
    s->step = step_new(&s->t, s->pool, &s->loss, s->micro, rows[1],
        (a.recompute ? BWD_RECOMPUTE : 0) | (a.act == 1 ? BWD_BF16 : 0),
        s->feed.use_final ? s->feed.td : 0,
        s->feed.use_draws     ? s->feed.draws
            : s->feed.use_top ? s->feed.top
                              : 0);
    plan_make(&p, &s->t, s->step,
        &(struct plan_load){
            .T = rows[1],
            .tokens = a.accum * rows[0] * rows[1],
            .head =
                s->feed.td > 0 ? s->feed.head.rows * s->feed.head.stride : 0,
            .input = msg_in_memory(s->feed.in, s->feed.first.nraw),
            .program = s->program,
            .moments = adamw_dtype(s->opt),
        });
    mem_trim();
    plan_note(&p);
    if (plan_fits(p.total, "fewer rows (--micro), --recompute, or a shorter T",
            &e) < 0)
        die_err(&e);
}

/* Add one message's losses and gradients, `micro` rows at a time. */
static void
add_batch(struct student *s, struct loss_sum *sum)
{
    const struct batch *b = &s->feed.batch;
    const struct feed *f = &s->feed;
    const void **hidden = xcalloc(f->L, sizeof(*hidden));
    const size_t fs = f->final_dtype == DT_F32 ? 4 : 2;
    const size_t hs = f->hidden_dtype == DT_F32 ? 4 : 2;

    for (size_t i = 0; i < b->B; i += s->micro) {
        const size_t n = b->B - i < s->micro ? b->B - i : s->micro;
        const size_t at = i * b->T;
        const struct rows r = { n, b->T, b->ids + at, b->first + at };
        struct target y = {
            .scored = b->scored + at,
            .final_dtype = f->final_dtype,
            .head = &f->head,
            .hidden_dtype = f->hidden_dtype,
            .top_dtype = f->top_dtype,
            .draw_dtype = f->draw_dtype,
        };

        if (f->final != NULL && f->use_final)
            y.final = (const char *)f->final + at * f->td * fs;
        if (f->use_draws) {
            y.draw_ids = (const char *)f->draw_ids + at * f->draws * 4;
            y.draw_count = (const char *)f->draw_count +
                at * f->draws * (f->draw_dtype == DT_U16 ? 2 : 1);
            y.draw_self = (const char *)f->draw_self + at * 4;
        }
        if (f->use_top) {
            y.top_ids = (const char *)f->top_ids + at * f->top * 4;
            y.top_logp = (const char *)f->top_logp +
                at * f->top * (f->top_dtype == DT_F32 ? 4 : 2);
            y.top_lse = (const char *)f->top_lse + at * 8;
        }
        if (f->use_hidden) {
            for (size_t l = 0; l < f->L; l++)
                hidden[l] = (const char *)f->hidden[l] + at * f->d * hs;
            y.hidden = hidden;
        }
        step_add(s->step, &r, &y, sum);
    }
    free(hidden);
}

/* Read and add up to --grad-accum messages.  1: a step's worth (perhaps less at
 * the end of the stream); 0: nothing left; -1: damage. */
static int
gather(struct student *s, struct loss_sum *sum, struct err *e)
{
    size_t n = 0;
    int r = 1;

    memset(sum, 0, sizeof(*sum));
    for (; n < a.accum && (r = feed_next(&s->feed, e)) > 0; n++)
        add_batch(s, sum);
    return r < 0 ? -1 : n > 0;
}

/* What half precision costs, after the first step: never silently. */
static void
tell_rounding(const struct student *s)
{
    static int told;

    if (told++ > 0)
        return;
    if (a.act == 1)
        note("activations are kept in bf16: rounding changes them by %.2f %% "
             "(rms)",
            100.0 * step_rounding(s->step));
    if (a.grad == 1)
        note("gradients are kept in bf16: rounding changes them by %.2f %% "
             "(rms)",
            100.0 * step_grad_rounding(s->step));
    if (a.moments == 1)
        note("moments are kept in bf16: rounding changes them by %.2f %% "
             "(rms) a step",
            100.0 * adamw_rounding(s->opt));
}

/* Clip and update.  -1 and nothing is updated. */
static int
apply(struct student *s, const struct loss_sum *sum, struct err *e)
{
    const struct adamw_opt o = {
        .lr = sched_lr((enum sched)a.schedule, a.lr, s->st.step, s->total,
            a.warmup, a.floor),
        .beta1 = a.beta1,
        .beta2 = a.beta2,
        .eps = a.eps,
        .decay = a.decay,
        .clip = a.clip,
        .lr_embed = a.lr_embed,
        .decay_embed = a.decay_embed,
    };
    const double n = (double)sum->n;
    const double loss = (s->loss.w_ce * sum->ce + s->loss.w_kl * sum->kl +
                            s->loss.w_sh * sum->sh) /
        n;
    char text[60];
    double norm;

    if (sum->n == 0)
        return err_set(e, EX_INPUT,
            "%s: step %" PRIu64 " has no scored "
            "tokens",
            s->feed.name, s->st.step + 1);
    if (!isfinite(loss))
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the loss is not finite; "
            "the weights are those of the step before",
            s->st.step + 1);
    step_flush(s->step);
    if (save_written(&s->saver, e) < 0)
        return -1;
    if (adamw_step(s->opt, &s->t, s->pool, &o, sum->n, &norm, e) < 0)
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the gradient norm is not "
            "finite; the weights are those of the step before",
            s->st.step + 1);
    tell_rounding(s);
    s->st.step++;
    s->st.tokens += sum->tok;
    position_release(&s->at);
    s->at = s->feed.pos;
    s->at.cursor = s->feed.pos.cursor ? xstrdup(s->feed.pos.cursor) : NULL;
    snprintf(text, sizeof(text), "loss %.4f", loss);
    progress_at((double)s->st.step, text);
    s->last = loss;
    return metrics_add(&s->saver, &s->st, sum, loss, o.lr, norm, e);
}

/* Begin a checkpoint; now: and wait until it is there. */
static void
checkpoint(struct student *s, int now)
{
    struct err e;

    if (s->saved != s->st.step &&
        save_begin(&s->saver, &s->t, s->opt, &s->st, &s->at, &e) < 0)
        die_err(&e);
    s->saved = s->st.step;
    if (now && save_done(&s->saver, &e) < 0)
        die_err(&e);
}

/* A run that cannot go on ends with what it has saved. */
static void
give_up(struct student *s, const struct err *why)
{
    struct err e;

    if (save_done(&s->saver, &e) < 0)
        warn("%s", e.msg);
    die_err(why);
}

/* Train until the stream or --steps ends it; the exit status. */
static int
train(struct student *s)
{
    struct loss_sum sum;
    struct err e;
    int r = 1;

    while (!stop_asked && (a.steps == 0 || s->st.step < a.steps) &&
        (r = gather(s, &sum, &e)) > 0) {
        if (apply(s, &sum, &e) < 0)
            give_up(s, &e);
        profile_step(sum.tok);
        if (a.save > 0 && s->st.step % a.save == 0)
            checkpoint(s, 0);
    }
    prog_saving(1);
    if (r >= 0 && !stop_asked)
        return EX_OK;
    checkpoint(s, 1);
    if (stop_asked) {
        note("%s: stopped after step %" PRIu64 ", saved", a.run, s->st.step);
        return EX_STOP;
    }
    warn("%s", e.msg);
    return e.code;
}

/* The closing line: what was done, how fast, how well, and where it is (of a
 * long path the end). */
static void
tell(const struct student *s, double wall)
{
    const size_t n = strlen(a.run), most = 36;

    char loss[40] = "";

    if (s->st.tokens > s->before)
        snprintf(loss, sizeof loss, "loss %.4f, ", s->last);
    prog_closing("%" PRIu64 " steps, %.1f tokens/s, %sin %s%s", s->st.step,
        wall > 0 ? (double)(s->st.tokens - s->before) / wall : 0.0, loss,
        n > most ? "..." : "", a.run + (n > most ? n - most + 3 : 0));
    prog_detail("%" PRIu64 " tokens, waited %.1f s for input", s->st.tokens,
        msg_in_wait(s->feed.in));
}

static void
finish(struct student *s, int status, double wall)
{
    struct err e;

    if (status == EX_OK) {
        if (s->st.step == 0)
            die(EX_INPUT, "%s: no batches", s->feed.name);
        checkpoint(s, 1);
        if (save_final(&s->saver, &s->t, &e) < 0)
            die_err(&e);
    }
    if (fclose(s->saver.log) != 0)
        die(EX_SYS, "%s/metrics.tsv:", a.run);
    tell(s, wall);
}

int
main(int argc, char **argv)
{
    static struct student s;
    char **input = opt_parse(argc, argv, options,
        "train or distil a model on a stream of batches", "[input]", 0, 1,
        NULL);
    double start;
    int status;

    if (a.model == NULL || a.run == NULL)
        die(EX_USAGE, "-m and -o are needed; see student -h");
    if (a.override != NULL && !a.resume)
        die(EX_USAGE,
            "--override: there is nothing to change without "
            "--resume");
    prog_catch_stop();
    mem_settle();
    begin(&s, *input);
    start = clock_now();
    progress_begin("training", (double)s.total, "steps");
    progress_from((double)s.st.step);
    status = train(&s);
    progress_end();
    finish(&s, status, clock_now() - start);
    feed_close(&s.feed);
    step_free(s.step);
    adamw_free(s.opt);
    tmodel_release(&s.t);
    pool_free(s.pool);
    return status;
}
