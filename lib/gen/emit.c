/* Choosing the tokens of a step, and reporting them; see engine_impl.h. */
#include "base/mem.h"
#include "base/rng.h"
#include "gen/draft.h"
#include "gen/engine_impl.h"
#include "gen/shown.h"
#include "model/pass/head.h"

#include <math.h>
#include <string.h>

/* Find the tokens that may come after the first `next` new tokens of a text
 * with a schema.  NULL: none may, after a wrong guess. */
static const uint64_t *
allowed_tokens(const struct gen_engine *g, const struct gen_text *t,
    size_t next, size_t worker)
{
    const uint32_t *more = t->ids.v + t->r.n + t->followed;
    struct mask_room *r = &g->mask[worker];

    return mask_next(g->limits.vocab, t->r.schema, &t->json, more,
               next - t->followed, t->end.v, t->end.n, r)
        ? r->bits
        : NULL;
}

uint32_t
gen_next(const struct gen_engine *g, const struct gen_text *t, size_t next,
    const float *z, size_t V, size_t most, size_t worker)
{
    const struct gen_params *p = t->r.params;
    struct sample_past past = { t->ids.v, t->ids.v + t->r.n, t->end.v, t->r.n,
        next, next < p->least ? t->end.n : 0, NULL };

    if (!sample_finite(z, V))
        return UINT32_MAX;
    if (t->r.schema != NULL &&
        (past.allowed = allowed_tokens(g, t, next, worker)) == NULL)
        return UINT32_MAX;
    return sample_next(&p->how, &past, z, most,
        rng_unit(rng_key(p->seed, t->r.number), next), &g->room[worker]);
}

/* Choose the token after the first `next` new tokens of a text, by a row of
 * logits. */
static void
choose_token(struct gen_engine *g, const struct gen_text *t, size_t next,
    size_t row, size_t worker)
{
    const struct gen_params *p = t->r.params;
    const float *z = g->logits + row * g->m->c.V;
    struct gen_top *top = &g->top[row];

    top->chosen = gen_next(g, t, next, z, g->m->c.V, g->V, worker);
    if (p->logprobs && top->chosen != UINT32_MAX) {
        const double lse = sample_lse(z, g->m->c.V);

        top->own = sample_logp(z[top->chosen], lse);
        sample_top(z, g->V, lse, p->top < g->V ? p->top : g->V, top->ids,
            top->logp, g->room[worker].key);
    }
}

/* Choose the next tokens of running text number i: one, and another one after
 * each guess that equals the token chosen in its place. */
static void
choose_task(void *ctx, size_t i, size_t worker)
{
    struct gen_engine *g = ctx;
    struct gen_text *t = g->run[i];
    const size_t known = t->ids.n - t->guesses;

    t->choices = 0;
    if (t->feed == 0 || t->row == GEN_NO_ROW)
        return;
    for (size_t k = 0; k <= t->guesses; k++) {
        choose_token(g, t, known + k - t->r.n, t->row + k, worker);
        t->choices++;
        if (k < t->guesses && g->top[t->row + k].chosen != t->ids.v[known + k])
            break;
    }
}

void
gen_choose(struct gen_engine *g)
{
    pool_run(g->pool, g->nrun, choose_task, g);
}

/* ---- scores of a prompt ---- */

struct scorejob {
    struct gen_engine *g;
    const struct gen_text *t;
    size_t at;           /* index in the prompt of the first token scored */
    struct gen_top *top; /* [GEN_SCORED] */
    float *logp;         /* [GEN_SCORED] */
};

static void
score_task(void *ctx, size_t i, size_t worker)
{
    const struct scorejob *j = ctx;
    const struct gen_engine *g = j->g;
    const size_t V = g->m->c.V, k = j->t->r.params->top;
    const float *z = g->z + i * V;
    const double lse = sample_lse(z, V);

    j->logp[i] = sample_logp(z[j->t->ids.v[j->at + i]], lse);
    sample_top(z, g->V, lse, k < g->V ? k : g->V, j->top[i].ids, j->top[i].logp,
        g->room[worker].key);
}

static void
report_score(struct gen_text *t, float logp, const struct gen_top *top,
    size_t ntop)
{
    const struct gen_event ev = { .kind = GEN_PROMPT,
        .id = t->ids.v[t->scored],
        .at = t->scored,
        .logp = logp,
        .ntop = ntop,
        .top = top != NULL ? top->ids : NULL,
        .top_logp = top != NULL ? top->logp : NULL };

    t->scored++;
    t->r.on_event(t->r.ctx, &ev);
}

/* Report the prompt's tokens that the states of this step predict; before them
 * the first token, which nothing predicts. */
static void
report_prompt(struct gen_engine *g, struct gen_text *t)
{
    const size_t d = g->m->c.d, end = kv_length(g->kv, t->slot);
    const size_t begin = end - t->feed; /* the first state's token */
    const size_t k = t->r.params->top < g->V ? t->r.params->top : g->V;
    struct gen_top top[GEN_SCORED];
    float logp[GEN_SCORED];

    if (t->scored == 0)
        report_score(t, NAN, NULL, 0);
    while (t->scored < t->r.n && t->scored <= end && t->states != NULL) {
        const size_t left = (end < t->r.n - 1 ? end + 1 : t->r.n) - t->scored;
        const size_t n = left < GEN_SCORED ? left : GEN_SCORED;
        struct scorejob j = { g, t, t->scored, top, logp };

        fwd_head(g->fwd, t->states + (t->scored - 1 - begin) * d, n, g->z);
        pool_run(g->pool, n, score_task, &j);
        for (size_t i = 0; i < n; i++)
            report_score(t, logp[i], &top[i], k);
    }
}

