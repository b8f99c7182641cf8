/* Writing a stream: see msg.h */
#include "msg/msg.h"
#include "msg/rules.h"
#include "msg/wire.h"
#include "msg/backend.h"
#include "base/mem.h"
#include "base/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct msg_out {
    struct msg_sink *sink;
    struct st_out out;
    enum msg_kind kind;    /* kind of the message being built */
    uint64_t seq;          /* number of the message being built */
    struct chain h;        /* H(seq - 1) */
    uint64_t tokens;       /* for the `end` message: see msg_out_tokens */
    int resumed, preamble; /* preamble: 1: no message after the preamble was
                            * begun */
    uint64_t next_seq;
    struct chain next_chain;
    XXH3_state_t *x;
    /* The message that is being sent in parts, if any. */
    size_t piece; /* index of the tensor to be sent next */
    size_t owed;  /* bytes of this tensor and of the later ones that are still
                   * to be sent (msg_send_part) */
    void *next;   /* address that msg_room returned */
    void *room;   /* buffer for a tensor, if the sink has no memory for it */
    size_t room_cap;
};

struct msg_out *
msg_out_open(const char *addr, struct err *e)
{
    struct msg_out *w = xcalloc(1, sizeof *w);

    signal(SIGPIPE, SIG_IGN);
    w->preamble = 1;
    w->x = XXH3_createState();
    if (!w->x)
        mem_exhausted("state of a hash");
    if ((w->sink = msg_sink_open(addr, e)))
        return w;
    msg_out_close(w);
    return NULL;
}

void
msg_out_close(struct msg_out *w)
{
    if (!w)
        return;
    if (w->sink)
        msg_sink_close(w->sink);
    st_out_release(&w->out);
    XXH3_freeState(w->x);
    free(w->room);
    free(w);
}

void
msg_out_resume(struct msg_out *w, uint64_t seq, const struct chain *c)
{
    assert(w->preamble);
    w->resumed = 1;
    w->next_seq = seq;
    w->next_chain = *c;
}

void
msg_out_tokens(struct msg_out *w, uint64_t tokens)
{
    w->tokens += tokens;
}

const struct chain *
msg_out_chain(const struct msg_out *w)
{
    return &w->h;
}

uint64_t
msg_out_seq(const struct msg_out *w)
{
    return w->seq;
}

static void
put_chain(struct st_out *o, const struct chain *c)
{
    char hex[33];

    chain_hex(c, hex);
    st_out_meta(o, "chain", hex);
}

static struct st_out *
start_message(struct msg_out *w, enum msg_kind k, const char *name)
{
    if (w->preamble && k != MSG_STREAM && k != MSG_TEACHER) {
        w->preamble = 0;
        if (w->resumed && k != MSG_ABORT) {
            w->seq = w->next_seq;
            w->h = w->next_chain;
        }
    }
    w->kind = k;
    st_out_begin(&w->out);
    st_out_meta(&w->out, "kind", name);
    st_out_number(&w->out, "seq", w->seq);
    if (k == MSG_BATCH || k == MSG_END)
        put_chain(&w->out, &w->h);
    return &w->out;
}

struct st_out *
msg_begin(struct msg_out *w, enum msg_kind k)
{
    assert((unsigned)k < MSG_OTHER);
    return start_message(w, k, msg_kind_name(k));
}

/* If the `stream` message being copied belongs to a resumed stream, resume the
 * copy too. */
static void
copy_resume(struct msg_out *w, const struct st *s)
{
    const char *seq = st_meta(s, "next_seq"), *c = st_meta(s, "chain");
    const char *down = st_meta(s, "chain_down");
    const char *tokens = st_meta(s, "next_tokens");
    struct chain chain;
    uint64_t n, k;

    if (seq && tokens && c && msg_number(seq, &n) == 0 &&
        msg_number(tokens, &k) == 0 &&
        chain_parse(&chain, down ? down : c) == 0) {
        msg_out_resume(w, n, &chain);
        w->tokens = k;
    }
}

struct st_out *
msg_copy(struct msg_out *w, const struct msg *m)
{
    const char *kind = st_meta(&m->st, "kind");
    struct st_out *o = start_message(w, m->kind, kind ? kind : "other");

    for (size_t i = 0; i < m->st.nmeta; i++)
        if (!msg_is_own_key(m->kind, m->st.key[i]))
            st_out_meta(o, m->st.key[i], m->st.val[i]);
    for (size_t i = 0; i < m->st.nt; i++) {
        const struct st_tensor *t = &m->st.t[i];

        st_out_tensor(o, t->name, t->dtype, t->ndim, t->shape, t->data);
    }
    if (m->kind == MSG_STREAM)
        copy_resume(w, &m->st);
    w->tokens += msg_tokens(m);
    return o;
}

