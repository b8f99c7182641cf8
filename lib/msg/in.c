/*
 * Reading a stream: see msg.h.
 *
 * read_checked() reads the next message into a slot and checks it.  If a read
 * may wait (src->slow), a thread calls it for two slots in turn, so that the
 * next message is on its way while the caller works on this one; else the
 * caller calls it.  Messages in shared memory are used where they are, except
 * for headers and integer tensors, which are copied; the memory is released
 * when the caller asks for the next message.
 *
 * The buffer grows with what has arrived, never to what a header claims: it
 * doubles as the data come.
 */
#include "msg/msg.h"
#include "msg/rules.h"
#include "msg/wire.h"
#include "msg/backend.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/profile.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/thread.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 2 };
#define ROOM_STEP ((size_t)1 << 16)

/* One thread at a time uses a slot: the reading thread until it has counted the
 * slot in `filled`, then the caller until it has counted it in `taken`. */
struct slot {
    unsigned char *block; /* allocated memory, which is freed */
    unsigned char *mem;   /* cap bytes in block, aligned to MSG_ALIGN */
    size_t cap;
    int turn; /* 1: the caller waits for this slot: `ahead` does not limit its
               * size */
    struct msg m;
    struct chain after; /* H of m */
    uint64_t end;       /* where m ends in the ring that holds it */
    int result;         /* what fill_slot returned: 1, 0, -1 */
    struct err e;
};

struct msg_in {
    /* These three do not change while the thread runs. */
    const char *name; /* owned by src */
    struct msg_src *src;
    size_t nslot; /* 2 if a thread reads ahead, else 1 */
    /* Members that only the reading thread uses (the caller if there is
     * none). */
    uint64_t at; /* bytes taken from src */
    struct msg_rules rules;
    struct slot slot[SLOTS]; /* see struct slot */
    /* Under lock.  The caller, which alone changes `taken` and `ahead`, reads
     * these two without it.
     * stop: 1: the thread shall end.
     * ahead: bytes of the next message that are read ahead, at most.
     * filled: number of slots filled since the start.
     * taken: number of slots that the caller has got and given back. */
    pthread_mutex_t lock;
    pthread_cond_t change;
    int stop;
    size_t ahead;
    uint64_t filled, taken;
    /* Members that only the caller uses. */
    pthread_t thread;
    int threaded; /* 1: the thread must be joined */
    struct chain chain;
    int held;            /* 1: the caller holds slot taken % nslot */
    int over;            /* the message held is the last */
    int interrupted;     /* the caller gave up waiting */
    size_t V;            /* number of ids of the model that reads, if the stream
                          * has more ids; 0: ids need no check */
    unsigned char *head; /* copy of the `stream` message */
    struct st head_st;
    uint64_t bytes, batches; /* read so far */
    double waited;           /* seconds spent waiting for messages */
};

/* Make room for `need` bytes and keep the first `have`.  A little more is
 * allocated, so that a next message with a longer header needs no new buffer.
 * realloc remaps pages; malloc and a copy would need twice the memory for a
 * moment. */
static void
reserve_slot(struct slot *s, size_t need, size_t have)
{
    const size_t was = (size_t)(s->mem - s->block);

    if (need <= s->cap)
        return;
    s->cap = (need + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    s->block = xrealloc(s->block, s->cap + MSG_ALIGN);
    s->mem = s->block + (MSG_ALIGN - (uintptr_t)s->block % MSG_ALIGN);
    if (have && s->mem - s->block != (ptrdiff_t)was)
        memmove(s->mem, s->block + was, have);
}

/* Free the buffer of a `teacher` message, which comes once and may be larger
 * than any batch. */
static void
free_slot_buffer(struct slot *s)
{
    free(s->block);
    s->block = s->mem = NULL;
    s->cap = 0;
}

static int
ended_early(struct msg_in *r, struct err *e)
{
    return err_set(e, EX_INPUT,
        "%s: offset %" PRIu64 ": the stream ends inside a message", r->name,
        r->at);
}

/*
 * Called when slot s holds as many bytes as may be read ahead: wait until the
 * caller has released its message, then swap buffers with that message's slot
 * if its buffer is larger.  So memory never holds more than one message and the
 * allowed part of the next.
 */
static int
wait_turn(struct msg_in *r, struct slot *s, size_t have, struct err *e)
{
    struct slot *o = &r->slot[s == r->slot], was = *s;
    int stop;

    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->filled != r->taken)
        pthread_cond_wait(&r->change, &r->lock);
    stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    if (stop)
        return err_set(e, EX_SYS, "%s: closed", r->name);
    s->turn = 1;
    if (o->cap <= s->cap)
        return 0;
    memcpy(o->mem, s->mem, have);
    s->block = o->block;
    s->mem = o->mem;
    s->cap = o->cap;
    o->block = was.block;
    o->mem = was.mem;
    o->cap = was.cap;
    return 0;
}

