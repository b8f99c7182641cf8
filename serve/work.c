/* The engine's thread; see work.h. */
#include "work.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

static const double IDLE = 0.2;  /* seconds to wait for a call */
static const double LOOK = 0.05; /* seconds between checks of clients */
static const double PROBE = 1.0; /* seconds between checks of sockets */
static const double AGAIN = 2.0; /* seconds until a second signal counts */

struct call_text {
    struct desk *desk;
    struct call *call;
    struct gen_engine *engine;
    struct gen_text *text; /* NULL: the text has not begun, or has ended */
    struct gen_request request;
    struct reply_text reply;
    size_t held;          /* bytes of `reply` that count as held, see queue.h */
    const char *finish;   /* finish_reason; NULL: the text has not ended */
    double begun;         /* clock_now() when an engine got the text */
    double first, newest; /* clock_now() of its first and its newest token */
};

struct desk {
    const struct work *w;
    struct call *calls,
        **last;       /* calls that have not ended, the oldest first */
    size_t running;   /* texts in the engines */
    struct buf fresh; /* bytes for send_fresh */
    double looked;    /* clock_now at the last check of clients */
    double probed;    /* clock_now at the last check of sockets */
};

/* --- the end of a text, and of a call --- */

/* Append d->fresh to the call's answer (call_write), and empty d->fresh. */
static int
send_fresh(struct desk *d, struct call *c, int status, int whole)
{
    const int r = call_write(d->w->queue, c, &d->fresh, status, whole);

    buf_clear(&d->fresh);
    return r;
}

static void
drop_replies(struct desk *d, struct call *c)
{
    for (size_t i = 0; !c->is_targets && i < c->started; i++) {
        reply_text_release(&c->text[i].reply);
        queue_hold(d->w->queue, &c->text[i].held, 0);
    }
}

/* End a call with an error; look_after_calls will cancel its texts.  The memory
 * of its replies is freed before the client gets the error. */
static void
fail_call(struct desk *d, struct call *c, const struct refusal *why)
{
    if (!c->whole) {
        drop_replies(d, c);
        /* once the status is set, the error is an event of the stream */
        buf_adds(&d->fresh, c->status != 0 ? "data: " : "");
        reply_error(&d->fresh, why);
        buf_adds(&d->fresh, c->status != 0 ? "\n" : "");
        send_fresh(d, c, why->status, 1);
    }
    call_leave(d->w->queue, c);
}

static void
fail_large(struct desk *d, struct call *c)
{
    struct refusal why;

    buf_clear(&d->fresh);
    refuse(&why, 503, NULL, "no_memory",
        "The server holds too many bytes of answers: try again later.");
    fail_call(d, c, &why);
}

static size_t
new_tokens(const struct call *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->texts; i++)
        n += c->text[i].reply.tokens;
    return n;
}

/* All texts of the call have ended: write the end of the answer if it is
 * streamed, else the whole answer. */
static void
send_end(struct desk *d, struct call *c)
{
    struct buf *out = &d->fresh;
    const size_t tokens = new_tokens(c);

    if (c->q.stream) {
        if (c->q.usage)
            reply_usage(out, &c->head, &c->q, tokens);
        reply_done(out);
    } else {
        reply_object_begin(out, &c->head);
        for (size_t i = 0; i < c->texts; i++)
            reply_object_text(out, &c->q, &c->text[i].reply, c->text[i].finish);
        reply_object_end(out, &c->q, tokens);
    }
    drop_replies(d, c);
    if (send_fresh(d, c, 200, 1) < 0)
        fail_large(d, c);
}

