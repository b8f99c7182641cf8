/* student grpo: see grpo.h and student-grpo(1). */
#include "grpo.h"
#include "command.h"
#include "grpo_batch.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/die.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The run ends after this many consecutive batches without any reward, or of
 * which --drop-equal leaves no group. */
enum { MOST_EQUAL = 100 };

static const char *const losses[] = { "grpo", "bnpo", "dr_grpo", "dapo",
    "cispo", "sapo", NULL };
static const char *const scales[] = { "group", "batch", "none", NULL };
static const char *const estimators[] = { "k3", "corrected", NULL };

static struct args a = { ARGS_DEFAULT };
static struct rollout_args texts = ROLLOUT_DEFAULT;
static struct grpo_opt o = {
    .group = 8,
    .iterations = 1,
    .seconds = 60.0,
    .policy = { .kind = POLICY_DAPO, .low = 0.2, .high = NAN, .corrected = 1 },
};
static const char *weights;
static int loss = POLICY_DAPO;

static const struct opt options[] = { OPTIONS_MODEL(a), OPTIONS_ROLLOUT(texts),
    OPT_SIZE(0, "group", &o.group, 2, 1024, "texts",
        "texts of a prompt, whose rewards are compared"),
    OPT_GROUP("rewards"),
    OPT_LIST(0, "reward", &o.judge, "command",
        "program that judges texts: JSON lines in, a line with a number or "
        "null out for each (may be repeated)"),
    OPT_STR(0, "reward-weights", &weights, "list",
        "weight of each program's reward, such as 1,0.5 (default: 1 each)"),
    OPT_TIME(0, "reward-time", &o.seconds, 0.1, 1e9, "time",
        "time that a reward program has, each time it is started"),
    OPT_ENUM(0, "scale-rewards", &o.scale, scales, "by",
        "divide advantages by the standard deviation of rewards over this"),
    OPT_FLAG(0, "drop-equal", &o.drop,
        "leave out groups whose rewards are all equal"),
    OPT_GROUP("loss"),
    OPT_ENUM(0, "loss", &loss, losses, "name", "loss that is minimised"),
    OPT_REAL(0, "clip-low", &o.policy.low, 0, 1, "x",
        "clip ratios of probabilities below 1 - x"),
    OPT_REAL(0, "clip-high", &o.policy.high, 0, 1e6, "x",
        "clip ratios of probabilities above 1 + x (default: as --clip-low; 4 "
        "for cispo)"),
    OPT_REAL(0, "beta", &o.policy.beta, 0, 1e6, "x",
        "strength of the tie to the reference model (0: there is none)"),
    OPT_STR(0, "reference", &o.reference, "model",
        "reference model (default: that of -m)"),
    OPT_ENUM(0, "kl-estimator", &o.policy.corrected, estimators, "name",
        "estimator of the KL to the reference model; corrected: k3 times the "
        "ratio"),
    OPT_SIZE(0, "iterations", &o.iterations, 1, 1000, "n",
        "steps made of each batch of texts"),
    OPTIONS_OPTIMISER(a, "1e-6"), OPTIONS_WEIGHTS(a), OPTIONS_LORA(a),
    OPTIONS_STEPS(a), OPTIONS_PASSES(a), OPTIONS_PRECISION(a), OPTIONS_RANKS(a),
    OPTIONS_SAVE(a), OPTIONS_RESUME(a), OPT_END };

/* ---- options ---- */

/* Set o.weight: 1 each, or the numbers of --reward-weights. */
static void
parse_weights(void)
{
    char *copy = weights != NULL ? xstrdup(weights) : NULL, *at = copy;

    o.weight = xreallocarray(NULL, o.judge.n, sizeof *o.weight);
    for (size_t i = 0; i < o.judge.n; i++) {
        char *end = at != NULL ? at + strcspn(at, ",") : NULL;
        const int last = end == NULL || *end == '\0';

        o.weight[i] = 1.0;
        if (at == NULL)
            continue;
        *end = '\0';
        if (last != (i + 1 == o.judge.n) ||
            number_real(at, -1e6, 1e6, &o.weight[i]) < 0)
            die(EX_USAGE,
                "--reward-weights %s: give a number for each of the %zu "
                "programs, with commas between them",
                weights, o.judge.n);
        at = last ? end : end + 1;
    }
    free(copy);
}

static void
check_grpo(struct student *s)
{
    rollout_check(s, &texts);
    if (o.judge.n == 0)
        die(EX_USAGE,
            "who judges the texts? give a program by --reward, such as "
            "--reward 'awk -f judge.awk'");
    parse_weights();
    if (a.lora_dropout > 0.0)
        die(EX_USAGE,
            "--lora-dropout: texts are written without it, so ratios of "
            "probabilities would not begin at 1: leave it out");
    if (texts.rows % o.group != 0)
        die(EX_USAGE,
            "-B %zu: is no whole number of groups of %zu texts: take a "
            "multiple of --group",
            texts.rows, o.group);
    if (a.steps % o.iterations != 0 || a.save % o.iterations != 0)
        die(EX_USAGE,
            "--iterations %zu: make --steps and --save multiples of it, as a "
            "run stops between batches only",
            o.iterations);
    if (o.drop && a.deterministic)
        die(EX_USAGE,
            "--drop-equal does not go with --deterministic: leave one out");
    if (isnan(a.lr))
        a.lr = 1e-6;
    o.policy.kind = (enum policy_kind)loss;
    if (isnan(o.policy.high))
        o.policy.high = loss == POLICY_CISPO ? 4.0 : o.policy.low;
    o.policy.longest = texts.length;
}

