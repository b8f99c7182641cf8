/* The stream that passes through: see teacher.h. */
#include "teacher.h"
#include "base/clock.h"
#include "base/profile.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "msg/addr.h"
#include "tok/tok.h"

/*
 * The `stream` message.  Ids of another tokenizer mean nothing to the model.
 * A resumed stream goes on in our numbering, which counts the `teacher`
 * message too, and in the chain of whoever is continued behind us.
 */
static int
take_stream(struct teacher *t, const struct msg *m, struct err *e)
{
    struct stream_info i;
    struct err none;
    int r = 0;

    if (stream_info_read(&i, &m->st, e) < 0)
        return -1;
    if (tok_matches(t->a->model, i.tokenizer, &none) == 0)
        r = err_set(e, EX_INPUT,
            "%s: was made with another tokenizer than that of %s",
            msg_in_name(t->in), t->a->model);
    else if (i.vocab > t->m.c.V)
        r = err_set(e, EX_INPUT,
            "%s: the stream's vocabulary is %zu, the model's %zu",
            msg_in_name(t->in), i.vocab, t->m.c.V);
    else if (i.resumed)
        msg_out_resume(t->out, i.next_seq + 1, &i.down);
    stream_info_release(&i);
    return r;
}

/* Pass one message on.  0; 1 the reader has left; -1 damage. */
static int
pass(struct teacher *t, const struct msg *m, int *introduced, struct err *e)
{
    int r = 0;

    if (m->kind == MSG_DOCS)
        return err_set(e, EX_INPUT,
            "%s: documents, not batches: put stream between",
            msg_in_name(t->in));
    if (m->kind == MSG_TEACHER)
        return err_set(e, EX_INPUT,
            "%s: message %llu: the stream has a teacher already",
            msg_in_name(t->in), (unsigned long long)m->seq);
    if (m->kind == MSG_BATCH) {
        if (!*introduced && (r = send_self(t, e)) != 0)
            return r;
        *introduced = 1;
        return send_batch(t, m, e);
    }
    (void)msg_copy(t->out, m);
    if (m->kind == MSG_STREAM && take_stream(t, m, e) < 0)
        return -1;
    return msg_send(t->out, e);
}

/* Damage upstream is told downstream, so that nothing there is taken for
 * whole. */
static void
fail(struct teacher *t, const struct err *why)
{
    struct err e;

    (void)msg_abort(t->out, why->msg, &e);
    die_err(why);
}

void
filter(struct teacher *t, const char *input)
{
    double tokens = 0.0, start = clock_now();
    int introduced = 0, r, left = 0;
    struct msg m;
    struct err e;

    if (addr_is_special(t->a->out) && addr_same(t->a->out, input))
        die(EX_USAGE, "%s: is both input and output", t->a->out);
    if ((t->in = set_in_open(input, 0, &e)) == NULL ||
        (t->out = msg_out_open(t->a->out, &e)) == NULL)
        die_err(&e);
    progress_begin("computed", 0, "tokens");
    while (!left && (r = msg_read(t->in, &m, &e)) > 0) {
        if ((r = pass(t, &m, &introduced, &e)) < 0)
            break;
        left = r == 1;
        if (m.kind == MSG_BATCH) {
            tokens += (double)t->batch.ntok;
            profile_step(t->batch.ntok);
        }
        progress_total(msg_in_expect(t->in, tokens));
        progress_at(tokens, NULL);
    }
    progress_end();
    if (r < 0 || (!left && msg_end(t->out, &e) < 0))
        fail(t, &e);
    if (t->top != NULL)
        top_tell(t->top);
    prog_closing("%.0f tokens, %.1f tokens/s", tokens,
        tokens / (clock_now() - start + 1e-9));
    prog_detail("waited %.1f s for input", msg_in_wait(t->in));
    msg_in_close(t->in);
    msg_out_close(t->out);
}
