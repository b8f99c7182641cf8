/* lib/msg: messages over files and pipes */
#include "base/io.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "msg/rules.h"
#include "kern/kern.h"
#include "../lib/streams.h"
#include "../lib/tap.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sample docs = { .messages = 4,
    .docs = 5,
    .T = 9,
    .vocab = 500,
    .mask = 1 };
static const struct sample two_docs = { .messages = 2,
    .docs = 3,
    .T = 5,
    .vocab = 500 };
static const struct sample two_batches = { .batch = 1,
    .messages = 2,
    .docs = 2,
    .T = 4,
    .vocab = 8,
    .teacher = 1 };
static const struct sample wide = { .messages = 3,
    .docs = 2,
    .T = 30,
    .vocab = 70000 };
static const struct sample batches = { .batch = 1,
    .messages = 3,
    .docs = 2,
    .T = 8,
    .vocab = 40,
    .teacher = 1 };
static const struct sample untaught = { .batch = 1,
    .messages = 1,
    .docs = 2,
    .T = 8,
    .vocab = 40 };

/* Read a stream to its end.  Returns the last result of msg_read, and in *n the
 * number of messages before the end. */
static int
read_all(const char *path, size_t *n, struct err *e)
{
    struct msg_in *r = msg_in_open(path, e);
    struct msg m;
    int k = -1;

    *n = 0;
    if (!r)
        return -1;
    while ((k = msg_read(r, &m, e)) > 0)
        ++*n;
    msg_in_close(r);
    return k;
}

static void
test_round(const char *name, const struct sample *s)
{
    struct err e = { 0 };
    struct msg_in *r;
    struct msg m;
    struct stream_info info;
    size_t n = 0, aligned = 1, whole = 0, docs_seen = 0;
    uint64_t seq = 0;
    char *p;

    ok(sample_file("s", s, &e) == 0, "a stream of %s is written %s", name,
        e.msg);
    ok(io_slurp("s", 1 << 20, &p, &n, &e) == 0,
        "the stream of %s is in its file", name);
    r = msg_in_open("s", &e);
    while (msg_read(r, &m, &e) > 0) {
        ok(m.seq == seq++, "%s: seq %llu, %s", name, (unsigned long long)m.seq,
            msg_kind_name(m.kind));
        aligned &= ((uintptr_t)m.raw + m.st.data_at) % 64 == 0;
        whole += memcmp(p + m.at, m.raw, m.nraw) != 0;
        docs_seen += m.kind == (s->batch ? MSG_BATCH : MSG_DOCS);
    }
    ok(m.kind == MSG_END && m.raw, "%s: the end is shown", name);
    ok(aligned && !whole, "%s: data aligned, bytes as written", name);
    ok(docs_seen == s->messages, "%s: all messages", name);
    ok(msg_in_bytes(r) == n, "%s: all bytes", name);
    ok(stream_info_read(&info, msg_in_head(r), &e) == 0 &&
            info.vocab == s->vocab && info.nsource == 3 && info.bos == -1 &&
            info.eos == 2 && strcmp(info.source[1], "cs\"\\") == 0 &&
            strcmp(info.tokenizer, HASH) == 0 && !info.resumed &&
            info.T == (s->batch ? s->T : 0),
        "%s: stream_info_read finds the fields", name);
    stream_info_release(&info);
    msg_in_close(r);
    free(p);
}

static void
put(const char *path, const void *p, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0 || io_write(fd, p, n) < 0)
        abort();
    close(fd);
}