/* Finish the header, hash the message and write it. */
static int
send_now(struct msg_out *w, struct err *e)
{
    struct st_out *o = &w->out;
    struct iovec *v;
    int r;

    v = xreallocarray(NULL, o->npiece + 1, sizeof *v);
    v[0] = (struct iovec){ o->head.p, o->head.n };
    chain_begin(w->x, w->seq == 0 ? NULL : &w->h);
    XXH3_128bits_update(w->x, o->head.p, o->head.n);
    for (size_t i = 0; i < o->npiece; i++) {
        v[i + 1].iov_base = (void *)(uintptr_t)o->piece[i].p;
        v[i + 1].iov_len = o->piece[i].n;
        if (o->piece[i].n)
            XXH3_128bits_update(w->x, o->piece[i].p, o->piece[i].n);
    }
    chain_end(w->x, &w->h);
    r = msg_sink_send(w->sink, v, o->npiece + 1, e);
    free(v);
    w->seq++;
    return r;
}

/* Finish the header: add the keys of resuming, and set its length. */
static int
finish_head(struct msg_out *w, struct err *e)
{
    if (w->kind == MSG_STREAM && w->resumed) {
        st_out_number(&w->out, "next_seq", w->next_seq);
        put_chain(&w->out, &w->next_chain);
        st_out_number(&w->out, "next_tokens", w->tokens);
    }
    st_out_end(&w->out);
    if (w->out.head.n - 8 > MSG_HEADER_MAX)
        return err_set(e, EX_USAGE,
            "%s: the header of a %s message takes %zu bytes; %zu are allowed",
            w->sink->name, msg_kind_name(w->kind), w->out.head.n - 8,
            MSG_HEADER_MAX);
    return 0;
}

int
msg_send(struct msg_out *w, struct err *e)
{
    return finish_head(w, e) < 0 ? -1 : send_now(w, e);
}

/* Write the next n bytes of a message, and hash them. */
static int
put_bytes(struct msg_out *w, const void *p, size_t n, struct err *e)
{
    const struct iovec v = { (void *)(uintptr_t)p, n };
    const double t = profile_begin();
    int r;

    if (n > 0)
        XXH3_128bits_update(w->x, p, n);
    r = msg_sink_put(w->sink, &v, 1, e);
    profile_end("output hashed and written", t, 0.0, (double)n);
    return r;
}

int
msg_send_begin(struct msg_out *w, struct err *e)
{
    const struct st_out *o = &w->out;
    int r;

    if (finish_head(w, e) < 0)
        return -1;
    chain_begin(w->x, w->seq == 0 ? NULL : &w->h);
    r = msg_sink_begin(w->sink, o->head.n + o->data_len, o->head.n, e);
    if (r == 0)
        r = put_bytes(w, o->head.p, o->head.n, e);
    for (w->piece = 0; r == 0 && w->piece < o->npiece && o->piece[w->piece].p;
         w->piece++)
        r = put_bytes(w, o->piece[w->piece].p, o->piece[w->piece].n, e);
    w->owed = 0;
    for (size_t i = w->piece; i < o->npiece; i++)
        w->owed += o->piece[i].n;
    return r;
}

void *
msg_room(struct msg_out *w, size_t align)
{
    const size_t n = w->out.piece[w->piece].n;
    void *place = w->sink->place;

    assert(w->piece < w->out.npiece);
    if (place && (uintptr_t)place % align == 0)
        return w->next = place;
    if (n > w->room_cap) {
        w->room = xrealloc(w->room, n);
        w->room_cap = n;
    }
    return w->next = w->room;
}

size_t
msg_out_memory(const struct msg_out *w, size_t part)
{
    return (msg_sink_memory(w->sink, 0) > 0 ? 0 : part) +
        msg_sink_memory(w->sink, w->out.head.n + w->out.data_len);
}

static int
finish_parts(struct msg_out *w, struct err *e)
{
    const int r = msg_sink_done(w->sink, e);

    chain_end(w->x, &w->h);
    w->seq++;
    return r;
}

int
msg_send_next(struct msg_out *w, struct err *e)
{
    const int r = put_bytes(w, w->next, w->out.piece[w->piece].n, e);

    return r != 0 || ++w->piece < w->out.npiece ? r : finish_parts(w, e);
}

int
msg_send_part(struct msg_out *w, const void *p, size_t n, struct err *e)
{
    const int r = put_bytes(w, p, n, e);

    assert(n <= w->owed);
    w->owed -= n;
    return r != 0 || w->owed > 0 ? r : finish_parts(w, e);
}

int
msg_end(struct msg_out *w, struct err *e)
{
    int r;

    start_message(w, MSG_END, "end");
    msg_end_fill(&w->out, w->seq, &w->h, w->tokens);
    r = send_now(w, e);
    return r != 0 ? r : msg_sink_end(w->sink, e);
}

int
msg_abort(struct msg_out *w, const char *why, struct err *e)
{
    char text[301];

    /* `why` may hold any bytes; the header must stay readable */
    snprintf(text, sizeof text, "%s", why);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    st_out_meta(start_message(w, MSG_ABORT, "abort"), "why", text);
    st_out_end(&w->out);
    return send_now(w, e);
}