static void
measure_text(const struct desk *d, const struct call_text *t, double now)
{
    struct metrics *m = d->w->metrics;
    const struct request *q = &t->call->q;
    const size_t n = t->reply.tokens;

    metrics_ended(m, t->finish);
    metrics_add(m, METRIC_E2E, now - t->call->arrived);
    metrics_add(m, METRIC_QUEUE, t->begun - t->call->arrived);
    metrics_add(m, METRIC_INFER, now - t->begun);
    metrics_add(m, METRIC_PROMPT, (double)t->request.n);
    metrics_add(m, METRIC_TOKENS, (double)n);
    metrics_add(m, METRIC_MAX, (double)q->params.most);
    metrics_add(m, METRIC_N, (double)q->params.n);
    if (n == 0)
        return;
    metrics_add(m, METRIC_PREFILL, t->first - t->begun);
    metrics_add(m, METRIC_DECODE, t->newest - t->first);
    if (n > 1)
        metrics_add(m, METRIC_TPOT, (t->newest - t->first) / (double)(n - 1));
}

static void
finish_text(struct desk *d, struct call_text *t, enum gen_reason reason)
{
    struct call *c = t->call;

    t->text = NULL;
    t->finish = reply_finish(reason);
    d->running--;
    c->ended++;
    measure_text(d, t, clock_now());
    queue_text_ended(d->w->queue, 1);
    if (reason == GEN_NAN) {
        struct refusal why;

        refuse(&why, 500, NULL, "not_finite",
            "The model computed a number that is not finite.");
        fail_call(d, c, &why);
    }
}

/* --- tokens --- */

/* Write an event with the part of the text that has not been written, after a
 * token or the text's end.  If a token is the last of max_tokens, the event of
 * the text's end writes it. */
static void
stream_text(struct desk *d, struct call_text *t, const struct gen_event *ev)
{
    struct call *c = t->call;
    const int silent = t->reply.text.n == 0 && !c->q.params.logprobs;

    if (ev->kind == GEN_PROMPT ||
        (ev->kind == GEN_TOKEN &&
            (silent || t->reply.tokens == c->q.params.most)))
        return;
    reply_event(&d->fresh, &c->head, &c->q, &t->reply, t->finish);
    if (send_fresh(d, c, 200, 0) < 0)
        fail_large(d, c);
}

static void
clock_token(struct desk *d, struct call_text *t)
{
    const double now = clock_now();

    if (t->reply.tokens++ == 0) {
        t->first = now;
        metrics_add(d->w->metrics, METRIC_TTFT, now - t->call->arrived);
    } else {
        metrics_add(d->w->metrics, METRIC_ITL, now - t->newest);
    }
    t->newest = now;
}

/* Add an event's token, and the bytes that it completes, to the reply. */
static void
keep_event(struct desk *d, struct call_text *t, const struct gen_event *ev)
{
    struct call *c = t->call;

    if (ev->kind != GEN_END && c->q.params.logprobs)
        reply_logprob(&t->reply, &c->q, d->w->tok, ev);
    if (ev->n > 0)
        buf_add(&t->reply.text, ev->bytes, ev->n);
    if (queue_hold(d->w->queue, &t->held, reply_text_bytes(&t->reply)) < 0)
        fail_large(d, c);
}

static void
on_event(void *ctx, const struct gen_event *ev)
{
    struct call_text *t = ctx;
    struct desk *d = t->desk;
    struct call *c = t->call;

    if (ev->kind == GEN_TOKEN)
        clock_token(d, t);
    if (!c->whole)
        keep_event(d, t, ev);
    if (ev->kind == GEN_END)
        finish_text(d, t, ev->reason);
    if (c->whole || call_is_gone(d->w->queue, c, 0))
        return; /* the answer has ended, or the client has left */
    if (c->q.stream)
        stream_text(d, t, ev);
    if (c->ended == c->texts)
        send_end(d, c);
}

/* --- calls --- */