/* Every bit flipped and every cut is refused as bad input. */
static void
test_damage(const char *name, const struct sample *s)
{
    struct err e;
    size_t n, k, bad = 0;
    char *p, first[500] = "";
    int fd;

    ok(sample_file("s", s, &e) == 0, "a stream of %s for damage is written",
        name);
    if (io_slurp("s", 1 << 20, &p, &n, &e) < 0)
        abort();
    put("f", p, n);
    fd = open("f", O_WRONLY);
    for (size_t i = 0; i < n * 8; i++) {
        const char flipped = (char)(p[i / 8] ^ 1 << i % 8);

        e.code = 0;
        if (i % 8 == 0 && i > 0 &&
            pwrite(fd, p + i / 8 - 1, 1, (off_t)(i / 8 - 1)) != 1)
            abort();
        if (pwrite(fd, &flipped, 1, (off_t)(i / 8)) != 1)
            abort();
        if (read_all("f", &k, &e) != -1 || e.code != EX_INPUT) {
            if (!bad++)
                snprintf(first, sizeof first, "bit %zu of byte %zu: %.200s",
                    i % 8, i / 8, e.msg);
        }
    }
    close(fd);
    ok(bad == 0, "%s: each of %zu flipped bits is refused %s", name, n * 8,
        first);
    bad = 0;
    for (size_t i = n; i-- > 0;) {
        e.code = 0;
        if (truncate("f", (off_t)i) < 0)
            abort();
        bad += read_all("f", &k, &e) != -1 || e.code != EX_INPUT;
    }
    ok(bad == 0, "%s: each of %zu cuts is refused", name, n);
    p = xrealloc(p, n + 1);
    p[n] = 0;
    put("f", p, n + 1);
    ok(read_all("f", &k, &e) == -1 && strstr(e.msg, "after the end"),
        "%s: so is a byte more: %s", name, e.msg);
    free(p);
}

static void *
write_fifo(void *arg)
{
    struct err e;

    sample_file("fifo", arg, &e);
    return NULL;
}

static int
read_fifo(const struct sample *s, size_t *n, struct err *e)
{
    pthread_t t;
    int r;

    unlink("fifo");
    if (mkfifo("fifo", 0600) < 0 ||
        pthread_create(&t, NULL, write_fifo, (void *)(uintptr_t)s) != 0)
        abort();
    r = read_all("fifo", n, e);
    pthread_join(t, NULL);
    return r;
}

static void
test_pipe(void)
{
    struct sample s = { .messages = 200, .docs = 700, .T = 90, .vocab = 70000 };
    struct err e = { 0 };
    size_t n;

    ok(read_fifo(&s, &n, &e) == 0 && n == 201, "through a pipe %s", e.msg);
    s.stop = 150;
    ok(read_fifo(&s, &n, &e) == -1 && e.code == EX_INPUT && n == 151 &&
            strstr(e.msg, "no end message"),
        "a writer that dies: %s", e.msg);
    s.abort = 1;
    ok(read_fifo(&s, &n, &e) == -1 && e.code == EX_INPUT && n == 151 &&
            strstr(e.msg, "gave up: no more?\"text\""),
        "one that says why: %s", e.msg);
}

static void *
leave_fifo(void *arg)
{
    struct err e;
    struct msg_in *r = msg_in_open("fifo", &e);
    struct msg m;

    (void)arg;
    msg_read(r, &m, &e);
    msg_in_close(r);
    return NULL;
}

static void
test_leave(void)
{
    struct sample s = { .messages = 200, .docs = 700, .T = 90, .vocab = 70000 };
    pthread_t t;
    struct err e;
    struct msg_out *w;
    int r;

    unlink("fifo");
    if (mkfifo("fifo", 0600) < 0 ||
        pthread_create(&t, NULL, leave_fifo, NULL) != 0)
        abort();
    w = msg_out_open("fifo", &e);
    r = sample_write(w, &s, &e);
    ok(r == 1, "a reader that leaves is told by 1");
    ok(msg_end(w, &e) == 1, "again and again");
    msg_out_close(w);
    pthread_join(t, NULL);
}