/* ---- new tokens ---- */

/* Append the chosen token's bytes to the text.  1: a stop string has appeared,
 * and the text is cut before it. */
static int
append_bytes(const struct gen_engine *g, struct gen_text *t)
{
    const struct gen_params *p = t->r.params;
    const size_t was = t->bytes.n;
    size_t longest = 0, from = t->stop_from, at;
    struct err e;

    if (g->tok == NULL)
        return 0;
    /* The id is below g->V, so that this cannot fail. */
    (void)tok_decode(g->tok, &t->chosen, 1,
        TOK_MIDDLE | (p->hide_special ? TOK_SKIP : 0), &t->bytes, &e);
    if (t->ids.n - t->r.n < p->least) {
        t->stop_from = t->bytes.n;
        return 0;
    }
    for (size_t i = 0; i < p->nstop; i++)
        longest = strlen(p->stop[i]) > longest ? strlen(p->stop[i]) : longest;
    if (was > longest && was - longest > from)
        from = was - longest;
    at = shown_stop(t->bytes.p, t->bytes.n, from, p->stop, p->nstop);
    if (at == t->bytes.n)
        return 0;
    t->bytes.n = at;
    return 1;
}

/* Set the bytes that an event shows; all: nothing is held back. */
static void
show_bytes(struct gen_text *t, int all, struct gen_event *ev)
{
    const struct gen_params *p = t->r.params;
    const size_t from = t->shown, n = t->bytes.n;
    size_t to = n;

    if (!all)
        to =
            from + shown_length(t->bytes.p + from, n - from, p->stop, p->nstop);
    ev->bytes = n > 0 ? t->bytes.p + from : "";
    ev->n = to - from;
    t->shown = to;
}

static void
report_token(struct gen_engine *g, struct gen_text *t,
    const struct gen_top *top, enum gen_reason why)
{
    const struct gen_params *p = t->r.params;
    struct gen_event ev = { .kind = GEN_TOKEN,
        .id = t->chosen,
        .at = t->ids.n - t->r.n - 1,
        .logp = p->logprobs ? t->logp : NAN,
        .ntop = !p->logprobs ? 0
            : p->top < g->V  ? p->top
                             : g->V,
        .top = top->ids,
        .top_logp = top->logp };

    show_bytes(t, why != GEN_GOES_ON, &ev);
    g->stats.next++;
    t->r.on_event(t->r.ctx, &ev);
}

static int
ends_text(const struct gen_text *t)
{
    for (size_t i = 0; i < t->end.n; i++)
        if (t->end.v[i] == t->chosen)
            return 1;
    return 0;
}

/* Add the chosen token to the text and report it, unless it ends the text.
 * Returns the reason for which the text ends, or GEN_GOES_ON if it does not. */
static enum gen_reason
add_token(struct gen_engine *g, struct gen_text *t, const struct gen_top *top)
{
    enum gen_reason why = GEN_GOES_ON;

    t->chosen = top->chosen;
    t->logp = top->own;
    if (t->chosen == UINT32_MAX)
        return GEN_NAN;
    if (ends_text(t))
        return GEN_EOS;
    tok_ids_push(&t->ids, t->chosen);
    if (t->r.schema != NULL) {
        (void)mask_follow(g->limits.vocab, t->r.schema, &t->json, t->chosen,
            &g->mask[0]);
        t->followed++;
    }
    if (append_bytes(g, t))
        why = GEN_STOP;
    else if (t->ids.n - t->r.n == t->r.params->most)
        why = GEN_LENGTH;
    report_token(g, t, top, why);
    return why;
}

enum gen_reason
gen_report(struct gen_engine *g, struct gen_text *t)
{
    enum gen_reason why = GEN_GOES_ON;

    t->ids.n -= t->guesses;
    if (t->feed == 0 || t->cancelled)
        return GEN_GOES_ON;
    if (t->r.score)
        report_prompt(g, t);
    if (t->row == GEN_NO_ROW)
        return kv_length(g->kv, t->slot) == t->ids.n ? GEN_LENGTH : GEN_GOES_ON;
    for (size_t k = 0; k < t->choices && why == GEN_GOES_ON && !t->cancelled;
         k++) {
        why = add_token(g, t, &g->top[t->row + k]);
        g->stats.accepted += k + 1 < t->choices;
    }
    if (t->guesses > 0)
        draft_forget(g, t);
    return why;
}

void
gen_report_end(struct gen_text *t, enum gen_reason why)
{
    struct gen_event ev = { .kind = GEN_END,
        .reason = why,
        .id = t->chosen,
        .logp = t->r.params->logprobs ? t->logp : NAN };

    show_bytes(t, 1, &ev);
    t->r.on_event(t->r.ctx, &ev);
}