/* Begin the reply with the prompt's text. */
static void
echo_prompt(const struct desk *d, struct call_text *t)
{
    const struct gen_params *p = &t->call->q.params;
    const int flags = p->hide_special ? TOK_SKIP : 0;
    struct buf inside = { 0 };

    tok_decode(d->w->tok, t->request.prompt, t->request.n, flags,
        &t->reply.text, NULL);
    tok_decode(d->w->tok, t->request.prompt, t->request.n, flags | TOK_MIDDLE,
        &inside, NULL);
    t->reply.lead = inside.n - t->reply.text.n;
    buf_release(&inside);
}

static void
give_text(struct desk *d, struct call *c)
{
    const size_t i = c->started++;
    struct call_text *t = &c->text[i];
    const struct tok_ids *prompt = &c->q.prompt[i / c->q.params.n];
    struct refusal why;
    struct err e;

    *t = (struct call_text){ .desk = d,
        .call = c,
        .engine = c->q.echo && d->w->exact ? d->w->exact : d->w->engine,
        .reply.index = i,
        .begun = clock_now(),
        .request = { .prompt = prompt->v,
            .n = prompt->n,
            .params = &c->q.params,
            .schema = c->q.schema,
            .number = i % c->q.params.n,
            .score = c->q.echo && c->q.params.logprobs,
            .on_event = on_event,
            .ctx = t } };
    if (c->q.echo)
        echo_prompt(d, t);
    if (c->q.stream && c->q.chat) {
        reply_role(&d->fresh, &c->head, &c->q, i);
        send_fresh(d, c, 200, 0);
    }
    d->running++;
    if ((t->text = gen_add(t->engine, &t->request, &e)) != NULL)
        return;
    /* the request is valid, so the cache has too few pages for it */
    t->finish = "abort";
    d->running--;
    c->ended++;
    queue_text_ended(d->w->queue, 1);
    refuse(&why, 400, NULL, "context_length_exceeded", "%s", e.msg);
    fail_call(d, c, &why);
}

/* Compute one row of the oldest call for targets.  Between two rows each
 * running text gets a token. */
static void
compute_targets(struct desk *d)
{
    struct call *c = d->calls;
    struct refusal why;

    while (c != NULL && (!c->is_targets || c->started == c->texts))
        c = c->next;
    if (c == NULL)
        return;
    queue_text_ended(d->w->queue, 1);
    c->ended = c->started + 1;
    if (teach_row(d->w->targets, &c->targets, c->started++) < 0) {
        refuse(&why, 500, NULL, "not_finite",
            "The model computed a number that is not finite.");
        fail_call(d, c, &why);
    } else if (c->ended == c->texts) {
        teach_message(&c->targets, d->w->vocab, &d->fresh);
        if (send_fresh(d, c, 200, 1) < 0)
            fail_large(d, c);
    }
}

/* Give texts to the engines, the oldest call's first, while there is room. */
static void
give_texts(struct desk *d)
{
    for (struct call *c = d->calls; c != NULL; c = c->next)
        while (!c->is_targets && c->started < c->texts &&
            d->running < d->w->at_once)
            give_text(d, c);
}

static void
take_calls(struct desk *d, double wait)
{
    struct call *next;

    for (struct call *c = queue_take(d->w->queue, wait); c != NULL; c = next) {
        next = c->next;
        c->next = NULL;
        if (!c->is_targets)
            c->text = xcalloc(c->texts, sizeof *c->text);
        *d->last = c;
        d->last = &c->next;
    }
}

/* Cancel the running texts of a call, and drop those that have not begun. */
static void
cancel_call(struct desk *d, struct call *c)
{
    queue_text_ended(d->w->queue, c->texts - c->started);
    c->ended += c->texts - c->started;
    c->started = c->texts;
    for (size_t i = 0; !c->is_targets && i < c->texts; i++)
        if (c->text[i].text != NULL)
            gen_cancel(c->text[i].engine, c->text[i].text);
}

static void
refuse_late(struct desk *d, struct call *c)
{
    struct refusal why;

    refuse(&why, 503, NULL, "timeout", "The request took more than %g seconds.",
        d->w->longest);
    fail_call(d, c, &why);
}