/* How many bytes slot s may hold now. */
static size_t
allowed(struct msg_in *r, const struct slot *s)
{
    size_t n;

    if (r->nslot < 2 || s->turn)
        return SIZE_MAX;
    pthread_mutex_lock(&r->lock);
    n = r->ahead;
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* Read until the slot, which holds pos bytes, holds `upto`. */
static int
read_upto(struct msg_in *r, struct slot *s, size_t pos, size_t upto,
    struct err *e)
{
    while (pos < upto) {
        const size_t most = allowed(r, s);
        size_t room;
        ptrdiff_t got;

        if (pos >= most && wait_turn(r, s, pos, e) < 0)
            return -1;
        room = s->cap > pos ? s->cap : 2 * s->cap;
        if (room < ROOM_STEP)
            room = ROOM_STEP;
        if (room > upto)
            room = upto;
        if (room > most && pos < most)
            room = most;
        reserve_slot(s, room, pos);
        got = r->src->backend->read(r->src, s->mem + pos, room - pos, e);
        if (got < 0)
            return -1;
        if (got == 0)
            return ended_early(r, e);
        pos += (size_t)got;
        r->at += (uint64_t)got;
    }
    return 0;
}

/* Read the eight bytes that hold the length of the header.  0: the input ends
 * before them. */
static int
read_length(struct msg_in *r, unsigned char *p, struct err *e)
{
    size_t n = 0;

    while (n < 8) {
        const ptrdiff_t got = r->src->backend->read(r->src, p + n, 8 - n, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return n ? ended_early(r, e) : 0;
        n += (size_t)got;
        r->at += (uint64_t)got;
    }
    return 1;
}

static int
is_real(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16 || t == DT_F32 || t == DT_F64;
}

/*
 * Copy the integer tensors of a message in shared memory into the slot before
 * they are checked: another process can still write to that memory, and
 * addresses are computed from these numbers.  Floating-point tensors, which are
 * large, are not copied: no value of theirs can do harm.
 */
static void
copy_numbers(struct slot *s, struct st *st)
{
    size_t n = 0;

    for (size_t i = 0; i < st->nt; i++)
        if (!is_real(st->t[i].dtype))
            n += st->t[i].nbytes + MSG_ALIGN;
    reserve_slot(s, n, 0);
    n = 0;
    for (size_t i = 0; i < st->nt; i++) {
        struct st_tensor *t = &st->t[i];

        if (is_real(t->dtype) || t->nbytes == 0)
            continue;
        memcpy(s->mem + n, t->data, t->nbytes);
        t->data = s->mem + n;
        n += (t->nbytes + MSG_ALIGN - 1) / MSG_ALIGN * MSG_ALIGN;
    }
}

/* Parse a whole message in shared memory.  Returns 1 or -1. */
static int
parse_message(struct msg_in *r, struct slot *s, const unsigned char *p,
    size_t n, struct err *e)
{
    struct msg *m = &s->m;
    const uint64_t len = n < 8 ? 0 : le_get(p, 8);

    if (n < 8 || len > MSG_HEADER_MAX || len > n - 8)
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64 ": header of %" PRIu64
            " bytes in a message of %zu",
            r->name, m->at, len, n);
    reserve_slot(s, (size_t)len, 0);
    memcpy(s->mem, p + 8, (size_t)len);
    if (st_parse_header(&m->st, (const char *)s->mem, (size_t)len, e) < 0)
        return err_prefix(e, "%s: message at byte %" PRIu64, r->name, m->at);
    if (m->st.data_len != n - 8 - len)
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64
            ": data of %zu bytes where the header says %zu",
            r->name, m->at, n - 8 - (size_t)len, m->st.data_len);
    m->raw = p;
    m->nraw = n;
    st_set_data(&m->st, p + 8 + len);
    copy_numbers(s, &m->st);
    r->at += n;
    return 1;
}