static void
test_filter(void)
{
    struct err e;
    struct msg_in *r;
    struct msg_out *w;
    struct msg m;
    char *a, *b;
    size_t na, nb;
    const size_t one = 1;

    sample_file("s", &batches, &e);
    r = msg_in_open("s", &e);
    w = msg_out_open("t", &e);
    while (msg_read(r, &m, &e) > 0) {
        msg_copy(w, &m);
        msg_send(w, &e);
    }
    ok(msg_end(w, &e) == 0, "a filter copies the stream");
    msg_out_close(w);
    msg_in_close(r);
    io_slurp("s", 1 << 20, &a, &na, &e);
    io_slurp("t", 1 << 20, &b, &nb, &e);
    ok(na == nb && memcmp(a, b, na) == 0, "that adds nothing changes nothing");
    free(a);
    free(b);

    r = msg_in_open("s", &e);
    w = msg_out_open("u", &e);
    while (msg_read(r, &m, &e) > 0) {
        struct st_out *o = msg_copy(w, &m);

        if (m.kind == MSG_BATCH)
            st_out_tensor(o, "x.unknown", DT_F32, 1, &one, "abcd");
        msg_send(w, &e);
    }
    msg_end(w, &e);
    msg_out_close(w);
    msg_in_close(r);
    r = msg_in_open("u", &e);
    nb = 0;
    while (msg_read(r, &m, &e) > 0)
        nb += st_find(&m.st, "x.unknown") && st_find(&m.st, "teacher.final");
    ok(nb == 3, "tensors are added, unknown ones stay");
    msg_in_close(r);
}

static uint32_t
u32_at(const struct st_tensor *t, size_t i)
{
    uint32_t v;

    memcpy(&v, (const char *)t->data + 4 * i, 4);
    return v;
}

/* The tail of a resumed stream is that of the whole one. */
static void
test_resume(const char *name, const struct sample *whole)
{
    struct sample s = *whole;
    struct err e = { 0 };
    struct msg_in *r;
    struct msg m;
    struct chain c = { { 0 } };
    size_t na, nb, from = 0, n, pre = 1 + (size_t)whole->teacher;
    char *a, *b;

    sample_file("s", whole, &e);
    r = msg_in_open("s", &e);
    s.tokens = 0;
    while (msg_read(r, &m, &e) > 0 && m.seq < pre + 2) {
        const struct st_tensor *len =
            st_find(&m.st, s.batch ? "piece_len" : "doc_len");

        for (size_t i = 0; len && i < len->n; i++)
            s.tokens += u32_at(len, i);
        c = *msg_in_chain(r);
        from = (size_t)m.at + m.nraw;
    }
    msg_in_close(r);
    s.from = 2;
    s.chain = &c;
    ok(sample_file("t", &s, &e) == 0 && read_all("t", &n, &e) == 0 &&
            n == pre + s.messages - 2,
        "a stream of %s is resumed %s", name, e.msg);
    io_slurp("s", 1 << 20, &a, &na, &e);
    io_slurp("t", 1 << 20, &b, &nb, &e);
    ok(nb > na - from && memcmp(a + from, b + nb - (na - from), na - from) == 0,
        "%s: the tail is the same bytes", name);
    free(a);
    free(b);
    r = msg_in_open("t", &e);
    {
        struct msg_out *w = msg_out_open("u", &e);
        size_t x, y;

        while (msg_read(r, &m, &e) > 0) {
            msg_copy(w, &m);
            msg_send(w, &e);
        }
        msg_end(w, &e);
        msg_out_close(w);
        io_slurp("t", 1 << 20, &a, &x, &e);
        io_slurp("u", 1 << 20, &b, &y, &e);
        ok(x == y && memcmp(a, b, x) == 0, "%s: a filter keeps that", name);
        free(a);
        free(b);
    }
    msg_in_close(r);
}