/* ---- a run ---- */

struct grpo_run {
    struct grpo g;
    size_t equal;  /* consecutive batches up to now of which --drop-equal left
                    * no group */
    size_t silent; /* consecutive batches up to now without any reward */
};

static void
open_grpo(struct student *s, const char *input)
{
    struct grpo_run *r = xcalloc(1, sizeof *r);

    s->own = r;
    if (s->t.adapter != NULL && s->t.adapter->dropout > 0.0)
        die(EX_INPUT,
            "%s: texts are written without its lora_dropout, so ratios of "
            "probabilities would not begin at 1: set it to 0 in "
            "adapter_config.json",
            a.adapter != NULL ? a.adapter : a.run);
    rollout_open(&r->g.roll, s, &texts, input);
    if (o.policy.beta > 0.0)
        depends_on_model(s, "reference",
            o.reference != NULL ? o.reference : a.model);
    grpo_begin(&r->g, s, &o);
    s->loss = (struct loss_opt){ .tau = texts.temperature, .logp = &r->g.loss };
}

static void
plan_grpo(struct student *s, struct plan_load *l)
{
    l->input += grpo_bytes(&((struct grpo_run *)s->own)->g);
}

/* Update r->silent and r->equal.  -1 and *e: one of them is MOST_EQUAL. */
static int
check_taught(struct grpo_run *r, const struct student *s, struct err *e)
{
    const struct grpo *g = &r->g;
    const char *prompts = s->in.name;

    r->silent = isnan(g->figures.rewards.mean) ? r->silent + 1 : 0;
    if (r->silent == 1 && s->ranks.rank == 0)
        warn("step %llu: nothing is learnt: the reward programs wrote null for "
             "all texts",
            (unsigned long long)s->st.step + 1);
    if (r->silent == MOST_EQUAL)
        return err_set(e, EX_INPUT,
            "%s: in %d batches one after another the reward programs wrote "
            "null for all texts, so that nothing is learnt",
            prompts, MOST_EQUAL);
    r->equal = g->kept_of_all == 0 ? r->equal + 1 : 0;
    if (r->equal == MOST_EQUAL)
        return err_set(e, EX_INPUT,
            "%s: in %d batches one after another all rewards of each prompt "
            "were equal: take prompts that the model answers right sometimes",
            prompts, MOST_EQUAL);
    return 0;
}

static int
gather_grpo(struct student *s, struct loss_sum *sum, struct err *e)
{
    struct grpo_run *r = s->own;
    struct grpo *g = &r->g;

    memset(sum, 0, sizeof *sum);
    if (g->iteration == 0 &&
        (grpo_write(g, s, e) < 0 || check_taught(r, s, e) < 0))
        return -1;
    if (r->equal > 0)
        rollout_end(&g->roll);
    else
        grpo_step(g, s, sum);
    return 1;
}

static double
result_grpo(struct student *s, const struct loss_sum *sum, size_t *count,
    struct buf *b)
{
    const struct grpo *g = &((struct grpo_run *)s->own)->g;
    const struct grpo_figures *f = &g->figures;
    const struct rollout_sums *w = &f->written;
    const double n = sum->own[GRPO_TOKENS];

    *count = g->kept_of_all > 0; /* gradients are weighted already */
    buf_addf(b, "%.9g\t%.9g\t%.9g\t%zu\t%.9g\t%.9g\t", f->rewards.mean,
        f->rewards.std, f->rewards.zero, f->dropped, w->tokens / w->texts,
        1.0 - w->ended / w->texts);
    buf_addf(b, "%.9g\t%.9g\t", sum->own[GRPO_KL] / n,
        sum->own[GRPO_ENTROPY] / n);
    buf_addf(b, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t", sum->own[GRPO_LOW] / n,
        f->low_min, sum->own[GRPO_HIGH] / n, f->high_max, f->drift);
    return sum->own[GRPO_LOSS];
}

static int
between_batches(const struct student *s)
{
    return ((const struct grpo_run *)s->own)->g.iteration == 0;
}

static void
place_grpo(struct student *s)
{
    rollout_place(&((struct grpo_run *)s->own)->g.roll, s);
}

static void
close_grpo(struct student *s)
{
    struct grpo_run *r = s->own;

    grpo_release(&r->g);
    rollout_close(&r->g.roll);
    free(o.weight);
    free(r);
}

const struct command grpo_command = {
    .name = "student grpo",
    .word = "grpo",
    .about = "train on texts that the student writes and programs judge",
    .operand = "prompts",
    .options = options,
    .args = &a,
    .columns = "reward\treward_std\tfrac_reward_zero_std\tdropped\t"
               "completions/mean_length\tcompletions/clipped_ratio\tkl\t"
               "entropy\tclip_ratio/low_mean\tclip_ratio/low_min\t"
               "clip_ratio/high_mean\tclip_ratio/high_max\tdrift\t",
    .check = check_grpo,
    .open = open_grpo,
    .planned = plan_grpo,
    .gather = gather_grpo,
    .result = result_grpo,
    .whole = between_batches,
    .place = place_grpo,
    .close = close_grpo,
};

int
grpo_main(int argc, char **argv)
{
    return command_main(argc, argv, &grpo_command, NULL);
}
