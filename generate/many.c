/* The texts of many prompts; see many.h. */
#include "many.h"
#include "engine.h"
#include "how.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "model/decode/forward_kv.h"
#include "train/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Read prompts while fewer than WINDOW * at_once texts are pending. */
enum { WINDOW = 8 };

/* ---- groups ---- */

/*
 * With --best-of all texts of a prompt are a group, of which at most one is
 * written; without it each text is a group of its own.  A group is in the queue
 * as a whole, and is written when all its texts have ended.
 */

/* The number of texts of t's group. */
static size_t
group_size(const struct many *r, const struct written *t)
{
    return r->best != NULL ? t->prompt->params.n : 1;
}

/* The next group of the prompt r->next. */
static struct written *
new_group(struct many *r)
{
    struct written *first = written_new(r->next, r->choice++), *last = first;

    for (size_t n = group_size(r, first); n > 1; n--) {
        last->next = written_new(r->next, r->choice++);
        last = last->next;
    }
    return first;
}

/* Free a group which is not in the queue, or NULL. */
static void
free_texts(struct written *t)
{
    while (t != NULL) {
        struct written *next = t->next;

        written_free(t);
        t = next;
    }
}

static struct prompt *
source_prompt(struct many *r)
{
    return r->draws != NULL ? r->draws->next(r->draws->ctx)
                            : prompts_next(r->prompts);
}

/* If the output has lines but no FILE.options.json: the group of its last line,
 * which is made again to be compared with that line.  Else NULL. */
static struct written *
take_proof(struct many *r)
{
    struct written *first = r->before;
    int proof;

    r->before = NULL;
    if (first == NULL)
        return NULL;
    proof = output_unproven(r->output) != NULL;
    for (struct written *t = first; t != NULL; t = t->next)
        t->proof = proof;
    if (proof)
        return first;
    free_texts(first);
    return NULL;
}

/* Returns 1 if an earlier run has written or dropped the group, which is then
 * counted, and freed or kept as r->before; else 0. */
static int
pass_group(struct many *r, struct written *first)
{
    json_t *known = written_known(first);
    enum output_answer answer;

    if (r->best != NULL)
        json_object_del(known, "choice");
    answer = output_look(r->output, known, r->best != NULL);
    json_decref(known);
    if (answer == OUTPUT_END)
        return 0;
    r->done += (double)group_size(r, first) / (double)first->prompt->params.n;
    r->passed = r->done;
    if (answer == OUTPUT_OTHER) {
        r->best->dropped++;
        free_texts(first);
        return 1;
    }
    r->texts++;
    if (r->best != NULL)
        r->best->kept++;
    free_texts(r->before);
    r->before = first;
    return 1;
}

/* The next group to make, or NULL. */
static struct written *
next_group(struct many *r)
{
    struct written *t = r->held, *proof;

    r->held = NULL;
    while (t == NULL && r->next != NULL) {
        const size_t n = r->next->params.n;
        struct written *one = new_group(r);

        if (r->choice == n) {
            r->next = source_prompt(r);
            r->choice = 0;
        }
        if (!pass_group(r, one))
            t = one;
    }
    if ((proof = take_proof(r)) == NULL)
        return t;
    r->held = t;
    return proof;
}

static void
hear_text(void *ctx, const struct gen_event *ev)
{
    engine_check(ev);
    written_event(ctx, ev);
}

/* Tokens of t's prompt, which are read for the first text of a prompt. */
static double
prompt_length(const struct written *t)
{
    return t->choice == 0 ? (double)t->prompt->ids.n : 0.0;
}

static void
queue_group(struct many *r, struct written *t)
{
    *(r->last != NULL ? &r->last->next : &r->first) = t;
    r->prompts_taken += t->choice == 0;
    for (; t != NULL; t = t->next) {
        r->last = t;
        r->pending++;
        r->texts_taken++;
        r->lengths += prompt_length(t);
    }
}

/* ---- progress ---- */

static double
less_of(double a, double b)
{
    return a < b ? a : b;
}

