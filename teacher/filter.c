/* Streams that pass through teacher: see filter.h. */
#include "filter.h"
#include "introduce.h"
#include "rank.h"
#include "states.h"
#include "student_tokenizer.h"
#include "teacher.h"
#include "top.h"
#include "base/clock.h"
#include "base/profile.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "tok/tok.h"

#include <string.h>

/* Was the stream made with the tokenizer that the teacher expects?  Sets *whose
 * to the path of that tokenizer.  Returns 1; 0: no; -1: the model has no
 * tokenizer. */
static int
right_tokenizer(const struct teacher *t, const char *hash, const char **whose)
{
    struct err none;

    *whose = t->student != NULL ? t->a->student_tokenizer : t->a->model;
    return t->student != NULL
        ? strcmp(hash, student_tokenizer_hash(t->student)) == 0
        : tok_matches(t->a->model, hash, &none);
}

/*
 * Check the `stream` message: its ids must be of the model's tokenizer, or of
 * --student-tokenizer.
 * If the stream is resumed, the output continues the numbering and the hash
 * chain of the earlier output, in which the `teacher` message counts too.
 */
static int
pass_stream(struct teacher *t, const struct msg *m, struct err *e)
{
    struct stream_info i;
    const char *whose;
    int r = 0;

    if (stream_info_read(&i, &m->st, e) < 0)
        return -1;
    if (right_tokenizer(t, i.tokenizer, &whose) == 0)
        r = err_set(e, EX_INPUT,
            "%s: was made with another tokenizer than that of %s",
            msg_in_name(t->in), whose);
    else if (t->student == NULL)
        r = msg_in_fit(t->in, &i, t->m.c.V, e);
    if (t->top != NULL)
        top_stream(t->top, &i);
    if (r == 0 && i.resumed)
        msg_out_resume(t->out, i.next_seq + 1, &i.down);
    stream_info_release(&i);
    return r;
}

/* Send the message l->m on, unless it is a batch: lane_step sends batches with
 * the teacher's tensors. At the first batch send the `teacher` message.
 * Returns 0; 1: the reader has left; -1 and *e. */
static int
pass_message(struct teacher *t, struct lane *l, struct err *e)
{
    const struct msg *m = &l->m;

    if (m->kind == MSG_DOCS)
        return err_set(e, EX_INPUT,
            "%s: documents, not batches: put stream between",
            msg_in_name(t->in));
    if (m->kind == MSG_TEACHER)
        return err_set(e, EX_INPUT,
            "%s: message %llu: the stream has a teacher already",
            msg_in_name(t->in), (unsigned long long)m->seq);
    if (m->kind == MSG_BATCH)
        return l->introduced++ ? 0 : send_self(t, e);
    (void)msg_copy(t->out, m);
    if (m->kind == MSG_STREAM && pass_stream(t, m, e) < 0)
        return -1;
    return msg_send(t->out, e);
}

/* Go to the stream's next batch.  Returns 1; 0: the stream is over, or its
 * reader has left; -1 and *e. */
static int
advance_lane(struct teacher *t, struct lane *l, struct err *e)
{
    int r;

    do {
        if ((r = msg_read(t->in, &l->m, e)) == 0)
            return msg_end(t->out, e) < 0 ? -1 : 0;
        if (r > 0)
            r = pass_message(t, l, e);
    } while (r == 0 && l->m.kind != MSG_BATCH);
    return r < 0 ? -1 : r == 0;
}

/* End all streams with an abort message, so that no reader takes them for
 * complete.  Then die of *why. */
static void
abort_streams(struct teacher *t, const struct err *why)
{
    struct err e;

    for (size_t i = 0; i < t->lanes; i++)
        if (t->lane[i].out != NULL)
            (void)msg_abort(t->lane[i].out, why->msg, &e);
    die_err(why);
}

/* Send the next batch of a lane's stream, and add its tokens to *tokens.
 * Returns 0 when this stream and the streams of all ranks with which this rank
 * gathers blocks have ended. */
static int
lane_step(struct teacher *t, struct lane *l, double *tokens)
{
    struct err e;
    size_t came;
    int r = 0, there;

    t->in = l->in;
    t->out = l->out;
    if (t->team.rank == 0 && !l->ended && (r = advance_lane(t, l, &e)) < 0)
        abort_streams(t, &e);
    l->ended = r == 0;
    there = rank_batch(t, l, r);
    if (!rank_any(t, there))
        return 0;
    if (!there) {
        run_none(t);
        return 1;
    }
    if ((r = send_batch(t, &l->m, &e)) < 0)
        abort_streams(t, &e);
    l->ended = r;
    came = t->student != NULL ? t->came.ntok : t->batch.ntok;
    profile_step(came);
    if (t->team.rank > 0)
        return 1;
    *tokens += (double)came;
    progress_total(msg_in_expect(t->in, *tokens));
    progress_at(*tokens, NULL);
    return 1;
}

void
filter_streams(struct teacher *t, const char *input)
{
    double tokens = 0.0, wait = 0.0, start = clock_now();
    size_t open;

    rank_open(t, input);
    progress_begin("computed", 0, "tokens");
    do {
        open = 0;
        for (size_t i = 0; i < t->lanes; i++) {
            struct lane *l = &t->lane[i];

            l->over = l->over || !lane_step(t, l, &tokens);
            open += !l->over;
        }
    } while (open > 0);
    progress_end();
    if (t->top != NULL)
        top_tell(t->top);
    for (size_t i = 0; t->team.rank == 0 && i < t->lanes; i++)
        wait += msg_in_wait(t->lane[i].in);
    tokens = rank_total(tokens);
    prog_closing("%.0f tokens, %.1f tokens/s", tokens,
        tokens / (clock_now() - start + 1e-9));
    prog_detail("waited %.1f s for input", wait);
    rank_close(t);
}
