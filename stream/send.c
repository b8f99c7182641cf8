/* Preamble, batches and end: see send.h */
#include "send.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Pack the rows of the next batch.  1: packed.  0: the stream is at its end.
 * -1: an error.  A last batch with fewer rows than ranks is dropped, so that
 * all ranks have the same number of batches. */
static int
make_batch(struct sending *s, struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    struct feed *f = s->feed;

    f->clear(f);
    while (f->B < p->B) {
        int r;

        if (p->length == LENGTH_BATCHES && f->rows >= p->limit * p->B)
            break;
        if (p->length == LENGTH_TOKENS && s->c.tokens + f->tokens >= p->limit)
            break;
        if ((r = f->row(f, e)) < 0)
            return -1;
        if (r == 0)
            break;
    }
    return f->B >= p->ranks;
}

/* Begin the message of the next batch in w, and make its rows; returns as
 * make_batch. */
static int
next_batch(struct sending *s, struct msg_out *w, struct err *e)
{
    struct st_out *o;
    int r;

    s->c.chain = s->h;
    s->feed->save(s->feed, &s->c);
    buf_clear(&s->text);
    cursor_write(&s->text, &s->c);
    if ((r = make_batch(s, e)) <= 0)
        return r;
    o = msg_begin(w, MSG_BATCH);
    st_out_meta(o, "cursor", s->text.p);
    s->feed->put(s->feed, o);
    msg_out_tokens(w, s->feed->own_tokens);
    s->c.tokens += s->feed->tokens;
    s->c.own += s->feed->own_tokens;
    return 1;
}

/* Continue after the cursor's message.  That message is made again, but not
 * sent. */
static void
go_to_cursor(struct sending *s)
{
    const size_t rank = s->c.spec.rank, ranks = s->c.spec.ranks;
    const uint64_t limit = s->c.spec.limit;
    const struct cursor *c = &s->from->from;
    const char *const run = s->from->run;
    struct msg_out *w;
    struct err e;

    if (s->from->at.seq < c->seq)
        die(EX_INPUT,
            "%s: stands at message %" PRIu64
            ", before that of its cursor, %" PRIu64,
            run, s->from->at.seq, c->seq);
    s->c.seq = c->seq;
    s->c.tokens = c->tokens;
    s->c.own = c->own;
    s->h = c->chain;
    /* the cursor's message was made with the cursor's rank and length */
    s->c.spec.rank = c->spec.rank;
    s->c.spec.ranks = c->spec.ranks;
    s->c.spec.limit = c->spec.limit;
    if (s->feed->load(s->feed, c, &e) < 0)
        die(e.code, "%s: %s", run, e.msg);
    if (!(w = msg_out_open("/dev/null", &e)))
        die_err(&e);
    msg_out_resume(w, c->seq, &c->chain);
    switch (next_batch(s, w, &e)) {
    case 0:
        die(EX_INPUT, "%s: its cursor stands behind the end of the stream",
            run);
    case -1: die_err(&e);
    }
    if (msg_send(w, &e) < 0)
        die_err(&e);
    s->h = *msg_out_chain(w);
    s->c.seq++;
    msg_out_close(w);
    s->c.spec.rank = rank;
    s->c.spec.ranks = ranks;
    s->c.spec.limit = limit;
    s->feed->pieces = s->feed->cuts = 0;
}

/* Count the batches of the whole stream, if the feed can. */
static int
count_batches(struct sending *s, struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    const double t = clock_now();
    uint64_t rows = p->limit * p->B;

    if (p->length != LENGTH_BATCHES && s->feed->total(s->feed, &rows, e) < 0)
        return -1;
    /* a last batch needs a row for each rank: see make_batch */
    s->batches_all = rows / p->B + (rows % p->B >= p->ranks);
    if (s->batches_all)
        vnote("%" PRIu64 " batches, counted in %.2f s", s->batches_all,
            clock_now() - t);
    return 0;
}

/* Is the value of this key of the `stream` message set by this program?  All
 * other values are copied. */
static int
is_known(const char *key)
{
    static const char *const known[] = { "kind", "seq", "version", "content",
        "tokenizer", "vocab", "bos", "eos", "sources", "T", "algorithm",
        "next_seq", "next_tokens", "chain", "chain_down", "batches", "cursor" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0)
            return 1;
    return 0;
}

/* The `teacher` message; NULL: none.  Dies if the directories differ in it. */
static const struct msg *
find_teacher(const struct sending *s)
{
    const struct msg *first = NULL;
    struct err e = { 0 };

    for (size_t i = 0; i < s->d->n; i++) {
        const struct msg *m = NULL;

        if (set_manifest(s->d->set[i])->teacher &&
            !(m = set_teacher(s->d->set[i], &e)))
            die_err(&e);
        if (i == 0)
            first = m;
        else if (!m != !first ||
            (m &&
                (m->nraw != first->nraw ||
                    memcmp(m->raw, first->raw, m->nraw) != 0)))
            die(EX_INPUT, "%s: its teacher is not that of %s",
                dirs_name(s->d, i), dirs_name(s->d, 0));
    }
    return first;
}