/* A header that claims more data than follow takes no memory for them. */
static void
test_lie(void)
{
    static const char head[] =
        "{\"__metadata__\":{\"kind\":\"stream\","
        "\"seq\":\"0\"},\"x\":{\"dtype\":\"U8\",\"shape\":[1024,1073741824],"
        "\"data_offsets\":[0,1099511627776]}}";
    unsigned char p[8 + sizeof head] = { sizeof head - 1 };
    struct rlimit lim;
    struct err e;
    size_t n;

    getrlimit(RLIMIT_DATA, &lim);
    lim.rlim_cur = 64 << 20;
    memcpy(p + 8, head, sizeof head - 1);
    put("lie", p, 8 + sizeof head - 1);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    setrlimit(RLIMIT_DATA, &lim);
#endif
    ok(read_all("lie", &n, &e) == -1 && e.code == EX_INPUT &&
            strstr(e.msg, "inside a message"),
        "1 TB promised: %s", e.msg);
    lim.rlim_cur = lim.rlim_max;
    setrlimit(RLIMIT_DATA, &lim);
    memset(p, 0xff, 8);
    put("lie", p, 8);
    ok(read_all("lie", &n, &e) == -1 && e.code == EX_INPUT, "%s", e.msg);
}

static void
test_open(void)
{
    static const char *const bad[] = { "shm:", "shm:a/b", "shm:.a", "shm:a b",
        "shm:a?size=1", "shm:a?size=64K&x", "shm:a?wait=-1",
        "shm:a?wait=", "unix:", "tcp:h", "tcp:h:", "tcp::1", "tcp:h:1234567",
        "tcp:h:a", "tcp:h:1?size=1M" };
    struct err e;
    size_t n;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!msg_in_open(bad[i], &e) && e.code == EX_USAGE,
            "no stream is read there: %s", e.msg);
        ok(!msg_out_open(bad[i], &e) && e.code == EX_USAGE,
            "no stream is written there: %s", e.msg);
    }
    ok(!msg_out_open(".", &e) && e.code == EX_USAGE, "%s", e.msg);
    ok(!msg_in_open("none", &e) && e.code == EX_SYS, "%s", e.msg);
    ok(read_all("/dev/null", &n, &e) == -1 && e.code == EX_INPUT, "%s", e.msg);
    put("foreign", "PK\3\4 a zip file, not a stream", 30);
    ok(read_all("foreign", &n, &e) == -1 && e.code == EX_INPUT, "%s", e.msg);
}