/* Is p [n] the beginning of UTF-8 text?  The last character may be cut. */
static int
begins_text(const unsigned char *p, size_t n)
{
    size_t i = 0, len;

    while (i < n && (len = utf8_len(p + i, n - i)) > 0)
        i += len;
    return text_is_plain(p, n) && (i == n || (i + 3 >= n && p[i] >= 0xc2));
}

/* Read one whole message into s.  Returns 1, 0 at the end of the input, or -1
 * and *e. */
static int
read_message(struct msg_in *r, struct slot *s, struct err *e)
{
    struct msg *m = &s->m;
    unsigned char len8[8];
    uint64_t len;
    size_t pad;
    int k;

    st_release(&m->st);
    memset(m, 0, sizeof *m);
    m->at = r->at;
    s->turn = 0;
    if (r->src->backend->next) {
        const unsigned char *p;
        size_t n;

        k = r->src->backend->next(r->src, &p, &n, &s->end, e);
        return k > 0 ? parse_message(r, s, p, n, e) : k;
    }
    if ((k = read_length(r, len8, e)) <= 0)
        return k;
    len = le_get(len8, 8);
    if (m->at == 0 && begins_text(len8, 8))
        return err_set(e, EX_INPUT,
            "%s: is text, no stream of retort: tokenize -t MODEL makes tokens "
            "of text, shard write keeps them, stream makes batches",
            r->name);
    if (len > MSG_HEADER_MAX)
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64 ": header of %" PRIu64
            " bytes, %zu are allowed: this is no retort stream",
            r->name, m->at, len, MSG_HEADER_MAX);
    pad = msg_pad((size_t)len);
    reserve_slot(s, pad + 8, 0);
    memcpy(s->mem + pad, len8, 8);
    if (read_upto(r, s, pad + 8, pad + 8 + (size_t)len, e) < 0)
        return -1;
    if (st_parse_header(&m->st, (char *)s->mem + pad + 8, (size_t)len, e) < 0)
        return err_prefix(e, "%s: message at byte %" PRIu64, r->name, m->at);
    if (m->st.data_len > MSG_MAX)
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64 ": a message of %zu bytes", r->name, m->at,
            m->st.data_len);
    m->nraw = 8 + (size_t)len + m->st.data_len;
    if (read_upto(r, s, pad + 8 + (size_t)len, pad + m->nraw, e) < 0)
        return -1;
    m->raw = s->mem + pad;
    st_set_data(&m->st, m->raw + 8 + len);
    return 1;
}

/* Check that nothing follows `end`. */
static int
check_end_of_input(struct msg_in *r, struct err *e)
{
    unsigned char c;
    const unsigned char *p;
    size_t n;
    uint64_t end;
    const ptrdiff_t got = r->src->backend->next
        ? r->src->backend->next(r->src, &p, &n, &end, e)
        : r->src->backend->read(r->src, &c, 1, e);

    if (got > 0)
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64 ": bytes after the end message", r->name,
            r->at);
    return got < 0 ? -1 : 0;
}

static int
read_checked(struct msg_in *r, struct slot *s)
{
    struct err *e = &s->e;
    uint64_t tokens;
    int k = read_message(r, s, e);

    if (k < 0)
        return -1;
    if (k == 0) {
        if (r->src->unfinished)
            return 0;
        return err_set(e, EX_INPUT,
            "%s: offset %" PRIu64 ": the stream breaks off: no end message",
            r->name, r->at);
    }
    if (msg_rules_check(&r->rules, &s->m, &tokens, e) < 0)
        return err_prefix(e, "%s: message at byte %" PRIu64, r->name, s->m.at);
    s->after = r->rules.h;
    if (s->m.kind != MSG_END)
        return 1;
    return check_end_of_input(r, e);
}

static int
fill_slot(struct msg_in *r, struct slot *s)
{
    const double t = profile_begin();
    const int k = read_checked(r, s);

    profile_end("input read and checked", t, 0.0, (double)s->m.nraw);
    return k;
}

