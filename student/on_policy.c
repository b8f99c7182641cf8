/* student on-policy: see on_policy.h and student-on-policy(1). */
#include "on_policy.h"
#include "command.h"
#include "rollout.h"
#include "rank.h"
#include "teacher_server.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "dist/alike.h"
#include "dist/watch.h"
#include "format/ckpt.h"
#include "model/files/model.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Label of the random numbers that decide who writes a text. */
enum { SHARE_LABEL = 0x5a };

static struct args a = { ARGS_DEFAULT };
static struct rollout_args texts = ROLLOUT_DEFAULT;
static const char *teacher;
static double share = 1.0;
static size_t top = 64;

static const struct opt options[] = { OPTIONS_MODEL(a), OPTIONS_ROLLOUT(texts),
    OPT_REAL(0, "written", &share, 0, 1, "share",
        "share of the texts that the student writes; the others are the "
        "prompts' completions"),
    OPT_GROUP("loss"),
    OPT_STR(0, "score-with", &teacher, "model",
        "teacher that judges each token of the texts: a model, or the http:// "
        "address of serve --targets"),
    OPT_SIZE(0, "top", &top, 1, 1e6, "k",
        "targets hold the k most probable tokens of each prediction (of a "
        "server)"),
    OPT_STR(0, "kl-direction", &a.direction, "name",
        "direction of KL: forward (teacher || student), reverse, or js:beta "
        "(Jensen-Shannon)"),
    OPTIONS_OPTIMISER(a, "1e-6"), OPTIONS_WEIGHTS(a), OPTIONS_LORA(a),
    OPTIONS_STEPS(a), OPTIONS_PASSES(a), OPTIONS_PRECISION(a), OPTIONS_RANKS(a),
    OPTIONS_SAVE(a), OPTIONS_RESUME(a), OPT_END };

struct on_policy {
    struct rollout roll;
    int remote; /* 1: the teacher is `server`; 0: `teacher` */
    struct teacher_server server;
    struct model teacher;
    struct fwd *fwd; /* of the teacher, for `micro` rows */
    size_t micro;
    float *states;          /* [rows,T,d_t] final states of the teacher */
    struct targets targets; /* a view of states, or of the server's answers */
    struct rollout_sums sums;
};

static void
check_on_policy(struct student *s)
{
    rollout_check(s, &texts);
    if (teacher == NULL)
        die(EX_USAGE,
            "which teacher? give a model, or the address of a server, by "
            "--score-with");
    if (isnan(a.lr))
        a.lr = 1e-6;
}

/* ---- the teacher ---- */

/* Number of ids over which teacher and student are compared; 0: all. */
static size_t
shared_ids(const struct rollout *r, size_t student, size_t of_teacher)
{
    size_t n = tok_vocab(r->tok) < student ? tok_vocab(r->tok) : student;

    n = of_teacher < n ? of_teacher : n;
    return of_teacher == student ? 0 : n;
}

static void
open_teacher(struct on_policy *o, struct student *s)
{
    const size_t longest = o->roll.rows.longest;
    struct model *m = &o->teacher;
    struct err e;

    setup_model(m, teacher, NULL);
    if (tok_matches(teacher, s->in.tokenizer, &e) == 0)
        die(EX_INPUT,
            "--score-with %s: has another tokenizer than the student: take a "
            "teacher with the same",
            teacher);
    if (config_check_positions(&m->c, longest, teacher, &e) < 0)
        die_err(&e);
    o->micro = plan_teacher_micro(0, o->roll.n, longest);
    o->fwd = fwd_new(m, s->pool, o->micro, longest);
    o->states =
        xreallocarray(NULL, o->roll.n * longest * m->c.d, sizeof *o->states);
    o->targets = (struct targets){ .kind = TARGETS_FINAL,
        .width = m->c.d,
        .vocab = shared_ids(&o->roll, s->t.m.c.V, m->c.V),
        .part = { { (const void *)o->states, DT_F32, m->c.d } } };
}

static void
open_server(struct on_policy *o, const struct student *s)
{
    struct teacher_server *t = &o->server;

    teacher_server_open(t, teacher, s->in.tokenizer, top, texts.temperature,
        o->roll.n, o->roll.rows.longest);
    o->targets = (struct targets){ .kind = TARGETS_TOP,
        .width = t->k,
        .vocab = shared_ids(&o->roll, s->t.m.c.V, t->V),
        .part = { { (const void *)t->ids, DT_U32, t->k },
            { (const void *)t->logp, DT_F32, t->k },
            { (const void *)t->lse, DT_F32, 2 } } };
}

/* Add the content of --score-with: the hash of the model's files, or the hash
 * that the server reports, or else the hash of the server's address. */
static void
depends_on_teacher(struct student *s, const struct on_policy *o)
{
    char hash[33];
    struct err e;

    if (dist_hash(o->remote ? NULL : teacher, ckpt_hash_model, hash, &e) < 0)
        die_err(&e);
    if (o->remote && *o->server.hash != '\0')
        snprintf(hash, sizeof hash, "%s", o->server.hash);
    else if (o->remote)
        ckpt_hash_bytes(teacher, strlen(teacher), hash);
    depends_on(s, "score-with", hash);
}

/* Set the targets of all rows: the teacher's final states, or its most probable
 * tokens.  -1 and *e: the server has failed. */
