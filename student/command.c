/* A command of student from start to end: see command.h. */
#include "command.h"
#include "again.h"
#include "card.h"
#include "prepare.h"
#include "rank.h"
#include "record.h"
#include "spikes.h"
#include "steps.h"
#include "student.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/opt_values.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/addr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Set the run's folder, which -o, --resume or both name. */
static void
choose_run(struct args *a, const char *name)
{
    if (a->resume == opt_absent)
        a->resume = a->run;
    if (a->run == NULL)
        a->run = a->resume;
    if (a->model == NULL || a->run == NULL)
        die(EX_USAGE,
            "give the model with -m and the run with -o; see "
            "%s -h",
            name);
    if (a->resume != NULL && strcmp(a->resume, a->run) != 0)
        die(EX_USAGE,
            "--resume %s: is another run than -o %s: give --resume alone, "
            "before an option or as the last word",
            a->resume, a->run);
    if (a->override != NULL && a->resume == NULL)
        die(EX_USAGE,
            "--override changes a run that goes on: give --resume "
            "too");
}

/* Die if two outputs are the same file.  Among the files of --comm-log only
 * PREFIX.json is compared: nobody names a timeline like the others. */
static void
check_outputs(const struct args *a)
{
    char *log = a->comm_log != NULL ? xasprintf("%s.json", a->comm_log) : NULL;

    out_differ("-o", a->run, "--timeline", a->timeline, "--comm-log", log,
        NULL);
    free(log);
}

/* With an adapter, refuse options that do not go with it; without one, refuse
 * options that need it. */
static void
check_adapter(struct args *a)
{
    const char *with = a->qat != 0 ? "--qat"
        : a->mask != NULL          ? "--mask"
        : a->grad == 1             ? "--grad bf16"
        : a->level > 1             ? "--shard-level 2 or 3"
        : a->stages > 0            ? "--stages"
                                   : NULL;
    const char *name = a->lora > 0 ? "--lora" : "--adapter";

    if (isnan(a->lora_alpha))
        a->lora_alpha = 2.0 * (double)a->lora;
    if (a->lora == 0 && a->adapter == NULL) {
        if (a->lora_rs || a->lora_dora || a->lora_dropout > 0.0)
            die(EX_USAGE, "a new adapter has a rank: give --lora too");
        return;
    }
    if (a->lora > 0 && a->adapter != NULL)
        die(EX_USAGE,
            "--lora makes a new adapter, --adapter trains one further: leave "
            "one out");
    if (with != NULL)
        die(EX_USAGE, "%s does not go with %s: leave one out", name, with);
    if (a->lora_dora && a->lora_dropout > 0.0)
        die(EX_USAGE,
            "--lora-dora does not go with --lora-dropout: leave one out");
    if (starts_random(a->model))
        die(EX_USAGE,
            "%s changes a model that has weights, and %s is a configuration: "
            "give a model with -m",
            name, a->model);
}

/* Read the options that every command has. */
static void
choose_common(struct student *s, struct args *a)
{
    struct err e;

    if (isnan(a->lr))
        a->lr = starts_random(a->model) ? 3e-4 : 1e-4;
    settings_parse(&s->settings, a);
    if (effective_parse(&s->effective, a->qat, a->mask, &e) < 0)
        die_err(&e);
    check_adapter(a);
    if (a->mask != NULL && a->grad == 1)
        die(EX_USAGE, "--mask does not go with --grad bf16: leave one out");
}

static void
release_run(struct student *s)
{
    s->command->close(s);
    spikes_close(s);
    ranks_free(s->sum);
    step_free(s->step);
    param_shards_free(s->parts);
    pipe_free(s->pipe);
    round_release(&s->round);
    outer_free(s->outer);
    adamw_free(s->opt);
    if (s->t.adapter != NULL) {
        adapter_close(&s->adapter);
        model_close(&s->base);
    }
    tmodel_release(&s->t);
    pool_free(s->pool);
    json_decref(s->defaults);
    free(s->typed[0]);
    free(s->typed[1]);
    free(s->changes);
    saver_close(&s->saver);
}

int
command_main(int argc, char **argv, const struct command *c, const char *about)
{
    static struct student s;
    struct args *a = c->args;
    struct buf changes = { 0 };
    char **input, *from;
    double start;
    int status;

    s.command = c;
    s.a = a;
    s.defaults = opt_values(c->options);
    again_command(argc, argv, c->word, s.typed);
    input = opt_parse(argc, argv, c->options, about != NULL ? about : c->about,
        c->operand, 0, 1, NULL);
    opt_changes(&changes, c->options, run_card_own);
    s.changes = changes.p;
    choose_run(a, c->name);
    check_outputs(a);
    c->check(&s);
    choose_common(&s, a);
    prog_catch_stop();
    if (a->max_time > 0.0)
        prog_stop_after(a->max_time);
    mem_settle();
    rank_begin(&s);
    rank_check_input(&s, *input);
    s.input = from = addr_of_rank(*input, s.ranks.rank);
    prepare(&s, from);
    start = clock_now();
    progress_begin("training", (double)s.total, "steps");
    progress_from((double)s.st.step);
    status = s.finished ? EX_OK : steps_run(&s);
    progress_end();
    steps_end(&s, status, clock_now() - start);
    release_run(&s);
    free(from);
    rank_end(&s);
    return status;
}