/*
 * Report the tokens read and written so far, of texts that go on too, and how
 * many are still to come.  A text that goes on is taken to get as many more as
 * all new tokens so far are for each text that has ended, but no more than it
 * may have.
 */
static void
show_tokens(const struct many *r)
{
    const double prompts = (double)prompts_total(r->prompts);
    const double taken = (double)r->prompts_taken;
    const double later = prompts - r->passed - taken; /* prompts */
    double written = r->tokens, read = r->read, left = 0.0;
    double ended = (double)r->texts_done, most = 0.0, each;
    char extra[60];

    for (const struct written *t = r->first; t != NULL; t = t->next) {
        written += (double)t->ids.n;
        ended += t->end != GEN_GOES_ON;
    }
    each = ended > 0.0 ? written / ended : INFINITY;
    for (const struct written *t = r->first; t != NULL; t = t->next) {
        most = (double)t->prompt->params.most;
        if (t->end == GEN_GOES_ON)
            left += less_of(each, most - (double)t->ids.n);
        if (t->end == GEN_GOES_ON && t->ids.n == 0)
            left += prompt_length(t);
        else
            read += prompt_length(t);
    }
    if (later > 0.0 && taken > 0.0)
        left += later / taken *
            (r->lengths + (double)r->texts_taken * less_of(each, most));
    progress_total(prompts > 0.0 ? read + written + left : 0.0);
    if (prompts > 0.0)
        snprintf(extra, sizeof extra, "%.0f of %.0f prompts", r->done, prompts);
    else
        snprintf(extra, sizeof extra, "%.0f prompts", r->done);
    progress_at(read + written, extra);
}

/*
 * As show_tokens, for --ask and --harder.  The estimate: each question still
 * wanted costs as many tokens as one cost so far, dropped texts included.
 */
static void
show_draws(const struct many *r)
{
    const double wanted = (double)r->draws->total, past = r->tokens + r->read;
    const double kept = r->done - (double)r->draws->had;
    double open = 0.0, left; /* open: tokens of texts not judged yet */
    char extra[60];

    for (const struct written *t = r->first; t != NULL; t = t->next)
        open += t->ids.n > 0 ? prompt_length(t) + (double)t->ids.n : 0.0;
    left = kept > 0.0 ? (wanted - r->done) * past / kept - open : 0.0;
    progress_total(
        kept > 0.0 && wanted > 0.0 ? past + open + fmax(left, 0.0) : 0.0);
    if (wanted > 0.0)
        snprintf(extra, sizeof extra, "%.0f of %.0f questions", r->done,
            wanted);
    else
        snprintf(extra, sizeof extra, "%.0f questions", r->done);
    progress_at(past + open, extra);
}

/* ---- writing ---- */

/* Die of an error that the prompt or its texts have caused. */
static void
die_at(const struct many *r, const struct prompt *q, const struct err *e)
{
    if (q->line > 0)
        die(e->code, "%s: line %zu: %s", io_in_name(r->file), q->line, e->msg);
    die_err(e);
}

/* Have all n texts ended? */
static int
has_ended(const struct written *t, size_t n)
{
    for (; n > 0 && t->end != GEN_GOES_ON; n--)
        t = t->next;
    return n == 0;
}

/* Write the line of t, the text of a group that is kept; NULL: no text is. */
static void
write_line(struct many *r, const struct written *t, int proof)
{
    struct buf line = { 0 };

    if (r->draws != NULL)
        r->enough = !r->draws->judge(r->draws->ctx, t, &line);
    else if (t != NULL)
        written_line(t, r->made, r->tok, &line);
    if (proof) {
        output_prove(r->output, line.n > 0 ? line.p : "");
    } else if (line.n > 0) {
        buf_addc(&line, '\n');
        output_line(r->output, line.p, line.n);
        r->texts++;
    }
    buf_release(&line);
}

/* Write the line of the n texts at the head of the queue, which have ended, and
 * free them. */
