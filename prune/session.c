/* A search from options to choice: see session.h. */
#include "session.h"
#include "channels.h"
#include "input.h"
#include "greedy.h"
#include "influence.h"
#include "latency.h"
#include "profile_read.h"
#include "tabu.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "model/config/family.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

const char *const search_methods[] = { "greedy", "tabu", "influence", NULL };

static void
check_session(const struct session_options *o)
{
    if (!goal_given(&o->goal))
        die(EX_USAGE, "how small? give --params, --ratio, --blocks or --width");
    if (o->ranked && o->goal.width > 0)
        die(EX_USAGE,
            "--widths ranked makes MLPs of several widths: leave "
            "--width out");
    if (o->gradient && o->profile == NULL)
        die(EX_USAGE, "--gradient needs a profile: give --profile");
    if (o->from != NULL && o->method != METHOD_TABU)
        die(EX_USAGE, "--from is read by tabu alone: give --method tabu");
    if (o->nsets > 0 && o->input != NULL)
        die(EX_USAGE, "%s: is not read with --calib", o->input);
}

void
session_open(struct session *x, const struct session_options *o)
{
    struct err e;

    check_session(o);
    memset(x, 0, sizeof(*x));
    x->o = o;
    input_dense_model(&x->m, o->model);
    if (o->from != NULL && choice_read(&x->from, o->from, &x->m, &e) < 0)
        die_err(&e);
    setup_kernels(o->compute);
}

/* The whole model's logits are cached if they fit 1 / LOGITS of memory. */
enum { LOGITS = 4 };

/* Die if no mix of blocks and channels has as few parameters as the goal.  Does
 * nothing unless all blocks are alike, blocks may be dropped, and nothing other
 * than blocks and channels may be. */
static void
refuse_goal(const struct search *s)
{
    const struct model *m = s->j->m;
    const size_t n = s->g.blocks > 0 ? s->g.blocks : 1;
    const size_t w = s->g.width > 0 ? s->g.width : s->g.multiple;
    struct conf c;

    if (isinf(s->g.most.params) || !(s->g.units & UNIT_BLOCKS) ||
        (s->g.units & ~(unsigned)(UNIT_BLOCKS | UNIT_CHANNELS)) != 0)
        return;
    for (size_t i = 1; i < m->c.L; i++)
        if (m->block[i].groups != m->block[0].groups ||
            m->block[i].mlp != m->block[0].mlp)
            return;
    conf_init(&c, m);
    for (size_t i = 0; i < c.L; i++) {
        c.b[i].mlp = i >= n ? 0 : c.b[i].mlp < w ? c.b[i].mlp : w;
        c.b[i].groups = i >= n ? 0 : c.b[i].groups;
    }
    if (conf_params(s, &c) > s->g.most.params)
        die(EX_USAGE,
            "%s: cannot be cut to %.0f parameters in this way: the fewest are "
            "%.0f",
            m->path, s->g.most.params, conf_params(s, &c));
    conf_release(&c);
}

/* Hash of all that a logged score depends on, except the choice. */
static uint64_t
search_hash(const struct session *x)
{
    const struct calib *c = &x->c;
    const size_t rows = c->R * c->T;
    const double loss_weight = 1.0; /* in the objective, beside KL */
    XXH3_state_t h;
    char model[33];

    model_hash(&x->m, model);
    XXH3_64bits_reset(&h);
    XXH3_64bits_update(&h, model, sizeof(model));
    XXH3_64bits_update(&h, c->ids, rows * sizeof(*c->ids));
    XXH3_64bits_update(&h, c->first, rows * sizeof(*c->first));
    XXH3_64bits_update(&h, c->at, c->n * sizeof(*c->at));
    XXH3_64bits_update(&h, c->weight, c->R * sizeof(*c->weight));
    XXH3_64bits_update(&h, &loss_weight, sizeof loss_weight);
    XXH3_64bits_update(&h, &x->o->compute, sizeof(int));
    return XXH3_64bits_digest(&h);
}