static int
score_texts(struct on_policy *o, struct err *e)
{
    const struct rows *r = &o->roll.rows.rows;
    const size_t T = r->T, d = o->teacher.c.d;

    if (o->remote) {
        int result;

        watch_busy(1);
        result = teacher_server_score(&o->server, r, &o->targets, e);
        watch_busy(-1);
        return result;
    }
    for (size_t b = 0; b < r->B; b += o->micro) {
        const struct rows some = { r->B - b < o->micro ? r->B - b : o->micro, T,
            r->ids + b * T, r->first + b * T };

        fwd_states(o->fwd, &some, o->states + b * T * d);
    }
    o->targets.T = T;
    return 0;
}

/* ---- a run ---- */

static void
open_on_policy(struct student *s, const char *input)
{
    struct on_policy *o = xcalloc(1, sizeof *o);
    const double tau = texts.temperature;

    s->own = o;
    rollout_open(&o->roll, s, &texts, input);
    if (share < 1.0 && o->roll.prompts.answers < o->roll.prompts.n)
        die(EX_INPUT,
            "%s: only %zu of %zu prompts have a completion, which --written %g "
            "needs: add the member, or take --written 1",
            input, o->roll.prompts.answers, o->roll.prompts.n, share);
    o->remote = teacher_server_is(teacher);
    if (o->remote)
        open_server(o, s);
    else
        open_teacher(o, s);
    depends_on_teacher(s, o);
    /* undo the factor tau^2 of our KL, which TRL's loss does not have */
    s->loss = (struct loss_opt){ .w_kl = 1.0 / (tau * tau),
        .tau = tau,
        .direction = s->settings.direction,
        .beta = s->settings.beta };
    s->in.targets = &o->targets;
    s->in.head = o->remote ? NULL : &o->teacher.head;
}

static void
plan_on_policy(struct student *s, struct plan_load *l)
{
    const struct on_policy *o = s->own;

    l->input += rollout_bytes(&o->roll);
    if (o->remote)
        l->input += teacher_server_bytes(&o->server);
    else
        l->input += fwd_bytes(o->fwd) +
            plan_states(&o->teacher, o->roll.n * o->roll.rows.longest) +
            plan_window(&o->teacher, 1, 0);
}

static int
write_texts(struct on_policy *o, const struct student *s, struct err *e)
{
    struct rollout *r = &o->roll;
    struct text **own = xreallocarray(NULL, r->n, sizeof(struct text *));
    const uint64_t key = rng_key(s->a->seed, SHARE_LABEL);
    size_t n = 0;
    int result;

    rollout_begin(r, s, 1);
    for (size_t k = 0; k < r->n; k++)
        if (rng_unit(key, r->text[k].number) < share)
            own[n++] = &r->text[k];
        else
            text_answer(&r->text[k]);
    result = writer_run(&r->writer, own, n, e);
    free(own);
    return result;
}

static int
gather_on_policy(struct student *s, struct loss_sum *sum, struct err *e)
{
    struct on_policy *o = s->own;
    struct rollout *r = &o->roll;
    int result = write_texts(o, s, e);

    memset(sum, 0, sizeof *sum);
    if (result == 0) {
        text_rows_fill(&r->rows, r->each, r->n);
        result = score_texts(o, e);
    }
    result = rank_agree(s, result < 0 ? -1 : 1, e);
    if (result > 0) {
        ranks_add(s->sum, &r->rows.rows, r->rows.scored, &o->targets, 0, 1,
            sum);
        ranks_finish(s->sum, sum);
        o->sums = rollout_sums(r, s);
    }
    rollout_end(r);
    return result;
}

static double
result_on_policy(struct student *s, const struct loss_sum *sum, size_t *count,
    struct buf *b)
{
    const struct on_policy *o = s->own;
    const struct rollout_sums *u = &o->sums;
    const double n = (double)sum->n, loss = s->loss.w_kl * sum->kl / n;

    *count = sum->n;
    buf_addf(b, "%.9g\t%.9g\t%.9g\t%.9g\t", sum->ce / n,
        u->texts / (double)texts.rows,
        u->texts > 0.0 ? u->tokens / u->texts : 0.0,
        u->texts > 0.0 ? 1.0 - u->ended / u->texts : 0.0);
    return loss;
}

static void
place_on_policy(struct student *s)
{
    rollout_place(&((struct on_policy *)s->own)->roll, s);
}

static void
close_on_policy(struct student *s)
{
    struct on_policy *o = s->own;

    if (o->remote) {
        teacher_server_close(&o->server);
    } else {
        fwd_free(o->fwd);
        free(o->states);
        model_close(&o->teacher);
    }
    rollout_close(&o->roll);
    free(o);
}

const struct command on_policy_command = {
    .name = "student on-policy",
    .word = "on-policy",
    .about = "distil a teacher on texts that the student writes",
    .operand = "prompts",
    .options = options,
    .args = &a,
    .columns = "ce\twritten\tcompletions/mean_length\tcompletions/"
               "clipped_ratio\t",
    .check = check_on_policy,
    .open = open_on_policy,
    .planned = plan_on_policy,
    .gather = gather_on_policy,
    .result = result_on_policy,
    .place = place_on_policy,
    .close = close_on_policy,
};

int
on_policy_main(int argc, char **argv)
{
    a.direction = "reverse";
    return command_main(argc, argv, &on_policy_command, NULL);
}