static void
finish_group(struct many *r, size_t n)
{
    struct written *kept = r->first;
    const struct prompt *q = kept->prompt;
    const int proof = kept->proof;
    const double share = (double)n / (double)q->params.n;
    struct err e;

    if (r->best != NULL && best_choose(r->best, r->first, n, &kept, &e) < 0)
        die_at(r, q, &e);
    write_line(r, kept, proof);
    for (; n > 0; n--) {
        struct written *t = r->first;

        r->tokens += (double)t->ids.n;
        r->first = t->next;
        r->pending--;
        r->texts_done++;
        r->read += prompt_length(t);
        written_free(t);
    }
    r->last = r->first == NULL ? NULL : r->last;
    r->done = r->draws != NULL ? r->texts : r->done + (proof ? 0.0 : share);
}

/* Write the groups that have ended, up to the first that has not. */
static void
write_ended(struct many *r)
{
    while (!r->enough && r->first != NULL &&
        has_ended(r->first, group_size(r, r->first)))
        finish_group(r, group_size(r, r->first));
    if (r->draws != NULL)
        show_draws(r);
    else
        show_tokens(r);
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
        .guesses = r->guesses,
        .vocab = r->bound != NULL ? r->bound->vocab : NULL };

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

/* Compute a step.  Returns the number of texts that run or wait. */
static size_t
step_texts(struct many *r)
{
    const size_t left = gen_step(r->engine);

    if (r->draws == NULL)
        return left;
    for (struct written *t = r->first; t != NULL; t = t->next)
        if (t->end == GEN_GOES_ON && t->bytes.n > 0 && t->handle != NULL &&
            r->draws->hopeless(r->draws->ctx, t)) {
            gen_cancel(r->engine, t->handle);
            t->handle = NULL;
        }
    return left;
}

/* End the texts of the engine, and replace it by an engine for texts of
 * `longest` tokens. */
static void
widen_engine(struct many *r, size_t texts, size_t longest)
{
    struct gen_limits l;

    while (r->engine != NULL && !r->enough && step_texts(r) > 0)
        write_ended(r);
    free_engine(r);
    l = many_limits(r, texts, longest);
    r->engine = engine_new(r->m, r->pool, r->tok, &l);
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
        .schema = r->bound != NULL ? r->bound->schema : NULL,
        .number = prompt_number(q, t->choice),
        .on_event = hear_text,
        .ctx = t };
    struct err e;

    if (text_length(t) > r->longest)
        widen_engine(r, r->at_once, text_length(t));
    if ((t->handle = gen_add(r->engine, &request, &e)) == NULL)
        die_at(r, q, &e);
}

/* Free the engine and the texts that are not wanted any more. */
static void
drop_rest(struct many *r)
{
    free_engine(r);
    free_texts(r->first);
    free_texts(r->held);
    if (r->next != NULL)
        prompt_free(r->next);
}

void
many_run(struct many *r)
{
    const size_t window = WINDOW * r->at_once;
    struct written *t;
    size_t longest = 1;

    progress_begin("generating", 0.0, "tokens");
    if (r->draws != NULL)
        r->texts = r->done = (double)r->draws->had;
    r->next = source_prompt(r);
    if (r->next != NULL)
        how_compare(r->packed, r->pool, r->next->ids.v, r->next->ids.n);
    /* The first prompts say how much memory texts need. */
    while (r->pending < window && (t = next_group(r)) != NULL) {
        longest = text_length(t) > longest ? text_length(t) : longest;
        queue_group(r, t);
    }
    if (r->pending > 0)
        widen_engine(r, r->pending < r->at_once ? r->pending : r->at_once,
            longest);
    for (t = r->first; t != NULL; t = t->next)
        start_text(r, t);
    while (r->pending > 0 && !r->enough) {
        step_texts(r);
        write_ended(r);
        while (
            !r->enough && r->pending < window && (t = next_group(r)) != NULL) {
            for (struct written *one = t; one != NULL; one = one->next)
                start_text(r, one);
            queue_group(r, t);
        }
    }
    progress_end();
    drop_rest(r);
}