/* Largest number of evaluations, for the progress line: a mix for each number
 * of blocks, and with greedy the candidates at each number; 0: unknown. */
static double
most_trials(const struct session *x)
{
    const struct search *s = &x->s;
    const size_t least = s->g.blocks > 0 ? s->g.blocks : 1;
    const int greedy = x->o->method == METHOD_GREEDY;
    double total = 1.0;

    if ((!greedy && x->o->method != METHOD_INFLUENCE) || x->o->halve ||
        (s->g.units & ~(unsigned)UNIT_CHANNELS) != UNIT_BLOCKS)
        return 0.0;
    for (size_t n = x->m.c.L; n >= least; n--) {
        total += s->g.blocks == 0 || n == s->g.blocks;
        if (greedy && n > least)
            total +=
                (double)(s->candidates > 0 && s->candidates < n ? s->candidates
                                                                : n);
    }
    return total;
}

/* Order channels and groups by the profile, for the whole search. */
static void
order_by_profile(struct session *x)
{
    struct profile p;
    struct err e;

    if (profile_open(&p, x->o->profile, &x->m, &e) < 0)
        die_err(&e);
    if (x->o->gradient && !p.gradients)
        die(EX_USAGE,
            "%s: has no gradients: make it with prune profile --gradient",
            x->o->profile);
    orders_profile(x->s.order, &x->j, &p, x->o->gradient);
    x->s.fixed_order = 1;
    profile_close(&p);
}

/* Measure and score the whole model. */
static void
score_whole(struct session *x)
{
    struct search *s = &x->s;
    const double start = clock_now();
    struct score score;
    struct conf conf;
    struct cand c;

    s->method = "whole";
    conf_init(&conf, &x->m);
    cand_init(&c, s, "whole", &conf);
    judge_set(&x->j, &c.choice, 1);
    if (x->o->profile != NULL)
        order_by_profile(x);
    else
        orders_measured(s->order, &x->j, &c.conf);
    judge_rows(&x->j, &c.choice, 0, x->c.R, c.row);
    score = score_rows(s, c.row, x->c.R);
    cand_known(s, &c, &score, clock_now() - start);
    cand_release(&c);
}

static void
set_search(struct session *x)
{
    const struct session_options *o = x->o;
    struct search *s = &x->s;
    char *table = o->log != NULL ? xasprintf("%s.latency", o->log) : NULL;

    s->j = &x->j;
    s->log = &x->log;
    s->order = orders_new(&x->m);
    s->candidates = o->candidates;
    s->halve = o->halve;
    s->evals = o->evals;
    s->seed = o->seed;
    s->best = SIZE_MAX;
    s->k = (struct costs){ &x->m, x->c.T, o->width, NULL };
    if (isfinite(s->g.most.latency))
        s->k.shapes = shapes_open(&x->m, x->c.T, x->pool, table);
    free(table);
}

void
session_begin(struct session *x)
{
    const struct session_options *o = x->o;
    const char *tokenizer = o->tokenizer != NULL ? o->tokenizer : o->model;
    struct err e;

    if ((o->units & UNIT_GROUPS) != 0 && family_of(&x->m.c)->whole_norms)
        die(EX_USAGE,
            "--units groups: %s: norms of Q and K span all heads of a block: "
            "take attention instead of groups",
            x->m.path);
    goal_set(&x->s.g, &o->goal, &x->m, o->units, o->ranked);
    if (o->nsets > 0) {
        calib_sets(&x->read, o->sets, o->nsets, o->rows, &x->m, tokenizer);
        x->c = x->read;
    } else {
        calib_read(&x->read, o->input,
            o->rows == 0 || o->rows > o->read ? o->rows : o->read, &x->m,
            tokenizer);
        calib_first(&x->read, o->rows, &x->c);
    }
    if (plan_fits(judge_bytes(&x->m, &x->c), "fewer --calib-rows", &e) < 0)
        die_err(&e);
    x->pool = setup_pool(o->threads);
    calib_note(&x->c, &x->m, x->pool, o->compute);
    set_search(x);
    judge_init(&x->j, &x->m, &x->c, x->pool);
    refuse_goal(&x->s);
    search_log_open(&x->log, o->log, o->log != NULL ? search_hash(x) : 0);
    if (x->c.n <= plan_limit() / LOGITS / (4 * x->m.c.V))
        judge_keep_logits(&x->j);
    progress_begin("searching", most_trials(x), "configurations");
    score_whole(x);
}

