/* A search from its options to its choice: see session.h. */
#include "session.h"
#include "common.h"
#include "profile.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

const char *const method_names[] = { "greedy", "tabu", "influence", "magnitude",
    "random", NULL };

/* The share of memory that the whole model's logits may take. */
enum { KEPT = 4 };

/* The fewest parameters that a mix of blocks and channels could have, where all
 * blocks are alike. */
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
    if (fit_params(s, &c) > s->g.most.params)
        die(EX_USAGE,
            "%s: cannot be cut to %.0f parameters in this way: the fewest are "
            "%.0f",
            m->path, s->g.most.params, fit_params(s, &c));
    conf_release(&c);
}

/* What a logged score depends on beside the choice. */
static uint64_t
identity(const struct session *x)
{
    const struct calib *c = &x->c;
    const size_t rows = c->R * c->T;
    XXH3_state_t h;
    char model[33];

    model_hash(&x->m, model);
    XXH3_64bits_reset(&h);
    XXH3_64bits_update(&h, model, sizeof(model));
    XXH3_64bits_update(&h, c->ids, rows * sizeof(*c->ids));
    XXH3_64bits_update(&h, c->first, rows * sizeof(*c->first));
    XXH3_64bits_update(&h, c->at, c->n * sizeof(*c->at));
    XXH3_64bits_update(&h, c->weight, c->R * sizeof(*c->weight));
    XXH3_64bits_update(&h, &x->o->loss_weight, sizeof(double));
    XXH3_64bits_update(&h, &x->o->compute, sizeof(int));
    return XXH3_64bits_digest(&h);
}

/* Configurations that are evaluated at most: for each number of blocks the mix
 * that meets the goal, by greedy those without a candidate; 0: not known. */
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

/* Order channels and groups by it, for good. */
static void
take_profile(struct session *x)
{
    struct profile p;
    struct err e;

    if (profile_open(&p, x->o->profile, &x->m, &e) < 0)
        die_err(&e);
    if (x->o->gradient && !p.gradients)
        die(EX_USAGE, "%s: was made without --gradient", x->o->profile);
    ranks_profile(x->s.rank, &x->j, &p, x->o->gradient);
    x->s.fixed = 1;
    profile_close(&p);
}

/* Measure the whole model: its energies, and its score. */
static void
whole(struct session *x)
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
        take_profile(x);
    else
        ranks_energy(s->rank, &x->j, &c.conf);
    judge_rows(&x->j, &c.choice, 0, x->c.R, c.row);
    score = score_rows(s, c.row, x->c.R);
    try_known(s, &c, &score, clock_now() - start);
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
    s->rank = ranks_new(&x->m);
    s->loss_weight = o->loss_weight;
    s->candidates = o->candidates;
    s->jobs = o->jobs;
    s->halve = o->halve;
    s->evals = o->evals;
    s->seed = o->seed;
    s->tenure = o->tenure;
    s->patience = o->patience;
    s->best = SIZE_MAX;
    s->k = (struct costs){ &x->m, x->c.T, o->width, NULL };
    if (isfinite(s->g.most.latency))
        s->k.shapes = shapes_open(&x->m, x->c.T, x->pool, table);
    free(table);
}

void
session_begin(struct session *x, const struct session_options *o)
{
    const char *tokenizer = o->tokenizer != NULL ? o->tokenizer : o->model;
    struct err e;

    x->o = o;
    memset(&x->s, 0, sizeof(x->s));
    goal_set(&x->s.g, &o->goal, &x->m, o->units, o->ranked);
    if (o->nsets > 0)
        calib_sets(&x->c, o->sets, o->nsets, o->rows, &x->m, tokenizer);
    else
        calib_read(&x->c, o->input, o->rows, &x->m, tokenizer);
    if (plan_fits(judge_bytes(&x->m, &x->c), "fewer --calib-rows", &e) < 0 ||
        (x->pool = pool_new(o->threads, &e)) == NULL)
        die_err(&e);
    compute_tell(&x->m, x->pool,
        &(struct rows){ 1, x->c.T, x->c.ids, x->c.first }, o->compute,
        o->model);
    set_search(x);
    judge_init(&x->j, &x->m, &x->c, x->pool);
    refuse_goal(&x->s);
    trials_open(&x->log, o->log, o->log != NULL ? identity(x) : 0);
    x->j.from_start = o->no_cache;
    if (!o->no_cache && x->c.n <= plan_limit() / KEPT / (4 * x->m.c.V))
        judge_keep_logits(&x->j);
    progress_begin("searching", most_trials(x), "configurations");
    whole(x);
}

static void
run(struct search *s, int method)
{
    static void (*const fn[])(struct search *) = { search_greedy, NULL,
        search_influence, search_magnitude, search_random };

    s->method = method_names[method];
    fn[method](s);
    if (s->best == SIZE_MAX)
        die(EX_USAGE, "%s: by %s, no mix of what may go meets the goal%s",
            s->j->m->path, s->method,
            (s->g.units & UNIT_GROUPS) != 0 && method != METHOD_GREEDY
                ? "; greedy and tabu drop KV groups too"
                : "");
}

/* What tabu begins with.  Magnitude and random order channels in ways of their
 * own, which end with them; random has half of --evals. */
static void
start(struct session *x)
{
    const int method = x->o->start;
    struct search *s = &x->s;
    struct rank *const own = s->rank;
    const double evals = s->evals;

    if (method != METHOD_MAGNITUDE && method != METHOD_RANDOM) {
        run(s, method);
        return;
    }
    s->rank = ranks_copy(own, &x->m);
    s->evals = evals / 2.0;
    run(s, method);
    s->evals = evals;
    ranks_free(s->rank, x->m.c.L);
    s->rank = own;
}

void
session_search(struct session *x)
{
    struct search *s = &x->s;

    if (x->o->method == METHOD_TABU) {
        start(x);
        s->method = method_names[METHOD_TABU];
        search_tabu(s);
    } else {
        run(s, x->o->method);
    }
    progress_end();
    trials_take(&x->log, s->best);
    if (x->o->log != NULL) { /* the last line says which it is */
        struct trial t = x->log.t[s->best];

        t.kind = "choice";
        trials_add(&x->log, &t);
    }
}

void
session_tell(const struct session *x, const struct trial *t)
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
    ranks_free(x->s.rank, x->m.c.L);
    shapes_close(x->s.k.shapes);
    trials_close(&x->log);
    judge_release(&x->j);
    calib_release(&x->c);
    pool_free(x->pool);
    model_close(&x->m);
}