static void
free_call(struct desk *d, struct call *c)
{
    drop_replies(d, c);
    free(c->text);
    call_release(d->w->queue, c);
}

/* End calls that take longer than --timeout, and cancel the texts of calls that
 * have failed or whose clients have left. */
static void
look_after_calls(struct desk *d, double now)
{
    const int probe = now - d->probed >= PROBE;

    if (now - d->looked < LOOK)
        return;
    d->looked = now;
    d->probed = probe ? now : d->probed;
    for (struct call *c = d->calls; c != NULL; c = c->next) {
        if (!c->whole && now - c->arrived > d->w->longest)
            refuse_late(d, c);
        if (call_is_gone(d->w->queue, c, probe))
            cancel_call(d, c);
    }
}

/* Remove the calls whose texts have all ended. */
static void
drop_calls(struct desk *d)
{
    struct call **p = &d->calls, *c;

    while ((c = *p) != NULL) {
        if (c->ended < c->texts) {
            p = &c->next;
            continue;
        }
        *p = c->next;
        free_call(d, c);
    }
    d->last = p;
}

/* Set *s to the sums of the statistics of both engines. */
static void
engine_statistics(const struct work *w, struct gen_stats *s)
{
    struct gen_stats e;

    gen_statistics(w->engine, s);
    if (w->exact == NULL)
        return;
    gen_statistics(w->exact, &e);
    s->running += e.running;
    s->waiting += e.waiting;
    s->pages += e.pages;
    s->used += e.used;
    s->kept += e.kept;
    s->prompt += e.prompt;
    s->shared += e.shared;
    s->next += e.next;
    s->preempted += e.preempted;
    s->steps += e.steps;
    s->step_tokens += e.step_tokens;
}

static void
step_engines(const struct work *w)
{
    gen_step(w->engine);
    if (w->exact != NULL)
        gen_step(w->exact);
}

static void
update_metrics(const struct desk *d)
{
    struct gen_stats s;
    size_t waiting = queue_waiting(d->w->queue);

    for (const struct call *c = d->calls; c != NULL; c = c->next)
        waiting += c->texts - c->started;
    engine_statistics(d->w, &s);
    metrics_engine(d->w->metrics, &s, waiting);
    if (d->running > 0)
        metrics_add(d->w->metrics, METRIC_STEP, (double)s.step_tokens);
}

/* Handle a pending signal; *first: clock_now at the first one, or 0.  Returns
 * 0: no signal has come; 1: one has; 2: another came AGAIN seconds later, or
 * more. */
static int
stop_level(double *first)
{
    if (stop_asked == 0)
        return *first > 0;
    stop_asked = 0;
    if (*first == 0) {
        *first = clock_now();
        return 1;
    }
    return clock_now() - *first >= AGAIN ? 2 : 1;
}

size_t
work_run(const struct work *w)
{
    struct desk d = { .w = w };
    double first = 0;
    size_t lost = 0;
    int level, reads;

    d.last = &d.calls;
    while ((level = stop_level(&first)) < 2) {
        if (level == 1 && !queue_drains(w->queue)) {
            http_stop_accepting(w->http);
            queue_drain(w->queue);
            note("stopping: requests that have come are answered");
        }
        reads = queue_readings(w->queue) > 0;
        take_calls(&d, d.calls == NULL ? IDLE : 0);
        if (level == 1 && !reads && d.calls == NULL)
            break;
        look_after_calls(&d, clock_now());
        compute_targets(&d);
        give_texts(&d);
        if (d.running > 0)
            step_engines(w);
        update_metrics(&d);
        drop_calls(&d);
    }
    for (struct call *c = d.calls; c != NULL; c = c->next, lost++) {
        call_leave(w->queue, c);
        call_is_gone(w->queue, c, 0);
        cancel_call(&d, c);
    }
    step_engines(w);
    drop_calls(&d);
    buf_release(&d.fresh);
    return lost;
}