static void *
produce(void *arg)
{
    struct msg_in *r = arg;
    int more = 1;

    while (more) {
        struct slot *s;
        int stop;

        pthread_mutex_lock(&r->lock);
        while (!r->stop && r->filled - r->taken == r->nslot)
            pthread_cond_wait(&r->change, &r->lock);
        s = &r->slot[r->filled % r->nslot];
        stop = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stop)
            break;
        s->result = fill_slot(r, s);
        more = s->result > 0;
        pthread_mutex_lock(&r->lock);
        r->filled++;
        pthread_cond_signal(&r->change);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

struct msg_in *
msg_in_open(const char *addr, struct err *e)
{
    struct msg_src *s = msg_src_open(addr, e);

    return s ? msg_in_start(s, e) : NULL;
}

struct msg_in *
msg_in_start(struct msg_src *src, struct err *e)
{
    struct msg_in *r = xcalloc(1, sizeof *r);
    pthread_condattr_t monotonic;

    r->src = src;
    r->name = src->name;
    msg_rules_init(&r->rules);
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
    r->ahead = SIZE_MAX;
    r->nslot = r->src->slow ? SLOTS : 1;
    if (r->nslot > 1) {
        r->threaded = thread_start(&r->thread, produce, r) == 0;
        if (!r->threaded) {
            err_set(e, EX_SYS, "cannot start a thread");
            msg_in_close(r);
            return NULL;
        }
    }
    return r;
}

/* Wait until a slot is filled or stop_asked is set.  A signal does not end the
 * wait for a condition, so the thread waits for short times only. */
static void
wait_slot(struct msg_in *r)
{
    struct timespec until;

    pthread_mutex_lock(&r->lock);
    while (r->filled == r->taken && !stop_asked) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&r->change, &r->lock, &until);
    }
    r->interrupted = r->filled == r->taken;
    pthread_mutex_unlock(&r->lock);
}

/* Return the next filled slot, waiting for it; NULL: stop_asked is set. */
static struct slot *
next_slot(struct msg_in *r)
{
    struct slot *s;
    double t0;

    if (r->held) {
        if (r->src->backend->next)
            r->src->backend->release(r->src, r->slot[r->taken % r->nslot].end);
        else if (r->slot[r->taken % r->nslot].m.kind == MSG_TEACHER)
            free_slot_buffer(&r->slot[r->taken % r->nslot]);
        pthread_mutex_lock(&r->lock);
        r->taken++;
        pthread_cond_signal(&r->change);
        pthread_mutex_unlock(&r->lock);
    }
    r->held = 1;
    s = &r->slot[r->taken % r->nslot];
    t0 = clock_now();
    if (r->threaded) {
        wait_slot(r);
    } else {
        s->result = fill_slot(r, s);
        r->filled++;
    }
    r->waited += clock_now() - t0;
    return r->interrupted ? NULL : s;
}

/* Join the thread, which ends by itself after the last message.  So a program
 * that exits then leaves no thread behind. */
static void
join_thread(struct msg_in *r)
{
    if (r->threaded)
        pthread_join(r->thread, NULL);
    r->threaded = 0;
}

/* Keep a copy of the `stream` message for msg_in_head. */
static void
keep_head(struct msg_in *r, const struct msg *m)
{
    int parsed;

    r->head = xmalloc(m->nraw);
    memcpy(r->head, m->raw, m->nraw);
    parsed = st_parse(&r->head_st, r->head, m->nraw, NULL);
    assert(parsed == 0); /* it was parsed without error before */
    (void)parsed;
}

int
msg_in_fit(struct msg_in *r, const struct stream_info *i, size_t V,
    struct err *e)
{
    const int64_t last = i->bos > i->eos ? i->bos : i->eos;

    if (last >= 0 && (uint64_t)last >= V)
        return err_set(e, EX_INPUT,
            "%s: its documents begin or end with id %" PRId64
            ", but the model ends at %zu ids: make it with the model's own "
            "tokenizer",
            r->name, last, V);
    r->V = i->vocab > V ? V : 0;
    return 0;
}