/* Documents made by hand: an id or a source that is too large is refused. */
static void
test_docs(void)
{
    static const uint16_t ids[] = { 7, 8, 9 }, source[] = { 0, 2 };
    static const uint32_t len[] = { 2, 1 };
    static const uint64_t key[2];
    const size_t three = 3, two = 2;
    struct st_out o = { 0 };
    struct buf raw = { 0 };
    struct st st;
    struct err e = { 0 };
    uint64_t tokens = 0;

    st_out_begin(&o);
    st_out_tensor(&o, "ids", DT_U16, 1, &three, ids);
    st_out_tensor(&o, "doc_len", DT_U32, 1, &two, len);
    st_out_tensor(&o, "doc_source", DT_U16, 1, &two, source);
    st_out_tensor(&o, "doc_key", DT_U64, 1, &two, key);
    st_out_end(&o);
    buf_add(&raw, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(&raw, o.piece[i].p, o.piece[i].n);
    ok(st_parse(&st, raw.p, raw.n, &e) == 0 &&
            msg_check_docs(&st, 10, 3, &tokens, &e) == 0 && tokens == 3,
        "documents by hand %s", e.msg);
    ok(msg_check_docs(&st, 9, 3, &tokens, &e) == -1 &&
            strstr(e.msg, "ids[2] is 9"),
        "id too large: %s", e.msg);
    ok(msg_check_docs(&st, 10, 2, &tokens, &e) == -1 &&
            strstr(e.msg, "doc_source[1] is 2"),
        "source too large: %s", e.msg);
    st_release(&st);
    st_out_release(&o);
    buf_release(&raw);
}

static void
test_unpack(void)
{
    static const uint16_t ids[10] = { 1, 2, 3, 4, 5, 6, 7, 9, 9, 9 };
    static const uint32_t row[3] = { 0, 0, 1 }, len[3] = { 2, 3, 2 };
    static const uint32_t off[3] = { 0, 4, 0 };
    static const uint16_t source[3] = { 0, 1, 0 };
    static const uint64_t key[3] = { 7, 8, 9 };
    static const uint8_t mask[10] = { 1, 1, 1, 0, 1, 1, 1, 1, 1, 1 };
    static const uint32_t first[10] = { 0, 0, 2, 2, 2, 0, 0, BATCH_PAD,
        BATCH_PAD, BATCH_PAD };
    static const uint8_t scored[10] = { 1, 0, 0, 1, 0, 1, 0, 0, 0, 0 };
    static const uint32_t want[10] = { 1, 2, 3, 4, 5, 6, 7, 0, 0, 0 };
    const size_t bt[2] = { 2, 5 }, P[1] = { 3 };
    struct batch b = { 0 };
    struct st_out o = { 0 };
    struct buf raw = { 0 };
    struct msg m = { .kind = MSG_BATCH };
    struct err e = { 0 };
    uint64_t tokens = 0;

    st_out_begin(&o);
    st_out_tensor(&o, "ids", DT_U16, 2, bt, ids);
    st_out_tensor(&o, "piece_row", DT_U32, 1, P, row);
    st_out_tensor(&o, "piece_len", DT_U32, 1, P, len);
    st_out_tensor(&o, "piece_source", DT_U16, 1, P, source);
    st_out_tensor(&o, "piece_key", DT_U64, 1, P, key);
    st_out_tensor(&o, "piece_off", DT_U32, 1, P, off);
    st_out_tensor(&o, "loss_mask", DT_U8, 2, bt, mask);
    st_out_end(&o);
    buf_add(&raw, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(&raw, o.piece[i].p, o.piece[i].n);
    ok(st_parse(&m.st, raw.p, raw.n, &e) == 0, "a batch by hand");
    ok(batch_check(&m.st, 10, 2, &tokens, &e) == 0 && tokens == 7,
        "the batch is good %s", e.msg);
    batch_unpack(&b, &m);
    ok(b.B == 2 && b.T == 5 && b.P == 3, "a batch is unpacked");
    ok(memcmp(b.ids, want, sizeof want) == 0, "ids, padding 0");
    ok(memcmp(b.first, first, sizeof first) == 0, "first tokens are found");
    ok(memcmp(b.scored, scored, sizeof scored) == 0, "scored tokens are found");
    ok(b.nscored == 3 && b.ntok == 7 && b.row_scored[0] == 2 &&
            b.row_scored[1] == 1,
        "sums of tokens are right");
    ok(b.piece_off[1] == 4 && b.piece_source[1] == 1 && b.piece_key[2] == 9,
        "pieces are unpacked");
    ok(batch_check(&m.st, 9, 2, NULL, &e) == -1 && strstr(e.msg, "ids[7] is 9"),
        "id too large: %s", e.msg);
    /* A piece longer than what is left of its row, and rows out of order. */
    memcpy(raw.p +
            (size_t)((const char *)st_find(&m.st, "piece_len")->data - raw.p) +
            4,
        "\4", 1);
    ok(batch_check(&m.st, 10, 2, NULL, &e) == -1 && e.code == EX_INPUT, "%s",
        e.msg);
    memcpy(raw.p +
            (size_t)((const char *)st_find(&m.st, "piece_row")->data - raw.p),
        "\1", 1);
    ok(batch_check(&m.st, 10, 2, NULL, &e) == -1 && e.code == EX_INPUT, "%s",
        e.msg);
    st_release(&m.st);
    st_out_release(&o);
    buf_release(&raw);
    batch_release(&b);
}

/* A batch of 1 row of 2 tokens with 3 top tokens each, written by hand.  Each
 * case changes some of its tensors. */
struct top_case {
    const char *why; /* part of the error; NULL: it is good */
    size_t vocab;
    uint32_t ids[6];
    float logp[6], lse[4];
    enum dtype type; /* of logp */
    size_t k;        /* last dimension of ids and logp */
    size_t lse_n;    /* last dimension of lse; 0: no lse */
};

static void
put_top(struct st_out *o, const struct top_case *c, uint16_t half[6])
{
    static const uint16_t ids[2] = { 1, 2 };
    static const size_t bt[2] = { 1, 2 };
    size_t shape[3] = { 1, 2, c->k };

    st_out_begin(o);
    st_out_tensor(o, "ids", DT_U16, 2, bt, ids);
    st_out_tensor(o, "teacher.top.ids", DT_U32, 3, shape, c->ids);
    kern.narrow_f16(half, c->logp, 6);
    st_out_tensor(o, "teacher.top.logp", c->type, 3, shape,
        c->type == DT_F16 ? (const void *)half : (const void *)c->logp);
    shape[2] = c->lse_n;
    if (c->lse_n > 0)
        st_out_tensor(o, "teacher.lse", DT_F32, 3, shape, c->lse);
    st_out_end(o);
}

#define IDS              \
    {                    \
        9, 0, 3, 3, 9, 8 \
    }
#define LOGP                       \
    {                              \
        -0.5f, -1, -1, 0, -20, -21 \
    }
#define LSE         \
    {               \
        9, 4, -3, 0 \
    }

/* A batch with draws: 1 row of 2 tokens with 4 draws each. */
struct draw_case {
    const char *why;
    size_t vocab;
    uint32_t ids[8];
    uint8_t count[8];
    float self[2];
};

static void
check_draws(enum dtype type)
{
    static const struct draw_case cases[] = {
        { NULL, 10, { 1, 5, 9, 0, 0, 0, 0, 0 }, { 1, 2, 1, 0, 0, 0, 0, 0 },
            { -1, 0 } },
        { NULL, 0, { 1, 5, 9, 99, 0, 0, 0, 0 }, { 1, 1, 1, 1, 4, 0, 0, 0 },
            { -1, 0 } },
        { "ids[2] is 9", 9, { 1, 5, 9, 0, 0, 0, 0, 0 },
            { 1, 2, 1, 0, 0, 0, 0, 0 }, { -1, 0 } },
        { "ids[1] is 1", 9, { 1, 1, 0, 0, 0, 0, 0, 0 },
            { 2, 2, 0, 0, 0, 0, 0, 0 }, { -1, 0 } },
        { "ids[2] is 5", 9, { 1, 0, 5, 0, 0, 0, 0, 0 },
            { 2, 0, 2, 0, 0, 0, 0, 0 }, { -1, 0 } },
        { "ids[3] is 8, 0 times", 9, { 1, 2, 5, 8, 0, 0, 0, 0 },
            { 1, 1, 2, 0, 0, 0, 0, 0 }, { -1, 0 } },
        { "3 of 4 draws of token 1", 9, { 1, 2, 5, 0, 1, 0, 0, 0 },
            { 1, 1, 2, 0, 3, 0, 0, 0 }, { -1, 0 } },
        { "plogp[1] is 0.5", 9, { 1, 2, 5, 0, 1, 0, 0, 0 },
            { 1, 1, 2, 0, 4, 0, 0, 0 }, { -1, 0.5f } },
        { "plogp[0] is nan", 9, { 1, 2, 5, 0, 1, 0, 0, 0 },
            { 1, 1, 2, 0, 4, 0, 0, 0 }, { NAN, 0 } },
    };
    static const uint16_t ids[2] = { 1, 2 };
    static const size_t bt[3] = { 1, 2, 4 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct draw_case *c = &cases[i];
        struct st_out o = { 0 };
        struct buf raw = { 0 };
        struct err e = { 0 };
        struct st s;
        uint16_t times[8];
        int k;

        for (size_t j = 0; j < 8; j++)
            times[j] = c->count[j];
        st_out_begin(&o);
        st_out_tensor(&o, "ids", DT_U16, 2, bt, ids);
        st_out_tensor(&o, "teacher.sample.ids", DT_U32, 3, bt, c->ids);
        st_out_tensor(&o, "teacher.sample.count", type, 3, bt,
            type == DT_U8 ? (const void *)c->count : (const void *)times);
        st_out_tensor(&o, "teacher.sample.plogp", DT_F32, 2, bt, c->self);
        st_out_end(&o);
        buf_add(&raw, o.head.p, o.head.n);
        for (size_t j = 0; j < o.npiece; j++)
            buf_add(&raw, o.piece[j].p, o.piece[j].n);
        if (st_parse(&s, raw.p, raw.n, &e) < 0)
            abort();
        e.msg[0] = '\0';
        k = batch_check_sample(&s, c->vocab, &e);
        ok(c->why ? k == -1 && e.code == EX_INPUT && strstr(e.msg, c->why)
                  : k == 1,
            "draws %zu, counts of %s, are judged: %s", i,
            type == DT_U8 ? "U8" : "U16", k < 0 ? e.msg : "good");
        st_release(&s);
        st_out_release(&o);
        buf_release(&raw);
    }
}

static void
test_top(void)
{
    static const struct top_case cases[] = {
        { NULL, 10, IDS, LOGP, LSE, DT_F16, 3, 2 },
        { NULL, 10, IDS, LOGP, LSE, DT_F32, 3, 2 },
        { NULL, 0, IDS, LOGP, LSE, DT_F32, 3, 2 },
        { "ids[0] is 9, but the teacher's vocabulary ends at 9", 9, IDS, LOGP,
            LSE, DT_F16, 3, 2 },
        { "ids[5] is 3 once more", 10, { 9, 0, 3, 3, 9, 3 }, LOGP, LSE, DT_F16,
            3, 2 },
        { "logp[3] (bits 3c00)", 10, IDS, { -1, -1, -1, 1, -2, -2 }, LSE,
            DT_F16, 3, 2 },
        { "logp[3] is 1", 10, IDS, { -1, -1, -1, 1, -2, -2 }, LSE, DT_F32, 3,
            2 },
        { "logp[2] (bits b800)", 10, IDS, { -1, -1, -0.5f, 0, -2, -2 }, LSE,
            DT_F16, 3, 2 },
        { "logp[2] is -0.5", 10, IDS, { -1, -1, -0.5f, 0, -2, -2 }, LSE, DT_F32,
            3, 2 },
        { "logp[1] is nan", 10, IDS, { -1, NAN, -1, 0, -2, -2 }, LSE, DT_F32, 3,
            2 },
        { "logp[1] (bits 7e00)", 10, IDS, { -1, NAN, -1, 0, -2, -2 }, LSE,
            DT_F16, 3, 2 },
        { "logp[5] (bits fc00)", 10, IDS, { -1, -1, -1, 0, -2, -INFINITY }, LSE,
            DT_F16, 3, 2 },
        { "logp[5] is -inf", 10, IDS, { -1, -1, -1, 0, -2, -INFINITY }, LSE,
            DT_F32, 3, 2 },
        { "lse[2] is not finite", 10, IDS, LOGP, { 1, 1, NAN, 1 }, DT_F16, 3,
            2 },
        { "teacher.lse", 10, IDS, LOGP, LSE, DT_F16, 3, 1 },
        { "teacher.lse", 10, IDS, LOGP, LSE, DT_F16, 3, 0 },
        { "teacher.top.logp", 10, IDS, LOGP, LSE, DT_I32, 3, 2 },
        { "0 top tokens", 10, IDS, LOGP, LSE, DT_F16, 0, 2 },
    };
    struct st_out o = { 0 };
    struct buf raw = { 0 };
    struct err e = { 0 };
    struct msg_in *r;
    struct msg_out *w;
    struct msg m;
    uint16_t half[6];
    size_t n;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct top_case *c = &cases[i];
        int k;

        put_top(&o, c, half);
        buf_clear(&raw);
        buf_add(&raw, o.head.p, o.head.n);
        for (size_t j = 0; j < o.npiece; j++)
            buf_add(&raw, o.piece[j].p, o.piece[j].n);
        if (st_parse(&m.st, raw.p, raw.n, &e) < 0)
            abort();
        e.msg[0] = '\0';
        k = batch_check_top(&m.st, c->vocab, &e);
        ok(c->why ? k == -1 && e.code == EX_INPUT && strstr(e.msg, c->why)
                  : k == 1,
            "top tokens %zu: %s", i, k < 0 ? e.msg : "good");
        st_release(&m.st);
    }
    st_out_release(&o);
    buf_release(&raw);
    /* top tokens in a stream without a teacher message */
    sample_file("s", &untaught, &e);
    r = msg_in_open("s", &e);
    w = msg_out_open("t", &e);
    while (msg_read(r, &m, &e) > 0) {
        static const uint32_t ids[2 * 8] = { 0 };
        static const float zero[2 * 2 * 8] = { 0 };
        const size_t one[3] = { 2, 8, 1 }, two[3] = { 2, 8, 2 };
        struct st_out *out = msg_copy(w, &m);

        if (m.kind == MSG_BATCH) {
            st_out_tensor(out, "teacher.top.ids", DT_U32, 3, one, ids);
            st_out_tensor(out, "teacher.top.logp", DT_F32, 3, one, zero);
            st_out_tensor(out, "teacher.lse", DT_F32, 3, two, zero);
        }
        if (msg_send(w, &e) < 0)
            break;
    }
    msg_in_close(r);
    ok(msg_end(w, &e) == 0, "a stream of them");
    msg_out_close(w);
    ok(read_all("t", &n, &e) == -1 && strstr(e.msg, "but no teacher message"),
        "tokens without a teacher are refused: %s", e.msg);
}

/* Copy the stream "s" and add three tensors to each batch, whole or in
 * parts. */
static int
write_parts(const char *path, int parts)
{
    static const char x[3][4] = { "abc", "def", "ghi" };
    const size_t three = 3;
    struct err e = { 0 };
    struct msg_in *r = msg_in_open("s", &e);
    struct msg_out *w = msg_out_open(path, &e);
    struct msg m;
    int bad = 0;

    while (msg_read(r, &m, &e) > 0) {
        struct st_out *o = msg_copy(w, &m);

        if (m.kind != MSG_BATCH) {
            bad |= msg_send(w, &e) != 0;
            continue;
        }
        for (int k = 0; k < 3; k++) {
            char name[] = "x.0";

            name[2] = (char)('0' + k);
            st_out_tensor(o, name, DT_U8, 1, &three,
                parts && k > 0 ? NULL : x[k]);
        }
        bad |= (parts ? msg_send_begin(w, &e) : msg_send(w, &e)) != 0;
        for (int k = 1; parts && k < 3; k++) {
            memcpy(msg_room(w, 1), x[k], 3);
            bad |= msg_send_next(w, &e) != 0;
        }
    }
    bad |= msg_end(w, &e) != 0;
    msg_out_close(w);
    msg_in_close(r);
    return bad;
}

static void
test_parts(void)
{
    struct err e = { 0 };
    char *a, *b;
    size_t na = 0, nb = 0, n;

    sample_file("s", &batches, &e);
    ok(write_parts("whole", 0) == 0 && write_parts("parts", 1) == 0,
        "a message sent in parts");
    io_slurp("whole", 1 << 20, &a, &na, &e);
    io_slurp("parts", 1 << 20, &b, &nb, &e);
    ok(na > 0 && na == nb && memcmp(a, b, na) == 0,
        "a message sent in parts is the same as one sent whole");
    ok(read_all("parts", &n, &e) == 0, "a message sent in parts reads well");
    free(a);
    free(b);
}

int
main(void)
{
    tap_scratch();
    test_round("docs", &docs);
    test_round("wide docs", &wide);
    test_round("batches", &batches);
    test_damage("docs", &two_docs);
    test_damage("batches", &two_batches);
    test_pipe();
    test_leave();
    test_filter();
    test_parts();
    test_resume("docs", &docs);
    test_resume("batches", &batches);
    test_lie();
    test_open();
    test_docs();
    test_unpack();
    test_top();
    check_draws(DT_U8);
    check_draws(DT_U16);
    return done_testing();
}
