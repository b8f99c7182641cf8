/* The texts of many prompts; see many.h. */
#include "many.h"
#include "common.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "model/forward_kv.h"
#include "train/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Read prompts while fewer than WINDOW * at_once texts are pending. */
enum { WINDOW = 8 };

/* The text of the output's last line, to be made again if the output has lines
 * but no FILE.options.json; else NULL. */
static struct written *
take_proof(struct many *r)
{
    struct written *t = r->before;

    r->before = NULL;
    if (t == NULL)
        return NULL;
    t->proof = output_unproven(r->output) != NULL;
    if (t->proof)
        return t;
    written_free(t);
    return NULL;
}

/* Count a text that the output already has, and keep it as r->before. */
static void
pass_text(struct many *r, struct written *t)
{
    r->texts++;
    r->done += 1.0 / (double)t->prompt->params.n;
    progress_from(r->done);
    if (r->before != NULL)
        written_free(r->before);
    r->before = t;
}

/* The next text to make, or NULL. */
static struct written *
next_text(struct many *r)
{
    struct written *t = r->held, *proof;

    r->held = NULL;
    while (t == NULL && r->next != NULL) {
        struct written *one = written_new(r->next, r->choice++);
        json_t *known = written_begin(one);

        if (output_has(r->output, known))
            pass_text(r, one);
        else
            t = one;
        json_decref(known);
        if (r->choice == r->next->params.n) {
            r->next = prompts_next(r->prompts);
            r->choice = 0;
        }
    }
    if ((proof = take_proof(r)) == NULL)
        return t;
    r->held = t;
    return proof;
}

static void
hear_text(void *ctx, const struct gen_event *ev)
{
    common_check(ev);
    written_event(ctx, ev);
}

static void
queue_text(struct many *r, struct written *t)
{
    *(r->last != NULL ? &r->last->next : &r->first) = t;
    r->last = t;
    r->pending++;
}

/* Write the texts that have ended, up to the first that has not. */
static void
write_ended(struct many *r)
{
    struct buf line = { 0 };

    while (r->first != NULL && r->first->end != GEN_GOES_ON) {
        struct written *t = r->first;
        char extra[40];

        buf_clear(&line);
        written_line(t, r->made, r->tok, &line);
        if (t->proof) {
            output_prove(r->output, line.p);
        } else {
            buf_addc(&line, '\n');
            output_line(r->output, line.p, line.n);
            r->texts++;
            r->done += 1.0 / (double)t->prompt->params.n;
        }
        r->tokens += (double)t->ids.n;
        snprintf(extra, sizeof extra, "%.0f tokens", r->tokens);
        progress_at(r->done, extra);
        r->first = t->next;
        r->last = r->first == NULL ? NULL : r->last;
        r->pending--;
        written_free(t);
    }
    buf_release(&line);
}

/* ---- the engine ---- */

/* Limits for `texts` texts of at most `longest` tokens. */
static struct gen_limits
many_limits(const struct many *r, size_t texts, size_t longest)
{
    const size_t page = gen_page_bytes(r->m), one = kv_pages(longest);
    const size_t half = plan_limit() / 2 / page;
    const size_t positions = config_positions(&r->m->c);
    struct gen_limits l = { .texts = texts,
        .pages = texts * one,
        .longest = longest,
        .slice = r->slice,
        .draft = r->draft,
        .guesses = r->guesses };

    if (l.pages > half)
        l.pages = half > one ? half : one;
    if (r->cache == 0)
        return l;
    l.pages = r->cache > page ? r->cache / page : 1;
    l.longest = l.pages * KV_PAGE;
    if (positions > 0 && positions < l.longest)
        l.longest = positions;
    return l;
}

/* Add the engine's counts of guesses to r, and free it. */
static void
free_engine(struct many *r)
{
    struct gen_stats s;

    if (r->engine == NULL)
        return;
    gen_statistics(r->engine, &s);
    r->stats.guessed += s.guessed;
    r->stats.accepted += s.accepted;
    gen_free(r->engine);
}

/* End the texts of the engine, and replace it by an engine for texts of
 * `longest` tokens. */
static void
widen_engine(struct many *r, size_t texts, size_t longest)
{
    struct gen_limits l;

    while (r->engine != NULL && gen_step(r->engine) > 0)
        write_ended(r);
    free_engine(r);
    l = many_limits(r, texts, longest);
    r->engine = common_engine(r->m, r->pool, r->tok, &l);
    r->longest = r->cache > 0 ? SIZE_MAX : longest;
}

static size_t
text_length(const struct written *t)
{
    return t->prompt->ids.n + t->prompt->params.most;
}

static void
start_text(struct many *r, struct written *t)
{
    const struct prompt *q = t->prompt;
    const struct gen_request request = { .prompt = q->ids.v,
        .n = q->ids.n,
        .params = &q->params,
        .number = prompt_number(q, t->choice),
        .on_event = hear_text,
        .ctx = t };
    struct err e;

    if (text_length(t) > r->longest)
        widen_engine(r, r->at_once, text_length(t));
    if (gen_add(r->engine, &request, &e) != NULL)
        return;
    if (q->line > 0)
        die(e.code, "%s: line %zu: %s", io_in_name(r->file), q->line, e.msg);
    die_err(&e);
}

void
many_run(struct many *r)
{
    const size_t window = WINDOW * r->at_once;
    struct written *t;
    size_t longest = 1;

    progress_begin("generating", (double)prompts_total(r->prompts), "prompts");
    r->next = prompts_next(r->prompts);
    if (r->next != NULL)
        common_compare(r->packed, r->pool, r->next->ids.v, r->next->ids.n);
    /* The first prompts say how much memory texts need. */
    while (r->pending < window && (t = next_text(r)) != NULL) {
        longest = text_length(t) > longest ? text_length(t) : longest;
        queue_text(r, t);
    }
    if (r->pending > 0)
        widen_engine(r, r->pending < r->at_once ? r->pending : r->at_once,
            longest);
    for (t = r->first; t != NULL; t = t->next)
        start_text(r, t);
    while (r->pending > 0) {
        gen_step(r->engine);
        write_ended(r);
        while (r->pending < window && (t = next_text(r)) != NULL) {
            start_text(r, t);
            queue_text(r, t);
        }
    }
    progress_end();
    free_engine(r);
}