static void
run_method(struct search *s, enum search_method method)
{
    s->method = search_methods[method];
    switch (method) {
    case METHOD_GREEDY: search_greedy(s); break;
    case METHOD_TABU: search_tabu(s); break;
    case METHOD_INFLUENCE: search_influence(s); break;
    }
    if (s->best == SIZE_MAX)
        die(EX_USAGE, "%s: by %s, no mix of what may go meets the goal%s",
            s->j->m->path, s->method,
            (s->g.units & UNIT_GROUPS) != 0 && method != METHOD_GREEDY
                ? "; greedy and tabu drop KV groups too"
                : "");
}

/* Score the choice of --from: as it is if it meets the goal, else with fewer
 * channels. */
static void
score_from(struct session *x)
{
    struct search *s = &x->s;
    struct conf conf, given;
    struct cand c;

    s->method = search_methods[METHOD_TABU];
    conf_of_choice(&given, &x->from, &x->m);
    conf_copy(&conf, &given);
    if ((s->g.blocks > 0 && conf_blocks(&conf) != s->g.blocks) ||
        channels_fit(s, &conf, 0) < 0)
        die(EX_USAGE,
            "--from %s: does not meet the goal: search for it with the same "
            "goal",
            x->o->from);
    cand_init(&c, s, "from", &conf);
    if (conf_equal(&c.conf, &given)) {
        choice_release(&c.choice);
        choice_copy(&c.choice, &x->from);
    }
    cand_score_all(s, &c, 1);
    cand_keep_best(s, &c);
    cand_release(&c);
    conf_release(&given);
}

const struct trial *
session_search(struct session *x)
{
    const enum search_method method = (enum search_method)x->o->method;
    struct search *s = &x->s;

    if (method == METHOD_TABU && x->from.n > 0)
        score_from(x);
    else if (method == METHOD_TABU)
        run_method(s, METHOD_INFLUENCE);
    run_method(s, method);
    progress_end();
    search_log_take(&x->log, s->best);
    if (x->o->log != NULL) { /* the file ends with the choice */
        struct trial t = x->log.t[s->best];

        t.kind = "choice";
        search_log_add(&x->log, &t);
    }
    return &x->log.t[s->best];
}

void
session_note(const struct session *x, const struct trial *t)
{
    const struct trial *all = &x->log.t[0];
    struct buf kept = { 0 };

    conf_text(&t->conf, &kept);
    note("%.0f of %.0f parameters: blocks %s, MLP width %zu", t->cost.params,
        all->cost.params, kept.p, conf_width(&t->conf));
    if (x->s.k.shapes != NULL)
        note("%.2f ms for a row of %zu tokens (whole model %.2f ms)",
            1e3 * t->cost.latency, x->c.T, 1e3 * all->cost.latency);
    note("calibration: perplexity %.3f (whole model %.3f), KL %.4f",
        exp(t->score.nll), exp(all->score.nll), t->score.kl);
    buf_release(&kept);
}

void
session_end(struct session *x)
{
    orders_free(x->s.order, x->m.c.L);
    shapes_close(x->s.k.shapes);
    search_log_close(&x->log);
    judge_release(&x->j);
    calib_release(&x->read);
    choice_release(&x->from);
    pool_free(x->pool);
    model_close(&x->m);
}