static int
send_preamble(struct sending *s, struct msg_out *w, const struct msg *teacher,
    struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    const struct msg *head = set_head(s->d->set[0], e);
    struct stream_info i = s->d->info;
    struct st_out *o;
    char text[40];
    int r;

    if (!head)
        return -1;
    i.content = "batch";
    i.T = p->T;
    i.algorithm = s->c.algorithm;
    if (s->from->is) {
        msg_out_resume(w, s->c.seq, &s->h);
        msg_out_tokens(w, s->c.own);
    }
    o = msg_begin(w, MSG_STREAM);
    stream_info_put(o, &i);
    if (s->batches_all)
        st_out_number(o, "batches", s->batches_all);
    for (size_t k = 0; k < head->st.nmeta; k++)
        if (!is_known(head->st.key[k]))
            st_out_meta(o, head->st.key[k], head->st.val[k]);
    chain_hex(&s->h, text);
    if (s->from->is && strcmp(text, s->from->at.chain) != 0)
        st_out_meta(o, "chain_down", s->from->at.chain);
    if ((r = msg_send(w, e)) != 0 || !teacher)
        return r;
    msg_copy(w, teacher);
    return msg_send(w, e);
}

/* 100 x / t; 0 if t is not positive. */
static double
percent(double x, double t)
{
    return t > 0.0 ? 100.0 * x / t : 0.0;
}

/* Set the closing line; -v adds where time went after the first batch. */
static void
show_closing(struct sending *s)
{
    const double now = clock_now(), t = now - s->begun;
    const double after = s->batches ? now - s->first : 0.0;
    const double threads = s->how->threads ? (double)s->how->threads : 1.0;
    const struct feed *f = s->feed;
    struct ahead_times x;
    char late[40] = "never ahead";

    s->feed->times(s->feed, &x);
    if (x.ahead)
        snprintf(late, sizeof late,
            "since they were ahead %" PRIu64 " frames late", x.late);
    prog_closing("%" PRIu64 " tokens in %" PRIu64
                 " batches, %.0f tokens/s, padding %.2f %%",
        s->made, s->batches, t > 0.0 ? (double)s->made / t : 0.0,
        s->padded ? 100.0 - percent((double)s->made, (double)s->padded) : 0.0);
    prog_detail("%.1f %% of %" PRIu64
                " pieces are cuts; first batch after %.2f s, then of %.1f s "
                "writing took %.1f (%.1f %%), waiting for frames %.1f (%.1f "
                "%%), decoding here %.1f (%.1f %%); %zu threads ahead: "
                "decoding %.1f, waiting for room %.1f (%.1f %%), %s",
        percent((double)f->cuts, (double)f->pieces), f->pieces,
        s->batches ? s->first - s->begun : 0.0, after, s->sending,
        percent(s->sending, after), x.waited - s->before.waited,
        percent(x.waited - s->before.waited, after),
        x.decoded - s->before.decoded,
        percent(x.decoded - s->before.decoded, after), s->how->threads,
        x.busy - s->before.busy, x.idle - s->before.idle,
        percent(x.idle - s->before.idle, after * threads), late);
}

/* Send all messages after the preamble.  0: all are sent, `end` too.  1: the
 * reader has left.  -1: an error. */
static int
send_batches(struct sending *s, struct msg_out *w, struct err *e)
{
    char extra[40];
    int r;

    while ((r = next_batch(s, w, e)) > 0) {
        const double t = clock_now();

        if (stop_asked)
            return err_set(e, EX_STOP, "interrupted");
        if ((r = msg_send(w, e)) != 0)
            return r;
        if (s->batches++ == 0) {
            s->first = clock_now();
            s->feed->times(s->feed, &s->before);
        } else {
            s->sending += clock_now() - t;
        }
        s->h = *msg_out_chain(w);
        s->c.seq++;
        s->made += s->feed->own_tokens;
        s->padded += s->feed->own_B * s->c.spec.T;
        snprintf(extra, sizeof extra, "%.3g M tokens",
            (double)s->c.tokens / 1e6);
        progress_at((double)(s->c.seq - s->head), extra);
    }
    return r < 0 ? -1 : msg_end(w, e);
}

void
send_stream(struct sending *s, const char *out)
{
    const struct msg *teacher = find_teacher(s);
    struct msg_out *w;
    struct err e = { 0 }, e2;
    int r;

    prog_catch_stop();
    if (!(w = msg_out_open(out, &e)))
        die_err(&e);
    s->head = teacher ? 2 : 1;
    progress_begin("streamed", 0.0, "batches");
    if (s->from->is)
        progress_from((double)(s->c.seq - s->head));
    r = count_batches(s, &e);
    progress_total((double)s->batches_all);
    if (r == 0 && s->from->is)
        go_to_cursor(s);
    if (r == 0 && (r = send_preamble(s, w, teacher, &e)) == 0) {
        if (!s->from->is) {
            s->c.seq = msg_out_seq(w);
            s->h = *msg_out_chain(w);
        }
        r = send_batches(s, w, &e);
    }
    /* Ctrl-C may have ended the reader a moment before this program */
    if (r > 0 && stop_asked)
        r = err_set(&e, EX_STOP, "interrupted");
    progress_end();
    show_closing(s);
    if (r < 0) {
        msg_abort(w, e.msg, &e2);
        msg_out_close(w);
        die_err(&e);
    }
    msg_out_close(w);
    buf_release(&s->text);
}