/* Refuse a message with an id that the model does not have (msg_in_fit). */
static int
check_fit(const struct msg_in *r, const struct msg *m, struct err *e)
{
    if (r->V == 0 || (m->kind != MSG_DOCS && m->kind != MSG_BATCH) ||
        msg_check_ids(st_find(&m->st, "ids"), r->V, e) == 0)
        return 0;
    return err_prefix(e, "%s: message %" PRIu64 ": for a model of %zu ids",
        r->name, m->seq, r->V);
}

int
msg_read(struct msg_in *r, struct msg *m, struct err *e)
{
    struct slot *s;

    if (r->interrupted)
        s = NULL;
    else
        s = r->over ? &r->slot[r->taken % r->nslot] : next_slot(r);
    if (!s)
        return err_set(e, EX_STOP, "%s: interrupted", r->name);
    *m = s->m;
    if (s->result <= 0) {
        r->over = 1;
        join_thread(r);
        if (s->result < 0) {
            *e = s->e;
            return -1;
        }
    }
    r->chain = m->raw ? s->after : r->chain;
    r->bytes = m->at + m->nraw;
    r->batches += m->kind == MSG_BATCH;
    if (m->kind == MSG_STREAM && m->raw && !r->head)
        keep_head(r, m);
    return s->result > 0 && check_fit(r, m, e) < 0 ? -1 : s->result;
}

const char *
msg_in_name(const struct msg_in *r)
{
    return r->name;
}

const struct chain *
msg_in_chain(const struct msg_in *r)
{
    return &r->chain;
}

const struct st *
msg_in_head(const struct msg_in *r)
{
    return &r->head_st;
}

uint64_t
msg_in_bytes(const struct msg_in *r)
{
    return r->bytes;
}

/* Has the thread already found that the current message is the last? */
static int
is_last(struct msg_in *r)
{
    int last;

    if (!r->threaded)
        return 0;
    pthread_mutex_lock(&r->lock);
    last = r->filled > r->taken + 1 &&
        r->slot[(r->taken + 1) % r->nslot].result == 0;
    pthread_mutex_unlock(&r->lock);
    return last;
}

/* Number of batches that the `stream` message announces, less those before the
 * point of resuming; 0: it announces none. */
static double
announced(const struct msg_in *r)
{
    const char *all = st_meta(&r->head_st, "batches");
    const char *next = st_meta(&r->head_st, "next_seq");
    const double n = all ? strtod(all, NULL) : 0.0;
    const double before = next ? strtod(next, NULL) - 1.0 : 0.0;

    return n > before ? n - before : 0.0;
}

double
msg_in_expect(struct msg_in *r, double seen)
{
    const double size = (double)r->src->size;

    if (r->batches && announced(r) > 0.0)
        return seen * announced(r) / (double)r->batches;
    if (size > 0.0 && r->bytes)
        return seen * size / (double)r->bytes;
    return is_last(r) ? seen : 0.0;
}

double
msg_in_wait(const struct msg_in *r)
{
    return r->waited;
}

size_t
msg_in_memory(const struct msg_in *r, size_t n)
{
    const size_t most = r->nslot < 2 ? 0 : r->ahead; /* bytes that the second
                                                      * slot may hold */

    n = (n + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    return msg_src_memory(r->src, n) +
        (r->src->backend->next ? 0 : n + (n < most ? n : most));
}

void
msg_in_ahead(struct msg_in *r, size_t n)
{
    pthread_mutex_lock(&r->lock);
    r->ahead = n < ROOM_STEP ? ROOM_STEP : n;
    pthread_mutex_unlock(&r->lock);
}

void
msg_in_close(struct msg_in *r)
{
    if (!r)
        return;
    if (r->threaded) {
        pthread_mutex_lock(&r->lock);
        r->stop = 1;
        pthread_cond_signal(&r->change);
        pthread_mutex_unlock(&r->lock);
        if (r->src->backend->wake)
            r->src->backend->wake(r->src);
        join_thread(r);
    }
    msg_src_close(r->src);
    for (int i = 0; i < SLOTS; i++) {
        st_release(&r->slot[i].m.st);
        free(r->slot[i].block);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->change);
    msg_rules_release(&r->rules);
    st_release(&r->head_st);
    free(r->head);
    free(r);
}
